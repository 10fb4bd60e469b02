"""Contextual bandits with linear rewards: d random signs are seen, one of A actions is taken."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ... import validation
from ...mdp import Model, Policy, Spec
from ...mdp.described import POWER, DescribedFeatures, Factor, Number
from ...mdp.feature_policy import FeaturePolicy
from .observed_world import Array, Integers
from .registry import Environment, EpisodeArrays, register

TALLEST = 0.45
"""How far an expected reward may lie from 1/2."""
LISTED = 10
"""Up to this many signs all contexts are a list, so that tables can learn too."""
SHOWN = 1 << 16
"""On this many contexts policies are compared where there are more of them."""


@dataclass(frozen=True, eq=False)
class LinearBandit:
    """theta: (A, d). A context is a vector of signs; action a is paid with probability 1/2 + <theta_a, signs>."""

    theta: Array

    horizon = 1

    @cached_property
    def features(self) -> DescribedFeatures:
        """Every sign, divided by sqrt d."""
        actions, size = self.theta.shape
        inputs = tuple(Number(f"x{i + 1}", -1.0, 1.0) for i in range(size))
        terms = tuple((Factor(each.name, POWER, 1),) for each in inputs)
        return DescribedFeatures(
            inputs, tuple(f"a{i + 1}" for i in range(actions)), terms, np.eye(size) / np.sqrt(size)
        )

    @cached_property
    def contexts(self) -> Array:
        """(n, d) all contexts, or as many as policies are compared on."""
        size = self.theta.shape[1]
        if 2**size <= SHOWN:
            return signs(np.arange(2**size), size)
        return np.random.default_rng(0).choice((-1.0, 1.0), size=(SHOWN, size))

    @cached_property
    def _means(self) -> Array:
        return np.asarray(0.5 + self.contexts @ self.theta.T)

    @cached_property
    def best_value(self) -> float:
        """The mean of the best action's reward over `contexts`."""
        return float(self._means.max(axis=1).mean())

    @cached_property
    def random_value(self) -> float:
        """The mean reward over `contexts`."""
        return float(self._means.mean())

    @property
    def listed(self) -> Array | None:
        """All contexts, where policies are compared on all of them."""
        return self.contexts if 2 ** self.theta.shape[1] <= SHOWN else None

    def start(self, people: int, rng: np.random.Generator) -> Array:
        """(n, d) random signs."""
        return np.asarray(2.0 * rng.integers(0, 2, size=(people, self.theta.shape[1])) - 1.0, dtype=np.float64)

    def paid(self, step: int, observations: Array, actions: Integers) -> Array:
        """(n,) chances of being paid."""
        return np.asarray(0.5 + (observations * self.theta[actions]).sum(axis=1))

    def move(self, step: int, observations: Array, actions: Integers, rng: np.random.Generator) -> Array:
        """The same context: nothing follows."""
        return observations

    @cached_property
    def _shown(self) -> Array:
        return self.features.all_x(self.contexts)

    def value(self, policy: FeaturePolicy) -> float:
        """The mean reward of a policy over `contexts`."""
        chosen = policy.chosen(0, self._shown)
        return float(self._means[np.arange(len(chosen)), chosen].mean())


def signs(numbers: Integers, size: int) -> Array:
    """(n, d) the binary digits of numbers, as -1 and 1."""
    return np.asarray(2.0 * ((numbers[:, None] >> np.arange(size)) & 1) - 1.0, dtype=np.float64)


@register("linear-bandit", example="linear-bandit/6x4", horizon=1)
def linear_bandit(dimension: int, actions: int, horizon: int, seed: int = 0) -> Environment:
    """A contextual bandit: D random signs, A actions, expected rewards linear in the signs.

    Weights are drawn from a normal law and scaled, all alike, so that no expected reward leaves [.05, .95].
    """
    dimension = validation.integer("dimension", dimension, 1, 62)
    if horizon != 1:
        raise validation.refusal("bandit-horizon", "horizon", "1 in a bandit", horizon)
    rng = np.random.default_rng(validation.integer("seed", seed, 0))
    theta = rng.standard_normal((actions, dimension))
    world = LinearBandit(theta * TALLEST / np.abs(theta).sum(axis=1).max())
    if dimension <= LISTED:
        states = 2**dimension
        paid = np.clip(world._means, 0.0, 1.0)
        uniform = np.full(states, 1 / states)
        moves = np.broadcast_to(uniform, (states, actions, states))
        return Environment(Spec(states, actions, 1), Model(moves, paid, uniform, 1), world=world)

    def interact(policy: Policy, draw: np.random.Generator) -> EpisodeArrays:
        seen = world.start(1, draw)
        state = ((seen[0] > 0) * (1 << np.arange(dimension))).sum()
        action = int(draw.choice(actions, p=policy.probabilities[0, state]))
        reward = float(draw.random() < world.paid(0, seen, np.array([action]))[0])
        return np.array([state]), np.array([action]), np.array([reward]), np.array([state])

    return Environment(Spec(2**dimension, actions, 1), interact=interact, world=world)
