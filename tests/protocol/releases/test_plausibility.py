"""Alarms: honest sums raise none, and extreme ones do."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from confide import Local
from confide.data.statistics.answers import answer
from confide.data.trajectories import Trajectory
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.privacy import Guarantee, Schedule
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases.plausibility import divergence, doubtful_rows, excess, implausible
from confide.protocol.releases.report import limits
from confide.protocol.releases.sums import Sum
from confide.protocol.trusts.mixing import Mixing

FALSE_ALARMS = 1e-3
NAMES = ["asked-k-ary", "asked-subset", "asked-unary"]


def design_of(name: str) -> Design:
    return make(Request(CountQuestion(Spec(3, 2, 6)), Local(2.0), Schedule.every(2000), mechanism=name, budget=0))


def honest(design: Design, people: int, rng: np.random.Generator) -> Sum:
    """Reports of people of whom every user has a category of their own drawing, as mechanisms draw sums."""
    total, question = Sum.empty(design), design.question
    rows = rng.multinomial(people, question.law / question.law.sum())
    for row, many in enumerate(rows):
        lived = rng.multinomial(many, rng.dirichlet(np.ones(question.width))).astype(np.float64)
        trials = np.ones(question.width, dtype=np.int64)
        total.cells[row] = design.mechanism.sum_of(lived, int(many), trials, rng)
        total.people[row] = many
    return total


@pytest.mark.parametrize("name", NAMES)
def test_honest_sums_raise_no_alarm_and_a_tenth_of_extreme_reports_does(name: str) -> None:
    design, rng = design_of(name), np.random.default_rng(0)
    width = design.question.width
    for _ in range(200):  # at a rate of 1e-3 each at most; this seed shows none
        assert implausible(design, honest(design, 2000, rng), design.question.law, FALSE_ALARMS) == ""
    for share in (0.1, 0.3):
        total = honest(design, int(2000 * (1 - share)), rng)
        bad = 2000 - total.users
        total.people[0] += bad
        total.cells[0, np.arange(width) < (design.mechanism.ones or width)] += bad
        assert "row 0" in implausible(design, total, design.question.law, FALSE_ALARMS)


def test_unary_reports_of_all_ones_are_seen_though_their_rows_are_right() -> None:
    design, rng = design_of("asked-unary"), np.random.default_rng(1)
    total = honest(design, 1800, rng)
    rows = rng.multinomial(200, design.question.law / design.question.law.sum())
    total.people[:] += rows
    total.cells[:] += rows[:, None]
    assert "on average" in implausible(design, total, design.question.law, FALSE_ALARMS)


def test_the_divergence_by_hand() -> None:
    assert divergence(0.5, 0.25) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    assert divergence(0.0, 0.25) == pytest.approx(-math.log(0.75))
    assert divergence(1.0, 0.25) == pytest.approx(math.log(4))
    assert divergence(0.25, 0.25) == 0.0


def test_excess_by_hand_and_doubts_at_about_their_rate() -> None:
    """400 of 2,000 where 333 are expected: sqrt(2 n KL) is 3.9; a row with fewer has none."""
    expected = np.full(6, 2000 / 6)
    people = np.array([400.0, 320, 320, 320, 320, 320])
    share = 0.2 * math.log(0.2 * 6) + 0.8 * math.log(0.8 / (5 / 6))
    assert (
        excess(people, expected)[0] == pytest.approx(math.sqrt(4000 * share)) and not excess(people, expected)[1:].any()
    )
    assert "row 0" in doubtful_rows(people, expected, 0.02) and not doubtful_rows(np.array([7.0]), np.array([5.0]), 0.5)
    rng, looks = np.random.default_rng(0), 4000
    for rows, many in ((6, 2000), (200, 300)):
        expected = np.full(rows, many / rows)
        drawn = rng.multinomial(many, np.full(rows, 1 / rows), size=looks)
        rate = np.mean([bool(doubtful_rows(one, expected, 0.02)) for one in drawn])
        assert 0.005 < rate < 0.05, "a fixed seed; 0.02 is meant, about"


COUNTED = ["laplace", "gaussian", "randomised-response", "per-step", "shuffled-bits", "shuffled-step", "budgeted"]
PEOPLE = 4000


@cache
def counting(name: str) -> Design:
    """Counts of episodes of six steps, to a server or to a shuffler."""
    asked = CountQuestion(Spec(3, 2, 6, PER_STEP if name == "per-step" else STATIONARY))
    if name.startswith("shuffled"):
        mixing = Mixing(PEOPLE)
        promise = Guarantee("shuffle", 1.0, 1e-6)
        return make(Request(asked, promise, mixing.schedule(PEOPLE), mechanism=name, mixing=mixing))
    noise = {"per-step": "laplace", "budgeted": "gaussian"}.get(name, name)
    promise, budget = Local(2.0, 1e-6 if noise == "gaussian" else 0.0), 8 if name == "budgeted" else 0
    return make(Request(asked, promise, Schedule.every(PEOPLE), mechanism=noise, budget=budget))


def everybody_at_a_corner(design: Design, people: int, rng: np.random.Generator) -> Sum:
    """Reports of people who all did the same: they stayed, and were paid always, or never. No sum is closer to its bounds."""
    total, noise, question = Sum.empty(design), design.devices[0], design.question
    grid, steps = getattr(noise, "grid", 1.0), question.spec.horizon
    stayed = Trajectory(
        np.zeros(steps + 1, dtype=int), np.zeros(steps, dtype=int), np.full(steps, rng.integers(2) * 1.0)
    )
    source = np.random.default_rng(0)
    _, cells = answer(question.kind, question, stayed, grid, lambda high, many: source.integers(high, size=many))
    summed = noise.sum_of(cells * grid * people, people, question.trials, rng)
    total.cells[0], total.people[0] = np.rint(summed / grid), people
    return total


@pytest.mark.parametrize("name", COUNTED)
def test_honest_counts_raise_no_alarm_and_a_tenth_of_extreme_reports_does(name: str) -> None:
    design, rng = counting(name), np.random.default_rng(0)
    assert design.kind.of_whole_episodes == (name != "shuffled-step")
    for _ in range(100):  # at a rate of 1e-3 each at most; this seed shows none
        assert implausible(design, everybody_at_a_corner(design, PEOPLE, rng), None, FALSE_ALARMS) == ""
    low, high = limits(design)
    for sent in (low, high):
        total = everybody_at_a_corner(design, PEOPLE - PEOPLE // 10, rng)
        total.people[0] += PEOPLE // 10
        total.cells[0] += PEOPLE // 10 * sent
        assert implausible(design, total, None, FALSE_ALARMS), (
            "all cells are as large, or as small, as one report may have them"
        )


@pytest.mark.parametrize("name", ["laplace", "gaussian", "budgeted"])
def test_one_cell_that_is_too_large_is_seen_though_the_total_is_right(name: str) -> None:
    """A tenth say the most of one cell, and make up for it in another."""
    design, rng = counting(name), np.random.default_rng(1)
    _, high = limits(design)
    total = everybody_at_a_corner(design, PEOPLE - PEOPLE // 10, rng)
    total.people[0] += PEOPLE // 10
    total.cells[0, -1] += PEOPLE // 10 * high[-1]
    total.cells[0, -2] -= PEOPLE // 10 * high[-1]
    assert "one cell of transitions" in implausible(design, total, None, FALSE_ALARMS)


@pytest.mark.parametrize("name", ["laplace", "gaussian", "budgeted", "shuffled-bits"])
def test_cells_that_could_be_each_are_seen_by_their_total(name: str) -> None:
    """A tenth claim two episodes in each cell of transitions that no one else fills: a fifth of what all could have done in one."""
    design, rng = counting(name), np.random.default_rng(2)
    total, steps = everybody_at_a_corner(design, PEOPLE, rng), design.question.spec.horizon
    assert implausible(design, total, None, FALSE_ALARMS) == ""
    where = design.counts.slices["transitions"]
    more = np.zeros(design.question.width)
    more[where.start + 1 : where.stop] = PEOPLE // 10 * 2 * steps
    flip = getattr(design.devices[0], "flip", 0.0)  # of bits: a count moves a sum of them by so much less
    total.cells[0] += np.rint(more * (1 - 2 * flip) / getattr(design.devices[0], "grid", 1.0)).astype(np.int64)
    assert "all cells together of transitions" in implausible(design, total, None, FALSE_ALARMS)
