"""Counting with Gaussian noise correlated over time: two triangular factors of the running sum.

Let A be the lower triangle of ones, A x the running sums of a stream x, and A = B C with B and C lower triangular and
Toeplitz (each column the one before, moved down). Report y = C x + z with independent Gaussian z, release B y: that is
A x + B z, a running sum whose noise is correlated so that much of it cancels.

**Privacy.** One person lies in one batch and moves it by a vector d over cells, ||d|| <= D. C spreads that over later
reports: the change of C x has norm ||d|| times the norm of a column of C, at most D sqrt(sum_{j<M} c_j^2). Everything
released is a function of y alone, so mu = D sqrt(sum c_j^2) / sigma for all M releases together.

**Adaptive streams.** Increments may depend on earlier releases; the policy does. Reveal y to the adversary report by
report. Before her batch both worlds are the same. What she contributes is chosen given those reports. From then on,
*given the reports*, every later increment is the same function of them in both worlds, because the others act on what
was released and on their own data only. So x and x' differ in her batch alone, and the shift of each later report is
known: that of C (x - x'), up to rounding, which may depend on what was reported. Gaussian reports whose shifts,
however they are chosen, have squares summing to at most (mu sigma)^2 are mu-GDP (Smith and Thakurta 2022, "Fully
Adaptive Composition for Gaussian Differential Privacy"). Whatever the others receive is a function of the releases
and their own data, which is joint privacy (the billboard lemma of Hsu et al. 2014). It needs three things of the
caller: batch boundaries that are public and fixed before the first release, no user who acts on a release about
their own batch, and each person in one batch only, or in as many as are priced.

**Users who come again.** A user takes part in up to m batches t_1 < t_2 < ..., any two at least b apart, and moves each by
a vector d_j over cells, ||d_j|| <= D. With c^t the column t of C the change of C x has the squared norm
sum_{i,j} <c^{t_i}, c^{t_j}> <d_i, d_j>. Let c_0 >= c_1 >= ... >= 0. Then <c^s, c^t> = sum_{k <= M - t} c_{k+t-s} c_k, s <= t,
is non-negative, falls in t - s and falls in t. So it is largest for d_j that are all the same; a batch more never makes
it smaller; and since t_j >= 1 + (j-1) b and t_j - t_i >= (j-i) b, the earliest and densest pattern 1, 1 + b, ...,
1 + (m-1) b has every inner product at its largest at once. The sensitivity is D ||sum_j c^{1+(j-1)b}||, reached, and
below the m D ||c|| of group privacy. The argument for adaptive streams stands, since the bound holds for every choice of
d_1, d_2, ... as reports are made: shifts have squares that sum to no more, path by path. *When* she takes part must not
depend on her episodes: see `protocol.trusts.joint`. Rounding is charged in the cells of all her batches.

**Bands.** With c_k = 0 from k = w on, B = A C^{-1} has b(z) = 1/((1-z) c(z)), and columns w apart are orthogonal: at w <= b
the sensitivity is D sqrt(m) ||c||. Here c_k = f_k for k < w, which stays non-negative and falling (Kalinin and Lampert
2024, "Banded Square Root Matrix Factorization for Differentially Private Model Training").

**On a grid.** C x is not on the grid of x, and noise on a grid would leave the digits below it bare. So (C x)_t is
rounded to the grid and z is discrete Gaussian on it. Two rounded numbers differ by up to one grid more than the exact
ones, in each cell she touches and each of the M reports: the sensitivity grows by grid sqrt(M cells). Rounding also
moves the release by up to grid/2 times the row sum of B, which `rounding` states and `radius` contains. The caller
chooses a grid fine enough for both to be small; neither is ever left out.

**The square root.** With f_0 = 1, f_k = (1 - 1/(2k)) f_{k-1}, the coefficients of (1-z)^(-1/2), B = C has C^2 = A, and
sum_{j<M} f_j^2 is about (log M + 3.35)/pi: near the best possible (Fichtenberger, Henzinger, Upadhyay 2023, "Constant
Matters"; Henzinger, Upadhyay, Upadhyay 2023, "Almost Tight Error Bounds on Differentially Private Continual Counting").
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import PrivacyError
from ..privacy import Loss, Participation, Sensitivity
from ..validation import Json
from .counter import LARGEST_TOTAL, Counter, CounterState, checked_release, discrete_gaussian_radius, rounding_charge
from .gaussian import FINE, ROUNDING, gaussian_loss
from .noise import NoiseSource

UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class FactoredCounter(Counter, ABC):
    """The base of counters of the form B (C x + z): `sigma`, in counts, is the standard deviation of each z.

    One user is in up to `participations` batches, any two at least `separation` batches apart.
    """

    releases: int
    sigma: float
    grid: float
    participations: int = field(default=1, kw_only=True)
    separation: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "releases", validation.integer("releases", self.releases, 1))
        taken = Participation(self.participations, self.separation)
        object.__setattr__(self, "participations", taken.times)
        object.__setattr__(self, "separation", taken.apart)
        validation.positive("sigma", self.sigma)
        validation.positive("grid", self.grid)

    @property
    def participation(self) -> Participation:
        """How often one user takes part."""
        return Participation(self.participations, self.separation)

    @property
    @abstractmethod
    def column_norm(self) -> float:
        """The l2 norm of the first and longest column of C."""

    @abstractmethod
    def column(self) -> NDArray[np.float64]:
        """(releases,) the first column of C, which is non-negative and falls."""

    @cached_property
    def columns_norm(self) -> float:
        """The l2 norm of the sum of the columns of C of the batches of one user, at the worst pattern: the earliest and densest."""
        times = self.participation.within(self.releases)
        if times == 1:
            return self.column_norm
        column, moved = falling(self.column()), np.zeros(self.releases)
        for first in range(0, times * self.separation, self.separation):
            moved[first:] += column[: self.releases - first]
        return float(np.linalg.norm(moved))

    @abstractmethod
    def row_norms(self, release: int) -> tuple[float, float]:
        """The l2 and l1 norms of a row of B."""

    @property
    @abstractmethod
    def report_error(self) -> float:
        """How far a report without its noise may lie from C x, in grids: rounding and 64-bit arithmetic."""

    def report_sensitivity(self, sensitivity: Sensitivity) -> float:
        """How far one user moves all reports together, in l2: D times the norm of her columns, and the rounding."""
        touched = replace(sensitivity, cells=sensitivity.cells * self.participation.within(self.releases))
        rounding = rounding_charge(touched, self.releases, self.grid * self.report_error)
        return sensitivity.l2 * self.columns_norm + rounding

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The loss of all releases together: Gaussian on a fine grid, zCDP on a coarse one."""
        return gaussian_loss(self.report_sensitivity(sensitivity), self.sigma, self.grid)

    @classmethod
    def sigma_for(cls, mu: float, sensitivity: Sensitivity, releases: int, grid: float, **shape: int) -> float:
        """The least sigma with which all releases together are mu-GDP on a grid that is fine for it.

        mu = l2 / sqrt(sigma^2 - (1.5 grid)^2), and l2 does not depend on sigma. The last factor outweighs float
        rounding.
        """
        l2 = cls(releases, 1.0, grid, **shape).report_sensitivity(sensitivity)
        return max(math.hypot(l2 / validation.positive("mu", mu), ROUNDING * grid), FINE * grid) * (1 + 1e-12)

    def visited(self, times: int) -> FactoredCounter:
        """The same noise, for users who are in this many batches."""
        return replace(self, participations=times)

    def returning(self) -> dict[str, Json]:
        """What `describe` says of users who take part more than once."""
        if self.participations == 1:
            return {}
        return {"participations": self.participations, "separation": self.separation}

    def std(self, release: int) -> float:
        """sigma times the l2 norm of a row of B. Rounding, which is not random, is stated by `rounding`."""
        return self.sigma * self.row_norms(checked_release(release, self.releases))[0]

    def rounding(self, release: int) -> float:
        """How far rounding the reports can move a release, at most, in counts."""
        return self.grid * self.report_error * self.row_norms(checked_release(release, self.releases))[1]

    def radius(self, release: int, failure: float, cells: int = 1) -> float:
        """The quantile of the noise and the most that rounding adds."""
        cells = validation.integer("cells", cells, 1)
        l2, l1 = self.row_norms(checked_release(release, self.releases))
        noise = discrete_gaussian_radius(self.sigma, self.grid, l2 * math.sqrt(cells), l1 * cells, failure)
        return noise + cells * self.rounding(release)


