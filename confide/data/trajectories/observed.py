"""Episodes of people whose states are observations: numbers and categories that a public description names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from .trajectory import Trajectory


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
    def single(cls, observations: Sequence[object], actions: object, rewards: object) -> ObservedEpisodes:
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
