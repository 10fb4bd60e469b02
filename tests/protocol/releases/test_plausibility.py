"""Alarms: honest sums raise none, and extreme ones do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from confide import Local
from confide.mdp import Spec
from confide.privacy import Schedule
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases.plausibility import divergence, implausible
from confide.protocol.releases.sums import Sum

FALSE_ALARMS = 1e-3
NAMES = ["asked-k-ary", "asked-subset", "asked-unary"]


def design_of(name: str) -> Design:
    return make(Request(CountQuestion(Spec(3, 2, 6)), Local(2.0), Schedule.every(2000), mechanism=name, budget=0))


def honest(design: Design, people: int, rng: np.random.Generator) -> Sum:
    """Reports of people of whom everybody has a category of their own drawing, as mechanisms draw sums."""
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
