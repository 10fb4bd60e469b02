"""From sums of messages to estimates: exact expectations, and radii that hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.unary import KARY, SYMMETRIC, UNARY, SampledStep
from confide.privacy import Local, Schedule
from confide.protocol.kinds import CountQuestion, StepQuestion
from confide.protocol.kinds import find as reading
from confide.protocol.kinds.bits import BitQuestion
from confide.protocol.kinds.counts import (
    CENTRED,
    COUNTED,
    DROPPED,
    END,
    FREE_VISITS,
    HALVES,
    REWARDS,
    SQUARES,
    TRANSITIONS,
    VISITS,
    unpack,
)
from confide.protocol.laws import PeoplesNoise
from confide.protocol.releases.release import Noise

from .making import design

QUESTION = CountQuestion(Spec(2, 2, 3))


def radii(question: Any, mechanism: Any, people: Any, failure: float) -> NDArray[np.float64]:
    """Those of the noise of this many people's messages."""
    return reading(question.kind).radii(question, PeoplesNoise(mechanism, np.asarray(people)), failure)


def backup_variance(question: Any, mechanism: Any) -> float:
    return reading(question.kind).backup_variance(question, mechanism)


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
    """Every user heard once per step, and messages replaced by their expectation: no error is left."""
    parts = (VISITS, REWARDS, CENTRED, TRANSITIONS)
    asked = CountQuestion(Spec(2, 2, 3, model), parts, last)
    question = StepQuestion(asked)
    mechanism = SampledStep(0.7, question.width, encoding)
    people = np.random.default_rng(1).multinomial(60, np.full(mechanism.categories, 1 / mechanism.categories), 3)
    # Each person is heard of one step, chosen by lot: here a third of each category at each step.
    received = people / 3
    expected = received * mechanism.hit + (received.sum(axis=1, keepdims=True) - received) * mechanism.miss
    users = np.rint(received.sum(axis=1)).astype(np.int64)
    if model == STATIONARY:
        expected, users = expected.sum(axis=0, keepdims=True), users.sum(keepdims=True)
    result = reading("step").estimate(question, mechanism, expected, users)
    assert result == pytest.approx(exact_counts(asked, people), abs=1e-9)


def test_a_step_nobody_told_of_is_estimated_as_nothing() -> None:
    question = StepQuestion(CountQuestion(Spec(2, 1, 2, PER_STEP)))
    mechanism = SampledStep(1.0, question.width)
    assert (question.rows, question.width) == (2, 9)
    result = reading("step").estimate(question, mechanism, np.zeros((2, 9)), np.zeros(2, dtype=np.int64))
    assert not result.any()


@pytest.mark.parametrize("encoding", [UNARY, KARY])
@pytest.mark.parametrize(
    ("model", "users"), [(STATIONARY, 1), (STATIONARY, 300), (PER_STEP, 4), (PER_STEP, 40), (PER_STEP, 1500)]
)
@pytest.mark.parametrize("epsilon", [1.0, 30.0])
def test_radii_of_sampled_steps_hold(encoding: str, model: str, users: int, epsilon: float) -> None:
    """All cells at once, over many draws of who tells of which step; at epsilon 30 only the sampling errs."""
    asked = CountQuestion(Spec(2, 1, 4, model), (VISITS, REWARDS, TRANSITIONS))
    question = StepQuestion(asked)
    mechanism = SampledStep(epsilon, question.width, encoding)
    failure, rounds, rng = 0.2, 200, np.random.default_rng(users)
    radius = radii(question, mechanism, users, failure)
    assert radius.shape == (5,)
    # Half the people stay in state 0 and are paid, half move about and are not: categories (s, a, s', bit) = 1 and 4.
    half = users // 2
    truth = np.zeros((4, mechanism.categories), dtype=np.int64)
    truth[:, 1], truth[:, 4] = users - half, half
    exact = unpack(asked, exact_counts(asked, truth))
    failed = 0
    for _ in range(rounds):
        steps = rng.integers(0, 4, users)
        values = np.zeros((4, mechanism.categories), dtype=np.int64)
        np.add.at(values, (steps, np.where(np.arange(users) < half, 4, 1)), 1)
        if model == STATIONARY:
            values = values.sum(axis=0, keepdims=True)
        many = values.sum(axis=1)
        rows = zip(values.astype(np.float64), many.tolist(), strict=True)
        summed = np.stack([mechanism.sum_of(row, received, question.trials, rng) for row, received in rows])
        result = unpack(asked, reading("step").estimate(question, mechanism, summed, many))
        rows = np.abs((result.transitions - exact.transitions).sum(axis=-1)).max()
        errors = [float(np.abs(a - b).max(initial=0.0)) for a, b in zip(result[:4], exact[:4], strict=True)]
        failed += any(error > bound for error, bound in zip((*errors, rows), radius, strict=True))
    assert failed / rounds <= failure


