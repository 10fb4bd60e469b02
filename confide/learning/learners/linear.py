"""Linear models of described features, from noisy moments: one learner for bandits and for several steps, for every trust model.

After a release it estimates rewards and next features by `planning.moments` (squares, partial pooling), draws some models at
a share of a standard
deviation around their means, and plans with each over a public cloud of states; every person follows one of the plans, drawn
at random.
Before the first release every user acts by weights that are drawn from the prior.

**Batches of their own noise.** Where batches widen and each has about as much noise as any other (shuffle), their sums are not
added alike: what a batch of n people adds to a release counts w = n c/(n c + s^2), s^2 being the variance of the noise that came
with it and c = 1/4 of the average eigenvalue that a person adds to a Gram matrix. Weighted sums have noise of variance sum w^2 s^2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ... import validation
from ...mdp.feature_policy import FeaturePolicy
from ...protocol.kinds.moments import MOMENTS, MomentsQuestion, MomentsRelease
from ...protocol.releases.release import BATCHES
from ..planning.moments import TAU, Array, Cloud, Disturbance, plan, pooled
from .learner import Context

FEATURES = "features"
"""The family of learners that ask for moments of features."""
SPREADS = (0.5, 0.25)
"""Of a standard deviation, at which models are drawn from exact releases, and from noisy ones: chosen on bandits and
covariates of seeds 0-9."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureContext(Context):
    """The context of a learner of features: also its question."""

    question: MomentsQuestion


class Gathered(NamedTuple):
    """Where batches are weighed: the cells of the last release and their variance, and those that were weighed so far."""

    cells: Array
    variance: float
    weighed: Array
    noise: float

    @classmethod
    def nothing(cls, question: MomentsQuestion) -> Gathered:
        """Before the first user."""
        return cls(np.zeros(question.cells), 0.0, np.zeros(question.cells), 0.0)

    def having(self, question: MomentsQuestion, release: MomentsRelease, people: int) -> Gathered:
        """With what `people` people added to a release."""
        cells, variance = question.pack(release.gram, release.vector), float(release.noise.transitions)
        own, (_, signal) = max(variance - self.variance, 0.0), MOMENTS.signal(question)
        shown = people * signal / 4
        weight = shown / (shown + own) if shown > 0 else 0.0
        return Gathered(cells, variance, self.weighed + weight * (cells - self.cells), self.noise + weight**2 * own)


@dataclass(frozen=True, eq=False)
class FeatureState:
    """The plans in use: weights (M, H, blocks, d), of which every user follows one."""

    context: FeatureContext
    weights: Array
    users: int
    rng: np.random.Generator = field(repr=False)
    gathered: Gathered | None = None

    @property
    def policies(self) -> tuple[FeaturePolicy, ...]:
        """The policies in use."""
        return tuple(FeaturePolicy(self.context.question.features, each) for each in self.weights)


@dataclass(frozen=True)
class Linear:
    """spread: the share of a standard deviation at which models are drawn; None for `SPREADS`. models: how many are.
    pooling: whether blocks share
    a centre; None for problems of several steps only.
    """

    spread: float | None = None
    models: int = 8
    pooling: bool | None = None

    name = "linear"
    family = FEATURES

    def __post_init__(self) -> None:
        if self.spread is not None:
            validation.between("spread", self.spread, 0.0, 100.0)
        validation.integer("models", self.models, 1, 1024)

    def begin(self, context: FeatureContext, rng: np.random.Generator) -> FeatureState:
        """Before the first person: models are drawn from the prior, at its full deviation."""
        features, horizon = context.question.features, context.question.horizon
        shape = (self.models, horizon, features.blocks, features.dimension)
        drawn = np.random.default_rng(rng.integers(1 << 62))
        return FeatureState(context, TAU * drawn.standard_normal(shape), 0, drawn)

    def ask(self, state: FeatureState) -> MomentsQuestion:
        """The moments, always the same."""
        return state.context.question

    def learn(self, state: FeatureState, release: MomentsRelease) -> FeatureState:
        """Estimate, draw, and plan with each model."""
        question = state.context.question
        if release.question.digest != question.digest:
            raise validation.refusal(
                "release-of-other-features", "a release", "about the learner's statistic", "another"
            )
        validation.integer("users of a release", release.users, state.users)
        rng = np.random.default_rng(0)
        rng.bit_generator.state = state.rng.bit_generator.state
        cloud, gathered = Cloud.of(question.features), state.gathered
        if release.noise.own == BATCHES:
            before = gathered or Gathered.nothing(question)
            gathered = before.having(question, release, release.users - state.users)
            gram, vector = question.unpack(gathered.weighed)
            noise = disturbance(question, gathered.noise)
        else:
            gram, vector = release.gram, release.vector
            noise = disturbance(question, float(release.noise.transitions))
        together = not question.single if self.pooling is None else self.pooling
        spread = SPREADS[noise.gram > 0] if self.spread is None else self.spread
        beliefs = pooled(gram, vector / scales(question), noise, together)
        plans = []
        for _ in range(self.models):
            weights = beliefs.drawn(rng, spread)
            plans.append(plan(cloud, question.horizon, weights[..., 0], weights[..., 1:]))
        return FeatureState(state.context, np.array(plans), release.users, rng, gathered)


def scales(question: MomentsQuestion) -> Array:
    """(1 + q,) beta, and eta for every next feature."""
    return np.array([question.reward_weight] + [question.next_weight] * (question.targets - 1))


def disturbance(question: MomentsQuestion, noise: float) -> Disturbance:
    """What disturbs sums: the spread of targets (a reward's is 1/4 at most, psi's is that of the cloud), and noise of this
    variance in every cell."""
    spread = np.full(question.targets, 0.25)
    if not question.single:
        spread[1:] = (question.features.psi(question.features.cloud) ** 2).mean(axis=0)
    return Disturbance(spread, noise, noise / scales(question) ** 2)


def linear(spread: float | None = None, models: int = 8, pooling: bool | None = None) -> Linear:
    """Linear models of features, for the catalogue."""
    return Linear(spread, models, pooling)
