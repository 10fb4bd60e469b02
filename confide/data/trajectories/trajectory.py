"""One person's episode: states, actions and rewards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import validation
from ...errors import InvalidInput, PrivacyError
from ...mdp import Spec


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """states: (T+1,), or (T,) if the state after the last step is unknown; actions: (T,); rewards: (T,) in [0, 1].

    The next state of a step is the state of the following one by construction, which the sensitivities of `statistics`
    rely on. T is at most the horizon; a shorter episode ended early.
    """

    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]

    @classmethod
    def checked(cls, spec: Spec, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike) -> Trajectory:
        """Accept an episode from outside, or say what is wrong with it (positions, never contents)."""
        way_out = "Check the labels, or declare more."
        state = validation.indices("states", states, spec.states, way_out)
        action = validation.indices("actions", actions, spec.actions, way_out)
        reward = validation.array("rewards", rewards, (None,))
        steps = len(action)
        if len(reward) != steps or len(state) not in (steps, steps + 1):
            raise InvalidInput(
                "episode-lengths",
                f"An episode of {steps} actions needs {steps} rewards and {steps} or {steps + 1} states. "
                f"Got {len(reward)} and {len(state)}.",
            )
        if steps > spec.horizon:
            raise validation.refusal(
                "episode-too-long",
                "episode",
                f"at most {spec.horizon} steps long",
                steps,
                "Cut it, or raise the horizon.",
            )
        outside = (reward < 0) | (reward > 1)
        if outside.any():
            raise InvalidInput(
                "reward-out-of-range",
                f"rewards must lie in [0, 1]. Position {int(outside.argmax())} does not. Rescale or clip them.",
            )
        return cls(state, action, reward)

    @property
    def steps(self) -> int:
        """How many actions were taken."""
        return len(self.actions)

    @property
    def ended_known(self) -> bool:
        """Whether the state after the last step is known."""
        return len(self.states) > self.steps

    def to_bytes(self, design: object = None) -> bytes:
        """Refused: an episode is no report. It is what `respond` gives where somebody is trusted with it."""
        raise PrivacyError(
            "episode-is-no-report",
            "A person's episode is not a report: under trust joint, central or none it is handed to a curator as it is, and no "
            "device sends it. Choose Local or Shuffle, or give it to privatizers.open_book(design).",
        )

    def __repr__(self) -> str:
        """Shapes only: a repr ends up in logs."""
        return f"Trajectory(steps={self.steps})"
