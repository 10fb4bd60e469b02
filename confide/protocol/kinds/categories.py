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
from ...privacy import Sensitivity
from .counts import DROPPED, CountQuestion
from .encoded import EncodedCounts
from .question import Range, spread


@dataclass(frozen=True)
class CategoryQuestion(EncodedCounts):
    """counts: what is estimated from everybody's categories, at one reward level."""

    def __post_init__(self) -> None:
        if self.counts.levels > 1:
            raise InvalidInput(
                "category-reward-bits", "A category tells a reward in one bit. Use one reward bit, or whole episodes."
            )
        if self.counts.last == DROPPED:  # a device that does not know it could not answer, and silence tells
            raise InvalidInput(
                "category-next-state",
                "A category tells the next state, or that there is none. Ask with last='end' or 'counted'.",
            )

    @classmethod
    def of(cls, counts: CountQuestion) -> Self:
        """The question from whose answers any counts can be estimated: from centred rewards and transitions."""
        return cls(counts.tight(1))

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
