"""The public sizes of a decision problem."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .. import validation

STATIONARY = "stationary"
"""One law of moves and rewards for all steps."""
PER_STEP = "per-step"
"""A law of its own for every step."""


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
