"""Scores of judging people: how large they are, their mean with its variance, their weights, and a test. Each is asked once.

A score D of a person's episode (`mdp.adoption`) is a number that may be large. Five parts can be asked, the last of which is about
public groups of people:

* `sizes`: which of `CELLS` octaves |D| lies in, one cell each: a person adds 1 to one cell.
* `gain`: y = D/C, clipped to [-1, 1] by a public C that `sizes` gave, on a grid of 1/N: the sums of y and k (y^2 - 1/2).
* `weight`: v = min(W, w)/w in [0, 1], W the product of a person's ratios and w public, on the same grid: the sum of v.
* `residuals`: a vector z of `TESTS` numbers, shortened to length 1 - sqrt(TESTS)/N if it is longer and then rounded, at random
  and number by number, to the grid: the sum of z.

**Sensitivity**, replacing one person, whatever their episodes and whatever C, w and the score say (all is clipped):

* `sizes`: one person leaves a cell and another enters one: l2^2 = 2 at most, l1 = 2.
* `gain`: with d = |y - y'|, s = |y + y'|, d + s <= 2 (max |y|, |y'| <= 1), the two sums move by
  d^2 + k^2 (y^2 - y'^2)^2 = d^2 (1 + k^2 s^2) <= f(d) = d^2 (1 + k^2 (2 - d)^2). f(2) = 4, and f(d) <= 4 for all d in [0, 2] iff
  k^2 (2 - d)^2 d^2 <= 4 - d^2, that is k^2 <= (2 + d)/(d^2 (2 - d)), whose least value over d is 2.772...: with t = d/2 it is
  (1 + t)/(4 t^2 (1 - t)), least at t = (sqrt 5 - 1)/2, where it is 11.09/4. So with k = 1.65, k^2 = 2.7225, **l2 = 2, no more than
  for the mean alone: the square is free**. In l1 they move by d + k d (2 - d), largest at d = 1 + 1/(2k), where it is
  (1 + 2k)^2/(4k). y is rounded at random to a multiple of 1/N inside [-1, 1]; y^2 is the square of that.
* `weight`: 1.
* `residuals`: rounding moves each number by less than 1/N, and so the vector by less than sqrt(TESTS)/N: its length stays below 1,
  and two of them are less than 2 apart: l2 = 2, l1 = 2 sqrt(TESTS).
* `groups`: people are in one of G public groups; of each group the sums of y and k (y^2 - 1/2), as of `gain`, and e for every user
  in it, e = 1/2, which tells how many they are. Two people of one group differ as for `gain`: l2^2 <= 4. People of two groups share
  no cell, and each adds y^2 + k^2 (y^2 - 1/2)^2 + e^2, which is convex in y^2, so largest at an end: 1 + k^2/4 + e^2 at y^2 = 1.
  Together 2 + k^2/2 + 2 e^2 = 3.86 < 4: **l2 = 2 still, so sizes of groups, which are private, are free**. In l1 people of two
  groups differ by 2 (1 + k/2 + e), more than those of one. Cell by cell they differ by 1, 1, k/2, k/2, e and e,
  which is no easier to notice than shifts of 2, k, e and e, nor is what people of one group do.

Adding or taking a person away moves less: l2^2 <= 1, 1 + k^2/4 < 4, 1, 1, 1 + k^2/4 + e^2. The tests try all pairs of points.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgpack
import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import ConfideError, FormatError
from ...mdp import Spec
from ...mdp.model import MOST_GROUPS
from ...privacy import Sensitivity
from .kind import Kind, by_trust, register
from .question import DIGEST_BYTES, AboutEpisodes, Member, Pooled, Range, only

if TYPE_CHECKING:
    from ..design import Design

KIND = "judged"
FORMAT = "confide.judged-question/1"
RELEASE_FORMAT = "confide.judged/1"
SIZES, GAIN, WEIGHT, RESIDUALS, GROUPS = "sizes", "gain", "weight", "residuals", "groups"
PARTS = (SIZES, GAIN, WEIGHT, RESIDUALS, GROUPS)

CELLS = 15
"""Octaves of a score's size."""

TESTS = 15
"""Numbers of the test of residuals."""

POINTS = 1 << 10
"""N: scores are multiples of 1/N of their clip."""

SQUARES, SQUARE_UNIT = 33, 20
"""k = SQUARES/SQUARE_UNIT, a fraction, so that all sums are whole numbers of one grid."""

EACH = 0.5
"""e, what every user in a group adds to the count of its people."""


