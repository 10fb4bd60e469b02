"""Asked pairs, where a public share of the people report one bit about their return instead: what asked pairs cannot tell.

Every device draws a row from a public law, independently of its episode and once (`asked`): one of the pairs, and it reports
about its first visit there; or, with a chance of exactly 1/n, the *return*. The return G of an episode is the sum of its rewards,
or of its costs, each in [0, 1], so that it lies in the public range [0, H]. The device rounds G/H at random to a bit B, one with
probability G/H, and reports it by binary randomised response: as it is with probability p = e^epsilon/(e^epsilon + 1), else
flipped.

**Claim.** The message is epsilon-LDP, for any two episodes, for every law and every n, and two episodes reach it.
**Proof.** As in `asked`, P(message = (i, y) | episode) = law(i) M_i(y | episode), with a law that knows no episode, so it is
enough that each M_i is epsilon-LDP. For pairs that is proved there. For the return
M(y | episode) = P(B = y) p + P(B != y) (1 - p) = (1 - p) + P(B = y) (2p - 1), which lies in [1 - p, p] whatever P(B = y) in [0, 1]
is, so that two episodes have a ratio of at most p/(1 - p) = e^epsilon: how G is rounded, and that floats round G/H, changes
nothing. G = 0 and G = H reach it. It is k-ary randomised response with two categories, and its *sensitivity* is what any
category has: replacing a person moves two cells, by one each.

**What is learned.** E B = E G/H, so of n' people who reported their return, k of them a one, H (k - n' (1 - p))/(2p - 1) is an
unbiased estimate of the sum of their returns, with a variance of at most n' H^2 (p (1 - p)/(2p - 1)^2 + 1/4): flips are independent
of all else, and a bit has a variance of at most 1/4. No state is in it: it holds in every world, also where what happens next
depends on more than the state, and where a person comes back to a pair. Who reports a return is drawn before the episode, so
these people are like all others who came in the same rounds.

A law has one weight more than there are pairs, the last, of the return: it is 1/n of all, and a device refuses any other share.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import FormatError
from ...mechanisms.unary import KARY, SampledStep
from ..releases.release import CountRelease, Noise, Returned
from .asked import AskedKind, AskedQuestion
from .categories import naming
from .counts import CountQuestion
from .kind import Array, ByRows, Integers, register

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer
    from ..design import Design

KIND = "asked_return"
MOST_IN = 1 << 16
"""One person in this many, or more, reports a return."""
BITS = 2
"""Categories of a bit."""
_HEADER = struct.Struct("<I")


@dataclass(frozen=True)
class AskedReturnQuestion(AskedQuestion):
    """one_in: n, of whom one reports the return, on average. weights: (rows,) a law of the pairs, and the return."""

    one_in: int = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "one_in", validation.integer("one_in", self.one_in, 2, MOST_IN))
        super().__post_init__()

    @property
    def kind(self) -> str:
        """`asked_return`."""
        return KIND

    @property
    def mark(self) -> int:
        """How this encoding changes the fingerprint of its counts: by 32."""
        return 0x20

    @property
    def remarks(self) -> tuple[str, ...]:
        """Those of asked pairs; and who reports a return."""
        other = (
            f"instead, one device in {self.one_in:,}, drawn by the same law, reports its return by one randomised bit"
        )
        return (*super().remarks, other)

    @property
    def rows(self) -> int:
        """One row for each pair, and the last for the return."""
        return self.pairs + 1

    @property
    def share(self) -> float:
        """The share of people who are asked about a pair."""
        return 1 - 1 / self.one_in

    def law_about(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """(rows,) the weights of all rows: that of the return is exactly 1/n of their sum."""
        return np.append(pairs * (self.one_in - 1), pairs.sum())

    def from_bytes_of_member(self, data: bytes) -> AskedReturnQuestion:
        """The member with the law in these bytes, refused too if another share than the contract's reports the return."""
        member = super().from_bytes_of_member(data)
        if int(member.law[-1]) * self.one_in != int(member.law.sum()):
            raise FormatError(
                "return-share-not-contracts",
                f"By the contract one person in {self.one_in:,} reports a return, and by this law another share. Nothing is sent.",
            )
        return member

    def to_bytes(self) -> bytes:
        """n, and the bytes of the counts."""
        return _HEADER.pack(self.one_in) + self.counts.to_bytes()


class AskedReturnKind(AskedKind):
    """An asked pair of each person, or the return. After the cells of asked pairs come the sum of returns, and of how many."""

    name = KIND

    def read(self, data: bytes) -> AskedReturnQuestion:
        """The question that wrote these bytes."""
        if len(data) < _HEADER.size:
            raise FormatError("return-question-unreadable", "These bytes are no statistic about pairs and returns.")
        (one_in,) = _HEADER.unpack_from(data)
        return AskedReturnQuestion(CountQuestion.from_bytes(data[_HEADER.size :]), one_in=one_in)

    def by_rows(self, design: Design, level: int = 0) -> ByRows:
        """The design's mechanism for pairs, and randomised response with its epsilon for the bit of a return."""
        rows, devices = design.question.rows, design.devices
        return ((slice(0, rows - 1), devices[level]), (slice(rows - 1, rows), of_returns(devices[level])))

    def estimate(self, question: AskedQuestion, mechanism: Randomizer, summed: Array, people: Integers) -> Array:
        """What asked pairs say; then the sum of returns of those who reported them, and how many these are."""
        ones = float(of_returns(mechanism).estimate(summed[-1, :BITS], people[-1])[1])
        returned = [question.spec.horizon * ones, float(people[-1])]
        return np.concatenate([super().estimate(question, mechanism, summed[:-1], people[:-1]), returned])

    def release(self, design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> CountRelease:
        """Counts of first visits, with the returns."""
        release = super().release(design, cells[:-2], users, radii, noise)
        return replace(release, returned=Returned(float(cells[-2]), int(cells[-1])))


ASKED_RETURN = register(AskedReturnKind())


def returns_of(design: Design) -> AskedReturnQuestion | None:
    """The question of a design by which some people report their return; None where none does."""
    return design.question if design.question.kind == KIND else None  # type: ignore[return-value]  # by its kind


def of_returns(mechanism: Randomizer) -> SampledStep:
    """Binary randomised response with the epsilon of a mechanism for pairs."""
    return SampledStep(naming(mechanism).epsilon, BITS, KARY)


def return_variance(horizon: int, mechanism: Randomizer) -> float:
    """The most that one person adds to the variance of a sum of returns: by the flips, and by what the return is."""
    return horizon**2 * (of_returns(mechanism).variance() + 0.25)
