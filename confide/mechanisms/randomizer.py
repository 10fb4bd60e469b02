"""How one person's vector of counts becomes a message, and how the sum of many messages becomes an estimate.

Noise that is added to every cell: what such mechanisms have in common, whatever the law of their noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInput, UnsafeNoise
from ..privacy import Disclosed, Loss, Sensitivity, Tabulated
from .mechanism import NoiseMechanism
from .noise import NoiseSource

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

INDEX, BITS, WHOLE = "index", "bits", "whole"
"""How a message is written down: where its only one is; bit by bit; as whole multiples of the grid."""

REACH = 2.0**-20
"""The probability with which additive noise may exceed its reach. A device clamps a cell there, which is post-processing."""

LOSS_STEP = 1e-3
"""Losses are rounded up to multiples of this: a hundredth of a percent of noise, and tables that compose in a moment."""
LOG_LEAST = -50.0
"""Logarithms of probabilities below this are taken as nothing by the table of a loss, which counts them as infinite loss."""
LARGEST_SUM = 1 << 22
"""The most points of a table of sums."""
OUTSIDE = 1e-16
"""The probability of a sum outside of its table: below what a float says of a probability."""


class Randomizer(NoiseMechanism):
    """A mechanism that a device can run on a vector of counts. Inherit it for one of your own.

    `trials` says, cell by cell, how many zero-or-one observations a count is the sum of; additive noise ignores it.
    """

    @property
    def packing(self) -> str:
        """How a message is written down: INDEX, BITS or WHOLE."""
        return WHOLE

    def reach(self) -> float:
        """How far a message may lie beyond the range of the counts; a device clamps it there. By its radius, if it says no more."""
        return float(self.radius(1.0, REACH))

    def randomize(
        self, cells: NDArray[np.float64], trials: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.float64]:
        """One person's message: their counts, randomised."""
        raise NotImplementedError

    def estimate(self, summed: NDArray[np.float64], users: int, trials: NDArray[np.int64]) -> NDArray[np.float64]:
        """An unbiased estimate of the summed counts of `users` people from the sum of their messages."""
        raise NotImplementedError

    def sum_of(
        self, totals: NDArray[np.float64], users: int, trials: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """The sum of `users` messages drawn at once, in law; for simulation."""
        raise NotImplementedError

    def sum_over(self, vectors: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """(cells,) the sum of the messages of people with vectors (n, cells), in law: by their sum, unless more matters."""
        none = np.ones(vectors.shape[1], dtype=np.int64)
        return self.sum_of(vectors.sum(axis=0), len(vectors), none, rng)

    def variance(self, trials: float = 1.0) -> float:
        """Variance of the estimate of one cell, a person."""
        raise NotImplementedError

    def radius(self, users: ArrayLike, failure: float, trials: float = 1.0, cells: float = 1.0) -> NDArray[np.float64]:
        """t such that the estimate of a sum over `cells` cells is off by more with probability at most `failure`."""
        raise NotImplementedError

    def lengths(self, users: ArrayLike, failure: float, cells: int) -> NDArray[np.float64] | None:
        """t such that the errors of `cells` cells, as a vector, are longer with probability at most `failure`; None where every
        cell has noise of its own."""
        return None

    def randomizer(self) -> Randomizer:
        """Itself."""
        return self

    def additive(self) -> Additive | None:
        """Itself, if it adds independent noise to every cell."""
        return None

    def naming(self) -> CategoryRandomizer | None:
        """Itself, if its messages name categories."""
        return None


class CategoryRandomizer(Randomizer):
    """A mechanism for categories: a message is a vector of zeros and ones, with one for each category that it names."""

    if TYPE_CHECKING:  # as in `NoiseMechanism`

        @property
        def epsilon(self) -> float:
            """Of one message."""
            ...

    @property
    def ones(self) -> int | None:
        """How many categories every message names; None if that varies."""
        return None

    @property
    def hit(self) -> float:
        """How likely a message names the person's category."""
        raise NotImplementedError

    @property
    def miss(self) -> float:
        """How likely it names any other one."""
        raise NotImplementedError

    def set_variance(self, categories: int, share: float) -> float:
        """The variance, a person, of the estimate of a set of this many categories that have a share of the people."""
        raise NotImplementedError

    def naming(self) -> CategoryRandomizer:
        """Itself."""
        return self


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
    """Refuse continuous noise on real data."""
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


class Additive(Randomizer, ABC):
    """Independent noise of mean zero on every cell, drawn in multiples of the grid that the cells lie on."""

    def additive(self) -> Additive:
        """Itself."""
        return self

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


class Tabled(Additive):
    """Additive noise that has a table of its probabilities, and no closed form for anything else.

    Write `table`, `steps` (how it is drawn, exactly, from a noise source), `describe` and fields for name and grid; loss,
    variance, error radius and the law of sums follow from the table. The law must be symmetric and log-concave: p(x)^2 >=
    p(x-1) p(x+1), without holes. Then the shifts of a `Sensitivity` are its worst case (see there). Subclasses are frozen
    dataclasses."""

    @abstractmethod
    def table(self) -> NDArray[np.float64]:
        """(2 m + 1,) probabilities of the noise -m .. m, in multiples of the grid."""

    def check(self) -> None:
        """Refuse a table that the account does not hold for."""
        _require_log_concave(self.name, self.table())

    def reach(self) -> float:
        """The largest noise there is."""
        return self.grid * (len(self.table()) // 2)

    def variance(self, trials: float = 1.0) -> float:
        """The variance of a cell's noise, a person."""
        table = self.table()
        places = np.arange(len(table)) - len(table) // 2
        return float((table * places**2).sum() * self.grid**2)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The composed privacy-loss distribution of the equivalent shifts, each rounded up to the grid; `Disclosed` where a
        shift leaves no two ranges of outputs anything in common."""
        self.check()
        shifts = tuple((math.ceil(size / self.grid), count) for size, count in sensitivity.shifts)
        if max(shift for shift, _ in shifts) >= len(self.table()):
            return Disclosed()
        return Tabulated(_composed(self, shifts))

    def radius(self, users: ArrayLike, failure: float, trials: float = 1.0, cells: float = 1.0) -> NDArray[np.float64]:
        """Bernstein's bound: the noise is bounded."""
        spread = np.asarray(users, dtype=np.float64) * cells * self.variance()
        return up_to_grid(bernstein_radius(spread, self.reach(), failure), self.grid)

    def sum_of(
        self, totals: NDArray[np.float64], users: int, trials: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """The sum of `users` messages: for each power of two in `users` one draw from the table of the sum of as many noises."""
        drawn, left = np.zeros(totals.shape, dtype=np.int64), users
        for doublings in range(_doublings(self, users), -1, -1):
            sums = _distribution(self, doublings)
            while left >= 1 << doublings:
                drawn += np.searchsorted(sums, rng.random(totals.shape), side="right") - len(sums) // 2
                left -= 1 << doublings
        return np.asarray(totals + self.grid * drawn)


def _require_log_concave(name: str, table: NDArray[np.float64]) -> None:
    """Refuse a table for which the shifts of a sensitivity are not known to be the worst case."""
    uneven = (
        len(table) % 2 == 0
        or not np.array_equal(table, table[::-1])
        or not math.isclose(table.sum(), 1.0, rel_tol=1e-9)
    )
    if uneven or table.min() <= 0 or (table[1:-1] ** 2 < (1 - 1e-9) * table[2:] * table[:-2]).any():
        raise InvalidInput(
            "noise-not-log-concave",
            f"The table of {name!r} must be symmetric, log-concave and positive, and add up to 1; the loss of others is not "
            "known. Mend it.",
        )


@lru_cache(maxsize=256)
def _composed(mechanism: Tabled, shifts: tuple[tuple[int, int], ...]) -> PrivacyLossDistribution:
    """The composed privacy-loss distribution of shifts by this many grid points, each so often."""
    from dp_accounting.pld import privacy_loss_distribution

    law = np.log(mechanism.table())
    here = {place: value for place, value in enumerate(law.tolist()) if value > LOG_LEAST}
    total = None
    for shift, count in shifts:
        one = privacy_loss_distribution.from_two_probability_mass_functions(
            here,
            {place + shift: value for place, value in here.items()},
            value_discretization_interval=LOSS_STEP,
            log_mass_truncation_bound=LOG_LEAST,
        )
        several = one if count == 1 else one.self_compose(count)
        total = several if total is None else total.compose(several)
    return total


def _half(mechanism: Tabled, doublings: int) -> int:
    """How far the table of the sum of 2^doublings noises goes: as far as they do, or but for `OUTSIDE` by Bernstein's bound."""
    many, furthest = 1 << doublings, len(mechanism.table()) // 2
    spread = many * mechanism.variance() / mechanism.grid**2
    return min(many * furthest, math.ceil(float(bernstein_radius(spread, furthest, OUTSIDE))))


def _doublings(mechanism: Tabled, users: int) -> int:
    """The largest power of two of users whose sum has a table."""
    most = max(users, 1).bit_length() - 1
    return next((each for each in range(most, 0, -1) if 2 * _half(mechanism, each) + 1 <= LARGEST_SUM), 0)


@lru_cache(maxsize=128)
def _distribution(mechanism: Tabled, doublings: int) -> NDArray[np.float64]:
    """(2 h + 1,) the distribution function of the sum of 2^doublings noises at -h .. h; its probabilities are the inverse
    Fourier transform of the power of that of one, on this many points that what lies outside, and so wraps around, is below
    `OUTSIDE`."""
    table, half = mechanism.table(), _half(mechanism, doublings)
    if doublings == 0:
        summed = table
    else:
        length = 1 << (2 * max(half, len(table) // 2)).bit_length()
        spread = np.zeros(length)
        np.add.at(spread, (np.arange(len(table)) - len(table) // 2) % length, table)
        wrapped = np.fft.irfft(np.fft.rfft(spread) ** (1 << doublings), length)
        summed = np.maximum(np.concatenate([wrapped[length - half :], wrapped[: half + 1]]), 0.0)
    cumulative = np.cumsum(summed)
    return np.asarray(cumulative / cumulative[-1])
