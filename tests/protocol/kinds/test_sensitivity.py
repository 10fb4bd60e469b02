"""Every sensitivity, to the last digit, by brute force over every pair of episodes of tiny worlds."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from confide.data.statistics import count
from confide.data.trajectories import Trajectory
from confide.errors import InvalidInput
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.privacy import ADD_REMOVE, REPLACE
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import (
    CENTRED,
    COUNTED,
    DROPPED,
    END,
    FREE_VISITS,
    HALVES,
    PARTS,
    REWARDS,
    SQUARES,
    TRANSITIONS,
    VISITS,
    nearest_centre,
)
from confide.protocol.kinds.sensitivity import sensitivity

LASTS = (COUNTED, DROPPED, END)
PAIRS = (CENTRED, TRANSITIONS)
CLASSIC = (VISITS, REWARDS, TRANSITIONS)
COMBINATIONS = [
    parts
    for size in range(1, len(PARTS) + 1)
    for parts in itertools.combinations(PARTS, size)
    if (CENTRED not in parts or TRANSITIONS in parts) and HALVES not in parts
]


@cache
def all_episodes(states: int, actions: int, horizon: int) -> list[Trajectory]:
    """Every episode of at most `horizon` steps with rewards of 0 and 1."""
    return [
        Trajectory(np.array(path), np.array(acts, dtype=np.int64), np.array(paid, dtype=np.float64))
        for steps in range(horizon + 1)
        for path in itertools.product(range(states), repeat=steps + 1)
        for acts in itertools.product(range(actions), repeat=steps)
        for paid in itertools.product((0, 1), repeat=steps)
    ]


def answers(question: CountQuestion) -> NDArray[np.float64]:
    """(different answers, cells), in counts."""
    sizes = question.spec.states, question.spec.actions, question.spec.horizon
    rows = [count(question, one, one.rewards.astype(np.int64)) for one in all_episodes(*sizes)]
    return np.unique(np.array(rows), axis=0) / question.resolution


def largest(found: NDArray[np.float64]) -> tuple[float, float, int]:
    """l1, l2^2 and number of cells of the largest differences."""
    gram = found @ found.T
    squares = np.diag(gram)
    l2 = float((squares[:, None] + squares[None, :] - 2 * gram).max())
    l1, cells = 0.0, 0
    for row in found:
        apart = np.abs(found - row)
        l1, cells = max(l1, float(apart.sum(axis=1).max())), max(cells, int((apart > 0).sum(axis=1).max()))
    return l1, l2, cells


def check(question: CountQuestion, exact: bool) -> None:
    result = answers(question)
    alone = (
        float(np.abs(result).sum(axis=1).max()),
        float((result**2).sum(axis=1).max()),
        int((result != 0).sum(axis=1).max()),
    )
    for neighbours, (l1, l2, cells) in ((REPLACE, largest(result)), (ADD_REMOVE, alone)):
        claimed = sensitivity(question, neighbours)
        assert l1 <= claimed.l1 + 1e-12
        assert l2 <= claimed.l2**2 + 1e-12
        assert cells <= claimed.cells
        assert sum(size * many for size, many in claimed.shifts) == pytest.approx(claimed.l1, abs=1e-12)
        assert all(size > 0 and many > 0 for size, many in claimed.shifts)
        if exact:
            assert claimed.l1 == pytest.approx(l1, abs=1e-12)
            assert claimed.l2**2 == pytest.approx(l2, abs=1e-12)


@pytest.mark.parametrize("parts", COMBINATIONS, ids="+".join)
@pytest.mark.parametrize("last", LASTS)
@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_every_combination_of_parts(parts: tuple[str, ...], last: str, model: str) -> None:
    """One state more or less, one action more or less, and one or two steps."""
    for states, actions, horizon in ((2, 1, 1), (2, 2, 1), (1, 2, 2), (2, 1, 2)):
        # With a single state or action there may be too little room for the worst pair; from two each on it exists.
        check(CountQuestion(Spec(states, actions, horizon, model), parts, last), exact=states > 1)


@pytest.mark.parametrize(
    "parts", [CLASSIC, PAIRS, (VISITS, *PAIRS), (VISITS, REWARDS, SQUARES, TRANSITIONS)], ids="+".join
)
@pytest.mark.parametrize("last", LASTS)
@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_the_questions_that_are_asked_over_three_steps(parts: tuple[str, ...], last: str, model: str) -> None:
    short_of_room = parts == PAIRS and last == DROPPED and model == STATIONARY
    check(CountQuestion(Spec(3, 1, 3, model), parts, last), exact=not short_of_room)


@pytest.mark.parametrize("last", [COUNTED, END])
@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_half_visits_beside_centred_rewards(last: str, model: str) -> None:
    """The least bound, by brute force; where transitions count fully it is no more than without half visits and chaining."""
    for sizes in ((2, 1, 1), (2, 2, 1), (2, 1, 2), (2, 2, 2), (3, 1, 3)):
        question = CountQuestion(Spec(*sizes, model), FREE_VISITS, last)
        check(question, exact=True)
        horizon = sizes[2]
        moves = 2 * (horizon if last == COUNTED else horizon - 1) + (2 if last == END else 0)
        pooled_moves = 2 * horizon**2 if last == COUNTED else 2 * (horizon - 1) ** 2 + 2
        square = moves + horizon if model == PER_STEP else pooled_moves + horizon**2
        assert sensitivity(question).l2 == pytest.approx(math.sqrt(square))


@pytest.mark.slow
@pytest.mark.parametrize("last", LASTS)
@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("sizes", [(2, 2, 3), (3, 1, 4)])
def test_pairs_over_longer_episodes(last: str, model: str, sizes: tuple[int, int, int]) -> None:
    short_of_room = last == DROPPED and model == STATIONARY and sizes[1] == 1
    check(CountQuestion(Spec(*sizes, model), PAIRS, last), exact=not short_of_room)


def test_centred_rewards_when_the_last_transition_is_dropped() -> None:
    """The one pooled bound that needs two actions: an equal pair distinguished by its reward only."""
    claimed = sensitivity(CountQuestion(Spec(2, 2, 2), PAIRS, DROPPED))
    assert largest(answers(CountQuestion(Spec(2, 2, 2), PAIRS, DROPPED)))[1] == pytest.approx(claimed.l2**2)
    three = CountQuestion(Spec(2, 1, 3), PAIRS, DROPPED)
    assert largest(answers(three))[1] == pytest.approx(sensitivity(three).l2 ** 2 - 0.5)


# The table of the formula sheet: released together, l1, l2^2 per step, l2^2 pooled.

TABLE = [
    (CLASSIC, COUNTED, lambda h: 6 * h, lambda h: 6 * h, lambda h: 6 * h**2),
    (CLASSIC, DROPPED, lambda h: 6 * h - 2, lambda h: 6 * h - 2, lambda h: 6 * h**2 - 4 * h + 2),
    (PAIRS, COUNTED, lambda h: 3 * h, lambda h: 2.5 * h + math.ceil(h / 2) / 2, lambda h: 2.5 * h**2 if h > 1 else 3),
    (
        PAIRS,
        DROPPED,
        lambda h: 3 * h - 2,
        lambda h: 2 * (h - 1) + h / 2 + math.ceil(h / 2) / 2,
        lambda h: 2.5 * h**2 - 4 * h + 2.5,
    ),
    (
        PAIRS,
        END,
        lambda h: 3 * h,
        lambda h: 2.5 * h + math.floor(h / 2) / 2,
        lambda h: {1: 2.5, 2: 6.5}.get(h, 2.5 * h**2 - 4 * h + 4),
    ),
    ((VISITS, *PAIRS), COUNTED, lambda h: 5 * h, lambda h: 4.5 * h, lambda h: 4.5 * h**2),
    ((VISITS, *PAIRS), DROPPED, lambda h: 5 * h - 2, lambda h: 4.5 * h - 2, lambda h: 4.5 * h**2 - 4 * h + 2),
    ((TRANSITIONS,), COUNTED, lambda h: 2 * h, lambda h: 2 * h, lambda h: 2 * h**2),
    ((VISITS, TRANSITIONS), COUNTED, lambda h: 4 * h, lambda h: 4 * h, lambda h: 4 * h**2),
    (
        (VISITS, REWARDS, SQUARES, TRANSITIONS),
        DROPPED,
        lambda h: 8 * h - 2,
        lambda h: 8 * h - 2,
        lambda h: 8 * h**2 - 4 * h + 2,
    ),
]


@pytest.mark.parametrize(("parts", "last", "l1", "per_step", "pooled"), TABLE)
@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 20])
def test_the_formula_sheet(parts, last, l1, per_step, pooled, horizon: int) -> None:  # type: ignore[no-untyped-def]
    for model, l2 in ((PER_STEP, per_step), (STATIONARY, pooled)):
        price = sensitivity(CountQuestion(Spec(5, 3, horizon, model), parts, last))
        assert price.l1 == l1(horizon)
        assert price.l2**2 == pytest.approx(l2(horizon), rel=1e-14)


# Rewards between 0 and 1.


@st.composite
def pairs_of_episodes(draw: st.DrawFn) -> tuple[CountQuestion, list[NDArray[np.float64]]]:
    """A question and two answers to it, with rewards on any of the levels."""
    spec = Spec(2, 2, draw(st.integers(1, 4)), draw(st.sampled_from([STATIONARY, PER_STEP])))
    levels = draw(st.integers(1, 12))
    question = CountQuestion(spec, draw(st.sampled_from(COMBINATIONS)), draw(st.sampled_from(LASTS)), levels)
    rows = []
    for _ in range(2):
        steps = draw(st.integers(0, spec.horizon))
        states = draw(st.lists(st.integers(0, 1), min_size=steps + 1, max_size=steps + 1))
        actions = draw(st.lists(st.integers(0, 1), min_size=steps, max_size=steps))
        paid = np.array(draw(st.lists(st.integers(0, levels), min_size=steps, max_size=steps)), dtype=np.int64)
        episode = Trajectory(np.array(states), np.array(actions, dtype=np.int64), paid / levels)
        rows.append(count(question, episode, paid) / question.resolution)
    return question, rows


@given(pairs_of_episodes())
def test_rewards_inside_the_range_move_nothing_further(drawn: tuple[CountQuestion, list[NDArray[np.float64]]]) -> None:
    question, (first, second) = drawn
    claimed, alone = sensitivity(question), sensitivity(question, ADD_REMOVE)
    apart = np.abs(first - second)
    assert apart.sum() <= claimed.l1 + 1e-9
    assert (apart**2).sum() <= claimed.l2**2 + 1e-9
    assert (apart > 1e-12).sum() <= claimed.cells
    assert np.abs(first).sum() <= alone.l1 + 1e-9
    assert (first**2).sum() <= alone.l2**2 + 1e-9


def test_centred_rewards_alone_are_not_asked_for() -> None:
    with pytest.raises(InvalidInput, match="together with transitions"):
        sensitivity(CountQuestion(Spec(2, 2, 2), (VISITS, CENTRED)))


def centred_answers(question: CountQuestion) -> NDArray[np.float64]:
    """(different answers, cells) of rewards centred elsewhere, in counts."""
    sizes = question.spec.states, question.spec.actions, question.spec.horizon
    rows = [count(question, one, (one.rewards * question.levels).astype(np.int64)) for one in all_episodes(*sizes)]
    return np.unique(np.array(rows), axis=0) / question.resolution


@pytest.mark.parametrize("centre", [5 / 16, 0.25, 0.0, 0.75])
@pytest.mark.parametrize("last", LASTS)
@pytest.mark.parametrize("parts", [PAIRS, (VISITS, *PAIRS), FREE_VISITS], ids="+".join)
def test_rewards_centred_elsewhere(parts: tuple[str, ...], last: str, centre: float) -> None:
    """Exact per step and with visits; pooled, centred rewards alone are priced as if all moves distinguished people."""
    if parts == FREE_VISITS and last == DROPPED:
        return
    for model, sizes in itertools.product((STATIONARY, PER_STEP), ((2, 2, 1), (2, 1, 2), (2, 2, 2), (2, 1, 3))):
        question = CountQuestion(Spec(*sizes, model), parts, last, 16, centre=centre)
        cells = centred_answers(question)
        low, high = question.range
        assert (cells >= low).all() and (cells <= high).all()
        (l1, l2, many), claimed = largest(cells), question.price()
        assert l1 <= claimed.l1 + 1e-12 and l2 <= claimed.l2**2 + 1e-12 and many <= claimed.cells
        assert sum(size * times for size, times in claimed.shifts) == pytest.approx(claimed.l1)
        if sizes == (2, 2, 2) and (model == PER_STEP or parts != PAIRS) and (last != END or model == PER_STEP):
            assert (claimed.l1, claimed.l2**2) == pytest.approx((l1, l2))


def test_the_centre_is_on_the_grid_and_in_the_bytes() -> None:
    question = CountQuestion(Spec(2, 2, 3), PAIRS, levels=16, centre=5 / 16)
    assert CountQuestion.from_bytes(question.to_bytes()) == question != question.having(centre=0.5)
    assert question.having(centre=0.5).to_bytes() == CountQuestion(Spec(2, 2, 3), PAIRS, levels=16).to_bytes()
    assert question.digest != question.having(centre=0.5).digest
    for level in (0.3, -0.1, 1.1, float("nan")):
        with pytest.raises(InvalidInput, match="reward centre"):
            question.having(centre=level)
    assert [nearest_centre(level, 16) for level in (0.0, 0.01, 0.293, 0.5, 1.0)] == [0.0, 0.0, 9 / 32, 0.5, 1.0]
