"""Draws that are handed out by rank: the best to the rarest action, state by state."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from confide.learning.planning.dispersed import _by_rarity
from confide.mdp.possible_cells import PossibleCells


def one_by_one(model: Any, layer: int, values: Any, filled: Any, picks: Any, drawn: Any) -> Any:
    """The same, written state by state."""
    ways, actions = model.knowledge.ways, model.knowledge.spec.actions
    offsets = np.zeros(len(ways.starts) - 1, dtype=np.int64)
    offsets[filled] = picks - ways.starts[:-1][filled]
    for state in range(len(offsets) // actions):
        rows = np.arange(state * actions, (state + 1) * actions)
        sets = [ways.following[ways.starts[row] : ways.starts[row + 1]].tolist() for row in rows]
        if any(one != sets[0] for one in sets):
            continue
        worth = np.array([values[sets[0][offset]] if sets[0] else 0.0 for offset in offsets[rows]])
        if drawn is not None:
            worth = worth + drawn[layer, state]
        best = sorted(range(actions), key=lambda action: -worth[action])
        rarest = sorted(
            range(actions),
            key=lambda action: (not model.covered[layer, state, action], model.behaviour[layer, state, action]),
        )
        offsets[rows[rarest]] = offsets[rows[best]]
        if drawn is not None:
            drawn[layer, state, rarest] = drawn[layer, state, best]
    return offsets[filled] + ways.starts[:-1][filled]


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("following", [0, 5])
def test_draws_are_handed_out_as_state_by_state(known: bool, following: int) -> None:
    rng = np.random.default_rng(5)
    states, actions, layers = 40, 3, 2
    possible = rng.random((states, actions, following)) < 0.5
    possible[::2] = possible[::2, :1]  # of every other state all pairs may lead to the same states
    ways = PossibleCells.of(possible)
    model: Any = SimpleNamespace(
        knowledge=SimpleNamespace(ways=ways, spec=SimpleNamespace(actions=actions)),
        behaviour=rng.random((layers, states, actions)),
        covered=rng.random((layers, states, actions)) < 0.7,
    )
    values, widths = rng.random(max(following, 1)), np.diff(ways.starts)
    filled = np.flatnonzero(widths)
    picks = ways.starts[:-1][filled] + rng.integers(0, widths[filled])
    drawn = None if known else (rng.random((layers, states, actions)) < 0.5).astype(np.float64)
    mine, theirs = (None if drawn is None else drawn.copy() for _ in range(2))
    expected = one_by_one(model, 1, values, filled, picks, theirs)
    np.testing.assert_array_equal(_by_rarity(model, 1, values, filled, picks, mine), expected)
    if mine is not None:
        np.testing.assert_array_equal(mine, theirs)
    if following:
        assert (expected != picks).any()
