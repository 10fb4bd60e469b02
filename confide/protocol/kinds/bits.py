"""Counts encoded in bits: how many bits each counter has, and how many of them one person can change.

A visit or a transition is one bit a step; a reward is m = levels bits, of which as many are one as it has parts of 1/m. So a
report of a whole episode is one bit for each step and each pair (s, a), one bit for each step and each (s, a, s') whose
transition is counted, and m bits for each step and each (s, a), after rounding at random to a
multiple of 1/m. Write T for the number of steps whose transition is counted.

**Claim.** Two episodes differ in at most 2H + 2mH + 2T bits: (4+2m)H - 2 where the last transition is dropped.
**Proof.** At each step an episode sets one visit bit, at most m reward bits, all at its own (s, a), and at most one
transition bit. So two episodes differ at that step in at most 2 visit bits, 2m reward bits and 2 transition bits, whatever the
rounding draws (draws do not depend on the data, so they may be the same for both). Two episodes that share no pair (s, a) and
always earn 1 differ in all of them. An episode that ended early sets fewer bits.

What is sent are counters: sums of the bits of a cell, over the m bits of a reward, and pooled over steps where the model is
stationary. One person changes no more bits of them, so l1 is the number of bits. But the bits that change may all lie in one
counter: a person who never moves puts H bits into one counter of visits, and m H into one of rewards. So l2 and shifts are those
of the counters, with rewards m times as large (`sensitivity.py`): pooled, l2^2 = 2 H^2 + 2 (m H)^2 + 2 T^2 if all are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...privacy import Sensitivity
from .counts import COUNTS, REWARDS, TRANSITIONS, VISITS, CountQuestion, average_visits
from .encoded import EncodedCounts, EncodedKind
from .kind import Array, Integers, Possible, by_trust, register
from .question import Range

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer
    from ..laws import Law

KIND = "bits"


def require_bits(question: CountQuestion) -> CountQuestion:
    """The question, refused if its counts are not sums of bits."""
    if not set(question.parts) <= {VISITS, REWARDS, TRANSITIONS}:
        raise InvalidInput(
            "bits-parts",
            f"Only visits, rewards and transitions are reported in bits. Got {', '.join(question.parts)}. Ask for these.",
        )
    return question


@dataclass(frozen=True)
class BitQuestion(EncodedCounts):
    """counts: visits, rewards and transitions, each of which a message encodes as the number of its bits that are one."""

    def __post_init__(self) -> None:
        require_bits(self.counts)

    @property
    def kind(self) -> str:
        """`bits`."""
        return KIND

    @property
    def mark(self) -> int:
        """How this encoding changes the fingerprint of its counts: by 2."""
        return 0x02

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """(cells,) how many bits encode one count: m for rewards, one for the others."""
        result = np.ones(self.width, dtype=np.int64)
        if REWARDS in self.counts.slices:
            result[self.counts.slices[REWARDS]] = self.counts.levels
        return result

    @cached_property
    def trials(self) -> NDArray[np.int64]:
        """(cells,) how many bits one person sends for each counter."""
        return self.counts.trials * self.weights

    @cached_property
    def range(self) -> Range:
        """Each counter lies between 0 and its number of bits."""
        return Range(np.zeros(self.width), self.trials.astype(np.float64))

    @property
    def resolution(self) -> int:
        """1: counters are whole numbers of bits."""
        return 1

    def price(self, grid: float = 0.0) -> Sensitivity:
        """How far replacing one person moves the counters; l1 is the most bits that can change."""
        from .sensitivity import sensitivity

        return sensitivity(self.counts, weights={REWARDS: self.counts.levels})


class BitKind(EncodedKind[BitQuestion]):
    """Counts of whole episodes, encoded in bits: a reward by m of them."""

    name = KIND
    of_whole_episodes = True
    answered = by_trust(shuffle=("shuffled-bits",))

    def read(self, data: bytes) -> BitQuestion:
        """The question that wrote these bytes: those of its counts."""
        return BitQuestion(CountQuestion.from_bytes(data))

    def estimate(self, question: BitQuestion, mechanism: Randomizer, summed: Array, people: Integers) -> Array:
        """Unbiased bits, over how many make up a count."""
        return np.asarray(mechanism.estimate(summed[0], int(people[0]), question.trials) / question.weights)

    def radii(self, question: BitQuestion, law: Law, failure: float, possible: Possible = None) -> Array:
        """Rewards of m bits have m times as many flips, each of which moves them an m-th as far."""
        count_question, spec = question.counts, question.spec
        radii = COUNTS.radii(count_question, law, failure, possible)
        if count_question.levels > 1 and REWARDS in count_question.parts:
            share = failure / (spec.layers * spec.states * spec.actions * (spec.states + 4))
            pooled = spec.horizon if spec.layers == 1 else 1
            radii[..., 1] = radii[..., 2] = (
                law.radius(share, count_question.levels * pooled, 1.0) / count_question.levels
            )
        return radii

    def noise(self, question: BitQuestion, law: Law) -> Array:
        """The noise of counts; rewards of m bits have an m-th of the variance."""
        noise = COUNTS.noise(question.counts, law)
        if question.counts.levels > 1:
            each = law.variance(question.spec.horizon if question.spec.layers == 1 else 1)
            noise[..., 2] -= each * (1 - 1 / question.counts.levels)
        return noise

    def backup_variance(self, question: BitQuestion, mechanism: Randomizer) -> float:
        """The variance for counts."""
        return COUNTS.backup_variance(question.counts, mechanism)

    def signal(self, question: BitQuestion) -> tuple[int, float]:
        """Transitions, or visits of a single step; a person visits the average pair H/(S A) times, or 1/(S A) times a step."""
        return 3 if question.counts.transition_steps else 0, average_visits(question.spec)


BITS = register(BitKind())
