"""What a learner gives back to the people: for each step and state, how likely each action is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import validation


@dataclass(frozen=True, eq=False)
class Policy:
    """probabilities: (H, S, A), rows sum to one."""

    probabilities: NDArray[np.float64]

    def __post_init__(self) -> None:
        table = validation.array("policy", self.probabilities, (None, None, None))
        object.__setattr__(self, "probabilities", validation.probabilities("policy", table))

    @classmethod
    def uniform(cls, horizon: int, states: int, actions: int) -> Policy:
        """Every action equally likely."""
        return cls(np.full((horizon, states, actions), 1.0 / actions))

    @classmethod
    def deterministic(cls, actions: NDArray[np.int64], size: int) -> Policy:
        """From a table of chosen actions (H, S), among `size`."""
        chosen = np.asarray(actions)
        return cls(np.eye(size)[validation.indices("actions", chosen.ravel(), size).reshape(chosen.shape)])

    @property
    def actions(self) -> NDArray[np.int64]:
        """The most likely action for each step and state, (H, S)."""
        return np.asarray(self.probabilities.argmax(axis=-1))

    def act(self, step: int, state: int, rng: np.random.Generator | None = None) -> int:
        """An action for one person: drawn with `rng`, or the most likely one without it."""
        horizon, states, actions = self.probabilities.shape
        step = validation.integer("step", step, 0, horizon - 1)
        state = validation.integer("state", state, 0, states - 1)
        row = self.probabilities[step, state]
        return int(row.argmax()) if rng is None else int(rng.choice(actions, p=row))
