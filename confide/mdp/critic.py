"""What a linear learner says about states: how good each action is, how sure that is, and which to take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import PrivacyError
from .linear import Array, BlockFeatures, Points

LARGEST = 1e40
"""No number of a public function exceeds it: then none of its values overflows."""


@dataclass(frozen=True, eq=False)
class Critic:
    """Q(s, a) = middle + phi'w - Gamma with Gamma = times sqrt(phi' D phi) + off; V(s) = max_a Q, clipped to [0, top].

    weights: (B, d), w by blocks; doubt: (B, d, d), D, the variance of phi'w as far as it is known.
    """

    weights: Array
    doubt: Array
    middle: float
    times: float
    off: float
    top: float

    def checked(self, blocks: int, dimension: int) -> Critic:
        """The same, if its sizes are these and its values finite everywhere: whoever asks may be an adversary."""
        return replace(
            self,
            weights=_bounded("weights", self.weights, (blocks, dimension)),
            doubt=_bounded("doubt", self.doubt, (blocks, dimension, dimension)),
            **{name: _number(name, getattr(self, name)) for name in ("middle", "times", "off", "top")},
        )

    def deviation(self, points: Points) -> Array:
        """(n, A) the standard deviation of the estimate."""
        square = points.each(lambda rows, b: np.einsum("ni,ni->n", rows @ self.doubt[b], rows))
        return np.sqrt(np.maximum(square, 0.0))

    def gamma(self, points: Points) -> Array:
        """(n, A) what is taken off."""
        return np.asarray(self.times * self.deviation(points) + self.off)

    def q(self, points: Points) -> Array:
        """(n, A), not clipped: the best of several that are all worth nothing for sure is still the best."""
        found = points.each(lambda rows, b: rows @ self.weights[b]) + self.middle - self.gamma(points)
        return np.where(points.allowed, found, -np.inf)

    def value(self, points: Points) -> Array:
        """(n,), in [0, top]."""
        return np.asarray(np.clip(self.q(points).max(axis=1), 0.0, self.top))

    def actions(self, points: Points) -> NDArray[np.int64]:
        """(n,) the best action."""
        return np.asarray(self.q(points).argmax(axis=1))

    def arrays(self) -> tuple[Array, Array, Array]:
        """What `of` takes."""
        return self.weights, self.doubt, np.array([self.middle, self.times, self.off, self.top])

    @classmethod
    def of(cls, weights: Any, doubt: Any, numbers: Any) -> Critic:
        """From what `arrays` gave."""
        given = validation.array("numbers", numbers, (4,))
        return cls(np.asarray(weights), np.asarray(doubt), *given.tolist())


@dataclass(frozen=True, eq=False)
class Spread:
    """v(s, a) = max(1, E[V^2] - E[V]^2), each a regression clipped to its range: how much V varies after (s, a).

    squares, means: (B, d); middles: what was taken off both targets; top: V lies in [0, top].
    """

    squares: Array
    means: Array
    middles: tuple[float, float]
    top: float

    def checked(self, blocks: int, dimension: int) -> Spread:
        """As `Critic.checked`."""
        shape = (blocks, dimension)
        middles = _bounded("middles", self.middles, (2,))
        return Spread(
            _bounded("squares", self.squares, shape),
            _bounded("means", self.means, shape),
            (float(middles[0]), float(middles[1])),
            _number("top", self.top),
        )

    def at(self, points: Points) -> Array:
        """(n, A), at least 1."""
        square, mean = (
            points.each(lambda rows, b, told=told: rows @ told[b])  # type: ignore[misc]
            for told in (self.squares, self.means)
        )
        square = np.clip(square + self.middles[0], 0, self.top**2)
        return np.maximum(1.0, square - np.clip(mean + self.middles[1], 0, self.top) ** 2)

    def arrays(self) -> tuple[Array, Array, Array]:
        """What `of` takes."""
        return self.squares, self.means, np.array([*self.middles, self.top])

    @classmethod
    def of(cls, squares: Any, means: Any, numbers: Any) -> Spread:
        """From what `arrays` gave."""
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

    def act(self, step: int, state: Any, rng: np.random.Generator | None = None) -> int:
        """An action for one person in the state x (width,); there is no chance in it, so `rng` is not used."""
        critic = self.critics[validation.integer("step", step, 0, self.horizon - 1)]
        return int(critic.actions(self.features.at(state))[0])

    def chosen(self, steps: NDArray[np.int64], states: Any) -> NDArray[np.int64]:
        """(n,) the action of each step and state (n, width)."""
        return np.array([self.act(int(step), state) for step, state in zip(steps, states, strict=True)], dtype=np.int64)

    def value(self, step: int, state: Any) -> float:
        """What is surely reached from there on, as far as the learner can tell, in learners' units."""
        critic = self.critics[validation.integer("step", step, 0, self.horizon - 1)]
        return float(critic.value(self.features.at(state))[0])


def _number(name: str, value: Any) -> float:
    return float(_bounded(name, [value], (1,))[0])


def _bounded(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    found = validation.array(name, value, shape)
    if (np.abs(found) > LARGEST).any():
        raise PrivacyError(f"{name} of a public function must be at most {LARGEST:g}, or values overflow.")
    return found
