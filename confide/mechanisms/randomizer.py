"""How one person's vector of counts becomes a message, and how the sum of many messages becomes an estimate.

Noise that is added to every cell: what such mechanisms have in common, whatever the law of their noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInput, UnsafeNoise
from ..privacy import Loss, Sensitivity
from ..validation import Json
from .noise import NoiseSource

INDEX, BITS, WHOLE = "index", "bits", "whole"
"""How a message is written down: where its only one is; bit by bit; as whole multiples of the grid."""

REACH = 2.0**-20
"""The probability with which additive noise may exceed its reach. A device clamps a cell there, which is post-processing."""


class Randomizer(Protocol):
    """A mechanism that a device can run on a vector of counts.

    `trials` says, cell by cell, how many zero-or-one observations a count is the sum of; additive noise ignores it.
    """

    @property
    def name(self) -> str:
        """The word by which commands know it."""
        ...

    @property
    def grid(self) -> float:
        """Every message is a whole multiple of it; 0 if messages are real numbers."""
        ...

    @property
    def packing(self) -> str:
        """How a message is written down: INDEX, BITS or WHOLE."""
        ...

    def reach(self) -> float:
        """How far a message may lie beyond the range of the counts; a device clamps it there."""
        ...

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The privacy loss of one message."""
        ...

    def describe(self) -> dict[str, Json]:
        """Name and parameters, as plain values."""
        ...

    def randomize(
        self, cells: NDArray[np.float64], trials: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.float64]:
        """One person's message: their counts, randomised."""
        ...

    def estimate(self, summed: NDArray[np.float64], users: int, trials: NDArray[np.int64]) -> NDArray[np.float64]:
        """An unbiased estimate of the summed counts of `users` people from the sum of their messages."""
        ...

    def sum_of(
        self, totals: NDArray[np.float64], users: int, trials: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """The sum of `users` messages drawn at once, in law; for simulation."""
        ...

    def variance(self, trials: float = 1.0) -> float:
        """Variance of the estimate of one cell, a person."""
        ...

    def radius(self, users: ArrayLike, failure: float, trials: float = 1.0, cells: float = 1.0) -> NDArray[np.float64]:
        """t such that the estimate of a sum over `cells` cells is off by more with probability at most `failure`."""
        ...


def on_grid(cells: NDArray[np.float64], grid: float) -> NDArray[np.float64]:
    """The vector in whole multiples of the grid, refused if it is none: noise would leave bare what is between points.

    Noise is added to these whole numbers, so that nothing of what floats round off in the vector is left in a message.
    """
    require_grid(grid)
    steps = cells / grid
    multiples = np.rint(steps)
    if not np.allclose(steps, multiples, rtol=1e-12, atol=0.0):
        raise InvalidInput(
            "counts-off-grid",
            f"The counts must be whole multiples of the grid {grid:g}. Round them first, and charge the rounding.",
        )
    return np.asarray(multiples)


def require_grid(grid: float) -> None:
    """Refuse continuous noise for anybody real."""
    if grid == 0:
        raise UnsafeNoise(
            "continuous-noise",
            "Continuous noise leaks through its last bits, so it is not drawn for a person. Choose a grid.",
        )


def up_to_grid(radius: ArrayLike, grid: float) -> NDArray[np.float64]:
    """The radius, rounded up to a multiple of the grid: noise on the grid then exceeds it no more often."""
    return np.asarray(np.ceil(np.asarray(radius) / grid) * grid if grid else radius, dtype=np.float64)


def bernstein_radius(variance: ArrayLike, largest: float, failure: float) -> NDArray[np.float64]:
    """t with P(|sum| > t) <= failure for independent centred terms of total `variance`, none larger than `largest`."""
    log = np.log(2 / failure)
    return np.asarray(largest * log / 3 + np.sqrt((largest * log / 3) ** 2 + 2 * np.asarray(variance) * log))


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
