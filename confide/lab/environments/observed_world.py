"""Worlds whose states are observations, which a learner of features sees through a public description."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...mdp import Model
from ...mdp.described import IS, Category, DescribedFeatures, Factor
from ...mdp.feature_policy import FeaturePolicy

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


class ObservedWorld(Protocol):
    """How people start and move, what they are paid, and the values of policies."""

    @property
    def features(self) -> DescribedFeatures:
        """The public description of what is observed."""
        ...

    @property
    def horizon(self) -> int:
        """H."""
        ...

    @property
    def best_value(self) -> float:
        """The best expected return."""
        ...

    @property
    def random_value(self) -> float:
        """The expected return of acting uniformly at random."""
        ...

    @property
    def listed(self) -> Array | None:
        """(n, k) all first observations, where these are few, all alike likely, and there is one step; else None."""
        ...

    def start(self, people: int, rng: np.random.Generator) -> Array:
        """(n, k) first observations."""
        ...

    def paid(self, step: int, observations: Array, actions: Integers) -> Array:
        """(n,) expected rewards in [0, 1]; a reward that is drawn is 0 or 1."""
        ...

    def move(self, step: int, observations: Array, actions: Integers, rng: np.random.Generator) -> Array:
        """(n, k) next observations."""
        ...

    def value(self, policy: FeaturePolicy) -> float:
        """The expected return of a policy."""
        ...


def in_states(states: int, actions: int) -> DescribedFeatures:
    """The description of a table: one category for the state, and a weight for every state and action."""
    values = tuple(map(str, range(states)))
    terms = tuple((Factor("state", IS, value),) for value in values)
    ahead = np.eye(states) - 1 / states
    named = tuple(map(str, range(actions)))
    return DescribedFeatures((Category("state", values),), named, terms, np.eye(states), terms, ahead)


@dataclass(frozen=True, eq=False)
class ListedWorld:
    """A known model of numbered states, described by features of its one category."""

    model: Model
    features: DescribedFeatures

    @property
    def horizon(self) -> int:
        """H."""
        return self.model.horizon

    @cached_property
    def best_value(self) -> float:
        """The best expected return."""
        model, values = self.model, np.zeros(self.model.spec.states)
        for step in reversed(range(self.horizon)):
            layer = self._layer(step)
            values = (model.rewards[layer] + model.transitions[layer] @ values).max(axis=1)
        return float(model.initial @ values)

    @cached_property
    def random_value(self) -> float:
        """The expected return of acting uniformly at random."""
        spec = self.model.spec
        return self._value(np.full((spec.horizon, spec.states, spec.actions), 1 / spec.actions))

    def _value(self, table: Array) -> float:
        model, values = self.model, np.zeros(self.model.spec.states)
        for step in reversed(range(self.horizon)):
            layer = self._layer(step)
            values = (table[step] * (model.rewards[layer] + model.transitions[layer] @ values)).sum(axis=1)
        return float(model.initial @ values)

    @cached_property
    def _ends(self) -> Array:
        """(L, S, A, S) sums of transition probabilities."""
        return np.cumsum(self.model.transitions, axis=-1)

    @property
    def listed(self) -> None:
        """None: states lead to each other."""
        return None

    def start(self, people: int, rng: np.random.Generator) -> Array:
        """(n, 1) first states."""
        ends = np.cumsum(self.model.initial)
        places = np.searchsorted(ends, rng.random(people) * ends[-1], side="right")
        return np.asarray(np.minimum(places, len(ends) - 1), dtype=np.float64)[:, None]

    def _layer(self, step: int) -> int:
        return step if self.model.spec.layers > 1 else 0

    def paid(self, step: int, observations: Array, actions: Integers) -> Array:
        """(n,) expected rewards."""
        return np.asarray(self.model.rewards[self._layer(step), observations[:, 0].astype(np.int64), actions])

    def move(self, step: int, observations: Array, actions: Integers, rng: np.random.Generator) -> Array:
        """(n, 1) next states."""
        ends = self._ends[self._layer(step), observations[:, 0].astype(np.int64), actions]
        places = (ends <= rng.random(len(actions))[:, None] * ends[:, -1:]).sum(axis=1)
        return np.asarray(np.minimum(places, ends.shape[1] - 1), dtype=np.float64)[:, None]

    def value(self, policy: FeaturePolicy) -> float:
        """The expected return of a policy, exactly."""
        return self._value(policy.table())
