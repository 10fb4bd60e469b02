"""What a learner gives back to the people: for each step and state, how likely each action is, or to go on as now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import validation

AS_NOW = "as now"
"""What a policy says where people should go on as they do now."""


@dataclass(frozen=True, eq=False)
class Policy:
    """probabilities: (H, S, A), rows sum to one. as_now: (H, S), where people go on as now; None if nowhere.

    There a row says what a machine would play in people's stead, as far as that is known; a row of zeros if it is not.
    """

    probabilities: NDArray[np.float64]
    as_now: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        table = validation.array("policy", self.probabilities, (None, None, None))
        if self.as_now is not None:
            now = np.asarray(self.as_now)
            if now.dtype != np.bool_ or now.shape != table.shape[:2]:
                raise validation.refusal("as_now", f"true or false, of shape {table.shape[:2]}", now.shape)
            object.__setattr__(self, "as_now", now)
            untold = now & (table == 0).all(axis=-1)
            checked = validation.probabilities("policy", np.where(untold[..., None], 1 / table.shape[-1], table))
            table = np.where(untold[..., None], 0.0, checked)
        else:
            table = validation.probabilities("policy", table)
        object.__setattr__(self, "probabilities", table)

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
        """The most likely action for each step and state, (H, S); -1 where people go on as now."""
        best = np.asarray(self.probabilities.argmax(axis=-1))
        return best if self.as_now is None else np.where(self.as_now, -1, best)

    @property
    def complete(self) -> bool:
        """Whether every row says what a machine would play."""
        return self.as_now is None or bool((self.probabilities[self.as_now].sum(axis=-1) > 0).all())

    def followed_by(self, practice: NDArray[np.float64]) -> Policy:
        """What happens if people, whose practice (H, S, A) is known, go on with it where the policy says so."""
        if self.as_now is None:
            return self
        return Policy(np.where(self.as_now[..., None], practice, self.probabilities))

    def act(self, step: int, state: int, rng: np.random.Generator | None = None) -> int | str:
        """An action for one person: drawn with `rng`, or the most likely one without it; or `AS_NOW`."""
        horizon, states, actions = self.probabilities.shape
        step = validation.integer("step", step, 0, horizon - 1)
        state = validation.integer("state", state, 0, states - 1)
        if self.as_now is not None and self.as_now[step, state]:
            return AS_NOW
        row = self.probabilities[step, state]
        return int(row.argmax()) if rng is None else int(rng.choice(actions, p=row))
