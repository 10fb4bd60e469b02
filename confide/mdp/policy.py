"""Policies: for each step and state, how likely each action is, or that people go on as they do now."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..errors import FormatError, InvalidInput

if TYPE_CHECKING:
    from .model import Spec

MAGIC = b"cfp1"
HEADER = struct.Struct("<4sBIII")
"""What it begins with, its form, H, S and A; then chosen actions, or probabilities, all of it little-endian."""
CHANCES = 0
ACTION_TYPES = {1: "<u1", 2: "<u2", 4: "<u4"}
"""The form of a policy that always takes one action is the number of bytes of an action."""

CURRENT_PRACTICE = "current practice"
"""What a policy says where people should go on as they do now."""


@dataclass(frozen=True, eq=False)
class Policy:
    """probabilities: (H, S, A), rows sum to one. unchanged: (H, S), where people follow current practice; None if nowhere.

    There a row says what a machine would play in people's stead, as far as that is known; a row of zeros if it is not.
    """

    probabilities: NDArray[np.float64]
    unchanged: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        table = validation.array("policy", self.probabilities, (None, None, None))
        if self.unchanged is not None:
            now = np.asarray(self.unchanged)
            if now.dtype != np.bool_ or now.shape != table.shape[:2]:
                raise validation.refusal(
                    "current-practice-form", "unchanged", f"true or false, of shape {table.shape[:2]}", now.shape
                )
            object.__setattr__(self, "unchanged", now)
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
        """The policy that takes the actions in a table (H, S), among `size`."""
        chosen = np.asarray(actions)
        return cls(np.eye(size)[validation.indices("actions", chosen.ravel(), size).reshape(chosen.shape)])

    @property
    def actions(self) -> NDArray[np.int64]:
        """The most likely action for each step and state, (H, S); -1 where people follow current practice."""
        best = np.asarray(self.probabilities.argmax(axis=-1))
        return best if self.unchanged is None else np.where(self.unchanged, -1, best)

    @property
    def complete(self) -> bool:
        """Whether every row has probabilities of actions, so that a machine can follow it: none says `CURRENT_PRACTICE`."""
        return self.unchanged is None or bool((self.probabilities[self.unchanged].sum(axis=-1) > 0).all())

    def followed_by(self, practice: NDArray[np.float64]) -> Policy:
        """The policy with people's known practice (H, S, A) filled in where it says that they follow current practice."""
        if self.unchanged is None:
            return self
        return Policy(np.where(self.unchanged[..., None], practice, self.probabilities))

    def act(self, step: int, state: ArrayLike, rng: np.random.Generator | None = None) -> int | str:
        """An action for one person: drawn with `rng`, or the most likely one without it; or `CURRENT_PRACTICE`."""
        horizon, states, actions = self.probabilities.shape
        step = validation.integer("step", step, 0, horizon - 1)
        number = validation.integer("state", state, 0, states - 1)
        if self.unchanged is not None and self.unchanged[step, number]:
            return CURRENT_PRACTICE
        row = self.probabilities[step, number]
        return int(row.argmax()) if rng is None else int(rng.choice(actions, p=row))

    def chosen(self, steps: NDArray[np.int64], states: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.int64]:
        """(n,) the most likely action of each step and state; -1 where people follow current practice."""
        return np.asarray(self.actions[steps, states.astype(np.int64, copy=False)])

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Arrays for a file: its probabilities."""
        return {"probabilities": self.probabilities}

    def to_bytes(self) -> bytes:
        """Versioned bytes: the chosen actions where nothing is left to chance, else the probabilities."""
        table, size = self.probabilities, self.probabilities.shape[-1]
        if (table.max(axis=-1) == 1).all():
            form = next(width for width in ACTION_TYPES if size <= 1 << (8 * width))
            raw = self.actions.astype(ACTION_TYPES[form]).tobytes()
        else:
            form, raw = CHANCES, np.ascontiguousarray(table, dtype="<f8").tobytes()
        return HEADER.pack(MAGIC, form, *table.shape) + raw

    @classmethod
    def from_bytes(cls, data: bytes, spec: Spec) -> Policy:
        """Read what `to_bytes` wrote for a problem of these sizes; refuse anything else."""
        try:
            magic, form, *shape = HEADER.unpack_from(data)
            if magic != MAGIC or tuple(shape) != (spec.horizon, spec.states, spec.actions):
                raise ValueError("it does not begin like one, or is of another problem")
            raw = data[HEADER.size :]
            if form == CHANCES:
                return cls(np.frombuffer(raw, dtype="<f8").reshape(shape))
            if form not in ACTION_TYPES:
                raise ValueError(f"its form {form} is not known")
            return cls.deterministic(np.frombuffer(raw, dtype=ACTION_TYPES[form]).reshape(shape[:2]), spec.actions)
        except (struct.error, ValueError, InvalidInput) as error:
            raise FormatError(
                "policy-bytes-unreadable", f"These bytes are not a policy that can be followed here: {error}"
            ) from error

    @property
    def digest(self) -> str:
        """The SHA-256 of its bytes, in hexadecimal: the address under which it is published."""
        return hashlib.sha256(self.to_bytes()).hexdigest()
