"""Returns of people's episodes: their mean and variance, asked once and almost for nothing.

The return G of an episode is the sum of its rewards in [0, 1], over H steps (after an early end, the end's reward). With
g = G - H/2 in [-m, m], m = H/2, the question asks for the sums over all episodes of

    (g,  c g^2,  e),    c = 2^-k <= sqrt(2)/m,  e = m/2,

which tell the mean return, the mean square, and the number of episodes (which is public where everybody has one).

**Sensitivity.** Replace one episode, g by g'. The third number stays. With d = |g - g'| and s = |g + g'|, d + s <= 2m,
the first two move by l2^2 = d^2 + c^2 d^2 s^2 <= f(d) = d^2 + c^2 d^2 (2m - d)^2, and
f'(d) = 2d (1 + 2 c^2 (2m - d)(m - d)) >= 2d (1 - c^2 m^2/2) >= 0, because (2m - d)(d - m) <= m^2/4. So f is largest at
d = 2m: **l2 = 2m = H, no more than for the mean alone**. Where an episode is taken away and none is put in its place
(of a person who may have several), l2^2 <= m^2 + c^2 m^4 + e^2 <= (1 + 2 + 1/4) m^2 < 4 m^2. In l1 the change is
d + c d (2m - d), at most 2m if c <= 1/(2m), and then m + c m^2 + e <= 2m as well; in general it is at most
max((1 + 2cm)^2/(4c), m + c m^2 + e). The tests try all pairs.

Returns are whole multiples of 1/grain, so all three sums are multiples of `grid`, on which noise is drawn.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import ConfideError, FormatError
from ..mdp import Spec
from ..privacy import Sensitivity
from .question import DIGEST_BYTES, AboutEpisodes, Pooled, Range, only, register

KIND = "returns"
FORMAT = "confide.returns-question/1"

FINEST = 1 << 10
LARGEST = 1 << 16
"""Horizon times grain is kept below it, if a grain of 16 allows, so that squares of many people fit into a word."""


@dataclass(frozen=True)
class ReturnsQuestion(AboutEpisodes, Pooled):
    """Sums of g, c g^2 and e over episodes. grain: returns are counted in units of 1/grain, an even number; halvings: k.

    rounded: by how much a return may be off because a known reward is no multiple of 1/grain.
    """

    horizon: int
    grain: int
    halvings: int
    rounded: float = 0.0

    def __post_init__(self) -> None:
        validation.integer("horizon", self.horizon, 1)
        if validation.integer("grain", self.grain, 2, FINEST) % 2:
            raise validation.refusal("grain", "even", self.grain)
        validation.integer("halvings", self.halvings, 0, 64)
        validation.between("rounded", self.rounded, 0.0, float(self.horizon))

    @classmethod
    def of(cls, horizon: int, levels: int | None, pure: bool = False) -> ReturnsQuestion:
        """levels: to which rewards are rounded, None if they are known. pure: for Laplace noise, priced by l1."""
        grain = levels
        if grain is None:
            grain = FINEST
            while grain > 16 and grain * horizon > LARGEST:
                grain //= 2
        most = horizon if pure else horizon / (2 * math.sqrt(2))
        return cls(horizon, grain + grain % 2, max(0, math.ceil(math.log2(most))))

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
        return self.grain**2 * (4 << self.halvings)

    @cached_property
    def trials(self) -> NDArray[np.int64]:
        """(3,) ones: sums are no counts of observations."""
        return np.ones(3, dtype=np.int64)

    @cached_property
    def range(self) -> Range:
        """The range of (g, c g^2, e) of one episode."""
        m = self.horizon / 2
        return Range(np.array([-m, 0.0, 0.0]), np.array([m, self.square_scale * m**2, self.count_scale]))

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The sensitivity of the three sums; they are multiples of the grid, so it rounds nothing."""
        return self.sensitivity

    def member(self, question: Any) -> ReturnsQuestion:
        """The question itself; any other is refused."""
        return only(self, question)

    def member_for(self, question: Any) -> ReturnsQuestion:
        """The question itself; any other is refused."""
        return only(self, question)

    def to_bytes(self) -> bytes:
        """Versioned bytes; equal questions have equal bytes."""
        return bytes(msgpack.packb([FORMAT, self.horizon, self.grain, self.halvings, self.rounded]))

    @classmethod
    def from_bytes(cls, data: bytes) -> ReturnsQuestion:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, *numbers = msgpack.unpackb(data, max_array_len=8, max_str_len=64)
            if name != FORMAT:
                raise ValueError(f"its format is {name!r}, not {FORMAT!r}")
            return cls(*numbers)
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(f"These bytes are not a question about returns this version knows: {error}") from error

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint of the question."""
        return hashlib.sha256(self.to_bytes()).digest()[:DIGEST_BYTES]

    @property
    def square_scale(self) -> float:
        """c = 2^-k, the factor of squares."""
        return float(2.0**-self.halvings)

    @property
    def count_scale(self) -> float:
        """e = m/2, what the count of one episode is worth."""
        return self.horizon / 4

    @property
    def grid(self) -> float:
        """All sums are multiples of it."""
        return 1 / float(self.resolution)

    @property
    def sensitivity(self) -> Sensitivity:
        """How far replacing one episode moves the three sums."""
        m, c, e = self.horizon / 2, self.square_scale, self.count_scale
        l1 = 2 * m if c <= 1 / (2 * m) else max((1 + 2 * c * m) ** 2 / (4 * c), m + c * m**2 + e)
        return Sensitivity(l1, 2 * m, ((2 * m, 1), (c * m**2, 1), (e, 1)), 3)

    def units(self, sums: tuple[int, int, int]) -> tuple[int, int, int]:
        """Sums of u, u^2 and 1 over episodes, u = grain g, as the three numbers that are asked for, in grids."""
        total, square, count = sums
        fine = self.grain * 2**self.halvings * 4
        return total * fine, square * 4, count * self.horizon * self.grain * fine // 4


register(KIND, ReturnsQuestion.from_bytes)
