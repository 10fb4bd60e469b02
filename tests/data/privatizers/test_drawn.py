"""What this many people would have sent, drawn at once: the law of their summed reports, for every mechanism and question.

Sums drawn at once and sums of single reports are two samples. The means and spreads of each cell, of sums over cells, and
of the distance from the middle are compared, two-sided. If nothing is wrong a test fails with probability at most
FALSE_ALARM (draws are seeded, so it fails always or never); a mutant with half the noise fails it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from confide.data.privatizers import drawn, open_aggregate, respond
from confide.data.privatizers.curator import Total
from confide.data.statistics.answers import answer
from confide.data.trajectories import Trajectory
from confide.errors import UnsafeNoise
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.bounded import Bounded
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.unary import SampledStep
from confide.privacy import Act, Central, Joint, Local, Schedule, Shuffle
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import DROPPED
from confide.protocol.releases import Report, Submission, Sum
from confide.protocol.releases.report import check_range
from confide.protocol.trusts.mixing import Mixing
from tests.everyday import first_of
from tests.protocol.making import design

FALSE_ALARM = 1e-6
PEOPLE, ROUNDS = 12, 200
SPEC = Spec(2, 1, 2)


def counts(model: str = STATIONARY, **words: Any) -> CountQuestion:
    return CountQuestion(SPEC.with_dynamics(model), last=DROPPED, **words)


def local(mechanism: str, model: str = STATIONARY, calibration: str = "tight") -> Design:
    return design(counts(model), Local(3.0, 1e-5), Schedule.every(99), calibration, mechanism)


def shuffled(mechanism: str, model: str = STATIONARY, **mixing: Any) -> Design:
    sized, mixed = Schedule.sized(100, 50), Mixing(50, **mixing)
    return design(counts(model), Shuffle(2.0, 1e-3), sized, "tight", mechanism, mixing=mixed)


def bounded() -> Design:
    question = CountQuestion(SPEC, ("centred", "transitions"))
    act = Act(Bounded(20.0, 1 / question.resolution), question.price())
    return Design(question, act, Local(3.0, 0.01), "tight", Schedule.every(99))


DESIGNS = {
    "laplace": lambda: local("laplace"),
    "laplace per step": lambda: local("laplace", PER_STEP, "sound"),
    "gaussian": lambda: local("gaussian"),
    "bounded": bounded,
    "randomised response": lambda: local("randomised-response"),
    "unary": lambda: local("unary"),
    "unary per step": lambda: local("unary", PER_STEP),
    "k-ary": lambda: local("k-ary"),
    "k-ary per step": lambda: local("k-ary", PER_STEP),
    "subset": lambda: local("subset"),
    "asked": lambda: design(counts(), Local(0.5), Schedule.every(99), "tight", "asked-subset"),
    "shuffled bits": lambda: shuffled("shuffled-bits"),
    "shuffled rewards of three bits": lambda: shuffled("shuffled-bits", reward_bits=3),
    "shuffled step": lambda: shuffled("shuffled-step"),
    "shuffled step per step": lambda: shuffled("shuffled-step", PER_STEP),
    "shuffled tree": lambda: shuffled("shuffled-bits", tree=True),
}


def crowd() -> list[Trajectory]:
    rng = np.random.default_rng(5)
    return [
        Trajectory(rng.integers(0, 2, 3), np.zeros(2, dtype=np.int64), rng.integers(0, 2, 2).astype(float))
        for _ in range(PEOPLE)
    ]


def one_by_one(by: Design, people: list[Trajectory], seed: int) -> list[tuple[Sum, ...]]:
    """Sums of every user's reports, round by round, for each shuffler that gets one."""
    noise, rounds = ReplayableNoise(seed), []
    for _ in range(ROUNDS):
        totals = {}
        for person in people:
            sent = respond(by, None, person, noise, simulated=True)
            for message in sent if isinstance(sent, tuple) else (sent,):
                report = message.report if isinstance(message, Submission) else message
                assert isinstance(report, Report)
                totals.setdefault(report.level, Sum.empty(by, report.level)).add(report)
        rounds.append(tuple(totals[level] for level in sorted(totals)))
    return rounds


def totals_of(by: Design, people: list[Trajectory], noise: ReplayableNoise) -> tuple[np.ndarray, np.ndarray]:
    """Exact totals, row by row, and how many are in each: where steps are sampled, who tells of which is drawn."""
    question, grid = by.question, by.devices[0].grid
    totals, given = np.zeros((question.rows, question.width)), np.zeros(question.rows, dtype=np.int64)
    for person in people:
        row, cells = answer(question.kind, question, person, grid, noise.integers)
        totals[row] += cells * grid
        given[row] += 1
    return totals, given


def at_once(by: Design, totals_by: Design, people: list[Trajectory], seed: int) -> list[tuple[Sum, ...]]:
    noise, rng = ReplayableNoise(seed), np.random.default_rng(seed)
    return [tuple(drawn(by, *totals_of(totals_by, people, noise), rng)) for _ in range(ROUNDS)]