@dataclass(frozen=True)
class JudgedQuestion(AboutEpisodes, Pooled):
    """One part of what is asked of judging people, by its name. groups: how many there are, in the part about them."""

    part: str
    groups: int = 0

    def __post_init__(self) -> None:
        validation.choice("part", self.part, PARTS)
        least, most = (2, MOST_GROUPS) if self.part == GROUPS else (0, 0)
        validation.integer("groups", self.groups, least, most)

    @property
    def kind(self) -> str:
        """`judged`."""
        return KIND

    @property
    def spec(self) -> Spec:
        """One state, one action, one step: a score is one number."""
        return Spec(1, 1, 1)

    @property
    def cells(self) -> int:
        """The numbers that one person adds to."""
        return {SIZES: CELLS, GAIN: 2, WEIGHT: 1, RESIDUALS: TESTS, GROUPS: 3 * self.groups}[self.part]

    @property
    def resolution(self) -> int:
        """How many units make up one: all sums are multiples of 1/resolution."""
        squares = 2 * SQUARE_UNIT * POINTS**2
        return {SIZES: 1, GAIN: squares, WEIGHT: POINTS, RESIDUALS: POINTS, GROUPS: squares}[self.part]

    @property
    def grid(self) -> float:
        """All sums are multiples of it."""
        return 1 / float(self.resolution)

    @cached_property
    def trials(self) -> NDArray[np.int64]:
        """(cells,) ones: sums are no counts of observations."""
        return np.ones(self.cells, dtype=np.int64)

    @cached_property
    def range(self) -> Range:
        """What one person can put into each cell."""
        half = SQUARES / SQUARE_UNIT / 2
        low, high = {
            SIZES: (np.zeros(CELLS), np.ones(CELLS)),
            GAIN: (np.array([-1.0, -half]), np.array([1.0, half])),
            WEIGHT: (np.zeros(1), np.ones(1)),
            RESIDUALS: (-np.ones(TESTS), np.ones(TESTS)),
            GROUPS: (np.tile([-1.0, -half, 0.0], self.groups), np.tile([1.0, half, EACH], self.groups)),
        }[self.part]
        return Range(low, high)

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The sensitivity that is proved in the docstring of this module; all answers are multiples of the grid."""
        k = SQUARES / SQUARE_UNIT
        return {
            SIZES: Sensitivity(2.0, math.sqrt(2), ((1.0, 2),), 2),
            GAIN: Sensitivity((1 + 2 * k) ** 2 / (4 * k), 2.0, ((2.0, 1), (k, 1)), 2),
            WEIGHT: Sensitivity(1.0, 1.0, ((1.0, 1),), 1),
            RESIDUALS: Sensitivity(2.0 * math.sqrt(TESTS), 2.0, ((2.0, TESTS),), TESTS),
            GROUPS: Sensitivity(2 * (1 + k / 2 + EACH), 2.0, ((2.0, 1), (k, 1), (EACH, 2)), 6),
        }[self.part]

    def member(self, question: Member) -> JudgedQuestion:
        """The question itself; any other is refused."""
        return only(self, question)

    def member_for(self, question: Member) -> JudgedQuestion:
        """The question itself; any other is refused."""
        return only(self, question)

    def to_bytes(self) -> bytes:
        """Versioned bytes; equal questions have equal bytes."""
        return bytes(msgpack.packb([FORMAT, self.part, *([self.groups] if self.groups else [])]))

    @classmethod
    def from_bytes(cls, data: bytes) -> JudgedQuestion:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, part, *groups = msgpack.unpackb(data, max_array_len=4, max_str_len=64)
            if name != FORMAT:
                raise ValueError(f"its format is {name!r}, not {FORMAT!r}")
            return cls(part, *groups)
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "judged-question-unreadable", f"These bytes are not a statistic of scores this version knows: {error}"
            ) from error

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint of the question."""
        return hashlib.sha256(self.to_bytes()).digest()[:DIGEST_BYTES]

    def units(self, numbers: NDArray[np.float64], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """(cells,) the sum over people of their answers, in units of 1/resolution.

        numbers: (n,) octaves from 0, or shares of the clip, of which the part beyond it is cut off; of residuals (n, TESTS);
        of groups (n, 2), the share and the number of the person's group.
        uniforms: of the same shape, by which they are rounded at random, without bias.
        """
        if self.part == SIZES:
            octaves = np.clip(np.nan_to_num(numbers, nan=CELLS - 1.0), 0, CELLS - 1).astype(np.int64)
            return np.bincount(octaves, minlength=CELLS).astype(np.int64)
        if self.part == GROUPS:
            group = np.clip(np.nan_to_num(numbers[:, 1], nan=0.0), 0, self.groups - 1).astype(np.int64)
            alone = JudgedQuestion(GAIN)
            members = [group == number for number in range(self.groups)]
            sums = [alone.units(numbers[mine, 0], uniforms[mine, 0]) for mine in members]
            each = round(EACH * self.resolution)
            return np.concatenate([[*pair, each * int(mine.sum())] for pair, mine in zip(sums, members, strict=True)])
        low = 0.0 if self.part == WEIGHT else -1.0
        inside = np.clip(np.nan_to_num(numbers, nan=0.0), low, 1.0)
        scaled = POINTS * (shortened(inside) if self.part == RESIDUALS else inside)
        floors = np.floor(scaled)
        u = floors.astype(np.int64) + (uniforms < scaled - floors)
        if self.part != GAIN:
            return np.asarray(u.reshape(len(u), self.cells).sum(axis=0), dtype=np.int64)
        mean = 2 * SQUARE_UNIT * POINTS * int(u.sum())
        square = SQUARES * (2 * int((u * u).sum()) - len(u) * POINTS**2)
        return np.array([mean, square], dtype=np.int64)

    def deviations(self, deviation: float) -> NDArray[np.float64]:
        """(cells,) the deviations of what sums say, if the noise in each has that one."""
        ratio = SQUARE_UNIT / SQUARES
        scales = {GAIN: [1.0, ratio], GROUPS: [1.0, math.hypot(ratio, 0.5 / EACH), 1 / EACH] * self.groups}
        return deviation * np.array(scales.get(self.part, [1.0] * self.cells))

    def values(self, cells: NDArray[np.float64], people: int) -> NDArray[np.float64]:
        """What sums say: of `gain` the sums of y and of y^2 over this many people; of `groups` those, and how many, of each; others
        as they are."""
        if self.part == GROUPS:
            total, square, size = cells.reshape(self.groups, 3).T
            size = size / EACH
            return np.stack([total, square * SQUARE_UNIT / SQUARES + size / 2, size], axis=1).ravel()
        if self.part != GAIN:
            return cells
        return np.array([cells[0], cells[1] * SQUARE_UNIT / SQUARES + people / 2])


def shortened(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, TESTS) vectors cut to [-1, 1] and then to a length that stays below 1 when they are rounded to the grid."""
    most = 1 - (math.sqrt(TESTS) + 0.01) / POINTS
    inside = np.clip(numbers, -1.0, 1.0)
    lengths = np.maximum(np.linalg.norm(inside, axis=1, keepdims=True), 1e-300)
    return np.asarray(inside * np.minimum(1.0, most / lengths))


@dataclass(frozen=True)
class JudgedRelease:
    """One part of what judging people were asked: noisy sums over `users` people, whose noise has that deviation in each.

    scale: what a share of 1 stands for, the clip of scores, of weights or of residuals.
    """

    part: str
    users: int
    sums: tuple[float, ...]
    noise: tuple[float, ...]
    scale: float

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        numbers = [list(self.sums), list(self.noise), self.scale]
        return bytes(msgpack.packb([RELEASE_FORMAT, self.part, self.users, *numbers]))

    @classmethod
    def from_bytes(cls, data: bytes) -> JudgedRelease:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, part, users, sums, noise, scale = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
            if name != RELEASE_FORMAT:
                raise ValueError(f"its format is {name!r}, not {RELEASE_FORMAT!r}")
            cells = JudgedQuestion(part, len(sums) // 3 if part == GROUPS else 0).cells
            if (len(sums), len(noise)) != (cells, cells):
                raise ValueError("it has other numbers than its part")
            numbers = tuple(validation.number("sum", each) for each in sums)
            sizes = tuple(validation.number("noise", each) for each in noise)
            return cls(part, validation.integer("users", users, 0), numbers, sizes, validation.positive("scale", scale))
        except (ConfideError, ValueError, TypeError, IndexError, OverflowError, msgpack.UnpackException) as error:
            raise FormatError(
                "response-unreadable", f"These bytes are not a release this version can read: {error}"
            ) from error


class JudgedKind(Kind[JudgedQuestion, JudgedRelease]):
    """Sums of scores of people who judge, at a curator."""

    name = KIND
    answered = by_trust(central=("laplace", "gaussian"))

    def read(self, data: bytes) -> JudgedQuestion:
        """The question that wrote these bytes."""
        return JudgedQuestion.from_bytes(data)

    def read_release(self, data: bytes, design: Design) -> JudgedRelease:
        """Read what `to_bytes` wrote."""
        return JudgedRelease.from_bytes(data)


JUDGED = register(JudgedKind())
