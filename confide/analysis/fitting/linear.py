"""Fits with linear features: the learner asks in turn, and every question is priced before a row is read.

With a table of features all answers are functions of counts, step by step. So the data is counted once, as for any fit;
the counts stay with the curator, and only Gram sums with noise leave. Where states are vectors the rows themselves are
kept, and asked again for every question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...data.privatizers import open_aggregate
from ...data.statistics.counting import DatasetCounts
from ...data.statistics.gram import Logged, LoggedSteps
from ...data.trajectories.dataset import ALL, GROUP, Dataset
from ...errors import InvalidInput
from ...learning.learners import Context
from ...learning.learners.vapvi import LinearState, Vapvi
from ...mdp import PER_STEP
from ...mdp.linear import BlockFeatures, LinearFeatures
from ...mechanisms.mechanism import NoiseMechanism
from ...mechanisms.noise import NoiseSource
from ...privacy import Act, Certificate, Guarantee, keeps
from ...privacy.calibration import calibration_failed
from ...protocol.design import PAPER, TIGHT, Design, Request, make
from ...protocol.kinds import CountQuestion
from ...protocol.kinds.counts import COUNTED, DROPPED, LEVELS, REWARDS, TRANSITIONS, VISITS
from ...protocol.kinds.gram import GRAM, SHAVED, TARGET_BITS, GramRelease
from ...protocol.kinds.values import ValuesForm, ValuesRelease
from ...protocol.releases import Aggregate
from ...validation import Json
from .linear_learning import VALUES, gram_name
from .plan import FAILURE, ONCE, RELEASED, RETURNS, PricedPlan, assumptions

VALUES_SHARE = 0.05
"""Of the guarantee, spent on people's returns and what V_1 predicts for them."""


