"""Returns of people's episodes: their mean and variance, asked once and almost for nothing.

The return G of an episode is the sum of its rewards in [0, 1], over H steps (after an early end, the end's reward). A public
range [low, high] holds it, [0, H] if nothing narrower is declared. The return of an episode is clipped to the range
and rounded, at random and without bias, to one of N + 1 points:

    g = (G - low)/(high - low) - 1/2,    a multiple of 1/N in [-1/2, 1/2],

and the question asks for the sums over all episodes of (g, c g^2, e), with c = 2 (1 for Laplace noise) and e = 1/4, which tell the
mean return, the mean square, and the number of episodes (which is public where every user has one).

**Sensitivity.** Replace one episode, g by g'. Both lie in [-1/2, 1/2] because they were clipped: what the episodes paid does
not matter, nor whether the declared range is true. The third number stays. With d = |g - g'| and s = |g + g'|, d + s <= 1, the
first two move by l2^2 = d^2 + c^2 d^2 s^2 <= f(d) = d^2 + c^2 d^2 (1 - d)^2, and
f'(d) = 2d (1 + c^2 (1 - d)(1 - 2d)) >= 2d (1 - c^2/8) >= 0, because (1 - d)(2d - 1) <= 1/8 and c^2 <= 8. So f is largest at
d = 1: **l2 = 1, no more than for the mean alone**. Where an episode is taken away and none is put in its place (of a person who
may have several), l2^2 <= 1/4 + c^2/16 + 1/16 < 1. In l1 the change is d + c d (1 - d), at most 1 if c = 1, and then
1/2 + c/4 + e = 1 as well; in general it is at most max((1 + c)^2/(4c), 1/2 + c/4 + e). The tests try all pairs.

In the units of returns the noise is high - low times as large: H times smaller for a return in [0, 1] than for one in [0, H].
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
from ...privacy import Sensitivity
from .kind import Kind, by_trust, register
from .question import DIGEST_BYTES, AboutEpisodes, Pooled, Range, only

if TYPE_CHECKING:
    from ..design import Design
    from .question import Member

KIND = "returns"
FORMAT = "confide.returns-question/2"
RELEASE_FORMAT = "confide.returns/1"
EACH = 1 / 4
"""e, the weight of the count of one episode."""

LEVELS, FEWEST = 16, 1 << 14
"""Points are multiples of 1/16 of a step's reward in the widest range, and there are this many at least."""


