"""What any policy can be worth at least and at most, by public knowledge alone: whatever rows are, they keep to what is possible.

With known rewards r, and T(s, a) the next states that (s, a) may lead to,

    least_h(s, a) = r(s, a) + min_{t in T(s, a)} low_{h+1}(t),    low_h(s) = min_a least_h(s, a),    low_{H+1} = 0,

over allowed actions, and with max for the most. Rewards that are not known lie in [0, 1]; in the end state they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .ways import Array, PossibleCells


class Reach(NamedTuple):
    """low, high: (H+1, S), between which the value of every policy lies from a step on; least, most: (H, S, A), the same after an
    action.
    """

    low: Array
    high: Array
    least: Array
    most: Array

    def within(self, returns: tuple[float, float], paid: tuple[float, float]) -> Reach:
        """The same bounds where whole returns lie between two numbers, and a step pays between two others.

        Who earned e in h steps, h least <= e <= h most, earns between low - e and high - e from then on.
        """
        steps = np.arange(len(self.low))
        first, last = returns[0] - steps * paid[1], returns[1] - steps * paid[0]
        shapes = ((-1, 1), (-1, 1), (-1, 1, 1), (-1, 1, 1))
        return Reach(
            *(
                np.clip(bound, first[: len(bound)].reshape(shape), last[: len(bound)].reshape(shape))
                for bound, shape in zip(self, shapes, strict=True)
            )
        )

    @property
    def middle(self) -> Array:
        """(H, S, A): the value of an action that is off by least, if nothing else is known of it."""
        return (self.least + self.most) / 2

    @property
    def half(self) -> Array:
        """(H, S, A): by how much the middle can be off."""
        return (self.most - self.least) / 2


def reach(paid: tuple[Array, Array], ways: PossibleCells, allowed: NDArray[np.bool_], horizon: int) -> Reach:
    """The bounds of the module. paid: (L, S, A) each, what a step pays at least and at most."""
    (states, actions), layers = allowed.shape, len(paid[0])
    filled = np.flatnonzero(np.diff(ways.starts))  # rows that lead somewhere; others are never taken
    values, pairs = np.zeros((2, horizon + 1, states)), np.zeros((2, horizon, states, actions))
    for side, (extreme, none) in enumerate(((np.minimum, np.inf), (np.maximum, -np.inf))):
        for h in range(horizon - 1, -1, -1):
            after = np.zeros(states * actions)
            after[filled] = extreme.reduceat(values[side, h + 1][ways.following], ways.starts[:-1][filled])
            pairs[side, h] = paid[side][h if layers > 1 else 0] + after.reshape(states, actions)
            values[side, h] = extreme.reduce(np.where(allowed, pairs[side, h], none), axis=-1)
    return Reach(values[0], values[1], pairs[0], pairs[1])
