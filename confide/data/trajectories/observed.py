"""Episodes of people whose states are observations: numbers and categories that a public description names.

As bytes they are always as long as the longest, as those of numbered states are (`trajectory`):

"cfo1" | steps (4) | whether what follows the last step is known (4) | observations (H+1, k; float64) | actions (H; 4 each) |
rewards (H; float64), little-endian
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import FormatError, InvalidInput
from ...mdp import Spec
from ...mdp.described import DescribedFeatures
from . import trajectory
from .trajectory import Trajectory

MAGIC = b"cfo1"
HEADER = struct.Struct("<4sII")


class Observing(Protocol):
    """What is asked of an episode, as far as its bytes depend on it."""

    @property
    def spec(self) -> Spec:
        """The sizes of the problem."""
        ...

    @property
    def described(self) -> DescribedFeatures | None:
        """The public description of what is observed; None where states are numbered."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class ObservedEpisodes:
    """Sensitive: episodes of the same length, one of each person, or of one person alone.

    observations: (n, T+1, k) encoded as `mdp.described` does, or (n, T, k) where the last is not known; actions: (n, T);
    rewards: (n, T) in [0, 1].
    """

    observations: NDArray[np.float64]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]

    @classmethod
    def of(cls, episode: Trajectory | ObservedEpisodes) -> ObservedEpisodes:
        """An episode as it is, or one of numbered states: to a description with one category its states are that category's
        values."""
        if episode.actions.ndim == 2:
            return cast(ObservedEpisodes, episode)
        listed = cast(Trajectory, episode)
        states = listed.states.astype(np.float64)[None, :, None]
        return cls(states, listed.actions[None], np.asarray(listed.rewards, dtype=np.float64)[None])

    @classmethod
    def single(
        cls, observations: Sequence[object] | NDArray[np.float64], actions: object, rewards: object
    ) -> ObservedEpisodes:
        """One person's episode."""
        return cls(
            np.asarray(observations, dtype=np.float64)[None],
            np.asarray(actions, dtype=np.int64)[None],
            np.asarray(rewards, dtype=np.float64)[None],
        )

    @property
    def people(self) -> int:
        """How many people there are."""
        return len(self.actions)

    @property
    def steps(self) -> int:
        """T, at most the horizon."""
        return int(self.actions.shape[1])

    def __repr__(self) -> str:
        """Shapes only: a repr ends up in logs."""
        return f"ObservedEpisodes(people={self.people}, steps={self.steps})"


def handed_length(question: Observing) -> int:
    """How many bytes every episode has that is handed to a curator."""
    if question.described is None:
        return trajectory.length(question.spec)
    horizon, width = question.spec.horizon, len(question.described.inputs)
    return HEADER.size + 8 * width * (horizon + 1) + (4 + 8) * horizon


def handed(episode: Trajectory | ObservedEpisodes, question: Observing) -> bytes:
    """Versioned bytes of one person's episode, padded to the length of the longest."""
    features = question.described
    if features is None:
        return trajectory.to_bytes(cast(Trajectory, episode), question.spec)
    lived, horizon = ObservedEpisodes.of(episode), question.spec.horizon
    seen = np.zeros((horizon + 1, len(features.inputs)), dtype="<f8")
    actions, rewards = np.zeros(horizon, dtype="<u4"), np.zeros(horizon, dtype="<f8")
    known = min(lived.observations.shape[1], lived.steps + 1)
    seen[:known] = lived.observations[0, :known]
    actions[: lived.steps], rewards[: lived.steps] = lived.actions[0], lived.rewards[0]
    head = HEADER.pack(MAGIC, lived.steps, int(known > lived.steps))
    return head + seen.tobytes() + actions.tobytes() + rewards.tobytes()


def from_handed(data: bytes, question: Observing) -> Trajectory | ObservedEpisodes:
    """Read what `handed` wrote; refuse anything else, and an episode that cannot have happened."""
    features = question.described
    if features is None:
        return trajectory.from_bytes(data, question.spec)
    if len(data) != handed_length(question) or data[:4] != MAGIC:
        raise FormatError("episode-bytes-unreadable", "These bytes are not an episode of these sizes.")
    _, steps, known = HEADER.unpack_from(data)
    horizon, width, start = question.spec.horizon, len(features.inputs), HEADER.size
    if steps > horizon or known > 1:
        raise FormatError("episode-bytes-too-long", "This episode is longer than the horizon.")
    after = start + 8 * width * (horizon + 1)
    seen = np.frombuffer(data, "<f8", width * (horizon + 1), start).reshape(-1, width)[: steps + known]
    actions = np.frombuffer(data, "<u4", horizon, after)[:steps].astype(np.int64)
    rewards = np.frombuffer(data, "<f8", horizon, after + 4 * horizon)[:steps].astype(np.float64)
    try:
        features.checked(seen)
        validation.indices("actions", actions, features.actions)
        validation.array("rewards", rewards, (steps,))
    except InvalidInput as error:
        raise FormatError(
            "episode-impossible", "This episode cannot have happened in a world of these sizes."
        ) from error
    return ObservedEpisodes.single(seen.astype(np.float64), actions, rewards)