@dataclass(frozen=True)
class ToeplitzCounter(FactoredCounter):
    """The square-root factorisation, exact, or with the first `bands` coefficients of C alone (0: all of them).

    It keeps its history: after t releases 2 t numbers a cell, at work O(t).
    """

    bands: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bands", validation.integer("bands", self.bands, 0, self.releases))

    @property
    def name(self) -> str:
        """`toeplitz`."""
        return "toeplitz"

    @cached_property
    def column_norm(self) -> float:
        """The norm of the first column of C: sqrt(sum_{j<w} f_j^2), w = M without bands."""
        c = self.column()
        return math.sqrt(float(c @ c))

    def column(self) -> NDArray[np.float64]:
        """f_0 .. f_{w-1}, then zeros."""
        return banded_factors(self.releases, self.bands)[0]

    def row_norms(self, release: int) -> tuple[float, float]:
        """sqrt(sum_{j<t} b_j^2) and sum_{j<t} |b_j|; without bands b_j = f_j."""
        b = banded_factors(self.releases, self.bands)[1][:release]
        return math.sqrt(float(b @ b)), float(np.abs(b).sum())

    @property
    def report_error(self) -> float:
        """Half a grid; a compensated sum of products loses at most 4 units of roundoff of the largest total."""
        return 0.5 + 4 * UNIT_ROUNDOFF * LARGEST_TOTAL

    def describe(self) -> dict[str, Json]:
        """Name, releases, sigma and grid; bands, and how often one user takes part, where that is more than once."""
        bands: dict[str, Json] = {"bands": self.bands} if self.bands else {}
        known: dict[str, Json] = {"releases": self.releases, "sigma": self.sigma, "grid": self.grid}
        return {"name": self.name, **known, **bands, **self.returning()}

    def memory(self) -> int:
        """All increments and all reports."""
        return 2 * self.releases

    def init(self, cells: int) -> CounterState:
        """The state before the first release: no history."""
        cells = validation.integer("cells", cells, 0)
        return CounterState(cells, (np.empty((0, cells), dtype=np.int64), np.empty((0, cells), dtype=np.int64)))

    def next(
        self, state: CounterState, increment: NDArray[np.int64], noise: NoiseSource
    ) -> tuple[CounterState, NDArray[np.float64]]:
        """Report round(C x)_t + z_t, release (B y)_t."""
        from .counter_loops import convolved

        increment = state.admit(increment, self.releases)
        past, (c, b) = state.release, banded_factors(self.releases, self.bands)
        drawn = noise.discrete_gaussian(self.sigma / self.grid, state.cells)
        increments, reports = (_with_room(state.whole(part), past, self.releases) for part in range(2))
        state.spend(increment)
        increments[past] = increment
        reports[past] = np.rint(convolved(increments, past + 1, c))
        reports[past] += drawn
        return state.following(increments, reports), self.grid * convolved(reports, past + 1, b)


