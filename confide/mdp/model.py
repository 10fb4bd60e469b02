"""A known model of a world: transition probabilities, rewards, first states.

The public sizes of a decision problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation

STATIONARY = "stationary"
"""One law of moves and rewards for all steps."""
PER_STEP = "per-step"
"""A law of its own for every step."""

MOST_GROUPS = 20
"""Public groups of users, at most."""


@dataclass(frozen=True)
class Spec:
    """S states, A actions, H steps; dynamics: one law for all steps (`stationary`) or one for each (`per-step`).

    Arrays of a model or of counts have a leading axis of length `layers`: 1 if stationary, H if per-step, so that
    both forms broadcast through the same code.
    """

    states: int
    actions: int
    horizon: int
    dynamics: str = STATIONARY

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", validation.integer("states", self.states, 1))
        object.__setattr__(self, "actions", validation.integer("actions", self.actions, 1))
        object.__setattr__(self, "horizon", validation.integer("horizon", self.horizon, 1))
        validation.choice("model", self.dynamics, (STATIONARY, PER_STEP))

    @property
    def layers(self) -> int:
        """Length of the leading axis of models and counts."""
        return 1 if self.dynamics == STATIONARY else self.horizon

    def with_dynamics(self, dynamics: str) -> Spec:
        """The same sizes, stationary or per-step."""
        return replace(self, dynamics=dynamics)


@dataclass(frozen=True, eq=False)
class Model:
    """Transition probabilities, mean rewards in [0, 1] and the law of the first state.

    transitions: (L, S, A, S); rewards: (L, S, A); initial: (S,); L is 1 (stationary) or H (per-step), and may be left out
    where it is 1: (S, A, S) and (S, A). A reward drawn in (s, a) is Bernoulli with the stated mean, so means of 0 and 1 are
    deterministic rewards.
    """

    transitions: NDArray[np.float64]
    rewards: NDArray[np.float64]
    initial: NDArray[np.float64]
    horizon: int

    def __post_init__(self) -> None:
        transitions = _layered("transitions", self.transitions, ("S", "A", "S"))
        layers, states, actions, _ = transitions.shape
        horizon = validation.integer("horizon", self.horizon, 1)
        if layers not in (1, horizon):
            raise validation.refusal("model-layers", "transitions", f"one layer or {horizon} layers deep", layers)
        transitions = validation.array("transitions", transitions, (layers, states, actions, states))
        validation.probabilities("transitions", transitions)
        rewards = validation.array("rewards", _layered("rewards", self.rewards, ("S", "A")), (layers, states, actions))
        if rewards.min() < 0 or rewards.max() > 1:
            raise validation.refusal(
                "rewards-out-of-range",
                "rewards",
                "in [0, 1]",
                f"[{rewards.min():g}, {rewards.max():g}]",
                "Rescale them.",
            )
        initial = validation.array("initial", self.initial, (states,))
        validation.probabilities("initial", initial)
        for name, value in (("transitions", transitions), ("rewards", rewards), ("initial", initial)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "horizon", horizon)

    @cached_property
    def spec(self) -> Spec:
        """The public sizes."""
        layers, states, actions = self.rewards.shape
        return Spec(states, actions, self.horizon, STATIONARY if layers == 1 else PER_STEP)

    def per_step(self) -> Model:
        """The same world with one layer for each step."""
        layers = self.horizon // self.transitions.shape[0]
        return Model(
            np.repeat(self.transitions, layers, axis=0),
            np.repeat(self.rewards, layers, axis=0),
            self.initial,
            self.horizon,
        )


def _layered(name: str, value: ArrayLike, axes: tuple[str, ...]) -> NDArray[np.float64]:
    """Numbers with an axis for layers in front, which may be left out where there is one."""
    shape = np.shape(value)
    if len(shape) == len(axes):
        return validation.array(name, value, shape)[None]
    if len(shape) != len(axes) + 1:
        forms = f"({', '.join(axes)}) or ({', '.join(('L', *axes))})"
        raise validation.wrong_shape(name, forms, shape, "S states, A actions, L is 1 or the horizon.")
    return validation.array(name, value, shape)
