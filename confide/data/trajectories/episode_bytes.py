"""An episode as bytes, to be handed to whoever is trusted with it: always as long as the longest, so that its length says nothing.

"cfe1" | steps (4) | whether the last state is known (4) | states (H+1) | actions (H) | rewards (H, float64), little-endian
"""

from __future__ import annotations

import struct

import numpy as np

from ...errors import FormatError, InvalidInput
from ...mdp import Spec
from .trajectory import Trajectory

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