def test_radii_grow_with_the_root_and_start_at_nothing() -> None:
    step = StepQuestion.of(QUESTION)
    for question, mechanism in ((QUESTION, Laplace(2.0, 1.0)), (step, SampledStep(1.0, step.width))):
        result = radii(question, mechanism, [0, 10_000, 1_000_000], 0.05)
        assert result.shape == (3, 5)
        assert not result[0].any()
        assert result[2] / result[1] == pytest.approx(np.full(5, 10.0), rel=0.05)


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
    step = StepQuestion(asked)
    better = [backup_variance(step, SampledStep(epsilon, step.width)) for epsilon in (0.5, 1.0, 2.0)]
    assert better == sorted(better, reverse=True)


def test_statements_cover_every_cell_of_a_release() -> None:
    """A failure is shared by every cell of every kind and every row: here 4 * 6 * (3 + 4) of them."""
    question, mechanism = CountQuestion(Spec(3, 2, 4, PER_STEP)), Laplace(2.0, 1.0)
    share = 0.05 / (4 * 6 * (3 + 3 + 1))
    assert radii(question, mechanism, 100, 0.05)[3] == mechanism.radius(100, share)


def test_rewards_of_several_bits_have_a_part_of_the_noise() -> None:
    """m bits have m times the flips, each of which counts an m-th; visits and transitions are as with one bit."""
    mechanism, people = RandomizedResponse(1.0), 10**6
    one, four = (BitQuestion(CountQuestion(Spec(2, 2, 3), last=DROPPED, levels=levels)) for levels in (1, 4))
    plain, given = radii(one, mechanism, people, 0.05), radii(four, mechanism, people, 0.05)
    assert given[1] == given[2] == pytest.approx(plain[1] / 2, rel=1e-2)
    assert (given[[0, 3, 4]] == plain[[0, 3, 4]]).all()
    noises = [reading("bits").noise(asked, PeoplesNoise(mechanism, people)) for asked in (one, four)]
    each = people * mechanism.variance(3)
    assert noises[0].tolist() == pytest.approx([1.0, people * mechanism.variance(2), 1.25 * each, 1.0, each])
    assert noises[1].tolist() == pytest.approx([1.0, people * mechanism.variance(2), 0.5 * each, 1.0, each])


def test_a_curators_noise_is_nobodys_own() -> None:
    question = QUESTION.having(parts=(CENTRED, TRANSITIONS))
    everybody = reading("counts").noise(question, PeoplesNoise(Laplace(2.0, 1.0), 50))
    curator = reading("counts").noise(question, PeoplesNoise(Laplace(2.0, 1.0), 1, own=False))
    each = 50 * Laplace(2.0, 1.0).variance()
    assert Noise(*everybody.tolist()) == Noise(1.0, each, each, 1.0, question.next_states * each)
    assert Noise(*curator.tolist()).own == 0.0


def test_the_tight_form_is_what_tight_devices_answer() -> None:
    for question in (QUESTION, QUESTION.having(last=END), CountQuestion(Spec(2, 2, 3, PER_STEP), last=DROPPED)):
        assert design(question, Local(1.0), Schedule.every(10)).question.counts == question.tight()
        assert question.tight().tight() == question.tight()


def test_half_visits_make_visits_less_noisy() -> None:
    """Visits by hand: S = 4 next states, so half of a row and half of twice the half visits; variance of 2 cells in place of 4."""
    spec = Spec(4, 1, 3)
    question = CountQuestion(spec, FREE_VISITS)
    law = PeoplesNoise(Laplace(2.0, 1.0), 1, own=False)
    each = Laplace(2.0, 1.0).variance()
    assert reading("counts").noise(question, law).tolist() == pytest.approx([0.0, each, each, 1.0, 2 * each])
    cells = np.zeros(question.cells)
    cells[question.slices[HALVES]] = [5.0, 0.0, 0.0, 0.0]
    cells[question.slices[CENTRED]] = [1.0, 0.0, 0.0, 0.0]
    cells[question.slices[TRANSITIONS]][:4] = [1.0, 2.0, 3.0, 2.0]
    counts = unpack(question, cells)
    assert counts.visits.ravel().tolist() == [9.0, 0.0, 0.0, 0.0]
    assert counts.rewards.ravel().tolist() == [5.5, 0.0, 0.0, 0.0]


def test_the_visits_of_half_visits_have_the_stated_noise() -> None:
    """Their variance, drawn: true within 5 of its own deviations, and not 2/3 or 3/2 of it. False alarm: below 1e-6."""
    spec, many = Spec(6, 1, 3), 20_000
    question, rng = CountQuestion(spec, FREE_VISITS), np.random.default_rng(8)
    drawn = np.array([unpack(question, rng.standard_normal(question.cells)).visits[0, 0, 0] for _ in range(many)])
    stated = 4 * 6 / (4 + 6)
    for factor, holds in ((1.0, True), (2 / 3, False), (3 / 2, False)):
        assert (abs(drawn.var() - factor * stated) < 5 * factor * stated * math.sqrt(2 / many)) == holds
