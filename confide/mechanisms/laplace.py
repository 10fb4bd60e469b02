"""Laplace noise, continuous or on a grid.

Density proportional to exp(-|x|/b). Adding it independently to every cell of a vector that one person moves by at most
l1 (in the l1 norm) is (l1/b)-DP: the ratio of densities at any point is at most exp(l1/b). On a grid that the vector
lies on, the discrete law P(x) proportional to exp(-|x|/b), x in grid * Z, has the same ratios, hence the same epsilon
exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..privacy import Loss, Pure, Sensitivity
from ..privacy.quantiles import normal_cdf
from ..validation import Json
from .noise import NoiseSource
from .randomizer import REACH, Additive, up_to_grid


@dataclass(frozen=True)
class Laplace(Additive):
    """Laplace noise of scale b (its std is sqrt(2) b) in every cell; grid 0 is the continuous law, for simulation."""

    scale: float
    grid: float = 0.0

    def __post_init__(self) -> None:
        validation.positive("scale", self.scale)
        validation.between("grid", self.grid, 0.0, 1.0)

    @property
    def name(self) -> str:
        """`laplace`, or `discrete-laplace` on a grid."""
        return "discrete-laplace" if self.grid else "laplace"

    def reach(self) -> float:
        """How far one person's noise goes but for a chance of 2^-20: b log(2^20)."""
        return self.scale * math.log(1 / REACH)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The pure loss l1/b."""
        return Pure(sensitivity.l1 / self.scale)

    def describe(self) -> dict[str, Json]:
        """Name, scale and grid."""
        return {"name": self.name, "scale": self.scale, "grid": self.grid}

    def variance(self, trials: float = 1.0) -> float:
        """2 b^2 a person and cell."""
        return 2 * self.scale**2

    def steps(self, noise: NoiseSource, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """The noise alone, in multiples of the grid."""
        return noise.discrete_laplace(self.scale / self.grid, shape)

    def sum_of(
        self, totals: NDArray[np.float64], users: int, trials: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """The sum of `users` reports whose counts add up to `totals`, drawn at once: b (Gamma(n) - Gamma(n)).

        On a grid it is the difference of two negative binomials.
        """
        if users == 0:
            return totals.copy()
        shape = totals.shape
        if self.grid:
            stay = -math.expm1(-self.grid / self.scale)
            up, down = (rng.negative_binomial(users, stay, shape) for _ in range(2))
            return totals + self.grid * (up - down)
        return totals + self.scale * (rng.standard_gamma(users, shape) - rng.standard_gamma(users, shape))

    def radius(self, users: ArrayLike, failure: float, trials: float = 1.0, cells: float = 1.0) -> NDArray[np.float64]:
        """The quantile of a sum of Laplace noises; on a grid it is rounded up to a multiple."""
        quantile = laplace_sum_radius(self.scale, np.asarray(users, dtype=np.float64) * cells, failure)
        return up_to_grid(quantile, self.grid)


def laplace_sum_radius(scale: float, count: ArrayLike, failure: float) -> NDArray[np.float64]:
    """t with P(|sum of `count` independent Laplace| > t) <= failure, by the saddle-point formula of Lugannani and Rice.

    The cumulant function is K(u) = -n log(1 - b^2 u^2), so the saddle point is explicit. For n = 1 the exact quantile
    b log(1/failure) is used; beyond, the formula is off by less than 1 % of the probability on the unsafe side (and up
    to 5 % on the safe one, at small n), and that 1 % is added to it.
    """
    counts = np.atleast_1d(np.asarray(count, dtype=np.float64))
    safe = np.maximum(counts, 1.0)

    def tail(t: NDArray[np.float64]) -> NDArray[np.float64]:
        u = t / (np.sqrt(safe**2 + t**2) + safe)
        w = np.sqrt(2 * (u * t + safe * np.log1p(-(u**2))))
        v = u * np.sqrt(2 * safe * (1 + u**2)) / (1 - u**2)
        return np.asarray(2 * 1.01 * (normal_cdf(-w) + np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi) * (1 / v - 1 / w)))

    # Chernoff brackets the quantile from above: K(u) t-optimal is at most the sub-exponential bound.
    log = np.log(2 / failure)
    low = np.full_like(safe, 1e-6)
    high = np.sqrt(4 * safe * log) + 2 * log
    for _ in range(60):
        middle = (low + high) / 2
        above = tail(middle) > failure
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    exact = np.where(safe <= 1, np.log(1 / failure), high)
    result = np.where(counts > 0, scale * exact, 0.0)
    return result.reshape(np.shape(count))
