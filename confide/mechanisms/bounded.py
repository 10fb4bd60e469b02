"""Noise that never exceeds a radius (Dagan, Kur 2020): density proportional to exp(-exp(R^2/(R^2 - x^2))) on (-R, R).

The paper that uses it in reinforcement learning leaves its constant C open, and the hypothesis of its proof is met by no
practical size; the radii it prints beside, with C = 1, are `BoundedByPart`. In `Bounded` R is found numerically: the
density is log-concave, so the shifts of `Sensitivity` are the worst case exactly; each shift's privacy-loss distribution is
tabulated and they are composed. At the same guarantee its standard deviation, 0.2863 R, is never below that of Gaussian noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..errors import InvalidInput
from ..privacy import Disclosed, Guarantee, Loss, Sensitivity, Tabulated, compose, least_noise
from ..validation import Json
from .noise import NoiseSource
from .randomizer import Additive, Randomizer

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

# At least this many grid points a radius. Noise is drawn on the grid on which its loss is tabulated: one law for both.
FINENESS = 512
# Resolution of the uniform draw behind the inverse distribution function.
UNIFORM = 1 << 62
# Losses are rounded up to multiples of this: a hundredth of a percent of noise, and tables that compose in a moment.
LOSS_STEP = 1e-3
# How many people's noises are drawn one by one before the normal limit is used.
EXACT_SUM = 256


@lru_cache(maxsize=64)
def _law(cells: int) -> NDArray[np.float64]:
    """(2 cells - 1,) probabilities of the multiples -(cells-1) .. cells-1 of the grid: the density, normalised."""
    x = np.arange(1 - cells, cells) / cells
    weights = np.exp(math.e - np.exp(np.minimum(1 / (1 - x**2), 700.0)))  # beyond, both are zero in floats
    return np.asarray(weights / weights.sum())


@lru_cache(maxsize=64)
def _shift_table(cells: int, shift: int) -> PrivacyLossDistribution:
    """The privacy-loss distribution of telling the law from itself shifted by `shift` grid points."""
    from dp_accounting.pld import privacy_loss_distribution

    law = np.log(np.maximum(_law(cells), 1e-300))
    here = {j: p for j, p in enumerate(law) if p > -50}
    there = {j + shift: p for j, p in here.items()}
    return privacy_loss_distribution.from_two_probability_mass_functions(
        here, there, value_discretization_interval=LOSS_STEP, log_mass_truncation_bound=-50
    )


@lru_cache(maxsize=16)
def _composed_table(cells: int, shifts: tuple[tuple[int, int], ...]) -> PrivacyLossDistribution:
    """The composed privacy-loss distribution of shifts by this many grid points, each so often.

    It takes a third of a second, and is needed in calibration, verification and certificates.
    """
    tables = []
    for shift, count in shifts:
        table = _shift_table(cells, shift)
        tables.append(table if count == 1 else table.self_compose(count))
    total = tables[0]
    for table in tables[1:]:
        total = total.compose(table)
    return total


@dataclass(frozen=True)
class Bounded(Additive):
    """Bounded noise of radius `bound` for a statistic whose cells are multiples of `unit`."""

    bound: float
    unit: float = 1.0
    name: str = "bounded"

    def __post_init__(self) -> None:
        validation.positive("bound", self.bound)
        validation.positive("unit", self.unit)

    @classmethod
    @lru_cache(maxsize=64)
    def keeping(cls, guarantee: Guarantee, sensitivity: Sensitivity, unit: float = 1.0) -> Bounded:
        """The least radius that keeps a guarantee, to 0.1 %. Noise that ends somewhere always needs a delta."""
        if guarantee.rho is not None or guarantee.delta == 0:
            raise InvalidInput(
                "bounded-noise-guarantee",
                f"Bounded noise needs epsilon and a delta above 0. Got {guarantee}. Use Laplace noise.",
            )
        start = 10 * sensitivity.l2
        return least_noise(lambda bound: cls(bound, unit), sensitivity, guarantee, start, tolerance=1e-3)

    @property
    def grid(self) -> float:
        """The unit, halved until the radius has enough points."""
        return self.unit * 2.0 ** min(0, math.floor(math.log2(self.bound / (FINENESS * self.unit))))

    @property
    def cells(self) -> int:
        """How many grid points a radius has."""
        return math.ceil(self.bound / self.grid)

    def reach(self) -> float:
        """The largest noise there is."""
        return self.bound

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The composed loss of the equivalent shifts, each rounded up to the grid."""
        shifts = tuple((math.ceil(size / self.grid), count) for size, count in sensitivity.shifts)
        return Tabulated(_composed_table(self.cells, shifts))

    def describe(self) -> dict[str, Json]:
        """Name, radius, unit and grid."""
        return {"name": self.name, "bound": self.bound, "unit": self.unit, "grid": self.grid}

    def variance(self, trials: float = 1.0) -> float:
        """The variance of a cell's noise, a person, by the law on the grid."""
        steps = np.arange(1 - self.cells, self.cells)
        return float((_law(self.cells) * steps**2).sum() * self.grid**2)

    def steps(self, noise: NoiseSource, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Bounded noise, drawn by the inverse distribution function."""
        return self._steps(noise.integers(UNIFORM, shape) / UNIFORM)

    def distribution(self) -> NDArray[np.float64]:
        """(2 cells - 1,) the distribution function on the grid, from -R to R."""
        return np.cumsum(_law(self.cells))

    def _steps(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """The noise in multiples of the grid, by the inverse distribution function."""
        steps = np.searchsorted(self.distribution(), uniform, side="right")
        return np.asarray(np.minimum(steps, 2 * self.cells - 2) - (self.cells - 1))

    def sum_of(
        self, totals: NDArray[np.float64], users: int, trials: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """The sum of `users` messages: exact up to `EXACT_SUM`, then the normal limit (Berry, Esseen: off by < 0.5/sqrt(n))."""
        if users <= EXACT_SUM:
            draws = self._steps(rng.random((users, *totals.shape)))
            return np.asarray(totals + self.grid * draws.sum(axis=0))
        return totals + math.sqrt(users * self.variance()) * rng.standard_normal(totals.shape)

    def radius(self, users: ArrayLike, failure: float, trials: float = 1.0, cells: float = 1.0) -> NDArray[np.float64]:
        """Chernoff's bound: the law is strictly sub-Gaussian (its cumulant function stays below variance u^2/2)."""
        spread = np.asarray(users, dtype=np.float64) * cells * self.variance()
        return np.asarray(np.sqrt(2 * spread * math.log(2 / failure)))


@dataclass(frozen=True)
class BoundedByPart(Randomizer):
    """Bounded noise of radius `bound` for the first `first` cells and `wide`, which is no less, for the others.

    Garcelon et al. (2021), Algorithm 6: visits and reward sums, of squares too if there are any, come first, then transitions.
    """

    bound: float
    wide: float
    first: int = field()
    unit: float = 1.0
    name: str = "bounded"

    def __post_init__(self) -> None:
        validation.integer("first", self.first, 1)
        if validation.positive("wide", self.wide) < validation.positive("bound", self.bound):
            raise validation.refusal(
                "bounded-noise-wide", "wide", f"at least the other radius, {self.bound:g}", self.wide
            )

    @property
    def parts(self) -> tuple[Bounded, Bounded]:
        """The noise of the first cells, and of the others."""
        return Bounded(self.bound, self.unit), Bounded(self.wide, self.unit)

    @property
    def grid(self) -> float:
        """The finer grid of both parts: each is the unit, halved a few times."""
        return min(part.grid for part in self.parts)

    def reach(self) -> float:
        """The largest noise there is."""
        return self.wide

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The composed loss of both: shifts are listed part by part, visits and reward sums first, then squares if there are four,
        last transitions. The design that uses it checks that `first` is where transitions begin.

        `Disclosed` where one person changes a count by twice a radius: then two ranges of outputs have nothing in common.
        """
        narrow = 3 if len(sensitivity.shifts) == 4 else 2
        cut = sensitivity.shifts[:narrow], sensitivity.shifts[narrow:]
        for part, shifts in zip(self.parts, cut, strict=True):
            if max((size for size, _ in shifts), default=0.0) >= 2 * part.bound:
                return Disclosed()
        pairs = zip(self.parts, cut, strict=True)
        return compose([part.loss(replace(sensitivity, shifts=shifts)) for part, shifts in pairs if shifts])

    def describe(self) -> dict[str, Json]:
        """Name, both radii, unit and grid."""
        return {**self.parts[0].describe(), "wide": self.wide, "first": self.first, "grid": self.grid}

    def variance(self, trials: float = 1.0) -> float:
        """The larger variance of both parts."""
        return self.parts[1].variance()

    def randomize(
        self, cells: NDArray[np.float64], trials: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.float64]:
        """One person's counts, each with the noise of its part."""
        return self._each(lambda part, cell, many: part.randomize(cell, many, noise), cells, trials)

    def estimate(self, summed: NDArray[np.float64], users: int, trials: NDArray[np.int64]) -> NDArray[np.float64]:
        """The noise has mean zero, so the sum is its own estimate."""
        return summed

    def sum_of(
        self, totals: NDArray[np.float64], users: int, trials: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """The sum of `users` messages drawn at once, in law: each part as `Bounded.sum_of` draws it."""
        return self._each(lambda part, cell, many: part.sum_of(cell, users, many, rng), totals, trials)

    def _each(
        self, draw: Callable[..., NDArray[np.float64]], cells: NDArray[np.float64], trials: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        ranges = slice(None, self.first), slice(self.first, None)
        drawn = [
            draw(part, cells[..., where], trials[..., where]) for part, where in zip(self.parts, ranges, strict=True)
        ]
        return np.concatenate(drawn, axis=-1)

    def radius(self, users: ArrayLike, failure: float, trials: float = 1.0, cells: float = 1.0) -> NDArray[np.float64]:
        """The error radius of the part with the larger noise."""
        return self.parts[1].radius(users, failure, trials, cells)
