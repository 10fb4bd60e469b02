"""How sums about a single step are read: centred rewards, and visits that are twice half visits. Nothing follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.randomizer import Randomizer
from ..laws import Array, Law
from ..reading import HALF_CELLS, CountReading, average_visits, register, stacked
from . import bandit
from .bandit import BanditQuestion


class BanditReading:
    """Radii are in the order of `releases.Radius`; that of transitions is that of a cell, and rows have none."""

    def estimate(
        self, question: BanditQuestion, mechanism: Randomizer, summed: Array, people: NDArray[np.int64]
    ) -> Array:
        """Unbiased cells, as the mechanism estimates them."""
        return CountReading().estimate(question.counts, mechanism, summed, people)

    def radii(
        self, question: BanditQuestion, law: Law, failure: float, possible: NDArray[np.bool_] | None = None
    ) -> Array:
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


def behind_rewards(question: BanditQuestion) -> float:
    """How many cells have together the variance of a sum of rewards: its own, and c times the visits."""
    return 1 + HALF_CELLS * question.counts.centre**2


register(bandit.KIND, BanditReading())