def statistics(by: Design, rounds: list[tuple[Sum, ...]], level: int, weights: np.ndarray) -> np.ndarray:
    """(rounds, ...) in counts: every cell; all cells weighed by what they tell; every other one; people by row."""
    cells = np.array([sums[level].cells.ravel() for sums in rounds]) * by.devices[level].grid
    people = np.array([sums[level].people for sums in rounds], dtype=np.float64)
    return np.column_stack([cells, cells @ weights, cells[:, ::2].sum(axis=1), people])


def differs(one: np.ndarray, other: np.ndarray, tests: int) -> bool:
    """Whether two samples of a cell differ in mean or in spread: Welch's test and Levene's, each two-sided."""
    if (one == one[0]).all() and (other == one[0]).all():
        return False
    chance = FALSE_ALARM / tests
    return bool(
        stats.ttest_ind(one, other, equal_var=False).pvalue < chance or stats.levene(one, other).pvalue < chance
    )


def alike(
    by: Design, people: list[Trajectory], first: list[tuple[Sum, ...]], second: list[tuple[Sum, ...]], to: Any
) -> bool:
    """Whether two samples of sums, made by `by` and by `to`, may have the same law."""
    expected = np.mean([totals_of(by, people, ReplayableNoise(99))[0] for _ in range(50)], axis=0).ravel()
    levels = len(first[0])
    assert levels == len(second[0])
    weights = expected - expected.mean()
    tables = [(statistics(by, first, each, weights), statistics(to, second, each, weights)) for each in range(levels)]
    tests = 2 * sum(one.shape[1] + 1 for one, _ in tables)
    for one, other in tables:
        cells = slice(0, len(weights))
        middle = np.vstack([one[:, cells], other[:, cells]]).mean(axis=0)
        spreads = [((mine[:, cells] - middle) ** 2).sum(axis=1) for mine in (one, other)]
        columns = [*zip(one.T, other.T, strict=True), tuple(spreads)]
        if any(differs(mine, yours, tests) for mine, yours in columns):
            return False
    return True


def half_the_noise(mechanism: Any) -> Any:
    """The same mechanism with half the noise: half the scale, or twice the epsilon."""
    for name in ("scale", "sigma", "bound"):
        if hasattr(mechanism, name):
            return replace(mechanism, **{name: getattr(mechanism, name) / 2})
    if isinstance(mechanism, RandomizedResponse):
        return replace(mechanism, bit_epsilon=2 * mechanism.bit_epsilon)
    assert isinstance(mechanism, SampledStep)
    return replace(mechanism, epsilon=2 * mechanism.epsilon)


class HalfNoiseDesign:
    """A design whose devices draw half of their noise; all else is as it was."""

    def __init__(self, design: Design) -> None:
        self._design = design

    def __getattr__(self, name: str) -> Any:
        result = getattr(self._design, name)
        return tuple(map(half_the_noise, result)) if name == "devices" else result


@pytest.mark.parametrize("name", first_of(DESIGNS))
def test_sums_drawn_at_once_have_the_law_of_summed_reports_and_half_the_noise_has_not(name: str) -> None:
    by, people = DESIGNS[name](), crowd()
    mutant: Any = HalfNoiseDesign(by)
    single = one_by_one(by, people, 1)
    assert alike(by, people, single, at_once(by, by, people, 2), by)
    assert not alike(by, people, single, at_once(mutant, by, people, 2), mutant)


@pytest.mark.parametrize("name", DESIGNS)
def test_books_take_what_is_drawn(name: str) -> None:
    """Within the limits of honest reports, however many people there are."""
    by = DESIGNS[name]()
    width, rows = by.question.width, by.question.rows
    many = 50 if by.mixing else 10**6
    share = np.full(rows, many // rows, dtype=np.int64)
    share[0] += many - share.sum()
    totals = np.zeros((rows, width))
    totals[:, 1] = share
    aggregate = open_aggregate(by)
    for total in drawn(by, totals, share, np.random.default_rng(3)):
        for row in range(rows):
            check_range(by, total.cells[row], int(total.people[row]), total.level)
        aggregate.take_sum(total)
    assert aggregate.users == many and aggregate.close().users == many


def test_k_ary_sums_name_one_category_a_person() -> None:
    by = local("k-ary")
    totals = np.zeros((1, by.question.width))
    totals[0, :4] = (5, 0, 90, 5)
    for seed in range(50):
        (total,) = drawn(by, totals, np.array([100]), np.random.default_rng(seed))
        assert total.cells.sum() == 100 and (total.cells >= 0).all()


def test_a_curator_gets_the_totals_themselves() -> None:
    question = counts()
    for promise in (Joint(2.0, 1e-5), Central(2.0)):
        by = design(question, promise, Schedule.every(1))
        asked = by.question
        unit = by.mechanism.grid if promise.trust == "joint" else 1 / asked.resolution
        totals = np.arange(asked.width, dtype=float)[None] / asked.resolution
        (total,) = drawn(by, totals, np.array([9]), np.random.default_rng(0))
        assert isinstance(total, Total) and total.people == 9
        np.testing.assert_allclose(total.cells * unit, totals[0])


def test_real_people_are_not_drawn() -> None:
    by = local("laplace")
    totals = np.zeros((1, by.question.width))
    for source in (SecureNoise(), None, 7):
        with pytest.raises(UnsafeNoise, match="Only simulated users"):
            drawn(by, totals, np.array([9]), source)
