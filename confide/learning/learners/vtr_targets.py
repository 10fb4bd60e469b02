"""UCRL-VTR of known models in unknown proportions: ours, with noise and without. People send feature targets (`kinds.targets`).

Where UCRL-VTR regresses values of next states on phi_V, sums of whose products need noise in d (d + 3)/2 cells and serve one V,
a person's vector z has d cells and serves all. With n people of a batch under policy pi, and G_h = E[G(s_h, a_h)] under pi in
the model that is believed,

    E[sum z] = k M (theta - theta_0),    M = n sum_h G_h,

k being the mean of the factors by which people are clipped. It, and the covariance of what they send, are those of `PEOPLE`
simulated people in the model that is believed, so that only sums of z are asked for; rewards and first states are known. Then

    theta | sums ~ N,  with the prior N(theta_0, tau^2) within the plane in which coordinates add up to 1,

tau^2 = 1/(d (d+1)) being the variance of a uniform law on the simplex. Its mean is moved to the nearest point of the simplex,
and the policy is greedy for that. Batches with noise of their own (shuffle) are weighed by what they show, as `linear` has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...mdp import Policy
from ...protocol.kinds.targets import TargetsQuestion, TargetsRelease
from ...protocol.releases.release import BATCHES
from ..planning.rehearsed import visits, walked
from .learner import Context

Array = NDArray[np.float64]

TARGETS = "targets"
"""The family of learners that ask for feature targets."""
PEOPLE = 1000
"""Simulated people of a batch."""
LEAST = 1e-9
"""Of the mean variance, what is added to each: a direction that no user shows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TargetContext(Context):
    """The context of a learner of targets: also its question, known rewards (H, S, A), and the law of first states (S,)."""

    question: TargetsQuestion
    rewards: Array
    initial: Array


class TargetSums(NamedTuple):
    """Sums over batches, as they are weighed. slope: (L, d, d) k M; spread: (L, d, d) the covariance of what people sent; sums:
    (L, d); noise: its variance. last, variance: the sums of the last release, and theirs."""

    slope: Array
    spread: Array
    sums: Array
    noise: float
    last: Array
    variance: float

    @classmethod
    def nothing(cls, question: TargetsQuestion) -> TargetSums:
        """Before the first person."""
        size = question.features.dimension
        none, square = np.zeros((question.layers, size)), np.zeros((question.layers, size, size))
        return cls(square, square, none, 0.0, none, 0.0)

    def with_batch(self, slope: Array, spread: Array, release: TargetsRelease) -> TargetSums:
        """With one more batch, given what its people are expected to show."""
        variance, weight = float(release.noise.transitions), 1.0
        if release.noise.own != BATCHES:
            return TargetSums(self.slope + slope, self.spread + spread, release.sums, variance, release.sums, variance)
        own = max(variance - self.variance, 0.0)
        shown = float(np.trace(spread, axis1=1, axis2=2).mean()) / spread.shape[-1]
        weight = shown / (shown + own) if shown > 0 else 0.0
        sums = self.sums + weight * (release.sums - self.last)
        noise = self.noise + weight**2 * own
        return TargetSums(
            self.slope + weight * slope, self.spread + weight**2 * spread, sums, noise, release.sums, variance
        )


@dataclass(frozen=True, eq=False)
class TargetState:
    """The plan in use. theta: (L, d) the mean that is believed; policy: (H, S, A)."""

    context: TargetContext
    theta: Array
    policy: Array
    seen: TargetSums
    users: int
    rng: np.random.Generator = field(repr=False)

    @property
    def policies(self) -> Array:
        """(1, H, S, A) the policy in use."""
        return self.policy[None]


