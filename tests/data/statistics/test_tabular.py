"""Counts against an independent counter, and rewards rounded without bias."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.data.statistics import admit, count, round_rewards
from confide.data.trajectories import Trajectory
from confide.mdp import PER_STEP, STATIONARY, Spec
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
)
from tests.refusals import refused

CellCounts = Counter[tuple[Any, ...]]


def naive(question: CountQuestion, states: list[int], actions: list[int], rewards: list[Fraction]) -> CellCounts:
    """(part, layer, s, a[, s']) -> exact amount, step by step and by nothing but the definitions."""
    tallies: CellCounts = Counter()
    for step, (state, action, reward) in enumerate(zip(states, actions, rewards, strict=False)):
        layer = step if question.spec.dynamics == PER_STEP and question.spec.horizon > 1 else 0
        paid = 1 - reward if question.objective == "cost" else reward
        half = Fraction(1, 2)
        for part, amount in ((VISITS, 1), (REWARDS, paid), (SQUARES, paid**2), (CENTRED, paid - half), (HALVES, half)):
            if part in question.parts:
                tallies[part, layer, state, action] += amount  # type: ignore[assignment]
        final = step == len(actions) - 1
        if TRANSITIONS not in question.parts or (final and question.last == DROPPED):
            continue
        following = question.spec.states if final and question.last == END else states[step + 1]
        tallies[TRANSITIONS, layer, state, action, following] += 1
    return tallies


@st.composite
def asked(draw: st.DrawFn) -> tuple[CountQuestion, list[int], list[int], list[int]]:
    spec = Spec(
        draw(st.integers(1, 4)),
        draw(st.integers(1, 3)),
        draw(st.integers(1, 5)),
        draw(st.sampled_from([STATIONARY, PER_STEP])),
    )
    chosen = draw(st.sets(st.sampled_from(sorted({*PARTS} - {HALVES})), min_size=1))
    parts = tuple(part for part in PARTS if part in chosen)
    last = draw(st.sampled_from([COUNTED, DROPPED, END]))
    if last != DROPPED and draw(st.integers(0, 4)) == 0:
        parts = FREE_VISITS
    question = CountQuestion(
        spec,
        parts,
        last,
        draw(st.integers(1, 9)),
        draw(st.sampled_from(["reward", "cost"])),
    )
    steps = draw(st.integers(0, spec.horizon))
    known = steps + (question.last == COUNTED or draw(st.booleans()))
    states = draw(st.lists(st.integers(0, spec.states - 1), min_size=known, max_size=known))
    actions = draw(st.lists(st.integers(0, spec.actions - 1), min_size=steps, max_size=steps))
    levels = draw(st.lists(st.integers(0, question.levels), min_size=steps, max_size=steps))
    return question, states, actions, levels


@given(asked())
def test_counts_are_those_of_an_independent_counter(
    drawn: tuple[CountQuestion, list[int], list[int], list[int]],
) -> None:
    question, states, actions, levels = drawn
    rewards = [Fraction(level, question.levels) for level in levels]
    episode = Trajectory(
        np.array(states, dtype=np.int64), np.array(actions, dtype=np.int64), np.array(levels) / question.levels
    )
    cells = count(question, episode, np.array(levels, dtype=np.int64))
    assert cells.dtype == np.int64
    assert cells.shape == (question.cells,)
    expected = naive(question, states, actions, rewards)
    tallies: CellCounts = Counter()
    for part, where in question.slices.items():
        block = cells[where].reshape(question.shape(part))
        for index in np.argwhere(block):
            tallies[(part, *map(int, index))] = Fraction(int(block[tuple(index)]), question.resolution)  # type: ignore[assignment]
    assert tallies == Counter({key: value for key, value in expected.items() if value})


def test_one_episode_in_full() -> None:
    """Two states, one action, two steps: 0 -> 1 -> 0, paid 1 and 0."""
    episode = Trajectory(np.array([0, 1, 0]), np.array([0, 0]), np.array([1.0, 0.0]))
    levels = np.array([1, 0])
    question = CountQuestion(Spec(2, 1, 2), (VISITS, REWARDS, TRANSITIONS), COUNTED)
    assert count(question, episode, levels).tolist() == [1, 1, 1, 0, 0, 1, 1, 0]
    assert count(question.having(last=DROPPED), episode, levels).tolist() == [1, 1, 1, 0, 0, 1, 0, 0]
    assert count(question.having(last=END), episode, levels).tolist() == [1, 1, 1, 0, 0, 1, 0, 0, 0, 1]
    centred = question.having(parts=(CENTRED, TRANSITIONS), objective="cost")
    assert centred.resolution == 2
    assert count(centred, episode, levels).tolist() == [-1, 1, 0, 2, 2, 0]


def test_squares_and_centred_rewards_together_stay_whole() -> None:
    """At one level a centred reward is a half; at q levels a square is a multiple of 1/q^2."""
    episode = Trajectory(np.array([0, 0]), np.array([0]), np.array([1.0]))
    for levels, resolution in ((1, 2), (3, 18), (4, 32)):
        question = CountQuestion(Spec(1, 1, 1), (SQUARES, CENTRED, TRANSITIONS), COUNTED, levels)
        assert question.resolution == resolution
        cells = count(question, episode, np.array([levels])) / resolution
        assert cells.tolist() == [1.0, 0.5, 1.0]


# What does not fit the question is refused, before anything is counted.


@pytest.mark.parametrize(
    ("states", "actions", "rewards", "sentence"),
    [
        ([0] * 4, [0] * 3, [0.0] * 3, "episode-too-long"),
        ([0, 2, 0], [0, 0], [0.0, 0.0], "index-out-of-range: states"),
        ([0, -1, 0], [0, 0], [0.0, 0.0], "index-out-of-range: states"),
        ([0, 1, 0], [0, 1], [0.0, 0.0], "index-out-of-range: actions"),
        ([0, 1, 0], [0, 0], [0.0, 1.5], "reward-out-of-range"),
        ([0, 1, 0], [0, 0], [0.0, -0.5], "reward-out-of-range"),
        ([0, 1, 0], [0, 0], [0.0, math.nan], "reward-out-of-range"),
        ([0, 1, 0], [0, 0], [0.0], "episode-arrays-lengths"),
        ([0], [0, 0], [0.0, 0.0], "episode-arrays-lengths"),
        ([0, 1], [0, 0], [0.0, 0.0], "last-state-unknown"),
    ],
)
@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_an_episode_of_other_sizes_is_refused(
    states: list[int], actions: list[int], rewards: list[float], sentence: str, model: str
) -> None:
    """One that was checked against a larger world would move the counts further than the sensitivity says."""
    question = CountQuestion(Spec(2, 1, 2, model))
    episode = Trajectory(np.array(states), np.array(actions), np.array(rewards))
    with refused(sentence):
        admit(question, episode)
    with refused(sentence):
        count(question, episode, np.zeros(len(actions), dtype=np.int64))


# Rounding.


@given(st.lists(st.floats(0, 1), max_size=20), st.integers(1, 4096), st.integers(0, 2**32))
def test_rounded_rewards_stay_in_range_and_next_to_the_reward(rewards: list[float], levels: int, seed: int) -> None:
    values = np.array(rewards, dtype=np.float64)
    for uniforms in (
        np.zeros(len(values)),
        np.full(len(values), 1 - 2**-53),
        np.random.default_rng(seed).random(len(values)),
    ):
        result = round_rewards(values, levels, uniforms)
        assert result.dtype == np.int64
        assert (result >= 0).all()
        assert (result <= levels).all()
        assert (np.abs(result - values * levels) <= 1).all()


@given(st.floats(0, 1), st.integers(1, 50))
def test_rounding_keeps_the_mean_exactly(reward: float, levels: int) -> None:
    """Averaged over all uniforms: the chance of rounding up is the fraction."""
    scaled = np.array([reward * levels])
    fraction = float((scaled - np.floor(scaled))[0])
    fine = np.linspace(0, 1, 2001)[:-1]
    up = round_rewards(np.full(fine.size, reward), levels, fine) - math.floor(reward * levels)
    assert abs(float(up.mean()) - fraction) <= 1 / 2000


def test_rewards_on_a_level_stay_there() -> None:
    for levels in (1, 2, 4):
        for level in range(levels + 1):
            for uniform in (0.0, 0.999):
                assert round_rewards(np.array([level / levels]), levels, np.array([uniform]))[0] == level
