"""One person's episode: states, actions and rewards.

As bytes, to be handed to the party that is trusted with it, it is always as long as the longest, so that its length says nothing:

"cfe1" | steps (4) | whether the last state is known (4) | states (H+1) | actions (H) | rewards (H, float64), little-endian
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import validation
from ...errors import FormatError, InvalidInput, PrivacyError
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
        """Refused: an episode is no report. It is what `respond` gives where a party is trusted with it."""
        raise PrivacyError(
            "episode-is-no-report",
            "A person's episode is not a report: under trust joint, central or none it is handed to a curator as it is, and no "
            "device sends it. Choose Local or Shuffle, or give it to privatizers.open_aggregate(design).",
        )

    def __repr__(self) -> str:
        """Shapes only: a repr ends up in logs."""
        return f"Trajectory(steps={self.steps})"


MAGIC = b"cfe1"
HEADER = struct.Struct("<4sII")


def length(spec: Spec) -> int:
    """How many bytes every episode of these sizes has."""
    return HEADER.size + 4 * (spec.horizon + 1) + (4 + 8) * spec.horizon


def to_bytes(episode: Trajectory, spec: Spec) -> bytes:
    """Versioned bytes, padded to the length of the longest episode."""
    states = np.zeros(spec.horizon + 1, dtype="<u4")
    actions, rewards = np.zeros(spec.horizon, dtype="<u4"), np.zeros(spec.horizon, dtype="<f8")
    states[: len(episode.states)] = episode.states
    actions[: episode.steps], rewards[: episode.steps] = episode.actions, episode.rewards
    head = HEADER.pack(MAGIC, episode.steps, int(episode.ended_known))
    return head + states.tobytes() + actions.tobytes() + rewards.tobytes()


def from_bytes(data: bytes, spec: Spec) -> Trajectory:
    """Read what `to_bytes` wrote; refuse anything else, and an episode that cannot have happened."""
    if len(data) != length(spec) or data[:4] != MAGIC:
        raise FormatError("episode-bytes-unreadable", "These bytes are not an episode of these sizes.")
    _, steps, known = HEADER.unpack_from(data)
    if steps > spec.horizon or known > 1:
        raise FormatError("episode-bytes-too-long", "This episode is longer than the horizon.")
    horizon, start = spec.horizon, HEADER.size
    states = np.frombuffer(data, "<u4", horizon + 1, start)[: steps + known]
    actions = np.frombuffer(data, "<u4", horizon, start + 4 * (horizon + 1))[:steps]
    rewards = np.frombuffer(data, "<f8", horizon, start + 4 * (2 * horizon + 1))[:steps]
    try:
        return Trajectory.checked(spec, states.astype(np.int64), actions.astype(np.int64), rewards.astype(np.float64))
    except InvalidInput as error:
        raise FormatError(
            "episode-impossible", "This episode cannot have happened in a world of these sizes."
        ) from error
