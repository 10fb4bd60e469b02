"""Randomised response: every bit of a report is flipped with a fixed probability.

With flip probability q = 1/(e^e0 + 1) one bit is e0-DP, and bits are flipped independently, so a report in which one
person can change at most l1 bits is (e0 l1)-DP, pure. A count that is the sum of `trials` bits becomes
Binomial(N, 1-q) + Binomial(trials - N, q).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..errors import InvalidInput
from ..privacy import Loss, Pure, Sensitivity
from ..validation import Json
from .noise import NoiseSource
from .randomizer import Randomizer, bernstein_radius


@dataclass(frozen=True)
class RandomizedResponse(Randomizer):
    """Flip every bit with probability 1/(e^bit_epsilon + 1)."""

    bit_epsilon: float
    name: str = "randomised-response"
    grid: float = 1.0

    def __post_init__(self) -> None:
        validation.positive("bit_epsilon", self.bit_epsilon)
        if self.grid != 1:  # a count between whole numbers has no bits: whether there is a message would depend on it
            raise validation.refusal(
                "response-grid", "the grid of randomised response", "1", self.grid, "Bits are counted in whole numbers."
            )

    @property
    def flip(self) -> float:
        """The probability that a bit is flipped."""
        return math.exp(-self.bit_epsilon) / (1 + math.exp(-self.bit_epsilon))

    def reach(self) -> float:
        """0: a flipped bit is a bit, so messages stay in the range of the counts."""
        return 0.0

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The pure loss: bit_epsilon for every bit that may change."""
        return Pure(self.bit_epsilon * sensitivity.l1)

    def describe(self) -> dict[str, Json]:
        """Name, epsilon a bit and flip probability."""
        return {"name": self.name, "bit_epsilon": self.bit_epsilon, "flip": self.flip}

    def variance(self, trials: float = 1.0) -> float:
        """q(1-q)/(1-2q)^2 a bit, whatever the bit."""
        q = self.flip
        return trials * q * (1 - q) / (1 - 2 * q) ** 2

    def randomize(
        self, cells: NDArray[np.float64], trials: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.float64]:
        """Flip each of the `trials` bits of each cell; how many of them were one is all that is sent."""
        ones = cells.astype(np.int64)
        if not (np.array_equal(ones, cells) and (ones >= 0).all() and (ones <= trials).all()):
            raise InvalidInput(
                "response-needs-bits",
                "Randomised response needs counts of bits. Ask for visits, rewards and transitions at one level.",
            )
        bits = np.arange(int(trials.max()))[:, None] < ones
        present = np.arange(int(trials.max()))[:, None] < trials
        flipped = (bits ^ noise.lies(self.bit_epsilon, 1, bits.shape)) & present
        return np.asarray(flipped.sum(axis=0), dtype=np.float64)

    def estimate(self, summed: NDArray[np.float64], users: int, trials: NDArray[np.int64]) -> NDArray[np.float64]:
        """(sum - n trials q)/(1 - 2q)."""
        return np.asarray((summed - users * trials * self.flip) / (1 - 2 * self.flip))

    def sum_of(
        self, totals: NDArray[np.float64], users: int, trials: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Binomial(N, 1-q) + Binomial(n trials - N, q), exactly the law of the summed messages."""
        ones = np.rint(totals).astype(np.int64)
        reported = rng.binomial(ones, 1 - self.flip) + rng.binomial(users * trials - ones, self.flip)
        return reported.astype(np.float64)

    def radius(self, users: ArrayLike, failure: float, trials: float = 1.0, cells: float = 1.0) -> NDArray[np.float64]:
        """Bernstein's bound for independent flips, each of which moves the estimate by less than 1/(1-2q)."""
        bits = np.asarray(users, dtype=np.float64) * trials * cells
        largest = (1 - self.flip) / (1 - 2 * self.flip)
        return np.where(bits > 0, bernstein_radius(bits * self.variance(), largest, failure), 0.0)
