"""When a learner may look: a public list of the numbers of people after which a release is made.

A schedule is fixed before the first person arrives and depends on nothing that users do, so it gives nothing away;
continual counters, shufflers and the simulator all read the same one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..validation import Json
from .guarantee import UNIT

EVERY = "every"
BATCHES = "batches"
GROWTH = "growth"
SIZE = "size"
WIDENING = "widening"
EXPLORING = "exploring"
DOUBLING = "doubling"

EXPLORERS = 2
"""How many people come between two groups of a exploring schedule."""

STEADY, AFTER = 16, 8
"""How many groups of a doubling schedule have the first size, and every doubled one."""


@dataclass(frozen=True)
class Participation:
    """How often one user takes part: in up to `times` groups of a schedule, any two of them at least `apart` groups apart."""

    times: int = 1
    apart: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", validation.integer("returns", self.times, 1))
        object.__setattr__(self, "apart", validation.integer("apart", self.apart, 1))

    def within(self, groups: int) -> int:
        """The most groups, of this many, in which one user can take part."""
        return min(self.times, 1 + (groups - 1) // self.apart)

    @property
    def unit(self) -> str:
        """What a guarantee hides of a user who takes part this often."""
        return UNIT if self.times == 1 else f"all trajectories of one person, up to {self.times:,} of them"

    def __str__(self) -> str:
        spaced = f", at least {self.apart:,} batches apart" if self.apart > 1 else ""
        return f"up to {self.times:,} times{spaced}" if self.times > 1 else "once"


ONCE = Participation()
"""Every user takes part once."""

# The largest number of people a schedule covers: counts stay exact in 64-bit integers and in doubles.
MOST_USERS = 10**15


@dataclass(frozen=True)
class Schedule:
    """`users` people in all, served in consecutive groups; a policy is constant inside a group.

    kind `every`: groups of one. `batches`: `parameter` groups as equal as can be. `growth`: a group ends when the
    number of people has grown by the factor `parameter` (at least by one person). `size`: groups of `parameter`
    people, the last of which may be shorter. `widening`: the first group is the burn-in, every other one as large, or the
    share `parameter` of all people so far if that is more. `exploring`: as growth, and after each group two people are a group
    of their own, for learners that send a few to look where most no longer go. `doubling`: 16 groups of `parameter` people, then
    8 of twice as many, 8 of four times as many, and so on; the last may be shorter. With a burn-in the first group is that many
    people, whatever the kind, and they act at random.
    """

    kind: str
    users: int
    parameter: float = 1.0
    burn_in: int = 0

    def __post_init__(self) -> None:
        validation.choice("schedule", self.kind, (EVERY, BATCHES, GROWTH, SIZE, WIDENING, EXPLORING, DOUBLING))
        users = validation.integer("episodes", self.users, 1, MOST_USERS)
        object.__setattr__(self, "users", users)
        if self.kind == BATCHES:
            batches = validation.integer("batches", self.parameter, 1)
            object.__setattr__(self, "parameter", float(min(batches, users)))
        if self.kind in (SIZE, DOUBLING):
            object.__setattr__(self, "parameter", float(validation.integer("batch", self.parameter, 1, users)))
        object.__setattr__(self, "burn_in", validation.integer("burn_in", self.burn_in, 0, users))
        if self.kind == WIDENING and (self.burn_in < 1 or validation.number("share", self.parameter) <= 0):
            raise validation.refusal(
                "schedule-share", "share", "above 0, with a first group", self.parameter, "0.1 is the default."
            )
        if self.kind in (GROWTH, EXPLORING) and validation.number("growth", self.parameter) <= 1:
            raise validation.refusal(
                "schedule-growth", "growth", "above 1", self.parameter, "1.01 plans anew at every 1 % of growth."
            )

    @classmethod
    def every(cls, users: int) -> Schedule:
        """A release after every person."""
        return cls(EVERY, users)

    @classmethod
    def batches(cls, users: int, count: int) -> Schedule:
        """A release after each of `count` equal groups."""
        return cls(BATCHES, users, count)

    @classmethod
    def growth(cls, users: int, factor: float) -> Schedule:
        """A release whenever the number of people has grown by `factor`."""
        return cls(GROWTH, users, factor)

    @classmethod
    def exploring(cls, users: int, factor: float) -> Schedule:
        """A release whenever the number of people has grown by `factor`, with two people between any two groups."""
        return cls(EXPLORING, users, factor)

    @classmethod
    def widening(cls, users: int, first: int, share: float = 0.1) -> Schedule:
        """Groups of at least `first` people, and of a share of all users so far."""
        return cls(WIDENING, users, share, min(first, users))

    @classmethod
    def sized(cls, users: int, people: int) -> Schedule:
        """A group for every `people` people, and one for those that are left over."""
        return cls(SIZE, users, people)

    @classmethod
    def doubling(cls, users: int, people: int) -> Schedule:
        """Groups of `people` people, of twice as many, of four times as many and so on."""
        return cls(DOUBLING, users, people)

    def until(self, users: int) -> Schedule:
        """The same rule, of which only this many users are seen: what has no end is not played to it."""
        return replace(self, users=users, burn_in=min(self.burn_in, users))

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """(M,) number of people seen at the end of each group; the last is `users`."""
        ends = self._plain_ends()
        return np.concatenate([[self.burn_in], ends[ends > self.burn_in]]) if self.burn_in else ends

    def _plain_ends(self) -> NDArray[np.int64]:
        if self.kind == EVERY:
            return np.arange(1, self.users + 1, dtype=np.int64)
        if self.kind == BATCHES:
            count = int(self.parameter)
            step = np.arange(1, count + 1, dtype=np.int64)
            return step * (self.users // count) + np.minimum(step, self.users % count)
        if self.kind == SIZE:
            people = int(self.parameter)
            return np.minimum(np.arange(1, -(-self.users // people) + 1, dtype=np.int64) * people, self.users)
        growing = {WIDENING: self._widening, DOUBLING: self._doubling}.get(self.kind, self._growing)
        return np.fromiter(growing(), dtype=np.int64)

    def _growing(self) -> Iterator[int]:
        seen = 0
        while seen < self.users:
            seen = min(self.users, max(seen + 1, math.floor(seen * self.parameter)))
            yield seen
            if self.kind == EXPLORING and seen < self.users:
                seen = min(self.users, seen + EXPLORERS)
                yield seen

    def _widening(self) -> Iterator[int]:
        seen = 0
        while seen < self.users:
            seen = min(self.users, seen + max(self.burn_in, math.floor(seen * self.parameter)))
            yield seen

    def _doubling(self) -> Iterator[int]:
        seen, size, left = 0, int(self.parameter), STEADY
        while seen < self.users:
            if left == 0:
                size, left = 2 * size, AFTER
            seen, left = min(self.users, seen + size), left - 1
            yield seen

    @property
    def releases(self) -> int:
        """How many groups, hence releases, there are."""
        return self.users if self.kind == EVERY and not self.burn_in else len(self.ends)

    def describe(self) -> dict[str, Json]:
        """Plain values for certificates and configurations."""
        burn_in = {"burn_in": self.burn_in} if self.burn_in else {}
        return {
            "kind": self.kind,
            "users": self.users,
            "parameter": self.parameter,
            "releases": self.releases,
            **burn_in,
        }

    def __str__(self) -> str:
        if self.kind == EVERY:
            return f"every episode ({self.users:,} releases)"
        if self.kind == BATCHES:
            return f"{self.releases:,} equal batches"
        if self.kind == SIZE:
            return f"batches of {self.parameter:,.0f} ({self.releases:,} of them)"
        if self.kind == DOUBLING:
            return f"batches of {self.parameter:,.0f} people, doubled {AFTER} by {AFTER} ({self.releases:,} of them)"
        if self.kind == WIDENING:
            return (
                f"batches of {self.burn_in:,} people or {self.parameter:g} of all so far ({self.releases:,} releases)"
            )
        between = " with exploration users between" if self.kind == EXPLORING else ""
        return f"growth by {self.parameter:g}{between} ({self.releases:,} releases)"
