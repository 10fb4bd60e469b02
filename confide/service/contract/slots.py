"""Visits of people who come again: how often one may take part, and in which batches.

Under local trust all reports of a person compose, whenever they come. Under joint and shuffle a person is in a batch once, and two
of their batches are at least `apart` apart, as is priced. Their device keeps to that by itself: it remembers the batches that
it had a ticket of. Where an issuer admits people, whatever devices one has, batches are cut into consecutive slots, and a token
names its slot by the key that signed it: no token of a slot gets a place in a batch of another.

**Proof that tokens keep people apart.** Slots have w batches, slot k those from 1 + k w to w + k w. A person gets one token of a
slot, and two of theirs are at least g = 1 + ceil((b - 1)/w) slots apart. The closest that two such slots allow is the last batch of
one and the first of the other: (g - 1) w + 1 >= b apart. So whatever a person's tokens allow, the densest pattern of m batches b
apart, which the design is priced for, is no less (`mechanisms.toeplitz`). With w = b - 1, the default, it is reached: g = 2, and a
person's slots are never neighbours. Where a contract has periods the same holds of all tokens of a person, whichever period they
are of, and of n m visits in place of m.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from ...privacy import Participation
from ...privacy.guarantee import LOCAL
from ...protocol.design import Design

MOST_SLOTS = 64
"""The most slots of a contract: the issuer has a key for each, and a device reads them all."""


@dataclass(frozen=True)
class Slots:
    """Consecutive ranges of `width` batches, `many` of them; a person has up to `times` tokens, of slots `gap` apart or more.

    Under local trust there are no batches: width 0, and a slot is the number of a visit. Where a contract has periods, a person has
    up to `times` tokens in each; visits of local trust are counted in each from 0 on.
    """

    times: int
    many: int
    width: int
    gap: int

    @classmethod
    def of(cls, design: Design, batches: int, keys: int = MOST_SLOTS) -> Slots:
        """The slots of a design, whose service closes `batches` batches, and whose issuer has `keys` keys."""
        taken = design.participation
        if design.trust == LOCAL:
            return cls(taken.times, taken.times, 0, 1)
        width = max(1, taken.apart - 1, -(-batches // keys))
        return cls(taken.times, -(-batches // width), width, 1 + math.ceil((taken.apart - 1) / width))

    @property
    def keys(self) -> int:
        """How many keys their issuer needs: one a slot of batches, one in all where there are none."""
        return self.many if self.width else 1

    def of_batch(self, batch: int) -> int:
        """The slot of a batch, which counts from 1 on; slots from 0 on."""
        return (batch - 1) // self.width

    def batches(self, slot: int) -> range:
        """The batches of a slot."""
        return range(1 + slot * self.width, 1 + (slot + 1) * self.width)

    def allows(self, had: Collection[int], slot: int, recent: int | None = None) -> bool:
        """Whether one who has tokens of these slots may have one of another. recent: how many of them they were given in this
        period, where there are periods."""
        known = 0 <= slot < self.many and (len(had) if recent is None else recent) < self.times
        return known and all(abs(one - slot) >= self.gap for one in had)


def may_come(taken: Participation, batches: Collection[int], batch: int, recent: int | None = None) -> bool:
    """Whether one who was in these batches may be in another: not yet as often as they may, and none of theirs is too close.

    recent: how many of these visits were in this period, where there are periods.
    """
    often = (len(batches) if recent is None else recent) >= taken.times
    return not often and all(abs(one - batch) >= taken.apart for one in batches)
