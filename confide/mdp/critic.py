"""The critic of a linear learner: how good each action is in a state, how sure that is, and which one to take."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..errors import PrivacyError
from .linear import Array, BlockFeatures, Points

LARGEST = 1e40
"""No number of a public function exceeds it: then none of its values overflows."""


@dataclass(frozen=True, eq=False)
class Critic:
    """Q(s, a) = middle + phi'w - Gamma, Gamma = multiplier sqrt(phi' C phi) + margin; V(s) = max_a Q, clipped to [0, top].

    weights: (B, d), w by blocks; covariance: (B, d, d), C, the variance of phi'w as far as it is known.
    """

    weights: Array
    covariance: Array
    middle: float
    multiplier: float
    margin: float
    top: float

    def checked(self, blocks: int, dimension: int) -> Critic:
        """The critic itself, refused unless its sizes are these and its values finite: the server may be an adversary."""
        return replace(
            self,
            weights=_bounded("weights", self.weights, (blocks, dimension)),
            covariance=_bounded("covariance", self.covariance, (blocks, dimension, dimension)),
            middle=_number("middle", self.middle),
            multiplier=_number("multiplier", self.multiplier),
            margin=_number("margin", self.margin),
            top=_number("top", self.top),
        )

    def deviation(self, points: Points) -> Array:
        """(n, A) the standard deviation of the estimate."""
        variance = points.each(lambda rows, b: np.einsum("ni,ni->n", rows @ self.covariance[b], rows))
        return np.sqrt(np.maximum(variance, 0.0))

    def gamma(self, points: Points) -> Array:
        """(n, A) the penalty Gamma: what is taken off the estimates."""
        return np.asarray(self.multiplier * self.deviation(points) + self.margin)

    def q(self, points: Points) -> Array:
        """(n, A) pessimistic action values Q, not clipped: the best of several with a sure value of 0 is still the best."""
        values = points.each(lambda rows, b: rows @ self.weights[b]) + self.middle - self.gamma(points)
        return np.where(points.allowed, values, -np.inf)

    def value(self, points: Points) -> Array:
        """(n,) state values V, in [0, top]."""
        return np.asarray(np.clip(self.q(points).max(axis=1), 0.0, self.top))

    def actions(self, points: Points) -> NDArray[np.int64]:
        """(n,) the best action."""
        return np.asarray(self.q(points).argmax(axis=1))

    def arrays(self) -> tuple[Array, Array, Array]:
        """The arrays and numbers from which `of` makes it again."""
        return self.weights, self.covariance, np.array([self.middle, self.multiplier, self.margin, self.top])

    @classmethod
    def of(cls, weights: ArrayLike, covariance: ArrayLike, numbers: ArrayLike) -> Critic:
        """The function with these arrays and numbers, as `arrays` gave them."""
        entries = validation.array("numbers", numbers, (4,))
        return cls(np.asarray(weights), np.asarray(covariance), *entries.tolist())


@dataclass(frozen=True, eq=False)
class ValueVariance:
    """v(s, a) = max(1, E[V^2] - E[V]^2), each a regression clipped to its range: how much V varies after (s, a).

    squares, means: (B, d); middles: what was taken off both targets; top: V lies in [0, top].
    """

    squares: Array
    means: Array
    middles: tuple[float, float]
    top: float

    def checked(self, blocks: int, dimension: int) -> ValueVariance:
        """The function itself, refused unless its sizes are these and its values finite."""
        shape = (blocks, dimension)
        middles = _bounded("middles", self.middles, (2,))
        return ValueVariance(
            _bounded("squares", self.squares, shape),
            _bounded("means", self.means, shape),
            (float(middles[0]), float(middles[1])),
            _number("top", self.top),
        )

    def at(self, points: Points) -> Array:
        """(n, A) variances v(s, a), at least 1."""
        square, mean = (
            points.each(lambda rows, b, weights=weights: rows @ weights[b])  # type: ignore[misc]
            for weights in (self.squares, self.means)
        )
        square = np.clip(square + self.middles[0], 0, self.top**2)
        return np.maximum(1.0, square - np.clip(mean + self.middles[1], 0, self.top) ** 2)

    def arrays(self) -> tuple[Array, Array, Array]:
        """The arrays and numbers from which `of` makes it again."""
        return self.squares, self.means, np.array([*self.middles, self.top])

    @classmethod
    def of(cls, squares: ArrayLike, means: ArrayLike, numbers: ArrayLike) -> ValueVariance:
        """The function with these arrays and numbers, as `arrays` gave them."""
        first, second, top = validation.array("numbers", numbers, (3,)).tolist()
        return cls(np.asarray(squares), np.asarray(means), (first, second), top)


@dataclass(frozen=True, eq=False)
class VectorPolicy:
    """A policy for states that are vectors: the best action by the critic of each step."""

    features: BlockFeatures
    critics: tuple[Critic, ...]

    @property
    def horizon(self) -> int:
        """How many steps it knows."""
        return len(self.critics)

    def act(self, step: int, state: ArrayLike, rng: np.random.Generator | None = None) -> int:
        """An action for one person in the state x (width,); there is no chance in it, so `rng` is not used."""
        critic = self.critics[validation.integer("step", step, 0, self.horizon - 1)]
        return int(critic.actions(self.features.at(state))[0])

    def chosen(self, steps: NDArray[np.int64], states: Array | NDArray[np.int64]) -> NDArray[np.int64]:
        """(n,) the action of each step and state (n, width)."""
        return np.array([self.act(int(step), state) for step, state in zip(steps, states, strict=True)], dtype=np.int64)

    def value(self, step: int, state: ArrayLike) -> float:
        """The pessimistic value of a state: the sure return from there on, as far as the learner can tell."""
        critic = self.critics[validation.integer("step", step, 0, self.horizon - 1)]
        return float(critic.value(self.features.at(state))[0])


def _number(name: str, value: float) -> float:
    return float(_bounded(name, [value], (1,))[0])


def _bounded(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    array = validation.array(name, value, shape)
    if (np.abs(array) > LARGEST).any():
        raise PrivacyError(
            "public-function-too-large", f"{name} of a public function must be at most {LARGEST:g}, or values overflow."
        )
    return array
