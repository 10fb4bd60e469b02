"""Questions: layout, resolution, limits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from confide.errors import InvalidInput, UnknownName
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
    unpack,
)
from confide.protocol.kinds.sensitivity import sensitivity

from .test_bytes import QUESTIONS


@given(QUESTIONS)
def test_the_parts_fill_the_cells_one_after_the_other(question: CountQuestion) -> None:
    stop = 0
    for part, where in question.slices.items():
        assert where.start == stop
        assert where.stop - where.start == np.prod(question.shape(part))
        stop = where.stop
    assert stop == question.cells
    assert tuple(question.slices) == question.parts
    assert question.trials.shape == (question.cells,)


@pytest.mark.parametrize(
    ("last", "stationary", "per_step"),
    [(COUNTED, (1, 3, 2, 3), (4, 3, 2, 3)), (DROPPED, (1, 3, 2, 3), (3, 3, 2, 3)), (END, (1, 3, 2, 4), (4, 3, 2, 4))],
)
def test_the_shape_of_transitions(last: str, stationary: tuple[int, ...], per_step: tuple[int, ...]) -> None:
    assert CountQuestion(Spec(3, 2, 4), last=last).shape(TRANSITIONS) == stationary
    question = CountQuestion(Spec(3, 2, 4, PER_STEP), last=last)
    assert question.shape(TRANSITIONS) == per_step
    assert question.shape(VISITS) == (4, 3, 2)
    assert question.transition_steps == (3 if last == DROPPED else 4)


def test_one_step_whose_transition_is_dropped_still_has_cells() -> None:
    question = CountQuestion(Spec(3, 2, 1, PER_STEP), last=DROPPED)
    assert question.shape(TRANSITIONS) == (1, 3, 2, 3)
    assert question.transition_steps == 0
    assert question.trials[question.slices[TRANSITIONS]].tolist() == [0] * 18


def test_how_many_bits_stand_behind_a_count() -> None:
    pooled = CountQuestion(Spec(2, 1, 5), last=DROPPED).trials
    assert pooled.tolist() == [5] * 4 + [4] * 4
    assert set(CountQuestion(Spec(2, 1, 5, PER_STEP), last=DROPPED).trials.tolist()) == {1}


@pytest.mark.parametrize("levels", [1, 2, 3, 7])
def test_the_resolution_makes_every_part_whole(levels: int) -> None:
    """q levels: rewards are multiples of 1/q, squares of 1/q^2, centred rewards of 1/(2q)."""
    needs = {VISITS: 1, HALVES: 2, REWARDS: levels, SQUARES: levels**2, CENTRED: 2 * levels, TRANSITIONS: 1}
    for chosen in range(1, 1 << len(PARTS)):
        parts = tuple(part for i, part in enumerate(PARTS) if chosen >> i & 1)
        if HALVES in parts and parts != FREE_VISITS:
            continue
        resolution = CountQuestion(Spec(1, 1, 1), parts, COUNTED, levels).resolution
        assert all(resolution % needs[part] == 0 for part in parts)
        assert resolution <= 2 * levels**2


def test_trials_and_parts_stay_in_step() -> None:
    for parts, model in itertools.product([(VISITS, TRANSITIONS), (CENTRED, TRANSITIONS)], [STATIONARY, PER_STEP]):
        question = CountQuestion(Spec(2, 2, 3, model), parts, DROPPED)
        assert question.trials[question.slices[TRANSITIONS]].max() == (2 if model == STATIONARY else 1)
        assert question.trials[question.slices[parts[0]]].max() == (3 if model == STATIONARY else 1)


def test_a_price_is_that_of_replacing_one_person() -> None:
    question = CountQuestion(Spec(2, 2, 3), last=DROPPED)
    assert question.price() == sensitivity(question) == question.price(0.25)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"parts": ()}, InvalidInput),
        ({"parts": ("visits", "visits")}, InvalidInput),
        ({"parts": (TRANSITIONS, VISITS)}, InvalidInput),
        ({"parts": ("names",)}, UnknownName),
        ({"last": "lost"}, UnknownName),
        ({"objective": "profit"}, UnknownName),
        ({"levels": 0}, InvalidInput),
        ({"levels": 4097}, InvalidInput),
        ({"levels": 1.5}, InvalidInput),
        ({"spec": Spec(20_000, 2, 2)}, InvalidInput),
        ({"spec": Spec(10**12, 10**12, 2)}, InvalidInput),
        ({"spec": Spec(2, 2, 1 << 21)}, InvalidInput),
    ],
)
def test_bad_questions_are_refused(changes: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        CountQuestion(Spec(2, 2, 2)).having(**changes)


# Reading the cells.


def test_what_was_asked_for_comes_back_as_it_is() -> None:
    question = CountQuestion(Spec(2, 2, 3, PER_STEP), (VISITS, REWARDS, SQUARES, TRANSITIONS), DROPPED)
    cells = np.arange(float(question.cells))
    counts = unpack(question, cells)
    assert counts.visits.ravel().tolist() == cells[:12].tolist()
    assert counts.rewards.ravel().tolist() == cells[12:24].tolist()
    assert counts.squares.ravel().tolist() == cells[24:36].tolist()
    assert counts.transitions.shape == (3, 2, 2, 2)
    assert counts.transitions[:2].ravel().tolist() == cells[36:].tolist()
    assert not counts.transitions[2].any()


@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("last", [COUNTED, END])
def test_what_was_not_asked_for_is_derived(model: str, last: str) -> None:
    question = CountQuestion(Spec(2, 1, 2, model), (CENTRED, TRANSITIONS), last)
    cells = np.random.default_rng(0).normal(size=question.cells)
    counts = unpack(question, cells)
    moved = cells[question.slices[TRANSITIONS]].reshape(question.shape(TRANSITIONS))
    centred = cells[question.slices[CENTRED]].reshape(question.shape(CENTRED))
    assert np.allclose(counts.visits, moved.sum(axis=-1))  # the end state counts as well
    assert np.allclose(counts.rewards, centred + moved.sum(axis=-1) / 2)
    assert np.array_equal(counts.squares, counts.rewards)
    assert np.array_equal(counts.transitions, moved[..., :2])


def test_known_rewards_leave_rewards_at_zero() -> None:
    counts = unpack(CountQuestion(Spec(2, 1, 2), (VISITS,)), np.array([1.0, 2.0]))
    assert counts.visits.ravel().tolist() == [1.0, 2.0]
    assert not counts.rewards.any()
    assert not counts.transitions.any()
    assert counts.transitions.shape == (1, 2, 1, 2)
