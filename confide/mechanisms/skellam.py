"""Skellam noise that no device adds alone: each device adds a share, and only the sum over a batch has the noise that hides.

A share is the difference of two Poisson variables of mean lambda/h each, h being how many honest people a batch has. Poisson
variables add up: the shares of h people make a difference of two Poisson variables of mean lambda, whatever else is added
(`privacy.skellam` has the account of that). A single report is next to bare, so that against a shuffler who looks at reports there
is no guarantee at all.

**Exact shares.** Poisson(1) is drawn by rejection, in whole numbers only: n coins come up heads before the first tails, with
probability 2^-(n+1), and n is kept with probability 2^(n-1)/n! (1/2 at n = 0, 1 at 1 and 2, and the product of 2/i over i = 3 .. n
beyond). So n is drawn and kept with probability 1/(4 n!), which is in proportion to the law. Poisson(lambda/h) is as many
Poisson(1) as lambda/h has whole parts, and one more, each of whose n is kept with probability (lambda mod h)/h: thinning.

**Clamping.** A device cuts a cell off where its share exceeds `reach`, which happens to one share with a chance below 2^-100 by
Chernoff's bound. That is not post-processing of the sum: (1 + e^epsilon) times the chance that any cell of any honest device is cut
off is charged to delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..privacy import Disclosed, Loss, Sensitivity
from ..privacy.skellam import LEAST_RATE, skellam_loss
from ..validation import Json
from .noise import NoiseSource
from .randomizer import Additive, bernstein_radius
from .shares import NoiseShares

CUT = 2.0**-100
"""The chance with which one share of one cell may be cut off."""
MOST_RATE = 1 << 40


def cut_off(honest: tuple[int, ...], width: int) -> float:
    """The chance that a cell of an honest device of one batch is cut off, at most."""
    return min(1.0, max(honest) * width * CUT)


def poisson_ones(noise: NoiseSource, many: int) -> NDArray[np.int64]:
    """(many,) independent Poisson variables of mean 1, exactly."""
    out, todo = np.zeros(many, dtype=np.int64), np.arange(many)
    while todo.size:
        heads, going = np.zeros(todo.size, dtype=np.int64), np.arange(todo.size)
        while going.size:
            going = going[noise.integers(2, going.size) == 1]
            heads[going] += 1
        kept = np.ones(todo.size, dtype=np.bool_)
        none = np.flatnonzero(heads == 0)
        kept[none] = noise.integers(2, none.size) == 1
        for i in range(3, int(heads.max(initial=0)) + 1):
            tried = np.flatnonzero(kept & (heads >= i))
            kept[tried] = noise.integers(i, tried.size) < 2
        out[todo[kept]] = heads[kept]
        todo = todo[~kept]
    return out


def poisson(noise: NoiseSource, rate: int, people: int, many: int) -> NDArray[np.int64]:
    """(many,) independent Poisson variables of mean rate/people, exactly."""
    whole, part = divmod(rate, people)
    total = poisson_ones(noise, whole * many).reshape(whole, many).sum(axis=0)
    if part:
        counted = poisson_ones(noise, many)
        kept = noise.integers(people, int(counted.sum())) < part
        ends = np.cumsum(counted)
        total += np.diff(np.concatenate([[0], np.cumsum(kept)])[np.concatenate([[0], ends])])
    return np.asarray(total, dtype=np.int64)


@dataclass(frozen=True)
class SkellamShare(Additive):
    """What one device adds to a cell: Poisson(rate/people) - Poisson(rate/people), in multiples of the grid."""

    rate: int
    people: int
    grid: float = 1.0

    @property
    def name(self) -> str:
        """`skellam-share`."""
        return "skellam-share"

    @property
    def mean(self) -> float:
        """That of each of the two Poisson variables."""
        return self.rate / self.people

    def reach(self) -> float:
        """How far a share goes but for a chance of 2^-100: 2 exp(x - mean - x log(x/mean)) bounds that of more than x >= mean."""
        mean, far = self.mean, max(2.0, 2 * self.mean)
        while math.log(2) + far - mean - far * math.log(far / mean) > math.log(CUT):
            far += max(1.0, far // 8)
        return math.ceil(far) * self.grid

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Nothing is guaranteed of one report."""
        return Disclosed()

    def describe(self) -> dict[str, Json]:
        """Name, rate, people and grid."""
        return {"name": self.name, "rate": self.rate, "people": self.people, "grid": self.grid}

    def steps(self, noise: NoiseSource, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """The share alone, in multiples of the grid."""
        many = math.prod(shape)
        drawn = poisson(noise, self.rate, self.people, many) - poisson(noise, self.rate, self.people, many)
        return drawn.reshape(shape)

    def sum_of(
        self, totals: NDArray[np.float64], users: int, trials: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """The sum of `users` reports, drawn at once: Poisson variables add up."""
        up, down = (rng.poisson(self.mean * users, totals.shape) for _ in range(2))
        return totals + self.grid * (up - down)

    def variance(self, trials: float = 1.0) -> float:
        """2 rate/people a person and cell, in squared grids."""
        return 2 * self.mean * self.grid**2

    def radius(self, users: ArrayLike, failure: float, trials: float = 1.0, cells: float = 1.0) -> NDArray[np.float64]:
        """Bernstein's bound: a Skellam variable is a sum of jumps of one grid."""
        spread = np.asarray(users, dtype=np.float64) * self.variance() * cells
        return np.where(spread > 0, bernstein_radius(spread, self.grid, failure), 0.0)


@dataclass(frozen=True)
class SkellamShares(NoiseShares):
    """Shares for batches of several sizes, in each of which the honest ones add up to Skellam noise of variance 2 rate.

    rate: lambda, a whole number. honest: how many honest people a batch of each size has. width: cells of a report. A person is
    in one batch.
    """

    rate: int
    honest: tuple[int, ...]
    width: int
    grid: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", validation.integer("rate", self.rate, LEAST_RATE, MOST_RATE))
        object.__setattr__(self, "honest", tuple(validation.integer("honest", each, 2) for each in self.honest))
        if not self.honest:
            raise validation.refusal("shares-sizes-missing", "honest", "of at least one size of batch", self.honest)
        object.__setattr__(self, "width", validation.integer("width", self.width, 1))
        validation.positive("grid", self.grid)

    @property
    def name(self) -> str:
        """`skellam`."""
        return "skellam"

    def loss_among(self, people: tuple[int, ...], sensitivity: Sensitivity) -> Loss:
        """The loss of the sums if this many people are honest, of each size, and add their shares."""
        variance = 2.0 * min(self.rate * each / counted for each, counted in zip(people, self.honest, strict=True))
        if variance < 2 * LEAST_RATE:
            return Disclosed()
        cut = cut_off(self.honest, self.width)
        return skellam_loss(variance, sensitivity.l1 / self.grid, sensitivity.l2 / self.grid, cut)

    def describe(self) -> dict[str, Json]:
        """Name, rate, honest people and grid; a list of them for several sizes."""
        alone = len(self.honest) == 1
        people: Json = self.honest[0] if alone else list(self.honest)
        return {"name": self.name, "rate": self.rate, "honest_people": people, "grid": self.grid}

    def on_device(self) -> tuple[SkellamShare, ...]:
        """What a device adds to a report to each of the shufflers."""
        return tuple(SkellamShare(self.rate, people, self.grid) for people in self.honest)