@dataclass(frozen=True)
class LinearPlan(PricedPlan):
    """A fit of `vapvi` or `pevi` with every choice made; it has the attributes of `CountPlan`.

    values: None where nothing is judged: as papers have it, and without privacy.
    """

    data: Dataset
    promise: Guarantee
    learner: Vapvi
    design: Design
    values: Design | None
    failure: float
    calibration: str = TIGHT

    @classmethod
    def of(
        cls,
        data: Dataset,
        promise: Guarantee,
        learner: Vapvi,
        scale: float | None = None,
        failure: float = FAILURE,
        calibration: str = TIGHT,
    ) -> LinearPlan:
        """The plan of a fit: what is asked, and what it costs; all of the guarantee for Gram sums, unless something is judged."""
        if data.users.mode in (GROUP, ALL):
            raise InvalidInput(
                "linear-several-episodes",
                "Linear learners take one episode a person. Use --users limit instead.",
            )
        if data.return_range is not None:
            raise InvalidInput(
                "linear-return-range",
                "Linear learners add up what steps pay, and no returns to clip. Leave --return-range out.",
            )
        if learner.tight != (calibration == TIGHT):
            raise InvalidInput(
                "learner-of-other-calibration",
                f"This learner was built for another calibration than the fit's {calibration}. Build it for that, or name it.",
            )
        promise = replace(promise, unit=data.unit)
        stepwise_data = data.with_dynamics(PER_STEP)
        form = learner.form(stepwise_data.knowledge.spec.horizon)
        judged = promise.private and calibration == TIGHT
        share = (1 - VALUES_SHARE) * (1 - SHAVED) if judged else 1.0
        gram = make(Request(form, promise, ONCE, calibration, share=share))
        values_design = make(Request(ValuesForm(form), promise, ONCE, share=VALUES_SHARE)) if judged else None
        made = cls(stepwise_data, promise, replace(learner, scale=scale), gram, values_design, failure, calibration)
        validation.between("failure", failure, 1e-12, 0.5)
        if promise.private and calibration != PAPER and not keeps(made.loss, promise):
            raise calibration_failed(promise)
        return made

    @property
    def question(self) -> CountQuestion:
        """The counts that stay with the curator: transitions step by step, and what they paid."""
        next_known = self.data.columns.next_state or self.data.knowledge.ends
        last = COUNTED if next_known and self.data.vectors is None else DROPPED
        return CountQuestion(self.data.knowledge.spec, (VISITS, REWARDS, TRANSITIONS), last, LEVELS)

    @property
    def counts(self) -> bool:
        """Whether counts are released, from which any policy can be judged."""
        return False

    @property
    def features(self) -> LinearFeatures | None:
        """The table of features; None where states are vectors."""
        return self.learner.features if isinstance(self.learner.features, LinearFeatures) else None

    @property
    def split(self) -> bool:
        """Whether two halves of the people are asked apart."""
        return self.learner.split

    @property
    def acts(self) -> list[Act[NoiseMechanism]]:
        """The acts of privacy: all Gram sums are one, people's returns another."""
        return [design.act for design in (self.design, self.values) if design is not None]

    @property
    def noise_stated(self) -> tuple[float, str]:
        """A standard deviation of noise, and which number has it."""
        return max(matrix for matrix, _ in GRAM.noise_of(self.design).deviations), "a Gram matrix, at most"

    @property
    def visits_noise(self) -> None:
        """None: visits are not asked for."""
        return None

    @property
    def described(self) -> dict[str, Json]:
        """What a fit writes down of it: how often radii may be wrong."""
        return {"failure": self.failure, **({} if self.calibration == TIGHT else {"calibration": self.calibration})}

    @property
    def bytes_needed(self) -> int:
        """About how many bytes the output takes."""
        spec, features = self.question.spec, self.learner.features
        block = features.blocks * features.dimension**2
        return (4 << 20) + spec.horizon * (128 * block + 64 * spec.states * spec.actions)

    def release(
        self, counted: DatasetCounts, noise: NoiseSource, simulated: bool = False
    ) -> dict[str, GramRelease | ValuesRelease]:
        """Ask, answer, learn, until nothing is left to ask. What comes out may be published.

        simulated: the people are, so noise may be replayable.
        """
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, "blas"):  # many small products: threads would only wait for each other
            return self._release_all(counted, noise, simulated)

    def _release_all(
        self, counted: DatasetCounts, noise: NoiseSource, simulated: bool
    ) -> dict[str, GramRelease | ValuesRelease]:
        logged, releases = self.logged(counted), dict[str, GramRelease | ValuesRelease]()
        aggregate = open_aggregate(self.design, noise, simulated=simulated)
        aggregate.take_sum(logged)
        state = self.learner.begin(Context(self.data.knowledge.spec, max(counted.users, 1)))
        state, answers = ask_all(self.learner, state, aggregate)
        releases |= {gram_name(number): answer for number, answer in enumerate(answers)}
        if self.values is not None:
            last = open_aggregate(self.values, noise, simulated=simulated)
            last.take_sum(logged)
            releases[VALUES] = last.close(state.critics[0])
        return releases

    def logged(self, counted: DatasetCounts) -> Logged:
        """Sensitive: every user's steps, as questions are answered from them."""
        features, table = self.learner.features, self.features
        if isinstance(features, BlockFeatures):
            if counted.stored is None:
                raise InvalidInput(
                    "steps-not-kept",
                    "These people's steps were not kept, so no further statistics can be computed. Count them again.",
                )
            return counted.stored.logged(features, self.split)
        if table is None:
            raise InvalidInput(
                "features-unknown", "Features must be a table, or those of state columns. These are neither."
            )
        groups = counted.halves or (counted.cells,)
        moves, paid = (np.array(tables) for tables in zip(*map(self._tables, groups), strict=True))
        second = counted.users // 2 if self.split else 0
        people = (counted.users - second, second) if self.split else (counted.users,)
        return LoggedSteps(table, moves, paid, people)

    def _tables(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """moves (H, S, A, T) and rewards (H, S, A), in multiples of 2^-TARGET_BITS, over the declared states."""
        question, knowledge = self.question, self.data.knowledge
        visits, levels, moves = (
            cells[question.slices[part]].reshape(question.shape(part))[:, : knowledge.states]
            for part in (VISITS, REWARDS, TRANSITIONS)
        )
        visits, moves = visits // question.resolution, moves // question.resolution
        if question.last == DROPPED:
            # Where the last step leads has value 0, so any next state will do.
            last = np.zeros((1, *moves.shape[1:]), dtype=np.int64)
            last[0, :, :, 0] = visits[-1]
            moves = np.concatenate([moves, last])
        if knowledge.rewards is None:
            return moves, levels * ((1 << TARGET_BITS) // question.resolution)
        known = np.trunc(knowledge.rewards[:, : knowledge.states] * (1 << TARGET_BITS)).astype(np.int64)
        return moves, visits * known

    def certificate(self, noise: str) -> Certificate:
        """The certificate of the guarantee to every person in the data."""
        conditions = [*assumptions(self.data), self.learner.features.assumption]
        if self.split:
            conditions.append("two halves of the users, drawn at random, give different statistics")
        if not self.promise.private:
            return self.design.certificate(noise)
        about = ["Gram sums", RELEASED[RETURNS]][: len(self.acts)]
        return Certificate.of(self.acts, self.promise, self.calibration, noise, conditions).about(about)


def ask_all(learner: Vapvi, state: LinearState, aggregate: Aggregate) -> tuple[LinearState, list[GramRelease]]:
    """The learner's last state after all of its questions were answered from an aggregate, and the answers."""
    answers: list[GramRelease] = []
    while not state.done:
        answers.append(aggregate.close(learner.ask(state)))
        state = learner.learn(state, answers[-1])
    return state, answers
