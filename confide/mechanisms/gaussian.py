"""Gaussian noise, continuous or on a grid, over one statistic or several at once.

Adding N(0, sigma^2) independently to every cell of a vector that one person moves by at most l2 is exactly as private
as telling N(0, 1) from N(mu, 1), mu = l2/sigma (Balle and Wang 2018; Dong, Roth, Su 2019). "Joint" means that
everything a report contains is one vector with one l2, never the sum of separate guarantees.

**On a grid.** The discrete Gaussian P(x) proportional to exp(-x^2/(2 sigma^2)), x in g Z, gives l2^2/(2 sigma^2)-zCDP
for any g (Canonne, Kamath, Steinke 2020), but not the continuous profile: at small sigma/g it is worse. On a fine grid
it is that of a slightly smaller sigma. Let tau = 1.5 g and sigma_1^2 = sigma^2 - tau^2, add N(0, sigma_1^2), and round
every cell y to z in g Z with probability proportional to exp(-(z-y)^2/(2 tau^2)). That is post-processing of the
Gaussian mechanism with sigma_1. By Poisson summation the normaliser of the rounding varies with y by a factor
1 +- 2 exp(-2 pi^2 1.5^2) = 1 +- 1e-19 a cell, so its output has the law of the discrete Gaussian up to factors of
1 +- 1e-18 in each cell that differs, far below the slack of the conversions. Hence mu = l2/sigma_1 is certified
whenever g <= sigma/16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import privacy, validation
from ..privacy import Concentrated, Guarantee, Loss, Sensitivity
from ..privacy.quantiles import normal_quantile
from ..validation import Json
from .noise import NoiseSource
from .randomizer import REACH, Additive, up_to_grid

# Width of the randomised rounding of the proof, and how fine a grid must be for it.
ROUNDING = 1.5
FINE = 16


def effective_sigma(sigma: float, grid: float) -> float | None:
    """The continuous Gaussian whose profile a discrete one has; None if the grid is too coarse for one."""
    if grid == 0:
        return sigma
    if grid > sigma / FINE:
        return None
    return math.sqrt(sigma**2 - (ROUNDING * grid) ** 2)


def gaussian_loss(l2: float, sigma: float, grid: float) -> Loss:
    """The loss of Gaussian noise on a grid: a Gaussian profile where the grid is fine, zCDP alone where it is not."""
    effective = effective_sigma(sigma, grid)
    if effective is None:
        return Concentrated(l2**2 / (2 * sigma**2))
    return privacy.GaussianLoss(l2 / effective, l2**2 / (2 * sigma**2))


def grid_for(sigma: float, unit: float) -> float:
    """The unit, halved until it is so fine that the Gaussian profile holds on it with next to nothing charged."""
    grid = unit
    while grid > sigma / (4 * FINE):
        grid /= 2
    return grid


def sigma_for(guarantee: Guarantee, l2: float, grid: float, share: float = 1.0) -> float:
    """The least sigma on `grid` that keeps a share of a guarantee in rho, or in epsilon with delta, if the grid is fine."""
    if guarantee.rho is not None:
        rho = guarantee.rho * share
        return privacy.settled(l2 / math.sqrt(2 * rho), lambda sigma: l2**2 / (2 * sigma**2) <= rho, math.inf)
    return math.hypot(l2 / guarantee.mu(share), ROUNDING * grid)


@dataclass(frozen=True)
class Gaussian(Additive):
    """Gaussian noise of standard deviation sigma in every cell; grid 0 is the continuous law, for simulation only."""

    sigma: float
    grid: float = 0.0

    def __post_init__(self) -> None:
        validation.positive("sigma", self.sigma)
        validation.between("grid", self.grid, 0.0, 1.0)

    @classmethod
    def keeping(cls, guarantee: Guarantee, sensitivity: Sensitivity, unit: float) -> Gaussian:
        """The least noise for a statistic whose cells are multiples of `unit`, on a grid that divides it finely."""
        grid = grid_for(sigma_for(guarantee, sensitivity.l2, 0.0), unit)
        return cls(sigma_for(guarantee, sensitivity.l2, 0.0 if guarantee.rho else grid), grid)

    @property
    def name(self) -> str:
        """`gaussian`, or `discrete-gaussian` on a grid."""
        return "discrete-gaussian" if self.grid else "gaussian"

    def reach(self) -> float:
        """How far one person's noise goes but for a chance of 2^-20."""
        return self.sigma * NormalDist().inv_cdf(1 - REACH / 2)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The Gaussian loss with mu = l2/sigma, with the grid charged."""
        return gaussian_loss(sensitivity.l2, self.sigma, self.grid)

    def describe(self) -> dict[str, Json]:
        """Name, sigma and grid."""
        return {"name": self.name, "sigma": self.sigma, "grid": self.grid}

    def variance(self, trials: float = 1.0) -> float:
        """sigma^2 a person and cell."""
        return self.sigma**2

    def steps(self, noise: NoiseSource, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """The noise alone, in multiples of the grid."""
        return noise.discrete_gaussian(self.sigma / self.grid, shape)

    def sum_of(
        self, totals: NDArray[np.float64], users: int, trials: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """The sum of `users` reports whose counts add up to `totals`, drawn at once."""
        return totals + self.sigma * math.sqrt(users) * rng.standard_normal(totals.shape)

    def radius(self, users: ArrayLike, failure: float, trials: float = 1.0, cells: float = 1.0) -> NDArray[np.float64]:
        """The exact two-sided quantile; on a grid it is rounded up to a multiple."""
        quantile = self.sigma * -normal_quantile(failure / 2) * np.sqrt(np.asarray(users, dtype=np.float64) * cells)
        return up_to_grid(quantile, self.grid)


@dataclass(frozen=True)
class JointGaussian:
    """Several statistics released together, each with a sigma of its own: mu^2 = sum of (l2_i/sigma_i)^2."""

    sigmas: tuple[float, ...]
    l2s: tuple[float, ...]
    grid: float = 0.0
    name: str = "joint-gaussian"

    @classmethod
    def keeping(
        cls, guarantee: Guarantee, l2s: tuple[float, ...], weights: tuple[float, ...], grid: float
    ) -> JointGaussian:
        """The allocation that minimises sum of weight_i sigma_i^2: sigma_i^2 proportional to l2_i/sqrt(weight_i).

        (Lagrange: w_i = lambda l2_i^2/sigma_i^4.)
        """
        for value in (*l2s, *weights):
            validation.positive("l2s and weights", value)
        shares = [math.sqrt(l2 / math.sqrt(weight)) for l2, weight in zip(l2s, weights, strict=True)]
        together = math.sqrt(sum((l2 / share) ** 2 for l2, share in zip(l2s, shares, strict=True)))
        size = sigma_for(guarantee, together, 0.0) * (1 + 1e-12)  # outweighs float rounding of the sum
        sigmas = tuple(math.hypot(size * share, ROUNDING * grid) for share in shares)
        if guarantee.rho is None and grid > min(sigmas) / FINE:
            raise validation.refusal(
                "gaussian-grid-coarse", "grid", f"at most {min(sigmas) / FINE:g}, a fraction of the noise", grid
            )
        return cls(sigmas, l2s, grid)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Composed from the parts, which know their own l2."""
        parts = [gaussian_loss(l2, sigma, self.grid) for l2, sigma in zip(self.l2s, self.sigmas, strict=True)]
        return privacy.compose(parts)

    def describe(self) -> dict[str, Json]:
        """Name, sigmas and grid."""
        return {"name": self.name, "sigmas": list(self.sigmas), "grid": self.grid}

    def randomize(self, statistics: list[NDArray[np.float64]], noise: NoiseSource) -> list[NDArray[np.float64]]:
        """Every statistic with its own noise."""
        parts = (Gaussian(sigma, self.grid) for sigma in self.sigmas)
        none = np.zeros(0, dtype=np.int64)
        return [part.randomize(cells, none, noise) for part, cells in zip(parts, statistics, strict=True)]
