"""One sampled step of an episode, as one of k categories.

Every person draws one step of the episode uniformly, on the device, once, and tells its category: state, action, next
state and reward bit, or `absent` if the episode was shorter. Which step was drawn says nothing about the data.

**Price.** A message is the row of the step (per-step models; pooled there is one row) and a vector with a one at its
category. The step is drawn whatever the episode, so it may be the same for two people; then their vectors differ in two
cells by one, at most. A mechanism for categories (`mechanisms.unary`) hides any two of them equally well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..privacy import Sensitivity
from .bits import changed_bits
from .counts import CountQuestion
from .question import Range, register, spread
from .told import ToldCounts

KIND = "step"


@dataclass(frozen=True)
class StepQuestion(ToldCounts):
    """counts: what is estimated from everybody's steps, at one reward level."""

    def __post_init__(self) -> None:
        if self.counts.levels > 1:
            raise InvalidInput("A sampled step tells its reward in one bit. Use one reward bit, or whole episodes.")

    @classmethod
    def of(cls, counts: CountQuestion) -> StepQuestion:
        """About any counts: centred rewards and transitions say it all."""
        return cls(counts.tight(1))

    @property
    def kind(self) -> str:
        """`step`."""
        return KIND

    @property
    def mark(self) -> int:
        """1."""
        return 0x01

    @property
    def rows(self) -> int:
        """One for each step whose law is its own."""
        return self.spec.layers

    @property
    def width(self) -> int:
        """How many categories a step has: (s, a, s', reward bit), and one for a step that was not taken."""
        return 2 * self.spec.states * self.spec.actions * self.counts.next_states + 1

    @cached_property
    def trials(self) -> NDArray[np.int64]:
        """A category is told or not."""
        return np.ones(self.width, dtype=np.int64)

    @cached_property
    def range(self) -> Range:
        """A cell is zero or one."""
        return spread(0.0, 1.0, self.width)

    def price(self, grid: float = 0.0) -> Sensitivity:
        """Two cells, by one each."""
        return changed_bits(2)


def _read(data: bytes) -> StepQuestion:
    return StepQuestion(CountQuestion.from_bytes(data))


register(KIND, _read)
