"""A counter without noise, for learners without privacy. It has no privacy, and says so."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..privacy import Loss, Pure, Sensitivity
from ..validation import Json
from .counter import Counter, CounterState
from .noise import NoiseSource

LARGEST = 2**62
"""The most that increments of a cell may add up to, in grids: nothing but their sum is computed from them."""


@dataclass(frozen=True)
class ExactCounter(Counter):
    """Running sums as they are, of increments in multiples of the grid."""

    releases: int
    grid: float = 1.0
    name: str = "none"

    def __post_init__(self) -> None:
        validation.integer("releases", self.releases, 1)
        validation.positive("grid", self.grid)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """An infinite epsilon: the exact sums have no privacy."""
        return Pure(math.inf)

    def describe(self) -> dict[str, Json]:
        """Name, releases and grid."""
        return {"name": self.name, "releases": self.releases, "grid": self.grid}

    def memory(self) -> int:
        """1: the running sum."""
        return 1

    def init(self, cells: int) -> CounterState:
        """The state before the first release: nothing counted."""
        return CounterState(validation.integer("cells", cells, 0), (np.zeros(cells, dtype=np.int64),))

    def next(
        self, state: CounterState, increment: NDArray[np.int64], noise: NoiseSource
    ) -> tuple[CounterState, NDArray[np.float64]]:
        """Add the increment, in multiples of the grid; release the exact running sums, in counts."""
        increment = state.admit(increment, self.releases, LARGEST)
        state.spend(increment)
        total = state.arrays[0]
        total += increment
        return state.following(total), np.asarray(total * self.grid, dtype=np.float64)

    def std(self, release: int) -> float:
        """0: there is no noise."""
        return 0.0

    def rounding(self, release: int) -> float:
        """0: nothing is rounded beyond the grid of the increments."""
        return 0.0

    def radius(self, release: int, failure: float, cells: int = 1) -> float:
        """0: there is no noise."""
        return 0.0
