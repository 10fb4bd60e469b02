"""How answers about asked pairs are read: people who were asked about a pair and came there, next state by next state.

Noise is per pair, by how many were asked about it. Radii and noise of a release are stated as if everybody had been asked about
the one pair, which bounds them all; a pair that n people were asked about has `Design.radii(n)`, and n/k of the variance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.randomizer import Randomizer
from ..laws import Array
from ..reading import average_visits, backup_weight, cells_from_categories, register, stacked
from .asked import KIND, AskedQuestion


class PairReading:
    """One asked pair of each person. After the cells of counts comes how many people were asked about each pair."""

    def estimate(
        self, question: AskedQuestion, mechanism: Randomizer, summed: Array, people: NDArray[np.int64]
    ) -> Array:
        """Cells of the counts, over those who were asked, and how many these are."""
        categories = mechanism.estimate(summed, people[:, None], question.trials)  # type: ignore[arg-type]
        return np.concatenate([cells_from_categories(question.counts, categories[:, :-1]), people.astype(np.float64)])

    def radii(
        self, question: AskedQuestion, law: Any, failure: float, possible: NDArray[np.bool_] | None = None
    ) -> Array:
        """Error radii of a pair that so many people were asked about; all pairs share the failure."""
        spec, width = question.spec, question.counts.next_states
        share = failure / (question.rows * (spec.states + 4))

        def of(size: int) -> Array:
            return np.asarray(law.mechanism.radius(law.people, share, 1.0, size))

        return np.stack([of(2 * width), of(width), of(width), of(2), of(2 * width)], axis=-1)

    def noise(self, question: AskedQuestion, law: Any) -> Array:
        """A transition is two categories, a centred reward half the difference of two sets of S' categories."""
        people = np.asarray(law.people, dtype=np.float64)
        moves, centred, visits = (people * variance for variance in category_noise(question, law.mechanism))
        return stacked(law.own, moves, centred, _luck(law), visits)

    def backup_variance(self, question: AskedQuestion, mechanism: Any) -> float:
        """The variance as for sampled steps, whose counts say H/(S A) a person of a pair; here 1/(S A) are asked, and some came."""
        width, came = question.counts.next_states, coming(question)
        scale = question.rows * (average_visits(question.spec) / came) ** 2

        def spread(size: int, part: float) -> float:
            return scale * float(mechanism.set_variance(size, part) + part * (1 - part))

        return spread(width, came / 2) + backup_weight(question.counts) * spread(2, came / width)

    def signal(self, question: AskedQuestion) -> tuple[int, float]:
        """Transitions: a pair has a share of the people, hence of the variance, and of those some came."""
        return 3, coming(question) / question.rows**0.5


def coming(question: AskedQuestion) -> float:
    """How likely a person who acts at random, in a world that does, comes to a pair at all; or is there at a step."""
    spec = question.spec
    steps = spec.horizon if spec.layers == 1 else 1
    return float(1 - (1 - 1 / (spec.states * spec.actions)) ** steps)


def category_noise(question: Any, mechanism: Any) -> tuple[float, float, float]:
    """Variances a person of a transition count, of a centred reward and of visits, of a pair where nobody is."""
    width = question.counts.next_states
    halves, row = mechanism.set_variance(width, 0.0), mechanism.set_variance(2 * width, 0.0)
    return mechanism.set_variance(2, 0.0), (4 * halves - row) / 4, row


def _luck(law: Any) -> float:
    p, q = law.mechanism.hit, law.mechanism.miss
    return float(1 + (p * (1 - p) - q * (1 - q)) / (p - q) ** 2)


register(KIND, PairReading())