@dataclass(frozen=True)
class TargetLearner:
    """name: of the learner whose form it is."""

    name: str

    family = TARGETS

    def begin(self, context: TargetContext, rng: np.random.Generator) -> TargetState:
        """Before the first person: the policy is greedy for theta_0."""
        question = context.question
        theta = np.tile(question.centre, (question.layers, 1))
        drawn = np.random.default_rng(rng.integers(1 << 62))
        policy = greedy(probabilities(question, theta), context.rewards)
        return TargetState(context, theta, policy, TargetSums.nothing(question), 0, drawn)

    def ask(self, state: TargetState) -> TargetsQuestion:
        """The targets, always the same."""
        return state.context.question

    def learn(self, state: TargetState, release: TargetsRelease) -> TargetState:
        """Add what the last batch showed, estimate, and plan."""
        context, question = state.context, state.context.question
        if release.question.digest != question.digest:
            raise validation.refusal(
                "release-of-other-features", "a release", "about the learner's statistic", "another"
            )
        people = validation.integer("users of a release", release.users, state.users) - state.users
        rng = np.random.default_rng(0)
        rng.bit_generator.state = state.rng.bit_generator.state
        believed = probabilities(question, state.theta)
        kept, spread = self._rehearsed(question, believed, context.initial, state.policy, rng)
        there = visits(believed, context.initial, state.policy)[: question.steps]
        gram = np.einsum("hsa,saij->hij", there, question.gram, optimize=True)
        slope = gram if question.layers > 1 else gram.sum(axis=0, keepdims=True)
        seen = state.seen.with_batch(people * kept * slope, people * spread, release)
        theta = self._estimated(question, seen)
        policy = greedy(probabilities(question, theta), context.rewards)
        return TargetState(context, theta, policy, seen, release.users, rng)

    @staticmethod
    def _rehearsed(
        question: TargetsQuestion, believed: Array, initial: Array, policy: Array, rng: np.random.Generator
    ) -> tuple[float, Array]:
        """The mean factor by which people are clipped, and the covariance (L, d, d) of what they send."""
        states, actions = walked(believed, initial, policy, PEOPLE, rng)
        vectors = question.vectors(states, actions)
        factors = question.factors(vectors)
        sent = (vectors * factors[:, None]).reshape(PEOPLE, question.layers, -1)
        sent -= sent.mean(axis=0)
        return float(factors.mean()), np.einsum("nli,nlj->lij", sent, sent) / PEOPLE

    @staticmethod
    def _estimated(question: TargetsQuestion, seen: TargetSums) -> Array:
        """(L, d) the posterior mean of theta."""
        size, plane = question.features.dimension, question.plane
        theta = np.empty((question.layers, size))
        for layer, (slope, spread, sums) in enumerate(zip(seen.slope, seen.spread, seen.sums, strict=True)):
            covariance = spread + (seen.noise + LEAST * (1 + np.trace(spread) / size)) * np.eye(size)
            through = slope @ plane
            weighed = np.linalg.solve(covariance, through)
            precision = through.T @ weighed + size * (size + 1.0) * np.eye(plane.shape[1])
            theta[layer] = on_simplex(question.centre + plane @ np.linalg.solve(precision, weighed.T @ sums))
        return theta


def probabilities(question: TargetsQuestion, theta: Array) -> Array:
    """(L, S, A, S) the models in proportions theta (L, d)."""
    mixed = np.stack([question.phi @ each for each in theta])
    return np.asarray(mixed / mixed.sum(axis=-1, keepdims=True))


def greedy(transitions: Array, rewards: Array) -> Array:
    """(H, S, A) the best policy for transitions (L, S, A, S) and rewards (H, S, A)."""
    horizon, states, actions = rewards.shape
    policy, values = np.zeros((horizon, states), dtype=np.int64), np.zeros(states)
    for step in reversed(range(horizon)):
        layer = min(step, len(transitions) - 1)
        q = rewards[step] + transitions[layer] @ values
        policy[step], values = q.argmax(axis=1), q.max(axis=1)
    return np.asarray(Policy.deterministic(policy, actions).probabilities)


def on_simplex(theta: Array) -> Array:
    """The nearest point whose coordinates are at least 0 and add up to 1."""
    falling = np.sort(theta)[::-1]
    excess = np.cumsum(falling) - 1
    last = int(np.flatnonzero(falling * np.arange(1, len(theta) + 1) > excess)[-1])
    return np.asarray(np.maximum(theta - excess[last] / (last + 1), 0.0))
