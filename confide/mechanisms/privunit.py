"""PrivUnit on ranked candidates: a vector of bounded length, reported with pure epsilon whatever floats do.

**What is sent.** v in R^d with |v| <= C becomes the unit vector w = (v, sqrt(C^2 - |v|^2))/C of R^D, D = d + 1. A device
draws M candidates u_1 .. u_M, uniform on the sphere and without a look at v, and ranks them by <u_i, w>, the first of equals
first. Exactly k of them, those ranked first, are *favoured*. It picks candidate i with probability

    e^eps/(k e^eps + M - k)  if i is favoured,   1/(k e^eps + M - k)  if not,

and sends the first d coordinates of L u_i, each rounded at random to a neighbouring point of the grid.

**Privacy.** Fix the candidates and the coins of rounding: they do not depend on v. Whichever vector a person has, exactly k
indices are favoured: a ranking is a permutation, also where products tie, overflow or are rounded. So both probabilities
have the same denominator for any two people, and those of an index differ by a factor of e^eps at most: pure epsilon, for
any two vectors. The message is a function of the candidates, the coins and the index. Averaged over candidates and coins the
factor stays below e^eps. Neither the law of the candidates nor any float enters; the index is drawn exactly (`noise.lies`,
`noise.integers`).

**Estimate.** By symmetry E u_i is along w. With t = <u, w> of density f(t) proportional to (1 - t^2)^((D-3)/2), and S(t) the
chance that at most k - 1 of M - 1 further candidates lie above t, the picked candidate has E <u, w> = M (p_1 - p_0) integral
t f(t) S(t) dt =: m, p_1 and p_0 as above. L = C/m makes the message unbiased: E L u = C w, whose first d coordinates are v;
rounding at random keeps that. The integral is over one variable and is taken by the trapezoidal rule
(`tests/mechanisms/test_privunit.py` compares it with draws, and with twice as many points).

**Variance.** |L u| = L, so L^2/D a coordinate on average. M = 128 costs 1 to 4 % more than infinitely many candidates, which
are the cap of Bhowmick, Duchi, Freudiger, Kapoor and Rogers (2018); among such caps, k as chosen here is the best (Asi,
Feldman, Talwar 2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..privacy import Loss, Pure, Sensitivity
from ..validation import Json
from .noise import NoiseSource
from .randomizer import Randomizer, bernstein_radius, on_grid

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

CANDIDATES = 128
MOST_CANDIDATES, MOST_NUMBERS = 4096, 1 << 24
"""The most candidates, and the most numbers in all of them, that are accepted from outside: a device draws them all."""
POINTS = 4001
"""Of the trapezoidal rule."""
WIDTHS = 12.0
"""How many standard deviations of <u, w> it covers, where the sphere has this many."""
FINENESS = 4096
"""Grid points that the bound has, at least: a vector is rounded to them before it is reported."""
TOGETHER = 1 << 20
"""Numbers that are drawn at once for simulated people."""


class Products(NamedTuple):
    """The law of t = <u, w> at points of angles (n,). weight: its probability by the trapezoidal rule; above: P(t' > t)."""

    t: Array
    weight: Array
    above: Array


@lru_cache(maxsize=16)
def products(dimension: int, points: int = POINTS) -> Products:
    """The law of the product of a uniform unit vector of R^dimension with any other: t = cos a, of density sin^(dimension-2) a."""
    half = min(math.pi / 2, WIDTHS / math.sqrt(dimension))
    angles = np.linspace(math.pi / 2 - half, math.pi / 2 + half, points)
    density = np.sin(angles) ** (dimension - 2)
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    density[[0, -1]] /= 2
    return Products(np.cos(angles), density / below[-1], below / below[-1])


def first_among(above: Array, candidates: int, favoured: int) -> list[Array]:
    """S for every number of favoured candidates from 1 to `favoured`: the chance that fewer of the others lie above."""
    others, summed, tables = candidates - 1, np.zeros_like(above), []
    with np.errstate(divide="ignore"):
        more, less = np.log(above), np.log1p(-above)
    for many in range(favoured):
        ways = math.lgamma(others + 1) - math.lgamma(many + 1) - math.lgamma(others - many + 1)
        rest = np.where(others > many, (others - many) * less, 0.0)
        summed = summed + np.exp(ways + (many * more if many else 0.0) + rest)
        tables.append(np.minimum(summed, 1.0))
    return tables


@lru_cache(maxsize=64)
def moments(epsilon: float, dimension: int, candidates: int, favoured: int) -> tuple[float, float]:
    """m = E <u, w> and E <u, w>^2 of the candidate that is picked."""
    law = products(dimension)
    chance = first_among(law.above, candidates, favoured)[-1]
    low, gap = _chances(epsilon, candidates, favoured)
    picked = candidates * law.weight * (low + gap * chance)
    return float(picked @ law.t), float(picked @ law.t**2)


def _chances(epsilon: float, candidates: int, favoured: int) -> tuple[float, float]:
    """p_0, and p_1 - p_0."""
    shrunk = math.exp(-epsilon)
    total = favoured + (candidates - favoured) * shrunk
    return shrunk / total, -math.expm1(-epsilon) / total


def most_telling(epsilon: float, dimension: int, candidates: int) -> int:
    """The number of favoured candidates of which the picked one is, on average, closest to w: at most half of them."""
    law = products(dimension)
    tables = first_among(law.above, candidates, candidates // 2)
    means = [
        _chances(epsilon, candidates, many + 1)[1] * float(law.weight @ (law.t * table))
        for many, table in enumerate(tables)
    ]
    return int(np.argmax(means)) + 1


@dataclass(frozen=True)
class PrivUnit(Randomizer):
    """vector: d, the cells of a message. bound: C. candidates, favoured: M and k. length: L, that of a message before rounding."""

    epsilon: float
    vector: int = field()
    bound: float
    candidates: int
    favoured: int
    length: float
    grid: float
    name: str = "privunit"

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("bound", self.bound), ("length", self.length)):
            object.__setattr__(self, name, validation.positive(name, value))
        validation.between("grid", self.grid, 2.0**-40, 1.0)
        object.__setattr__(self, "vector", validation.integer("cells of a vector", self.vector, 1))
        most = min(MOST_CANDIDATES, MOST_NUMBERS // self.dimension)
        object.__setattr__(self, "candidates", validation.integer("candidates", self.candidates, 2, most))
        object.__setattr__(
            self, "favoured", validation.integer("favoured candidates", self.favoured, 1, self.candidates // 2)
        )
        wanted = self.bound / moments(self.epsilon, self.dimension, self.candidates, self.favoured)[0]
        if not math.isclose(self.length, wanted, rel_tol=1e-6):
            rule = f"{wanted:.9g}, with which messages are unbiased"
            raise validation.refusal("privunit-length", "length", rule, self.length)

    @classmethod
    def best(cls, epsilon: float, vector: int, bound: float, candidates: int = CANDIDATES) -> PrivUnit:
        """The mechanism with as many favoured candidates as say most, on a grid that is fine for vectors."""
        dimension = vector + 1
        favoured = most_telling(epsilon, dimension, candidates)
        length = bound / moments(epsilon, dimension, candidates, favoured)[0]
        grid = 2.0 ** min(0, math.floor(math.log2(bound / FINENESS)))
        return cls(epsilon, vector, bound, candidates, favoured, length, grid)

    @property
    def dimension(self) -> int:
        """D = d + 1: of the sphere."""
        return self.vector + 1

    @property
    def chances(self) -> tuple[float, float]:
        """The probabilities of an index that is not favoured, and of one that is; floats, for estimates alone."""
        low, gap = _chances(self.epsilon, self.candidates, self.favoured)
        return low, low + gap

    def reach(self) -> float:
        """The length of a message, and a grid point for its rounding."""
        return self.length + self.grid

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The pure loss epsilon, for any two vectors."""
        return Pure(self.epsilon)

    def describe(self) -> dict[str, Json]:
        """Name, epsilon, the bound, and how many candidates are favoured of how many."""
        return {
            "name": self.name,
            "epsilon": self.epsilon,
            "bound": self.bound,
            "candidates": self.candidates,
            "favoured": self.favoured,
            "length": self.length,
            "grid": self.grid,
        }

    def on_sphere(self, cells: Array) -> Array:
        """(D,) w: the vector, cut to its bound, and what is missing to it as one coordinate more."""
        inside = cells / self.bound
        square = float(inside @ inside)
        if square > 1:
            return np.append(inside / math.sqrt(square), 0.0)
        return np.append(inside, math.sqrt(1 - square))

    def ranked(self, candidates: Array, cells: Array) -> Integers:
        """(M,) the indices of candidates (M, D), closest to the vector first: always a permutation."""
        near = candidates @ self.on_sphere(cells) / np.sqrt((candidates**2).sum(axis=1))
        return np.asarray(np.argsort(-near, kind="stable"))

    def randomize(self, cells: Array, trials: Integers, noise: NoiseSource) -> Array:
        """One person's message: a candidate, close to the vector more often than not."""
        if cells.shape != (self.vector,):
            raise validation.wrong_shape("a vector", f"({self.vector},)", cells.shape)
        on_grid(cells, self.grid)
        rng = np.random.default_rng(noise.integers(1 << 62, 4).tolist())  # whatever it draws, epsilon holds
        candidates = rng.standard_normal((self.candidates, self.dimension))
        coins = rng.random(self.vector)
        ranked = self.ranked(candidates, cells)
        rest = self.candidates - self.favoured
        if noise.lies(self.epsilon, rest, 1, self.favoured)[0]:
            place = self.favoured + int(noise.integers(rest, 1)[0])
        else:
            place = int(noise.integers(self.favoured, 1)[0])
        picked = candidates[ranked[place]]
        return np.asarray(self._rounded(self.length / math.sqrt(float(picked @ picked)) * picked[:-1], coins))

    def _rounded(self, numbers: Array, coins: Array) -> Array:
        return np.asarray(self.grid * np.floor(numbers / self.grid + coins))

    def estimate(self, summed: Array, users: int, trials: Integers) -> Array:
        """Messages are unbiased, so the sum is its own estimate."""
        return summed

    def sum_over(self, vectors: Array, rng: np.random.Generator) -> Array:
        """(d,) the sum of the messages of people with vectors (n, d), but for their rounding; for simulation.

        Given t = <u, w>, u - t w is uniform on a sphere around w. t is drawn from its law by angles, evenly between its points.
        """
        law = products(self.dimension)
        low, high = self.chances
        chance = first_among(law.above, self.candidates, self.favoured)[-1]
        picked = np.cumsum(law.weight * (low + (high - low) * chance))
        angles, total = np.arccos(law.t), np.zeros(self.vector)
        for start in range(0, len(vectors), max(1, TOGETHER // self.dimension)):
            part = vectors[start : start + max(1, TOGETHER // self.dimension)] / self.bound
            square = (part**2).sum(axis=1)
            part = np.column_stack([part, np.sqrt(np.maximum(0.0, 1 - square))])
            part /= np.sqrt((part**2).sum(axis=1, keepdims=True))
            t = np.cos(np.interp(rng.random(len(part)), picked / picked[-1], angles))
            around = rng.standard_normal(part.shape)
            along = (around * part).sum(axis=1)
            across = np.sqrt((1 - t**2) / np.maximum((around**2).sum(axis=1) - along**2, np.finfo(np.float64).tiny))
            total += (across @ around + (t - across * along) @ part)[:-1]
        return np.asarray(self.length * total)

    def sum_of(self, totals: Array, users: int, trials: Integers, rng: np.random.Generator) -> Array:
        """The sum of `users` messages, in law where these people all have the same vector."""
        return self.sum_over(np.tile(totals / max(users, 1), (users, 1)), rng)

    def variance(self, trials: float = 1.0) -> float:
        """L^2/D: the mean square of a coordinate, over all of them, a person."""
        return self.length**2 / self.dimension

    def square_of(self, cells: int) -> float:
        """The largest expected square of this many coordinates of a message, whichever vector a person has.

        E u_i^2 = a (1 - w_i^2) + b w_i^2, with b = E <u, w>^2 and a = (1 - b)/(D - 1); and the squares of w add up to 1 at most.
        """
        along = moments(self.epsilon, self.dimension, self.candidates, self.favoured)[1]
        across = (1 - along) / (self.dimension - 1)
        return self.length**2 * (across * cells + max(0.0, along - across)) + self.grid**2 * cells / 4

    def lengths(self, users: ArrayLike, failure: float, cells: int) -> Array:
        """The errors of this many cells together, as a vector, are no longer than this but for the probability `failure`.

        Bernstein's bound holds for lengths of sums of independent centred vectors as it does for numbers (Pinelis 1994).
        """
        people = np.asarray(users, dtype=np.float64)
        largest = self.length + self.bound + self.grid * math.sqrt(cells)
        return np.where(people > 0, bernstein_radius(people * self.square_of(cells), largest, failure), 0.0)

    def radius(self, users: ArrayLike, failure: float, trials: float = 1.0, cells: float = 1.0) -> Array:
        """Of a sum over cells: its root times the length of these cells."""
        return self.lengths(users, failure, math.ceil(cells)) * math.sqrt(cells)
