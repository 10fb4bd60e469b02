"""Continuous states: D covariates that actions push about, and a place in which people are well."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ... import validation
from ...mdp import Policy, Spec
from ...mdp.described import DescribedFeatures, Number, polynomial
from ...mdp.feature_policy import FeaturePolicy
from .observed_world import Array, Integers
from .registry import Environment, EpisodeArrays, register

ACTIONS, DEGREE, MOST = 3, 3, 3
CELLS = 15
"""Into how many equal parts a table cuts each covariate."""
GRID = {1: 201, 2: 41, 3: 21}
"""At this many values of each covariate values are computed; between them they are interpolated."""
PUSH, TURN, JITTER, WIDTH, PRICE = 0.3, 0.3, 0.2, 1.0, 0.1


@dataclass(frozen=True, eq=False)
class Covariates:
    """s in [-1, 1]^D moves to s + push_a + turn_a s + JITTER e, cut at the ends, e in {-1, 0, 1}^D with chances 1/4, 1/2, 1/4.

    A step is paid with probability exp(-|s - goal|^2/WIDTH) (1 - PRICE) + PRICE (1 - price_a).
    """

    push: Array
    turn: Array
    goal: Array
    price: Array
    horizon: int

    @property
    def size(self) -> int:
        """D."""
        return len(self.goal)

    @cached_property
    def features(self) -> DescribedFeatures:
        """All products of covariates up to the third degree, orthogonal over the square, for each action."""
        inputs = tuple(Number(f"x{i + 1}", -1.0, 1.0) for i in range(self.size))
        return DescribedFeatures.over_cloud(inputs, [f"a{i + 1}" for i in range(ACTIONS)], polynomial(inputs, DEGREE))

    @property
    def listed(self) -> None:
        """None: what is observed is no list."""
        return None

    def start(self, people: int, rng: np.random.Generator) -> Array:
        """(n, D) anywhere."""
        return rng.uniform(-1.0, 1.0, size=(people, self.size))

    def paid(self, step: int, observations: Array, actions: Integers) -> Array:
        """(n,) chances of being paid."""
        near = np.exp(-((observations - self.goal) ** 2).sum(axis=-1) / WIDTH)
        return np.asarray(near * (1 - PRICE) + PRICE * (1 - self.price[actions]))

    def _drift(self, observations: Array, actions: Integers) -> Array:
        return np.asarray(observations + self.push[actions] + np.einsum("nij,nj->ni", self.turn[actions], observations))

    def move(self, step: int, observations: Array, actions: Integers, rng: np.random.Generator) -> Array:
        """(n, D) next covariates."""
        jitter = rng.integers(0, 2, size=observations.shape) + rng.integers(0, 2, size=observations.shape) - 1
        return np.clip(self._drift(observations, actions) + JITTER * jitter, -1.0, 1.0)

    @cached_property
    def _axis(self) -> Array:
        return np.linspace(-1.0, 1.0, GRID[self.size])

    @cached_property
    def _points(self) -> Array:
        """(n, D) the grid."""
        axes = np.meshgrid(*[self._axis] * self.size, indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=-1)

    @cached_property
    def _moves(self) -> tuple[Integers, Array]:
        """(A, n, w) places on the grid that a next value is interpolated from, and their weights."""
        places, weights, side = [], [], len(self._axis)
        jitters = list(itertools.product((-1, 0, 1), repeat=self.size))
        for action in range(ACTIONS):
            drift = self._drift(self._points, np.full(len(self._points), action))
            at, parts = [], []
            for jitter in jitters:
                chance = np.prod([0.5 if each == 0 else 0.25 for each in jitter])
                scaled = (np.clip(drift + JITTER * np.array(jitter), -1.0, 1.0) + 1) / 2 * (side - 1)
                low = np.minimum(scaled.astype(np.int64), side - 2)
                for corner in itertools.product((0, 1), repeat=self.size):
                    share = np.prod(np.where(corner, scaled - low, 1 - (scaled - low)), axis=-1)
                    at.append(((low + corner) * side ** np.arange(self.size)[::-1]).sum(axis=-1))
                    parts.append(chance * share)
            places.append(np.stack(at, axis=-1))
            weights.append(np.stack(parts, axis=-1))
        return np.stack(places), np.stack(weights)

    @cached_property
    def _paid(self) -> Array:
        """(A, n) expected rewards on the grid."""
        many = len(self._points)
        return np.stack([self.paid(0, self._points, np.full(many, action)) for action in range(ACTIONS)])

    @cached_property
    def _first(self) -> Array:
        """(n,) the law of the first state on the grid: the trapezoid rule."""
        axis = np.ones(len(self._axis))
        axis[[0, -1]] = 0.5
        weights = axis
        for _ in range(self.size - 1):
            weights = np.multiply.outer(weights, axis)
        return np.asarray(weights.ravel() / weights.sum())

    def _followed(self, choose: object) -> float:
        """The value of choosing, from returns (A, n) of actions on the grid, by a function of step and returns."""
        places, weights = self._moves
        values = np.zeros(len(self._points))
        for step in reversed(range(self.horizon)):
            returns = self._paid + (weights * values[places]).sum(axis=-1)
            values = choose(step, returns)  # type: ignore[operator]
        return float(self._first @ values)

    @cached_property
    def best_value(self) -> float:
        """The best expected return, interpolated on the grid."""
        return self._followed(lambda step, returns: returns.max(axis=0))

    @cached_property
    def random_value(self) -> float:
        """The expected return of acting uniformly at random."""
        return self._followed(lambda step, returns: returns.mean(axis=0))

    @cached_property
    def _shown(self) -> Array:
        return self.features.all_x(self._points)

    def value(self, policy: FeaturePolicy) -> float:
        """The expected return of a policy, interpolated on the grid."""
        many = np.arange(len(self._points))
        return self._followed(lambda step, returns: returns[policy.chosen(step, self._shown), many])

    def cell(self, observations: Array) -> Integers:
        """(n,) the states of a table that cuts every covariate into equal parts."""
        parts = np.minimum((observations + 1) / 2 * CELLS, CELLS - 1).astype(np.int64)
        return np.asarray((parts * CELLS ** np.arange(self.size)).sum(axis=-1))


@register("covariates", example="covariates/2", horizon=8)
def covariates(dimension: int, horizon: int, seed: int = 0) -> Environment:
    """D continuous covariates, three actions that push them, and a place where people are well; tables see 15 parts of each."""
    dimension = validation.integer("dimension", dimension, 1, MOST)
    rng = np.random.default_rng(validation.integer("seed", seed, 0))
    directions = rng.standard_normal((ACTIONS, dimension))
    push = PUSH * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    turn = TURN * rng.uniform(-1.0, 1.0, size=(ACTIONS, dimension, dimension)) / dimension
    goal, price = rng.uniform(-0.5, 0.5, size=dimension), rng.random(ACTIONS)
    world = Covariates(push, turn, goal, price, horizon)

    def interact(policy: Policy, draw: np.random.Generator) -> EpisodeArrays:
        seen = world.start(1, draw)
        states, actions = np.zeros(horizon + 1, dtype=np.int64), np.zeros(horizon, dtype=np.int64)
        rewards = np.zeros(horizon)
        for step in range(horizon):
            states[step] = world.cell(seen)[0]
            actions[step] = draw.choice(ACTIONS, p=policy.probabilities[step, states[step]])
            taken = actions[step : step + 1]
            rewards[step] = draw.random() < world.paid(step, seen, taken)[0]
            seen = world.move(step, seen, taken, draw)
        states[horizon] = world.cell(seen)[0]
        return states[:-1], actions, rewards, states[1:]

    return Environment(Spec(CELLS**dimension, ACTIONS, horizon), interact=interact, world=world)
