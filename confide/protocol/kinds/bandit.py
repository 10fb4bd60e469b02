"""What a single step tells: the context, the action and the reward. Nothing follows it, so no transition is asked for.

A person who met context s, took action a and was paid r in [0, 1] adds to two cells of the pair (s, a): r - c, the reward centred
at a public level c, and 1/2, half a visit.

**Price**, replacing one person by another, with w = max(c, 1-c) (brute-forced in the tests):

* in another pair: (r - c)^2 + (r' - c)^2 + 1/4 + 1/4 <= 2 w^2 + 1/2, since both leave a cell of their own;
* in the same pair: half visits agree, and (r - r')^2 <= 1, since c cancels;
* a user without a step, who adds nothing: w^2 + 1/4, which is less than the first.

So the squared l2 sensitivity is max(1, 1/2 + 2 w^2): 1 at c = 1/2, the least of all and the default, where transitions with centred
rewards take 3. (With rewards of 0 and 1 the two cells then are the numbers of paid and unpaid visits, turned by 45 degrees.) The l1
sensitivity is 2w + 1, of two people in different pairs, and they differ in at most 4 cells.

Visits are read as twice a half visit, so their noise has four times the variance of a cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidInput
from ...mdp import Spec
from ...privacy import Sensitivity
from ...privacy.guarantee import SHUFFLE
from .budgeted import BudgetedQuestion
from .counts import COUNTS, DROPPED, HALF_CELLS, MIDDLE, SINGLE_STEP, CountQuestion, average_visits, stacked
from .encoded import CellByCell, EncodedKind
from .kind import Array, DesignMaker, Integers, Possible, by_trust, register
from .question import Range
from .sensitivity import farthest

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer
    from ..laws import Law

KIND = "bandit"


@dataclass(frozen=True)
class BanditQuestion(CellByCell):
    """counts: centred rewards and half the visits of one step, by context and action."""

    def __post_init__(self) -> None:
        if self.counts.parts != SINGLE_STEP:
            raise InvalidInput(
                "bandit-parts", f"Of a single step {' and '.join(SINGLE_STEP)} are counted. Got {self.counts.parts}."
            )

    @classmethod
    def of(cls, spec: Spec, levels: int = 1, centre: float = MIDDLE) -> BanditQuestion:
        """The question about a problem of one step, with rewards on a grid of this many levels, centred at a public one."""
        return cls(CountQuestion(spec, SINGLE_STEP, DROPPED, levels, centre=centre))

    @property
    def kind(self) -> str:
        """`bandit`."""
        return KIND

    @property
    def mark(self) -> int:
        """How this encoding changes the fingerprint of its counts: by 16."""
        return 0x10

    @property
    def budget(self) -> int:
        """0: there is one visit, and it is counted."""
        return 0

    @property
    def episodes(self) -> int:
        """1: every episode is counted by itself."""
        return 1

    @property
    def range(self) -> Range:
        """That of the counts."""
        return self.counts.range

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The sensitivity that is proved in the docstring of this module."""
        w = farthest(self.counts.centre)
        l1 = 2 * w + 1
        return Sensitivity(l1, math.sqrt(max(1.0, 0.5 + 2 * w**2)), ((l1, 1),), 4)  # one cell is easiest to notice


Counted = CountQuestion | BudgetedQuestion | BanditQuestion
"""What a data set is counted for: all that people did, what a budget lets through, or a single step."""


class BanditKind(EncodedKind[BanditQuestion]):
    """Radii are in the order of `releases.Radius`; that of transitions is that of a cell, and rows have none."""

    name = KIND
    answered = by_trust(
        shuffle=("skellam",),
        joint=("tree-laplace", "tree-gaussian", "toeplitz", "buffered-toeplitz"),
        central=("laplace", "gaussian"),
    )

    def designers(self) -> Mapping[str, DesignMaker]:
        """Shufflers, who take it with shares of noise and in no other way."""
        from ..trusts.shuffle import design_shuffle

        return {SHUFFLE: design_shuffle}

    def read(self, data: bytes) -> BanditQuestion:
        """The question that wrote these bytes: those of its counts."""
        return BanditQuestion(CountQuestion.from_bytes(data))

    def estimate(self, question: BanditQuestion, mechanism: Randomizer, summed: Array, people: Integers) -> Array:
        """Unbiased cells, as the mechanism estimates them."""
        return COUNTS.estimate(question.counts, mechanism, summed, people)

    def radii(self, question: BanditQuestion, law: Law, failure: float, possible: Possible = None) -> Array:
        """Error radii that hold for all pairs at once. A reward is a centred one, and 2c half visits."""
        share = failure / (4 * question.spec.states * question.spec.actions)
        cell, none = law.radius(share, 1.0, 1.0), law.radius(share, 1.0, 0.0)
        larger = max(1.0, 2 * question.counts.centre)
        rewards = larger * law.radius(share, 1.0, behind_rewards(question) / larger**2)
        return np.stack([2 * cell, rewards, rewards, cell, none], axis=-1)

    def noise(self, question: BanditQuestion, law: Law) -> Array:
        """The same variance in every cell, and four times that in visits."""
        cell = law.variance(1)
        return stacked(law.own, cell, cell, 1.0, HALF_CELLS * cell)

    def backup_variance(self, question: BanditQuestion, mechanism: Randomizer) -> float:
        """That of a sum of rewards: nothing is backed up."""
        return float(mechanism.variance() * behind_rewards(question))

    def signal(self, question: BanditQuestion) -> tuple[int, float]:
        """Visits, of which a person adds one to one of S A pairs."""
        return 0, average_visits(question.spec)


BANDIT = register(BanditKind())


def behind_rewards(question: BanditQuestion) -> float:
    """How many cells have together the variance of a sum of rewards: its own, and c times the visits."""
    return 1 + HALF_CELLS * question.counts.centre**2