@dataclass(frozen=True)
class ReturnsQuestion(AboutEpisodes, Pooled):
    """Sums of g, c g^2 and e over episodes. points: N, an even number; squares: c, 1 or 2. low, high: the range of returns, in sums
    of rewards in [0, 1].
    """

    horizon: int
    points: int
    squares: int
    low: float
    high: float

    def __post_init__(self) -> None:
        validation.integer("horizon", self.horizon, 1)
        if validation.integer("points", self.points, 2, 1 << 30) % 2:
            raise validation.refusal("points-odd", "points", "even", self.points)
        validation.integer("squares", self.squares, 1, 2)
        if not 0 <= validation.number("low", self.low) < validation.number("high", self.high) <= self.horizon:
            raise validation.refusal(
                "returns-out-of-range", "returns", f"between 0 and {self.horizon}", (self.low, self.high)
            )

    @classmethod
    def of(cls, horizon: int, pure: bool = False, within: tuple[float, float] | None = None) -> ReturnsQuestion:
        """pure: for Laplace noise, priced by l1. within: a public range of returns; [0, H] without one."""
        each = LEVELS * horizon
        low, high = (0.0, float(horizon)) if within is None else within
        return cls(horizon, each * math.ceil(FEWEST / each), 1 if pure else 2, low, high)

    @property
    def kind(self) -> str:
        """`returns`."""
        return KIND

    @property
    def spec(self) -> Spec:
        """The sizes of the problem: its horizon, with one state and one action."""
        return Spec(1, 1, self.horizon)

    @property
    def cells(self) -> int:
        """3: the sums of g, of c g^2 and of e."""
        return 3

    @property
    def resolution(self) -> int:
        """How many units make up one: all sums are multiples of 1/resolution."""
        return 4 * self.points**2

    @cached_property
    def trials(self) -> NDArray[np.int64]:
        """(3,) ones: sums are no counts of observations."""
        return np.ones(3, dtype=np.int64)

    @cached_property
    def range(self) -> Range:
        """The range of (g, c g^2, e) of one episode."""
        return Range(np.array([-0.5, 0.0, 0.0]), np.array([0.5, self.squares / 4, EACH]))

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The sensitivity of the three sums; they are multiples of the grid, so it rounds nothing."""
        return self.sensitivity

    def member(self, question: Member) -> ReturnsQuestion:
        """The question itself; any other is refused."""
        return only(self, question)

    def member_for(self, question: Member) -> ReturnsQuestion:
        """The question itself; any other is refused."""
        return only(self, question)

    def to_bytes(self) -> bytes:
        """Versioned bytes; equal questions have equal bytes."""
        return bytes(msgpack.packb([FORMAT, self.horizon, self.points, self.squares, self.low, self.high]))

    @classmethod
    def from_bytes(cls, data: bytes) -> ReturnsQuestion:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, *numbers = msgpack.unpackb(data, max_array_len=8, max_str_len=64)
            if name != FORMAT:
                raise ValueError(f"its format is {name!r}, not {FORMAT!r}")
            return cls(*numbers)
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "returns-question-unreadable",
                f"These bytes are not a statistic of returns this version knows: {error}",
            ) from error

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint of the question."""
        return hashlib.sha256(self.to_bytes()).digest()[:DIGEST_BYTES]

    @property
    def scales(self) -> tuple[float, float, float]:
        """What the sums of g (high - low), g^2 (high - low)^2 and 1 are multiplied by to be those that are asked for."""
        width = self.high - self.low
        return 1 / width, self.squares / width**2, EACH

    @property
    def grid(self) -> float:
        """All sums are multiples of it."""
        return 1 / float(self.resolution)

    @property
    def sensitivity(self) -> Sensitivity:
        """How far replacing one episode moves the three sums."""
        c = self.squares
        l1 = max((1 + c) ** 2 / (4 * c), 0.5 + c / 4 + EACH)
        return Sensitivity(l1, 1.0, ((1.0, 1), (c / 4, 1), (EACH, 1)), 3)

    def units(self, sums: tuple[int, int, int]) -> tuple[int, int, int]:
        """Sums of u, u^2 and 1 over episodes, u = N g, as the three numbers that are asked for, in grids."""
        total, square, count = sums
        return 4 * self.points * total, 4 * self.squares * square, count * self.points**2


@dataclass(frozen=True)
class ReturnsRelease:
    """Sums over all episodes of g and g^2, where g is a return minus the middle of [low, high], and how many episodes; with noise
    of these deviations.

    users: how many people; most: how many episodes each may have. low, high: between which every return lies, in sums of rewards in
    [0, 1].
    """

    users: int
    most: int
    low: float
    high: float
    centred: float
    squares: float
    episodes: float
    noise: tuple[float, float, float]

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        numbers = [self.low, self.high, self.centred, self.squares, self.episodes, list(self.noise)]
        return bytes(msgpack.packb([RELEASE_FORMAT, self.users, self.most, *numbers]))

    @classmethod
    def from_bytes(cls, data: bytes) -> ReturnsRelease:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, users, most, *numbers = msgpack.unpackb(data, max_array_len=16, max_str_len=64)
            if name != RELEASE_FORMAT:
                raise ValueError(f"its format is {name!r}, not {RELEASE_FORMAT!r}")
            low, high, *sums, noise = numbers
            centred, squares, episodes = (validation.number("returns", value) for value in sums)
            first, second, third = (validation.number("noise", value) for value in noise)
            people, most_episodes = validation.integer("users", users, 0), validation.integer("episodes", most, 1)
            least = validation.number("returns", low)
            largest = least + validation.positive("range of returns", validation.number("returns", high) - least)
            return cls(people, most_episodes, least, largest, centred, squares, episodes, (first, second, third))
        except (ConfideError, ValueError, TypeError, IndexError, OverflowError, msgpack.UnpackException) as error:
            raise FormatError(
                "response-unreadable", f"These bytes are not a release this version can read: {error}"
            ) from error


class ReturnsKind(Kind[ReturnsQuestion, ReturnsRelease]):
    """Three sums over a whole log, at a curator."""

    name = KIND
    answered = by_trust(central=("laplace", "gaussian"))

    def read(self, data: bytes) -> ReturnsQuestion:
        """The question that wrote these bytes."""
        return ReturnsQuestion.from_bytes(data)

    def read_release(self, data: bytes, design: Design) -> ReturnsRelease:
        """Read what `to_bytes` wrote."""
        return ReturnsRelease.from_bytes(data)


RETURNS = register(ReturnsKind())
