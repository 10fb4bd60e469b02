"""Fits with linear features: the learner asks in turn, and every question is priced before a row is read.

With a table of features all answers are functions of counts, step by step. So the data is counted once, as for any fit;
the counts stay with the curator, and only Gram sums with noise leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .. import validation
from ..errors import InvalidInput
from ..learners.vapvi import LinearState, Vapvi
from ..mdp import PER_STEP
from ..mdp.knowledge import Knowledge
from ..mechanisms.noise import NoiseSource
from ..privacy import Act, Certificate, Guarantee, rho_of, true_guarantee
from ..privatizers.gram import ASSUMPTIONS, GramPrivatizer, design_gram
from ..releases import CountQuestion
from ..releases.gram import GramRelease
from ..releases.question import COUNTED, REWARDS, TRANSITIONS
from ..statistics.counting import Total
from ..statistics.gram import TARGET_BITS, LoggedSteps
from ..trajectories.dataset import GROUP, Dataset
from .learning import Lesson
from .plan import FAILURE, LEVELS, assumptions


@dataclass(frozen=True)
class LinearPlan:
    """A fit of `vapvi` or `pevi` with every choice made; the same words as `CountPlan`."""

    data: Dataset
    promise: Guarantee
    learner: Vapvi
    privatizer: GramPrivatizer
    failure: float

    @classmethod
    def of(cls, data: Dataset, promise: Guarantee, learner: Vapvi, failure: float = FAILURE) -> LinearPlan:
        """What is asked, and what it costs."""
        if data.users.mode == GROUP:
            raise InvalidInput("Linear learners take one episode a person. Use --users limit instead of group.")
        if learner.split or not learner.tight:
            raise InvalidInput("A fit uses the tight calibration, which does not split the data. Leave both out.")
        promise = replace(promise, unit=data.unit)
        told = data.with_model(PER_STEP)
        made = design_gram(learner.form(told.knowledge.spec.horizon), promise)
        return cls(told, promise, learner, made, validation.between("failure", failure, 1e-12, 0.5))

    @property
    def question(self) -> CountQuestion:
        """What is counted at the curator's: transitions step by step, and what they paid."""
        return CountQuestion(self.data.knowledge.spec, (REWARDS, TRANSITIONS), COUNTED, LEVELS)

    @property
    def acts(self) -> list[Act]:
        """All answers are one act."""
        return [self.privatizer.act]

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is truly promised."""
        return true_guarantee(self.privatizer.act.loss, self.promise)

    @cached_property
    def cost(self) -> float:
        """What a ledger is charged, in rho."""
        return rho_of(self.privatizer.act.loss) or 0.0

    @property
    def noise_std(self) -> float:
        """Standard deviation of the largest noise in a Gram matrix."""
        return max(matrix for matrix, _ in self.privatizer.noise.sizes)

    @property
    def bytes_needed(self) -> int:
        """About how much room the output takes."""
        spec, d = self.question.spec, self.learner.features.dimension
        return (4 << 20) + spec.horizon * (64 * d * d + 64 * spec.states * spec.actions)

    def release(self, counted: Total, noise: NoiseSource) -> dict[str, GramRelease]:
        """Ask, answer, learn, until nothing is left to ask. What comes out may be published."""
        logged, releases = self._logged(counted), dict[str, GramRelease]()
        state = replace(start(self.learner, self.data.knowledge), form=self.privatizer.noise.form)
        while not state.done:
            answer = self.privatizer.answer(self.learner.ask(state), state.number, logged, noise)
            releases[f"gram-{state.number:04d}"] = answer
            state = self.learner.learn(state, answer)
        return releases

    def _logged(self, counted: Total) -> LoggedSteps:
        question, knowledge = self.question, self.data.knowledge
        known = slice(0, knowledge.states)
        cells = counted.cells
        moves = cells[question.slices[TRANSITIONS]].reshape(question.shape(TRANSITIONS)) // question.resolution
        if knowledge.rewards is None:
            levels = cells[question.slices[REWARDS]].reshape(question.shape(REWARDS))
            paid = levels * ((1 << TARGET_BITS) // question.resolution)
        else:
            paid = moves.sum(axis=-1) * np.trunc(knowledge.rewards * (1 << TARGET_BITS)).astype(np.int64)
        return LoggedSteps(moves[None, :, known], paid[None, :, known], (counted.users,))

    def certificate(self, noise: str) -> Certificate:
        """What is promised to every person in the data."""
        said = [*assumptions(self.data), ASSUMPTIONS[1]]
        return Certificate.of(self.acts, self.promise, "tight", noise, said)


def start(learner: Vapvi, knowledge: Knowledge) -> LinearState:
    """Before the first answer."""
    return learner.begin(knowledge.spec.horizon)


def replayed(learner: Vapvi, knowledge: Knowledge, releases: dict[str, GramRelease]) -> LinearState:
    """What the learner makes of answers that it asked for itself."""
    state = start(learner, knowledge)
    for name in sorted(releases):
        state = learner.learn(state, releases[name])
    return state


def linear_lesson(
    learner: Vapvi, knowledge: Knowledge, releases: dict[str, GramRelease], reward_range: tuple[float, float]
) -> Lesson:
    """Policy, values and findings; the law of the first state is not asked for, so a bound needs a public one."""
    state = replayed(learner, knowledge, releases)
    values = state.values[:, : knowledge.states]
    low, high = reward_range
    lower = None
    if knowledge.initial is not None:
        lower = float(low * knowledge.spec.horizon + (high - low) * (knowledge.initial[: knowledge.states] @ values[0]))
    users = next(iter(releases.values())).users
    return Lesson(state.recommendation, values, {"users": users, "value": None, "lower": lower})
