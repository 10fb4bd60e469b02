"""From messages to sums to estimates: what may be counted together, exact expectations, and radii that hold."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.errors import FormatError, InvalidInput
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.unary import KARY, SYMMETRIC, UNARY, SampledStep
from confide.privacy import Local
from confide.questions import CountQuestion
from confide.questions.counts import CENTRED, COUNTED, DROPPED, END, REWARDS, SQUARES, TRANSITIONS, VISITS
from confide.releases import Radius, Report, ReportSum, unpack
from confide.releases.reading import backup_variance, categories, estimated_cells, radii, read, sum_shape, trials

QUESTION = CountQuestion(Spec(2, 2, 3))
MECHANISM = Laplace(2.0, 1.0)


def report(**changes: Any) -> Report:
    cells = np.arange(QUESTION.cells, dtype=np.int64)
    return replace(Report(QUESTION.digest, MECHANISM.describe(), 1.0, cells), **changes)


def whole_sum() -> ReportSum:
    return ReportSum(QUESTION, MECHANISM.describe(), (QUESTION.cells,), 1.0)


# Sums.


def test_a_sum_is_a_sum_in_any_order() -> None:
    rng = np.random.default_rng(0)
    reports = [report(cells=rng.integers(-9, 9, QUESTION.cells)) for _ in range(5)]
    first, second = whole_sum(), whole_sum()
    for one, other in zip(reports, reversed(reports), strict=True):
        first.add(one)
        second.add(Report.from_bytes(other.to_bytes()))
    assert np.array_equal(first.cells, second.cells)
    assert np.array_equal(first.cells, sum(one.cells for one in reports))
    assert first.users.tolist() == [5]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"question": QUESTION.having(last=DROPPED).digest}, "answers another question"),
        ({"mechanism": Laplace(2.0000001, 1.0).describe()}, "randomised in another way"),
        ({"mechanism": {}}, "randomised in another way"),
        ({"grid": 0.5}, "randomised in another way"),
        ({"cells": np.zeros(QUESTION.cells + 1, dtype=np.int64)}, "wrong shape"),
        ({"cells": np.zeros(0, dtype=np.int64)}, "wrong shape"),
        ({"step": 0}, "wrong shape"),
        ({"step": 5}, "wrong shape"),
    ],
)
def test_what_does_not_belong_is_refused_and_changes_nothing(changes: dict[str, Any], sentence: str) -> None:
    summed = whole_sum()
    summed.add(report())
    before = copy.deepcopy(summed.__dict__)
    with pytest.raises(InvalidInput, match=sentence):
        summed.add(report(**changes))
    assert np.array_equal(summed.cells, before["cells"])
    assert np.array_equal(summed.users, before["users"])


@pytest.mark.parametrize("step", [-1, 3, 2, 1_000_000])
def test_a_sampled_step_that_does_not_exist_is_refused(step: int) -> None:
    question = CountQuestion(Spec(2, 1, 3, PER_STEP))
    mechanism = SampledStep(1.0, categories(question))
    summed = ReportSum(question, mechanism.describe(), sum_shape(question, mechanism), 1.0)
    message = Report(question.digest, mechanism.describe(), 1.0, np.ones(mechanism.categories, dtype=np.int64), step)
    if step == 2:
        summed.add(message)
        assert summed.users.tolist() == [0, 0, 1]
        assert summed.cells.sum(axis=1).tolist() == [0, 0, mechanism.categories]
        return
    with pytest.raises(InvalidInput, match="wrong shape"):
        summed.add(message)
    assert not summed.users.any()
    assert not summed.cells.any()


def test_a_release_of_whole_episodes_is_the_sum_on_its_grid() -> None:
    question = QUESTION.having(parts=(CENTRED, TRANSITIONS))
    mechanism = Laplace(2.0, 0.5)
    summed = ReportSum(question, mechanism.describe(), (question.cells,), 0.5)
    cells = np.arange(question.cells, dtype=np.int64)
    for _ in range(3):
        summed.add(Report(question.digest, mechanism.describe(), 0.5, cells))
    release = read(summed, mechanism, Local(1.0), 0.05)
    assert release.users == 3
    assert np.array_equal(release.counts.transitions, unpack(question, 1.5 * cells).transitions)
    assert release.guarantee == Local(1.0)
    assert release.radius == Radius(*radii(question, mechanism, 3, 0.05).tolist())
    assert read(summed, mechanism, Local(1.0), 0.05, Radius.zero()).radius == Radius.zero()


# Sampled steps.


def exact_counts(question: CountQuestion, people: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cells from people by (step, category) who did what at every step: (H, k), the last category absent."""
    spec, width = question.spec, question.next_states
    table = people[:, :-1].reshape(spec.horizon, spec.states, spec.actions, width, 2).astype(np.float64)
    if spec.layers == 1:
        table = table.sum(axis=0, keepdims=True)
    moved = table.sum(axis=-1)
    values = {
        VISITS: moved.sum(axis=-1),
        REWARDS: table[..., 1].sum(axis=-1),
        SQUARES: table[..., 1].sum(axis=-1),
        CENTRED: table[..., 1].sum(axis=-1) - moved.sum(axis=-1) / 2,
        TRANSITIONS: moved,
    }
    return np.concatenate([values[part].ravel() for part in question.parts])


