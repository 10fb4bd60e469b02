"""A world people live in: its public sizes, its model or a way to play it, and what its rewards mean to people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...mdp import PER_STEP, STATIONARY, MixtureFeatures, Model, Policy, Spec

LARGEST_TABLE = 8 * 2**30
"""Bytes that the transition table of one world may take."""

EpisodeArrays: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]
"""States, actions, rewards in [0, 1] and next states of one person, H of each."""

Interact: TypeAlias = Callable[[Policy, np.random.Generator], EpisodeArrays]

Value = TypeVar("Value", float, NDArray[np.float64])


@dataclass(frozen=True)
class RewardScale:
    """The line from the rewards learners see, in [0, 1], to those people know: low + (high - low) reward."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        low, high = validation.number("lowest reward", self.low), validation.number("highest reward", self.high)
        if low >= high:
            raise validation.refusal("reward-range-empty", "highest reward", f"above the lowest, {low:g}", high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def to_people(self, total_value: Value, steps: int) -> Value:
        """A sum of `steps` rewards in people's units. A difference of two such sums is converted with steps=0."""
        return self.low * steps + (self.high - self.low) * total_value

    def to_learner(self, reward: Value) -> Value:
        """One reward of people's, in the units of learners."""
        return (reward - self.low) / (self.high - self.low)


@dataclass(frozen=True, eq=False)
class Environment:
    """A finite-horizon world. Exactly one of `model` (exact values can be computed) and `interact` is there.

    interact(policy, rng) plays one episode of exactly H steps and returns its states, actions, rewards in [0, 1] and
    next states. Every episode has H steps, so sums of rewards always convert to people's units with steps=H.
    `features`, if any, are those of a linear mixture that the model is.
    `make` fills in `address` and `description`. `made_of`: what a world of another package is made of, the outermost wrapper first,
    each with its parameters.
    """

    spec: Spec
    model: Model | None = field(default=None, repr=False)
    interact: Interact | None = field(default=None, repr=False)
    scale: RewardScale = RewardScale()
    features: MixtureFeatures | None = field(default=None, repr=False)
    address: str = ""
    description: str = ""
    made_of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.model is None) == (self.interact is None):
            raise InvalidInput(
                "environment-model-or-play",
                "An environment must have either a model or a way to interact, and not both.",
            )
        if self.model is not None:
            known = self.model.spec
            if known.with_dynamics(self.spec.dynamics) != self.spec or known.layers != self.spec.layers:
                raise validation.refusal("environment-spec", "spec", f"that of the model, {known}", self.spec)
            if self.features is not None:
                self.features.parameters(self.model)

    @property
    def name(self) -> str:
        """The name that is printed: its address, or its sizes if it has none."""
        return self.address or f"a world of {self.spec.states} states and {self.spec.actions} actions"

    @classmethod
    def known(cls, model: Model, scale: RewardScale | None = None) -> Environment:
        """The environment of a known model."""
        return cls(model.spec, model, scale=scale or RewardScale())

    def with_dynamics(self, model: str) -> Environment:
        """The same world with `stationary` or `per-step` dynamics; what changes from step to step cannot be stationary."""
        validation.choice("model", model, (STATIONARY, PER_STEP))
        if model == self.spec.dynamics:
            return self
        if model == STATIONARY:
            raise validation.refusal(
                "environment-needs-per-step",
                "model",
                f"{PER_STEP!r}, because {self.name} changes from step to step",
                model,
            )
        check_size(self.spec.with_dynamics(model))
        return replace(self, spec=self.spec.with_dynamics(model), model=self.model and self.model.per_step())


def check_size(spec: Spec) -> Spec:
    """The same spec, refused if its transition table would take more than `LARGEST_TABLE` bytes."""
    size = 8 * spec.layers * spec.states**2 * spec.actions
    if size > LARGEST_TABLE:
        raise InvalidInput(
            "transitions-too-large",
            f"A table of transitions must fit into {LARGEST_TABLE / 1e9:.1f} GB. {spec.layers} x {spec.states} x "
            f"{spec.actions} x {spec.states} numbers take {size / 1e9:.1f}. Use fewer states or a stationary model.",
        )
    return spec


def blank(spec: Spec) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Transitions (L, S, A, S) and rewards (L, S, A) of zeros, for a builder to fill in."""
    layers, states, actions = check_size(spec).layers, spec.states, spec.actions
    return np.zeros((layers, states, actions, states)), np.zeros((layers, states, actions))


def start_in(state: int, states: int) -> NDArray[np.float64]:
    """The law of a first state that is always the same."""
    initial = np.zeros(states)
    initial[state] = 1.0
    return initial
