"""One sampled step of an episode, as one of k categories.

Every person draws one step of the episode uniformly, on the device, once, and tells its category: state, action, next
state and reward bit, or `absent` if the episode was shorter. Which step was drawn says nothing about the data.

**Price.** A message is the row of the step (per-step models; pooled there is one row) and a vector with a one at its
category. The step is drawn whatever the episode, so it may be the same for two people; then their vectors differ in two
cells by one, at most. A mechanism for categories (`mechanisms.unary`) hides any two of them equally well.

**A single step** (H = 1) is followed by nothing, so a category is context, action and reward bit: 2 S A + 1 of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .categories import CategoryQuestion, cells_from_categories, naming
from .counts import SINGLE_STEP, CountQuestion, average_visits, backup_weight, stacked
from .encoded import EncodedKind
from .kind import Array, Integers, Possible, by_trust, register

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer
    from ..laws import Law

KIND = "step"


@dataclass(frozen=True)
class StepQuestion(CategoryQuestion):
    """counts: what is estimated from the steps of all users, at one reward level."""

    @property
    def kind(self) -> str:
        """`step`."""
        return KIND

    @property
    def mark(self) -> int:
        """How this encoding changes the fingerprint of its counts: by 1."""
        return 0x01

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences for certificates: which step a message is about."""
        return (f"every device tells of one step, which it draws: one of {self.width:,} categories",)

    @property
    def rows(self) -> int:
        """One row for each step if the dynamics are per-step, else one."""
        return self.spec.layers

    @property
    def width(self) -> int:
        """How many categories a step has: (s, a, s', reward bit), and one for a step that was not taken."""
        return 2 * self.spec.states * self.spec.actions * self.counts.next_states + 1


class StepKind(EncodedKind[StepQuestion]):
    """One sampled step of each person. Pooled, estimates are scaled by H; per step, by n over those who reported the step."""

    name = KIND
    answered = by_trust(local=("unary", "k-ary", "subset"), shuffle=("shuffled-step",))

    def read(self, data: bytes) -> StepQuestion:
        """The question that wrote these bytes: those of its counts."""
        return StepQuestion(CountQuestion.from_bytes(data))

    def estimate(self, question: StepQuestion, mechanism: Randomizer, summed: Array, people: Integers) -> Array:
        """Cells of the counts, over every user."""
        count_question, spec, everyone = question.counts, question.spec, float(people.sum())
        scale = np.full(1, float(spec.horizon)) if spec.layers == 1 else everyone / np.maximum(people, 1)
        categories = mechanism.estimate(summed, people[:, None], question.trials) * scale[:, None]  # type: ignore[arg-type]
        return cells_from_categories(count_question, categories[:, :-1])

    def radii(self, question: StepQuestion, law: Law, failure: float, possible: Possible = None) -> Array:
        """Error radii. Per step n/H people report a step on average, and with probability share/2 fewer than `fewest`.

        (Chernoff's bound.) What they tell is scaled up by n over how many they are.
        """
        spec, width = question.spec, question.counts.next_states
        share = failure / (spec.layers * spec.states * spec.actions * (spec.states + 4))
        noise = law.of_people()
        people = np.asarray(noise.people, dtype=np.float64)
        fewest, weight, part = people, np.asarray(float(spec.horizon)), share
        if spec.layers > 1:
            mean, part = people / spec.horizon, share / 2
            fewest = np.maximum(mean - np.sqrt(2 * mean * np.log(2 / share)), 1.0)
            weight = people / fewest

        def of(size: int) -> Array:
            return np.where(people > 0, weight * noise.mechanism.radius(fewest, part, 1.0, size), 0.0)

        return np.stack([of(2 * width), of(width), of(width), of(2), of(2 * width)], axis=-1)

    def noise(self, question: StepQuestion, law: Law) -> Array:
        """A transition is two categories, a centred reward half the difference of two sets of S' categories."""
        noise, factor = law.of_people(), _sampling_factor(question)
        mechanism = naming(noise.mechanism)
        p, q = mechanism.hit, mechanism.miss
        category_variance = factor * np.asarray(noise.people, dtype=np.float64) * q * (1 - q) / (p - q) ** 2
        luck = question.spec.horizon * (1 + (p * (1 - p) - q * (1 - q)) / (p - q) ** 2)
        width = question.counts.next_states
        return stacked(
            law.own, 2 * category_variance, width * category_variance / 2, luck, 2 * width * category_variance
        )

    def backup_variance(self, question: StepQuestion, mechanism: Randomizer) -> float:
        """The variance of the noise, and that of sampling one step in H."""
        width, count_question = question.counts.next_states, question.counts
        share = 1 / (question.spec.states * question.spec.actions)
        if count_question.parts == SINGLE_STEP:  # a sum of rewards, as in `bandit`: one category a pair
            return float(naming(mechanism).set_variance(1, share / 2))

        def spread(size: int, part: float) -> float:
            return _sampling_factor(question) * float(naming(mechanism).set_variance(size, part) + part * (1 - part))

        return spread(width, share / 2) + backup_weight(count_question) * spread(2, share / width)

    def signal(self, question: StepQuestion) -> tuple[int, float]:
        """Transitions; a person visits the average pair H/(S A) times, or 1/(S A) times a step."""
        return 3, average_visits(question.spec)


STEP = register(StepKind())


def _sampling_factor(question: StepQuestion) -> float:
    """The factor by which sampling one step in H raises the variance, a person: H^2 pooled, H per step."""
    horizon = question.spec.horizon
    return float(horizon**2 if question.spec.layers == 1 else horizon)