@pytest.mark.parametrize("encoding", [UNARY, SYMMETRIC, KARY])
@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("last", [COUNTED, END])
def test_the_expected_message_gives_the_exact_counts(encoding: str, model: str, last: str) -> None:
    """Everybody heard once per step, and messages replaced by their expectation: no error is left."""
    parts = (VISITS, REWARDS, CENTRED, TRANSITIONS)
    question = CountQuestion(Spec(2, 2, 3, model), parts, last)
    mechanism = SampledStep(0.7, categories(question), encoding)
    people = np.random.default_rng(1).multinomial(60, np.full(mechanism.categories, 1 / mechanism.categories), 3)
    # Each person is heard of one step, chosen by lot: here a third of each category at each step.
    heard = people / 3
    expected = heard * mechanism.hit + (heard.sum(axis=1, keepdims=True) - heard) * mechanism.miss
    users = np.rint(heard.sum(axis=1)).astype(np.int64)
    if model == STATIONARY:
        expected, users = expected.sum(axis=0, keepdims=True), users.sum(keepdims=True)
    found = estimated_cells(question, mechanism, expected, users)
    assert found == pytest.approx(exact_counts(question, people), abs=1e-9)


def test_a_step_nobody_told_of_is_estimated_as_nothing() -> None:
    question = CountQuestion(Spec(2, 1, 2, PER_STEP))
    mechanism = SampledStep(1.0, categories(question))
    shape = sum_shape(question, mechanism)
    assert shape == (2, 9)
    found = estimated_cells(question, mechanism, np.zeros(shape), np.zeros(2, dtype=np.int64))
    assert not found.any()


@pytest.mark.parametrize("encoding", [UNARY, KARY])
@pytest.mark.parametrize(
    ("model", "users"), [(STATIONARY, 1), (STATIONARY, 300), (PER_STEP, 4), (PER_STEP, 40), (PER_STEP, 1500)]
)
@pytest.mark.parametrize("epsilon", [1.0, 30.0])
def test_radii_of_sampled_steps_hold(encoding: str, model: str, users: int, epsilon: float) -> None:
    """All cells at once, over many draws of who tells of which step; at epsilon 30 only the sampling errs."""
    question = CountQuestion(Spec(2, 1, 4, model), (VISITS, REWARDS, TRANSITIONS))
    mechanism = SampledStep(epsilon, categories(question), encoding)
    failure, rounds, rng = 0.2, 200, np.random.default_rng(users)
    radius = radii(question, mechanism, users, failure)
    assert radius.shape == (5,)
    # Half the people stay in state 0 and are paid, half move about and are not: categories (s, a, s', bit) = 1 and 4.
    half = users // 2
    truth = np.zeros((4, mechanism.categories), dtype=np.int64)
    truth[:, 1], truth[:, 4] = users - half, half
    exact = unpack(question, exact_counts(question, truth))
    failed = 0
    for _ in range(rounds):
        steps = rng.integers(0, 4, users)
        told = np.zeros((4, mechanism.categories), dtype=np.int64)
        np.add.at(told, (steps, np.where(np.arange(users) < half, 4, 1)), 1)
        if model == STATIONARY:
            told = told.sum(axis=0, keepdims=True)
        summed = np.stack([mechanism.sum_of(row, rng) for row in told]).astype(np.float64)
        found = unpack(question, estimated_cells(question, mechanism, summed, told.sum(axis=1)))
        rows = np.abs((found.transitions - exact.transitions).sum(axis=-1)).max()
        errors = [float(np.abs(a - b).max()) for a, b in zip(found, exact, strict=True)]
        failed += any(error > bound for error, bound in zip((*errors, rows), radius, strict=True))
    assert failed / rounds <= failure


def test_radii_grow_with_the_root_and_start_at_nothing() -> None:
    for mechanism in (Laplace(2.0, 1.0), SampledStep(1.0, categories(QUESTION))):
        found = radii(QUESTION, mechanism, [0, 10_000, 1_000_000], 0.05)
        assert found.shape == (3, 5)
        assert not found[0].any()
        assert found[2] / found[1] == pytest.approx(np.full(5, 10.0), rel=0.05)


