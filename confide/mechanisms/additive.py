"""Noise that is added to every cell: what such mechanisms have in common, whatever the law of their noise."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from .noise import NoiseSource
from .randomizer import WHOLE, on_grid


class Additive(ABC):
    """Independent noise of mean zero on every cell, drawn in multiples of the grid that the cells lie on."""

    @property
    @abstractmethod
    def grid(self) -> float:
        """A message is a whole multiple of it; 0 is a continuous law, which is drawn for nobody real."""

    @property
    def packing(self) -> str:
        """`WHOLE`: messages are whole multiples of the grid."""
        return WHOLE

    @abstractmethod
    def steps(self, noise: NoiseSource, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """The noise alone, in multiples of the grid."""

    def randomize(
        self, cells: NDArray[np.float64], trials: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.float64]:
        """One person's counts with noise on the same grid, added in whole numbers: floats beyond 2^53 would round the noise alone,
        and its last digits would say how large it is."""
        multiples = on_grid(cells, self.grid).astype(np.int64)
        return np.asarray(self.grid * (multiples + self.steps(noise, cells.shape)), dtype=np.float64)

    def estimate(self, summed: NDArray[np.float64], users: int, trials: NDArray[np.int64]) -> NDArray[np.float64]:
        """The noise has mean zero, so the sum is its own estimate."""
        return summed
