"""Aggregates of reports: sums in any order and from any server, and a guarantee that no one tells them."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pytest

from confide.data.privatizers import respond
from confide.data.trajectories import Trajectory
from confide.errors import FormatError, InvalidInput
from confide.mdp import PER_STEP, Spec
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Joint, Local, Schedule
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import CENTRED, DROPPED, TRANSITIONS, unpack
from confide.protocol.releases import Radius, Report, ReportAggregate, Sum, open_aggregate
from confide.protocol.releases.report import limits
from tests.protocol.making import design
from tests.refusals import refused

SPEC = Spec(2, 2, 3)
QUESTION = CountQuestion(SPEC, last=DROPPED)
BY = design(QUESTION, Local(6.0), Schedule.sized(40, 40), "sound", "laplace", failure=0.05)
STEPS = design(CountQuestion(Spec(2, 1, 3, PER_STEP)), Local(2.0), Schedule.every(40), "tight", "k-ary")


def cells_of(by: Design, *numbers: int) -> Report:
    return Report(by.digest, by.question.digest, np.resize(np.array(numbers, dtype=np.int64), by.question.width))


def several(many: int) -> list[Report]:
    rng = np.random.default_rng(0)
    return [cells_of(BY, *rng.integers(-9, 9, BY.question.width)) for _ in range(many)]


def opened(by: Design = BY) -> ReportAggregate:
    aggregate = open_aggregate(by)
    assert isinstance(aggregate, ReportAggregate)
    return aggregate


# What reports guarantee.


@pytest.mark.parametrize("epsilon", [0.001, 1.0, 6.0])
def test_a_server_computes_what_its_reports_guarantee(epsilon: float) -> None:
    """From the design alone, which it reads from bytes; an aggregate has no argument for it."""
    here = design(QUESTION, Local(epsilon), Schedule.every(5), "sound", "laplace")
    person = Trajectory(np.array([0, 1, 1, 0]), np.array([1, 0, 1]), np.array([1.0, 0.0, 1.0]))
    sent = respond(here, None, person).to_bytes(here)
    there = Design.from_bytes(here.to_bytes())
    aggregate = open_aggregate(there)
    aggregate.take(sent)
    release = aggregate.close().guarantee
    assert release == here.guarantee
    assert release.epsilon == pytest.approx(epsilon) and release.trust == "local"
    for verb in (
        ReportAggregate.close,
        ReportAggregate.take,
        ReportAggregate.take_sum,
        ReportAggregate.__init__,
        Sum.from_bytes,
        open_aggregate,
    ):
        assert not {"guarantee", "promise", "epsilon"} & set(inspect.signature(verb).parameters)


def test_reports_of_a_weak_design_are_not_certified_by_a_strong_one() -> None:
    """Reports of epsilon 6 are not released under Local(0.001)."""
    strong = design(QUESTION, Local(0.001), Schedule.every(5), "sound", "laplace")
    aggregate = open_aggregate(strong)
    with pytest.raises(FormatError, match="another design"):
        aggregate.take(cells_of(BY, 1).to_bytes(BY))
    with pytest.raises(InvalidInput, match="another design"):
        aggregate.take_sum(Sum(BY.digest, np.zeros((1, BY.question.width), dtype=np.int64), np.array([3])))
    assert aggregate.users == 0


def test_a_book_of_episodes_is_not_for_everybody() -> None:
    curator = design(QUESTION, Joint(1.0), Schedule.every(5))
    with refused("messages-are-episodes"):
        open_aggregate(curator)


# Sums.


def test_a_sum_is_a_sum_in_any_order() -> None:
    first, second = opened(), opened()
    reports = several(5)
    for one, other in zip(reports, reversed(reports), strict=True):
        first.take(one)
        second.take(other.to_bytes(BY))
    assert first.to_bytes() == second.to_bytes()
    assert np.array_equal(first.total.cells[0], sum(one.cells for one in reports))
    assert first.total.people.tolist() == [5] and first.users == 5


def test_sums_merge_in_any_order_and_two_servers_count_what_one_would() -> None:
    parts = []
    for share in (several(6)[:1], several(6)[1:3], several(6)[3:]):
        aggregate = opened()
        for report in share:
            aggregate.take(report)
        parts.append(Sum.from_bytes(aggregate.to_bytes(), BY))
    whole = opened()
    for report in several(6):
        whole.take(report)
    for order in itertools.permutations(parts):
        aggregate = opened()
        for part in order:
            aggregate.take_sum(part)
        assert aggregate.to_bytes() == whole.to_bytes()
    assert parts[0].users == 1  # and what was merged is as it was


def test_a_step_is_counted_in_its_row() -> None:
    aggregate, width = opened(STEPS), STEPS.question.width
    message = np.eye(width, dtype=np.int64)[2]
    aggregate.take(Report(STEPS.digest, STEPS.question.digest, message, 2))
    assert aggregate.total.people.tolist() == [0, 0, 1]
    assert aggregate.total.cells.sum(axis=1).tolist() == [0, 0, 1]
    for row in (-1, 3, 1_000_000):
        with refused("report-level-or-row"):
            aggregate.take(Report(STEPS.digest, STEPS.question.digest, message, row))
    assert aggregate.total.people.tolist() == [0, 0, 1]


def test_a_release_of_whole_episodes_is_the_sum_on_its_grid() -> None:
    asked = QUESTION.having(parts=(CENTRED, TRANSITIONS), last="counted")
    by = design(asked, Local(6.0), Schedule.sized(9, 9), "sound", "laplace", failure=0.05)
    assert by.mechanism == Laplace(by.mechanism.scale, 0.5)
    aggregate = opened(by)
    report = cells_of(by, *range(by.question.width))
    for _ in range(3):
        aggregate.take(report)
    release = aggregate.close()
    assert release.users == 3 and release.failure == 0.05
    assert np.array_equal(release.counts.transitions, unpack(asked, 1.5 * report.cells).transitions)
    assert release.guarantee == by.guarantee
    assert release.radius == Radius(*by.radii(3).tolist())
    assert release.noise.own == 1.0
    assert release.noise.transitions == pytest.approx(3 * by.mechanism.variance())


def test_a_book_goes_on_after_a_restart_and_gives_the_same_release() -> None:
    aggregate = opened()
    aggregate.take(several(1)[0])
    again = ReportAggregate.from_bytes(aggregate.to_bytes(), BY)
    for one in (aggregate, again):
        one.take(several(2)[1])
    assert again.to_bytes() == aggregate.to_bytes()
    release, direct = again.close(), aggregate.close()
    assert release.users == direct.users == 2 and release.radius == direct.radius
    assert all(np.array_equal(mine, yours) for mine, yours in zip(release.counts, direct.counts, strict=True))


def bad_sums() -> dict[str, Sum]:
    low, high = limits(BY)
    width = BY.question.width
    one = np.array([1])
    k = STEPS.question.width
    return {
        "too high": Sum(BY.digest, (high + 1)[None], one),
        "too low": Sum(BY.digest, (low - 1)[None], one),
        "of nobody": Sum(BY.digest, np.ones((1, width), dtype=np.int64), np.array([0])),
        "of fewer than nobody": Sum(BY.digest, np.zeros((1, width), dtype=np.int64), -one),
        "of more than can be counted": Sum(BY.digest, np.zeros((1, width), dtype=np.int64), one << 61),
        "of another shape": Sum(BY.digest, np.zeros((1, width + 1), dtype=np.int64), one),
        "of more rows": Sum(BY.digest, np.zeros((2, width), dtype=np.int64), np.array([1, 1])),
        "of another shuffler": Sum(BY.digest, np.zeros((1, width), dtype=np.int64), one, 1),
        "two ones a person": Sum(STEPS.digest, np.eye(3, k, dtype=np.int64) * 2, np.ones(3, dtype=np.int64)),
    }


@pytest.mark.parametrize("name", list(bad_sums()))
def test_a_sum_that_no_honest_reports_add_up_to_is_refused_and_changes_nothing(name: str) -> None:
    bad = bad_sums()[name]
    by = STEPS if bad.design == STEPS.digest else BY
    aggregate = opened(by)
    before = aggregate.to_bytes()
    with pytest.raises(InvalidInput):
        aggregate.take_sum(bad)
    assert aggregate.to_bytes() == before
    with pytest.raises(FormatError, match="not a sum"):
        Sum.from_bytes(bad.to_bytes(), by)


def test_sums_that_would_outgrow_64_bits_together_are_refused() -> None:
    furthest = int(np.abs(limits(BY)[1]).max())
    many = (1 << 62) // furthest - 1
    huge = Sum(BY.digest, np.zeros((1, BY.question.width), dtype=np.int64), np.array([many]))
    aggregate = opened()
    aggregate.take_sum(huge)
    before = aggregate.to_bytes()
    with refused("report-too-many-people"):
        aggregate.take_sum(huge)
    assert aggregate.to_bytes() == before


def test_bytes_that_are_no_sum_are_refused() -> None:
    aggregate = opened()
    aggregate.take(several(1)[0])
    good = aggregate.to_bytes()
    report = several(1)[0].to_bytes(BY)
    for bad in (b"", good[:-8], report, good.replace(b"confide.sum/2", b"confide.sum/9"), good + b"1"):
        with pytest.raises(FormatError, match="not a sum"):
            ReportAggregate.from_bytes(bad, BY)


def test_noise_of_replayed_people_is_for_simulation() -> None:
    """The whole way for a few people, within the radius that the design states."""
    person = Trajectory(np.array([0, 1, 1, 0]), np.array([1, 0, 1]), np.array([1.0, 0.0, 1.0]))
    aggregate, noise = opened(), ReplayableNoise(4)
    for _ in range(40):
        aggregate.take(respond(BY, None, person, noise, simulated=True))
    release = aggregate.close()
    assert abs(release.counts.visits[0, 1, 0] - 40) <= release.radius.visits
    assert abs(release.counts.visits[0, 0, 0]) <= release.radius.visits
