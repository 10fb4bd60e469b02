"""Probabilities of the next state in an estimated model whose first action is current practice, where they can be above zero.

Of 716 next states of an intensive care unit a pair leads to 85: whatever runs over possible cells only takes an eighth of the time
and of the memory. Where everything is possible it takes as long as with whole tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...compiled import compiled
from ...mdp.possible_cells import Indices, PossibleCells
from ...protocol.releases.release import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class TransitionRows:
    """practice: (L, S, T), after all actions of a state together, where T is S, or 0 where nothing follows. chances: (L, cells),
    after each pair, at its `ways`."""

    practice: Array
    ways: PossibleCells
    chances: Array

    def __len__(self) -> int:
        """How many layers there are."""
        return len(self.practice)

    @property
    def size(self) -> int:
        """How many numbers that are."""
        return self.practice.size + self.chances.size

    @cached_property
    def _matrices(self) -> list[csr_array]:
        """(S A, T) for each layer."""
        from scipy.sparse import csr_array

        pairs, states = len(self.ways.starts) - 1, self.ways.shape[-1]
        return [
            csr_array((layer, self.ways.following, self.ways.starts), shape=(pairs, states)) for layer in self.chances
        ]

    def after(self, layer: int, values: Array) -> Array:
        """(S, A+1): the mean of values (S,) at the next state."""
        there = values[: self.ways.shape[-1]]
        usual, chosen = self.practice[layer] @ there, self._matrices[layer] @ there
        return np.concatenate([usual[:, None], chosen.reshape(self.ways.shape[:2])], axis=1)

    def flow(self, layer: int, mass: Array) -> Array:
        """(T,): where those go who are (S, A+1) likely at each pair."""
        return np.asarray(mass[:, 0] @ self.practice[layer] + self._matrices[layer].T @ mass[:, 1:].ravel())


def crossed(ways: PossibleCells, weights: Array, values: Array) -> Array:
    """(cells,): sum_h weights (H, R, C) at the cell's row times values (H, T) at its column."""
    cells = np.empty(len(ways.following))
    by_row = np.ascontiguousarray(weights.reshape(len(weights), -1).T)
    _cross(ways.starts, ways.following, by_row, np.ascontiguousarray(values.T), cells)
    return cells


@compiled
def _cross(starts: Indices, following: Indices, weights: Array, values: Array, cells: Array) -> None:
    steps = weights.shape[1]
    for row in range(len(starts) - 1):
        for cell in range(starts[row], starts[row + 1]):
            total = 0.0
            for h in range(steps):
                total += weights[row, h] * values[following[cell], h]
            cells[cell] = total