@cache
def square_root_coefficients(count: int) -> NDArray[np.float64]:
    """The coefficients f_0 .. f_{count-1} of 1/sqrt(1 - x)."""
    f = np.ones(count)
    f[1:] = np.cumprod(1 - 1 / (2 * np.arange(1, count)))
    f.flags.writeable = False
    return f


@cache
def banded_factors(releases: int, bands: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(releases,) c, the first `bands` square-root coefficients (0: all), and (releases,) b, with B C the running sum."""
    f = square_root_coefficients(releases)
    if not 0 < bands < releases:
        return f, f
    c = np.where(np.arange(releases) < bands, f, 0.0)
    inverse = np.zeros(releases)
    inverse[0] = 1.0
    for k in range(1, releases):  # c(z) times its inverse is 1
        first = max(0, k - bands + 1)
        inverse[k] = -(c[1 : k - first + 1] @ inverse[first:k][::-1])
    b = np.cumsum(inverse)
    c.flags.writeable = b.flags.writeable = False
    return c, b


def best_bands(releases: int, participation: Participation) -> int:
    """How many bands add least noise, as root mean square over all releases: 0 (all), or the separation, doubled or not."""

    def squared(bands: int) -> float:
        counter = ToeplitzCounter(
            releases, 1.0, 1.0, participations=participation.times, separation=participation.apart, bands=bands
        )
        _, b = banded_factors(releases, bands)
        return float(np.cumsum(b**2).mean()) * counter.columns_norm**2

    if participation.within(releases) == 1:
        return 0
    widths = [0]
    while (width := participation.apart << len(widths) - 1) < releases:
        widths.append(width)
    return min(widths, key=squared)


def falling(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """The column, refused if it is not non-negative and falling: the worst pattern is known for such columns only."""
    if column[-1] < 0 or (np.diff(column) > 0).any():
        raise PrivacyError(
            "column-not-falling",
            "The price of users who come again is known for coefficients that fall and stay at least 0. Got others. "
            "Please report this.",
        )
    return column


def _with_room(history: NDArray[np.int64], used: int, most: int) -> NDArray[np.int64]:
    """A history with room for one row more; the length doubles, so that each row is copied less than twice in all."""
    if used < len(history):
        return history
    longer = np.zeros((min(max(2 * used, 1), most), history.shape[1]), dtype=np.int64)
    longer[:used] = history
    return longer
