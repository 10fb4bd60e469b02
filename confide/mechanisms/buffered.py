"""The Toeplitz counter with a handful of numbers a cell instead of a history: buffered linear Toeplitz factors.

Dvijotham, McMahan, Pillutla, Steinke and Thakurta 2024, "Efficient and Near-Optimal Noise Generation for Streaming
Differential Privacy"; McMahan, Xu and Zhang 2024, "A Hassle-free Algorithm for Strong Differential Privacy in Federated
Learning Systems". With d buffers the coefficients of C are sums of d geometric sequences,

    c_0 = 1,   c_k = sum_i omega_i theta_i^(k-1),    so    (C x)_t = x_t + sum_i omega_i s_i,   s_i <- theta_i s_i + x_t

(the report is formed before the update). As generating functions c(z) = prod_i (1 - phi_i z) / (1 - theta_i z) for
some phi_i, and B = A C^{-1} has b(z) = 1 / ((1-z) c(z)) = prod_i (1 - theta_i z) / ((1-z) prod_i (1 - phi_i z)). Its
poles are 1 and the phi_i, so b_k is again a sum of geometric sequences, d + 1 of them:

    b_k = sum_m beta_m lambda_m^k, lambda = (1, phi),   so   (B y)_t = sum_m beta_m p_m,   p_m <- lambda_m p_m + y_t

(the release is formed after the update; p_0 is the plain sum of reports). Residues at the poles give

    omega_i = prod_j (theta_i - phi_j) / prod_{j != i} (theta_i - theta_j),
    beta_m = prod_i (lambda_m - theta_i) / prod_{n != m} (lambda_m - lambda_n).

If the poles interlace, 1 > theta_1 > phi_1 > theta_2 > phi_2 > ... > 0, every omega and beta is positive: c_k and b_k
are positive, b_k falls, and in B C = A nothing cancels, so relative errors of the parameters stay relative errors of
the sums. `best_factors` chooses, among interlacing poles, those of least standard deviation after the last release,
which is the largest, at the sensitivity they cause: the least (sum_{k<M} c_k^2) (sum_{k<M} b_k^2), each a double sum
of geometric series.

Poles are kept as decays, 1 minus the pole, whose logarithms are what is optimised: all of 1e-6 matters in 0.999999.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..validation import Json
from .counter import LARGEST_TOTAL, CounterState
from .noise import NoiseSource
from .toeplitz import UNIT_ROUNDOFF, FactoredCounter

FRACTION_BITS = 15
"""Inner buffers are whole multiples of grid / 2^15. Their subtractions are then exact: see `report_error`."""

PIECE = 2**16
"""Cells are worked on in pieces of about this size, so that noise in passing takes no memory to speak of."""


@dataclass(frozen=True, eq=False)
class Geometric:
    """The sequence sum_i weights_i (1 - decays_i)^k, k = 0, 1, ...; weights are positive, decays in [0, 1)."""

    weights: NDArray[np.float64]
    decays: NDArray[np.float64]

    def total(self, terms: int) -> float:
        """The sum of the first terms."""
        return float(self.weights @ _geometric_series(self.decays, terms))

    def squares(self, terms: int) -> float:
        """The sum of the squares of the first terms."""
        product_decays = self.decays[:, None] + self.decays - self.decays[:, None] * self.decays
        return float(self.weights @ _geometric_series(product_decays, terms) @ self.weights)


@dataclass(frozen=True)
class BufferedToeplitzCounter(FactoredCounter):
    """B (C x + z) with `buffers` buffers, 2 buffers + 1 numbers a cell and work O(buffers), however long the stream."""

    buffers: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "buffers", validation.integer("buffers", self.buffers, 1, 8))

    @property
    def name(self) -> str:
        """`buffered-toeplitz`."""
        return "buffered-toeplitz"

    @property
    def column_norm(self) -> float:
        """The norm of the first column of C: sqrt(sum_{k<M} c_k^2)."""
        inner, _ = best_factors(self.releases, self.buffers)
        return math.sqrt(1 + inner.squares(self.releases - 1))

    def column(self) -> NDArray[np.float64]:
        """1, c_1, c_2, ...: c_1 = sum_i (theta_i - phi_i) < 1 where poles interlace, and sums of geometric sequences fall."""
        inner, _ = best_factors(self.releases, self.buffers)
        powers = np.exp(np.multiply.outer(np.arange(self.releases - 1), np.log1p(-inner.decays)))
        return np.concatenate(([1.0], powers @ inner.weights))

    def row_norms(self, release: int) -> tuple[float, float]:
        """sqrt(sum_{k<t} b_k^2) and sum_{k<t} b_k."""
        _, outer = best_factors(self.releases, self.buffers)
        return math.sqrt(outer.squares(release)), outer.total(release)

    @property
    def report_error(self) -> float:
        """Half a grid, and what 64-bit arithmetic loses on the way to sum_i omega_i s_i.

        A buffer is decayed by subtracting the rounded product of its decay a and itself. A step so errs by half a
        unit and by 2 roundoffs of a s; over all steps that is 1/(2a) units and 2 roundoffs of the largest s.
        Conversion, product and sum of d terms add d + 1 roundoffs.
        """
        inner, _ = best_factors(self.releases, self.buffers)
        roundoffs = (self.buffers + 3) * UNIT_ROUNDOFF * LARGEST_TOTAL * float(inner.weights.sum())
        units = float((inner.weights / (2 * inner.decays)).sum())
        return 0.5 + roundoffs + units / float(1 << FRACTION_BITS)

    def describe(self) -> dict[str, Json]:
        """Name, releases, sigma, grid and buffers; how often one user takes part, where that is more than once."""
        return {
            "name": self.name,
            "releases": self.releases,
            "sigma": self.sigma,
            "grid": self.grid,
            "buffers": self.buffers,
            **self.returning(),
        }

    def memory(self) -> int:
        """d inner buffers and d + 1 outer ones."""
        return 2 * self.buffers + 1

    def init(self, cells: int) -> CounterState:
        """The state before the first release: empty buffers."""
        cells = validation.integer("cells", cells, 0)
        inner = np.zeros((self.buffers, cells), dtype=np.int64)
        return CounterState(cells, (inner, np.zeros((self.buffers + 1, cells))))

    def next(
        self, state: CounterState, increment: NDArray[np.int64], noise: NoiseSource
    ) -> tuple[CounterState, NDArray[np.float64]]:
        """Report round(C x)_t + z_t, release (B y)_t. Buffers are updated in place."""
        from .counter_loops import release, report

        increment = state.admit(increment, self.releases)
        inner, outer = best_factors(self.releases, self.buffers)
        remembered, reported = state.whole(0), state.real(1)
        drawn = noise.discrete_gaussian(self.sigma / self.grid, state.cells)  # all of it, before anything is spent
        released = np.empty(state.cells)
        state.spend(increment)
        pieces = max(1, math.ceil(state.cells / PIECE))
        for piece in range(pieces):
            start, end = (state.cells * cut // pieces for cut in (piece, piece + 1))
            report(start, increment, drawn[start:end], remembered, inner.weights, inner.decays)
            release(start, drawn[start:end], reported, outer.weights, outer.decays, released)
        released *= self.grid
        return state.following(remembered, reported), released


STEPS = 1024
"""Logarithms of gaps are whole multiples of 1 / STEPS, so that every machine finds the same."""
CLEARLY = 1e-9
"""By how much a logarithm of a variance must fall to count: far more than machines differ in its last digits."""


@cache
def best_factors(releases: int, buffers: int) -> tuple[Geometric, Geometric]:
    """c_1, c_2, ... and b_0, b_1, ... of least final standard deviation at the sensitivity they cause.

    They are not in a contract: a curator and those who check its noise, on other machines, find them again, and a curator that is
    moved goes on with the same. So the search is among whole numbers (Hooke and Jeeves: one coordinate after the other, then as
    far again), and is decided by differences that rounding cannot make. It ends within 1e-4 of what BFGS finds, a test says.
    """

    def objective(gaps: NDArray[np.int64]) -> float:
        inner, outer = _factors(gaps / STEPS)
        return math.log1p(inner.squares(releases - 1)) + math.log(outer.squares(releases))

    def explored(gaps: NDArray[np.int64], least: float, step: int) -> tuple[NDArray[np.int64], float]:
        """The best that one coordinate after the other leads to, and its objective."""
        for move in step * np.eye(gaps.size, dtype=np.int64):
            for moved in (gaps + move, gaps - move):
                if (found := objective(moved)) < least - CLEARLY:
                    gaps, least = moved, found
                    break
        return gaps, least

    gaps = np.full(2 * buffers, round(STEPS * math.log(math.log(releases + 2) / (2 * buffers))), dtype=np.int64)
    least, step = objective(gaps), STEPS // 2
    while step:
        after, found = explored(gaps, least, step)
        while found < least - CLEARLY:
            farther = 2 * after - gaps
            gaps, least = after, found
            after, found = explored(farther, objective(farther), step)
            if not found < least - CLEARLY:
                after, found = explored(gaps, least, step)
        step //= 2
    return _factors(gaps / STEPS)


def _factors(gaps: NDArray[np.float64]) -> tuple[Geometric, Geometric]:
    """Factors from the logarithms of the gaps between the logarithms of the decays, the largest decay first."""
    decays = np.exp(-np.cumsum(np.exp(gaps)))[::-1]
    theta, phi = decays[0::2].copy(), decays[1::2].copy()
    poles = np.concatenate(([0.0], phi))
    return Geometric(_residues(theta, phi), theta), Geometric(_residues(poles, theta), poles)


def _residues(poles: NDArray[np.float64], zeros: NDArray[np.float64]) -> NDArray[np.float64]:
    """prod_j (zeros_j - poles_i) / prod_{j != i} (poles_j - poles_i), both given as decays."""
    apart = poles - poles[:, None]
    np.fill_diagonal(apart, 1.0)
    return np.asarray((zeros - poles[:, None]).prod(axis=1) / apart.prod(axis=1))


def _geometric_series(decays: NDArray[np.float64], terms: int) -> NDArray[np.float64]:
    """sum_{k < terms} (1 - decay)^k, without cancellation; a decay of 0 gives `terms`."""
    safe = np.where(decays > 0, decays, 1e-300)
    return np.where(decays > 0, -np.expm1(terms * np.log1p(-safe)) / safe, terms)
