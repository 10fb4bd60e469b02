"""Counts estimated from one category a person: what a sampled step and an asked pair have in common.

A message is a row, which says nothing about the data, and a vector with a one at the person's category. A mechanism for
categories (`mechanisms.unary`) hides any two of them equally well.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...mechanisms.randomizer import CategoryRandomizer, Randomizer
from ...privacy import Sensitivity
from .counts import CENTRED, DROPPED, HALVES, REWARDS, SINGLE_STEP, SQUARES, TRANSITIONS, VISITS, CountQuestion
from .encoded import EncodedCounts
from .kind import Array
from .question import Range, spread


def naming(mechanism: Randomizer) -> CategoryRandomizer:
    """The mechanism that answers questions about categories; any other is refused."""
    names = mechanism.naming()
    if names is None:
        raise InvalidInput("mechanism-for-numbers", f"{mechanism.name} hides numbers, not categories. Choose unary.")
    return names


@dataclass(frozen=True)
class CategoryQuestion(EncodedCounts):
    """counts: what is estimated from every user's categories, at one reward level."""

    def __post_init__(self) -> None:
        if self.counts.levels > 1:
            raise InvalidInput(
                "category-reward-bits", "A category tells a reward in one bit. Use one reward bit, or whole episodes."
            )
        single = self.counts.parts == SINGLE_STEP  # after which there is no next state to be known
        if (
            self.counts.last == DROPPED and not single
        ):  # a device that does not know it could not answer, and silence tells
            raise InvalidInput(
                "category-next-state",
                "A category tells the next state, or that there is none. Ask with last='end' or 'counted'.",
            )

    @classmethod
    def of(cls, counts: CountQuestion) -> Self:
        """The question from whose answers any counts can be estimated: from centred rewards and transitions."""
        return cls(counts if counts.parts == SINGLE_STEP else counts.tight(1))

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many kinds of message there are whose sums are kept apart."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many categories there are."""

    @property
    def categories(self) -> int:
        """How many categories there are: what a mechanism for categories is checked against."""
        return self.width

    @property
    def resolution(self) -> int:
        """1: a message names a category or not."""
        return 1

    @cached_property
    def trials(self) -> NDArray[np.int64]:
        """(width,) ones: a message names a category or not."""
        return np.ones(self.width, dtype=np.int64)

    @cached_property
    def range(self) -> Range:
        """A cell is zero or one."""
        return spread(0.0, 1.0, self.width)

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The sensitivity: replacing a person moves two cells, by one each."""
        return Sensitivity(2.0, math.sqrt(2), ((1.0, 2),), 2)


def cells_from_categories(question: CountQuestion, categories: Array) -> Array:
    """Cells of counts from how many people reported each category (s, a, s', reward bit)."""
    spec = question.spec
    table = categories.reshape(spec.layers, spec.states, spec.actions, question.next_states, 2)
    moved = table.sum(axis=-1)
    visits, rewards = moved.sum(axis=-1), table[..., 1].sum(axis=-1)
    values = {
        VISITS: visits,
        REWARDS: rewards,
        SQUARES: rewards,
        CENTRED: rewards - question.centre * visits,
        HALVES: visits / 2,
        TRANSITIONS: moved,
    }
    layers = {part: question.shape(part)[0] for part in question.parts}
    return np.concatenate([values[part][: layers[part]].ravel() for part in question.parts])
