"""How people are mixed by shufflers: public, and fixed before the first person arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import validation
from ...errors import InvalidInput
from ...mdp import Spec
from ...privacy.schedule import AFTER, STEADY, Schedule

HONEST = 0.5
"""Which share of users is assumed to be honest where nothing is said."""

BEYOND = 0.25
"""How many tickets a service issues beyond the batch of a shuffler, as a share of the batch: some holders are absent."""
NEVER = 1 << 62
"""The base batch with which a batch begins that does not come."""


class ShuffledBatch(NamedTuple):
    """A batch: the base batch with which it begins, and its level; it covers 2^level base batches."""

    first: int
    level: int


@dataclass(frozen=True)
class Mixing:
    """How a shuffler mixes people.

    batch: how many people a base batch has. honest: how many of them are assumed to follow the protocol, as a share of the
    batch, or as a number if above 1. local_epsilon: the noise of the devices, if it is to be this; else the least that
    keeps the guarantee. reward_bits: m, by how many bits a reward is reported. tree: shufflers for nodes of several batches
    besides. burn_in: for how many people the paper's protocol acts at random first. widening: whether later batches are of 2,
    4, 8 ... base batches, as in a doubling schedule; each person is still in one.
    """

    batch: int
    honest: float = 1.0
    local_epsilon: float | None = None
    reward_bits: int = 1
    tree: bool = False
    burn_in: int = 0
    widening: bool = False

    def __post_init__(self) -> None:
        batch = validation.integer("batch", self.batch, 2, way_out="A batch of one hides no user; choose trust local.")
        object.__setattr__(self, "batch", batch)
        honest = validation.positive("honest", self.honest)
        if honest > batch:
            raise validation.refusal("honest-above-batch", "honest", f"at most the batch of {batch}", self.honest)
        if self.honest_in(batch) < 2:
            raise validation.refusal(
                "honest-below-two", "honest", "at least 2 people of a batch", self.honest, "One alone is not hidden."
            )
        if self.local_epsilon is not None:
            object.__setattr__(self, "local_epsilon", validation.positive("local_epsilon", self.local_epsilon))
        way_out = "1 is enough for rewards of 0 and 1."
        object.__setattr__(
            self, "reward_bits", validation.integer("reward_bits", self.reward_bits, 1, 1 << 12, way_out)
        )
        object.__setattr__(self, "burn_in", validation.integer("burn_in", self.burn_in, 0))
        if self.tree and self.widening:
            raise InvalidInput(
                "widening-and-tree",
                "Batches widen, or there is a tree of shufflers over equal ones. Choose one of the two.",
            )

    def schedule(self, users: int) -> Schedule:
        """The schedule whose groups are the batches of this many people."""
        return (Schedule.doubling if self.widening else Schedule.sized)(users, self.batch)

    def levels(self, users: int) -> int:
        """How many sizes of batches there are among this many people."""
        base = users // self.batch
        if self.tree:
            return base.bit_length()
        level = 1
        while self.widening and _begins(level) + (1 << level) <= base:
            level += 1
        return level

    def batches_of(self, group: int, users: int) -> list[ShuffledBatch]:
        """The batches to which a person of a group of the schedule reports: one, or one on several levels of a tree; none if it
        is the first of a size and never fills, since its sum would reach no server.
        """
        if self.tree:
            levels = (level for level in range(self.levels(users)) if group & (1 << level) == 0)
            return [ShuffledBatch(group - group % (1 << level), level) for level in levels]
        level = int(self._widened(group))
        if level >= self.levels(users):
            return []
        return [ShuffledBatch(group if level == 0 else _begins(level) + ((group - STEADY) % AFTER << level), level)]

    def closing_levels(self, groups: int) -> NDArray[np.int64]:
        """(groups,) the level of the batch that is full after each group of the schedule; of a tree's nodes, of the largest."""
        group = np.arange(groups, dtype=np.int64)
        return np.log2((group + 1) & -(group + 1)).astype(np.int64) if self.tree else self._widened(group)

    def full(self, schedule: Schedule) -> NDArray[np.bool_]:
        """(groups,) which groups of its schedule are whole batches: the last may be short, and is then never given out."""
        sizes = np.diff(schedule.ends, prepend=0)
        levels = np.zeros_like(sizes) if self.tree else self.closing_levels(len(sizes))
        return np.asarray(sizes == self.batch << levels)

    def _widened(self, group: ArrayLike) -> NDArray[np.int64]:
        """The level of the batch of a group, where there is no tree."""
        level: NDArray[np.int64] = np.maximum(0, (np.asarray(group) - STEADY) // AFTER + 1)
        return level if self.widening else np.zeros_like(level)

    def opening(self, level: int, done: int) -> int:
        """The base batch with which the next batch of a level begins, once `done` base batches are over."""
        if self.tree:
            return -(-done >> level + 1) << level + 1
        if not self.widening:
            return done
        return max(done, _begins(level)) if done < _begins(level + 1) else NEVER

    def covered(self, level: int, base: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many of this number of base batches are covered by sums of a level, once all that are full have been given out."""
        if self.tree:
            return base & (1 << level)
        if not self.widening:
            return base
        inside = (base - _begins(level)).clip(0, _begins(level + 1) - _begins(level))
        return inside >> level << level

    @property
    def share(self) -> float:
        """The share of people that is assumed to be honest."""
        return self.honest if self.honest <= 1 else self.honest / self.batch

    def honest_in(self, people: int) -> int:
        """How many of this number of people are assumed to be honest."""
        return int(self.share * people + 1e-9)


def _begins(level: int) -> int:
    """The base batch with which the first batch of a level begins, where batches widen."""
    return 0 if level == 0 else STEADY << level - 1


def people_in_sum(honest: int, spec: Spec, sampled: bool, missing: float) -> int:
    """How many of this number of honest people are in one sum: all of them, or those who drew the same step.

    Steps are drawn uniformly, so the latter are 1 + Binomial(honest - 1, 1/H), and fewer than this with probability at
    most `missing`.
    """
    if not sampled or spec.layers == 1:
        return honest
    from ...privacy.shuffling import LEFT_OUT, binomial

    first, law = binomial(honest - 1, 1 / spec.horizon)
    # What was left out below the first is far less than this.
    return 1 + first + int(np.searchsorted(np.cumsum(law) + LEFT_OUT, missing))
