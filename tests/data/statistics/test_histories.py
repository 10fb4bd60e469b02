"""Histories: up to m episodes of a person, drawn by a secret word, that spend one budget and have one return."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from confide.analysis.fitting.engines import Engine
from confide.analysis.fitting.engines import count as count_data
from confide.data.statistics.choosing import Register
from confide.data.statistics.counting import DatasetCounts, Judging
from confide.data.statistics.tabular import count, counted_in_history
from confide.data.trajectories import Trajectory, read
from confide.data.trajectories.keys import fresh_key
from confide.lab.audit.fits import rows
from confide.mdp import Spec
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.budgeted import BudgetedQuestion
from confide.protocol.kinds.counts import CENTRED, TRANSITIONS, VISITS

from .test_choosing import partial

SPEC = Spec(3, 2, 4)
COUNTS = CountQuestion(SPEC, (CENTRED, TRANSITIONS))
SIZES: dict[str, Any] = {"states": 3, "actions": 2, "horizon": 4, "fixed_length": True}

People = list[list[Trajectory]]


def drawn(people: int, most: int, seed: int) -> People:
    """People with 1 to this many episodes of four steps, who often stay."""
    rng = np.random.default_rng(seed)
    states = np.array([0, 0, 0, 1, 2])

    def episode() -> Trajectory:
        return Trajectory(rng.choice(states, 5), rng.integers(0, 2, 4), rng.integers(0, 2, 4).astype(np.float64))

    return [[episode() for _ in range(rng.integers(1, most + 1))] for _ in range(people)]


def counted(people: People, users: str, question: Any, **words: Any) -> DatasetCounts:
    table = pa.table(rows(people))
    batches = pa.Table.from_batches(
        table.to_batches(max_chunksize=7)
    )  # episodes and histories go on from batch to batch
    return count_data(read(batches, **SIZES, users=users), question, Engine(workers=1), **words)


def by_hand(question: BudgetedQuestion, people: People) -> np.ndarray:
    """The cells of every user, by the rule in plain Python."""
    cells = np.zeros(question.cells, dtype=np.int64)
    for history in people:
        for one, let_through in zip(history, counted_in_history(question, history), strict=True):
            cells += count(question.counts, one, one.rewards.astype(np.int64), let_through)
    return cells


@pytest.mark.parametrize("budget", [6, 9, 17, 40, 400])
def test_a_history_spends_one_budget_as_the_rule_says(budget: int) -> None:
    people = drawn(60, 5, seed=budget)
    question = BudgetedQuestion(COUNTS, budget, 5)
    counts = counted(people, "all:5", question).checked()
    assert np.array_equal(counts.cells, by_hand(question, people)) and counts.users == 60
    assert counts.came.tolist() == np.bincount([len(one) for one in people], minlength=6)[1:].tolist()
    everything = sum(len(one) * 4 for one in people)
    let_through = counts.cells[COUNTS.slices[TRANSITIONS]].sum() / question.resolution
    assert let_through == everything if budget == 400 else let_through < everything


def test_of_more_episodes_as_many_as_may_be_are_drawn_each_alike() -> None:
    """Of 5 episodes 2 are kept, each in 2 of 5 readings. Beyond 6 sigma is a false alarm of 2e-9."""
    draws, times = 2000, np.zeros(5)
    for _ in range(draws):
        register = Register.of([partial(0, [7, 7, 8, 7]), partial(1, [9, 7, 7])], fresh_key(), 2)
        assert register.people == 3 and len(register.person) == 4 and register.drawn[register.person == 7].sum() == 1
        kept = sorted(zip(register.part, register.skip, register.person, strict=True))
        assert {(0, 0, 8), (1, 0, 9)} <= set(kept)
        mine = [(int(part), int(skip)) for part, skip, who in kept if who == 7]
        assert len(mine) == 2
        for part, skip in mine:
            times[3 * part + skip] += 1
    assert (np.abs(times - draws * 2 / 5) < 6 * math.sqrt(draws * 6 / 25)).all()


@pytest.mark.parametrize("named", [True, False])
def test_nobody_has_more_episodes_counted_than_may_be(named: bool) -> None:
    """Each of 40 people has 6 episodes, in a place of its own; with names of their own, or known by their first step."""
    places = [Trajectory(np.full(5, s), np.full(4, a), np.zeros(4)) for s in range(3) for a in range(2)]
    table = rows([places] * 40)
    if not named:
        del table["episode"]
    question = BudgetedQuestion(COUNTS, 12**2, 3)
    data = read(pa.table(table), **SIZES, users="all:3")
    first, again = (count_data(data, question, Engine(workers=1)).checked() for _ in range(2))
    for counts in (first, again):
        stayed = counts.cells[COUNTS.slices[TRANSITIONS]].sum() / question.resolution
        assert stayed == 40 * 3 * 4 and counts.came.tolist() == [0, 0, 40] and counts.starts.sum() == 40
    assert not np.array_equal(
        first.cells, again.cells
    )  # others are drawn every time: alike with probability below 1e-20


def test_people_weigh_alike_in_first_states_and_returns_however_often_they_came() -> None:
    """One person with 20 episodes that pay all and begin in 1, and 19 with one each that pays nothing and begins in 0."""
    rich = Trajectory(np.ones(5, dtype=np.int64), np.zeros(4, dtype=np.int64), np.ones(4))
    poor = Trajectory(np.zeros(5, dtype=np.int64), np.zeros(4, dtype=np.int64), np.zeros(4))
    question = BudgetedQuestion(COUNTS, 160, 20)
    counts = counted([[rich] * 20, *([[poor]] * 19)], "all:20", question).checked()
    assert counts.starts[:2].tolist() == [19, 1]
    points = 1 << 14
    total, squares, many = counts.returns.tolist()
    assert many == 20 and total == (1 - 19) * points // 2 and squares == 20 * (points // 2) ** 2
    # Two episodes of one person that pay all and nothing count as the middle, once.
    mixed = counted([[rich, poor]], "all:2", BudgetedQuestion(COUNTS, 16, 2)).checked()
    assert mixed.returns.tolist() == [0, 0, 1] and mixed.starts.sum() == 1


def test_episodes_of_a_person_follow_each_other() -> None:
    people, question = drawn(2, 1, seed=3), BudgetedQuestion(COUNTS, 24, 3)
    several = [[people[0][0]] * 2, [people[1][0]]]
    table = pa.table(rows(several))  # eight rows of one person, four of another
    torn = pa.concat_tables([table.slice(0, 4), table.slice(8), table.slice(4, 4)])
    for sources in ((torn,), (table.slice(0, 4), table.slice(4))):
        problems = count_data(read(*sources, **SIZES, users="all:3"), question, Engine(workers=1)).problems
        assert [problem.code for problem in problems] == ["history-scattered"] and "--sort" in problems[0].sentence
        assert "row 1 of" in problems[0].sentence
        in_order = count_data(read(*sources, **SIZES, users="all:3", sort=True), question, Engine(workers=1)).checked()
        assert np.array_equal(in_order.cells, by_hand(question, several)) and in_order.users == 2


def test_those_who_judge_are_others_and_show_one_episode_each() -> None:
    people, question = drawn(100, 5, seed=4), BudgetedQuestion(COUNTS, 40**2, 5)
    counts = counted(people, "all:5", question, judging=Judging(0.3, True)).checked()
    assert counts.judging is not None and counts.judging.people == 30 and counts.users == 70
    assert len(counts.judging.states) == 30 * 4
    assert counts.came.sum() == 70 == counts.starts.sum() and counts.previous.sum() == 70 * 4
    # Together with those who judge no one is missing and no one is counted twice: the visits of those who are counted are
    # between those of the 70 people who came least often, and of those who came most.
    many = sorted(len(one) for one in people)
    visits = counts.cells[COUNTS.slices[TRANSITIONS]].sum() / question.resolution
    assert 4 * sum(many[:70]) <= visits <= 4 * sum(many[30:])


def test_without_a_budget_all_of_a_history_is_counted() -> None:
    people = drawn(30, 4, seed=5)
    question = CountQuestion(SPEC, (VISITS, TRANSITIONS))
    counts = counted(people, "all:4", question).checked()
    assert counts.cells[question.slices[VISITS]].sum() == sum(4 * len(one) for one in people)
