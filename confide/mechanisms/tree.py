"""The binary mechanism: a running sum as a sum of few noisy partial sums, for pure epsilon the best counter known.

Chan, Shi and Song 2010, "Private and Continual Release of Statistics". A node of level i sums 2^i consecutive batches
and is noised once, when its last batch arrives. After release t the running sum is the sum of one node for each
binary digit 1 of t, so it carries popcount(t) noises. One batch lies in at most one node of each level 0 ..
floor(log2 M), hence in at most L = floor(log2 M) + 1 nodes. All nodes together are one vector that one person moves
by L l1, or sqrt(L) l2:

    Laplace nodes of scale b:    L l1 / b, pure                    Gaussian nodes:    mu = sqrt(L) l2 / sigma

**Users who come again**, in up to m batches at least b apart, move all nodes together by at most m L l1. A node of level i
has up to n_i = min(m, 1 + (2^i - 1) // b) of her batches, and moves by as many l2; at a level these numbers add up to m, so
their squares to at most m n_i: all nodes move by sqrt(m sum_i n_i) l2 (at m = 1 the sqrt(L) l2 above).

Adaptive streams are covered: given the transcript so far, the increments of all later batches are the same function
of it in both worlds (`toeplitz` has the argument at length).

**Memory.** Node sums are whole multiples of the grid and so is the noise, so that sums of noisy nodes are exact, and
equal the exact running sum plus the noises of the nodes in use. Only these are kept: L + 1 numbers a cell. Each
release draws one noise a cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..privacy import Loss, Participation, Pure, Sensitivity
from ..validation import Json
from .counter import Counter, CounterState, checked_release, discrete_gaussian_radius
from .gaussian import gaussian_loss
from .laplace import laplace_sum_radius
from .noise import NoiseSource

Node = Literal["laplace", "gaussian"]


@dataclass(frozen=True)
class TreeCounter(Counter):
    """A binary tree over `releases` batches. `scale`, in counts, is a Laplace node's b or a Gaussian node's sigma."""

    releases: int
    node: Node
    scale: float
    grid: float
    participations: int = field(default=1, kw_only=True)
    separation: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        taken = Participation(self.participations, self.separation)
        object.__setattr__(self, "participations", taken.times)
        object.__setattr__(self, "separation", taken.apart)
        object.__setattr__(self, "releases", validation.integer("releases", self.releases, 1))
        validation.choice("node", self.node, get_args(Node))
        validation.positive("scale", self.scale)
        validation.positive("grid", self.grid)

    @property
    def name(self) -> str:
        """`tree-laplace` or `tree-gaussian`."""
        return f"tree-{self.node}"

    @property
    def levels(self) -> int:
        """L, the most nodes that one person's batch lies in."""
        return self.releases.bit_length()

    @property
    def nodes_moved(self) -> tuple[int, float]:
        """How far one user moves all nodes together, in multiples of l1 and of l2: m L and sqrt(m sum_i n_i)."""
        taken = Participation(self.participations, self.separation)
        most = [taken.within(min(1 << level, self.releases)) for level in range(self.levels)]
        times = taken.within(self.releases)
        return times * self.levels, math.sqrt(times * sum(most))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """m L l1 / b, or a Gaussian of sqrt(m sum_i n_i) l2 / sigma with the grid charged."""
        l1, l2 = self.nodes_moved
        if self.node == "laplace":
            return Pure(l1 * sensitivity.l1 / self.scale)
        return gaussian_loss(l2 * sensitivity.l2, self.scale, self.grid)

    def describe(self) -> dict[str, Json]:
        """Name, releases, levels, scale and grid; how often one user takes part, where that is more than once."""
        several: dict[str, Json] = {"participations": self.participations, "separation": self.separation}
        return {
            "name": self.name,
            "releases": self.releases,
            "levels": self.levels,
            "scale": self.scale,
            "grid": self.grid,
            **(several if self.participations > 1 else {}),
        }

    def visited(self, times: int) -> TreeCounter:
        """The same noise, for users who are in this many batches."""
        return replace(self, participations=times)

    def memory(self) -> int:
        """The running sum and one noise a level."""
        return self.levels + 1

    def init(self, cells: int) -> CounterState:
        """The state before the first release: nothing counted, no node in use."""
        cells = validation.integer("cells", cells, 0)
        return CounterState(cells, (np.zeros(cells, dtype=np.int64), np.zeros((self.levels, cells), dtype=np.int64)))

    def next(
        self, state: CounterState, increment: NDArray[np.int64], noise: NoiseSource
    ) -> tuple[CounterState, NDArray[np.float64]]:
        """Release t closes one node, whose level is the number of zeros at the end of t; lower nodes go out of use."""
        increment = state.admit(increment, self.releases)
        total, noises = state.arrays
        release = state.release + 1
        draw = noise.discrete_laplace if self.node == "laplace" else noise.discrete_gaussian
        closed = (release & -release).bit_length() - 1
        drawn = draw(self.scale / self.grid, state.cells)
        state.spend(increment)
        noises[closed] = drawn
        total += increment
        in_use = [level for level in range(self.levels) if release >> level & 1]
        return state.following(total, noises), self.grid * (total + noises[in_use].sum(axis=0))

    def rounding(self, release: int) -> float:
        """0: nothing is rounded."""
        return 0.0

    def std(self, release: int) -> float:
        """sqrt(popcount(t)) noises; on a coarse grid a little less."""
        nodes = checked_release(release, self.releases).bit_count()
        return self.scale * math.sqrt(nodes * (2 if self.node == "laplace" else 1))

    def radius(self, release: int, failure: float, cells: int = 1) -> float:
        """The quantile of a sum of popcount(t) noises a cell; on a grid it is rounded up to a multiple."""
        draws = checked_release(release, self.releases).bit_count() * validation.integer("cells", cells, 1)
        return _radius(self.node, self.scale, self.grid, draws, validation.failure(failure))


@lru_cache(maxsize=4096)
def _radius(node: str, scale: float, grid: float, draws: int, failure: float) -> float:
    """The quantile of a sum of this many noises: of thousands of releases few differ in how many nodes they carry."""
    if node == "gaussian":
        return discrete_gaussian_radius(scale, grid, math.sqrt(draws), draws, failure)
    continuous = float(laplace_sum_radius(scale, draws, failure))
    return math.ceil(continuous / grid) * grid