def test_radii_know_what_was_derived_from_what() -> None:
    """(P, Rc): visits are a row of S noises, rewards one noise and half a row."""
    mechanism, users = Laplace(1.0), 10**6
    asked = QUESTION.having(parts=(CENTRED, TRANSITIONS))
    visits, rewards, squares, transitions, rows = radii(asked, mechanism, users, 0.05)
    assert visits == rows == pytest.approx(np.sqrt(2) * transitions, rel=1e-3)
    assert rewards == squares == pytest.approx(np.sqrt(1.5) * transitions, rel=1e-3)
    all_asked = radii(QUESTION, mechanism, users, 0.05)
    assert all_asked[0] == all_asked[1] == all_asked[3]
    only_moves = radii(QUESTION.having(parts=(TRANSITIONS,)), mechanism, users, 0.05)
    assert only_moves[1] == 0


def test_what_auto_compares() -> None:
    """Laplace: 2 b^2 (1 + S/4) for a reward and S (H/2)^2 times 2 b^2 for next states."""
    asked = QUESTION.having(parts=(CENTRED, TRANSITIONS))
    assert backup_variance(asked, Laplace(3.0)) == pytest.approx(18 * 1.5 + 2 * 1.5**2 * 18)
    better = [backup_variance(asked, SampledStep(epsilon, categories(asked))) for epsilon in (0.5, 1.0, 2.0)]
    assert better == sorted(better, reverse=True)


def test_trials_and_parts_stay_in_step() -> None:
    for parts, model in itertools.product([(VISITS, TRANSITIONS), (CENTRED, TRANSITIONS)], [STATIONARY, PER_STEP]):
        question = CountQuestion(Spec(2, 2, 3, model), parts, DROPPED)
        bits = trials(question)
        assert bits[question.slices[TRANSITIONS]].max() == (2 if model == STATIONARY else 1)
        assert bits[question.slices[parts[0]]].max() == (3 if model == STATIONARY else 1)


# Sums that travel.


def test_a_sum_is_made_for_the_first_report_and_refuses_others() -> None:
    summed = ReportSum.of(QUESTION, report())
    assert summed.cells.shape == (QUESTION.cells,) and not summed.users.any()
    summed.add(report())
    with pytest.raises(InvalidInput, match="another way"):
        summed.add(report(grid=0.5))
    layered = CountQuestion(Spec(2, 2, 3, PER_STEP)).tight()
    device = SampledStep(1.0, categories(layered), KARY)
    heard = Report(layered.digest, device.describe(), 1.0, np.eye(device.categories, dtype=np.int64)[0], 2)
    assert ReportSum.of(layered, heard).cells.shape == sum_shape(layered, device)


def test_two_servers_count_what_one_would() -> None:
    one, other, both = whole_sum(), whole_sum(), whole_sum()
    for index in range(5):
        cells = np.full(QUESTION.cells, index, dtype=np.int64)
        (one if index < 2 else other).add(report(cells=cells))
        both.add(report(cells=cells))
    one.merge(other)
    assert np.array_equal(one.cells, both.cells) and np.array_equal(one.users, both.users)
    with pytest.raises(InvalidInput, match="different"):
        one.merge(ReportSum(QUESTION, Laplace(3.0, 1.0).describe(), (QUESTION.cells,), 1.0))
    with pytest.raises(InvalidInput, match="different"):
        one.merge(ReportSum(QUESTION.tight(), MECHANISM.describe(), (QUESTION.tight().cells,), 1.0))


def test_a_sum_goes_on_after_a_restart_and_gives_the_same_release() -> None:
    summed = whole_sum()
    summed.add(report())
    again = ReportSum.from_bytes(summed.to_bytes())
    for one in (summed, again):
        one.add(report())
    assert again.to_bytes() == summed.to_bytes()
    direct = read(summed, MECHANISM, Local(3.0), 0.1)
    found = again.release(Local(3.0))
    assert found.users == direct.users == 2 and found.radius == direct.radius
    assert all(np.array_equal(mine, yours) for mine, yours in zip(found.counts, direct.counts, strict=True))


def test_bytes_that_are_no_sum_are_refused() -> None:
    summed = whole_sum()
    summed.add(report())
    good = summed.to_bytes()
    for bad in (b"", good[:-8], report().to_bytes(), good.replace(b"confide.sum/1", b"confide.sum/9"), good + b"1"):
        with pytest.raises(FormatError, match="not a sum"):
            ReportSum.from_bytes(bad)
    summed.users[0] = -1
    with pytest.raises(FormatError, match="fewer than no people"):
        ReportSum.from_bytes(summed.to_bytes())


def test_the_tight_form_is_what_tight_devices_answer() -> None:
    from confide.privacy import Schedule
    from confide.privatizers import design

    for question in (QUESTION, QUESTION.having(last=END), CountQuestion(Spec(2, 2, 3, PER_STEP), last=DROPPED)):
        assert design(question, Local(1.0), Schedule.every(10)).question == question.tight()
        assert question.tight().tight() == question.tight()
