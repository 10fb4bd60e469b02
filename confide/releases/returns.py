"""Releases of people's returns, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass

import msgpack

from .. import validation
from ..errors import ConfideError, FormatError

FORMAT = "confide.returns/1"


@dataclass(frozen=True)
class ReturnsRelease:
    """Sums over all episodes of g = return - H/2 and g^2, and how many episodes; with noise of these deviations.

    users: how many people; most: how many episodes each may have. rounded: by how much a return may be off because a
    known reward is no multiple of 1/grain.
    """

    users: int
    most: int
    horizon: int
    centred: float
    squares: float
    episodes: float
    noise: tuple[float, float, float]
    rounded: float = 0.0

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        numbers = [self.users, self.most, self.horizon, self.centred, self.squares, self.episodes, list(self.noise)]
        return bytes(msgpack.packb([FORMAT, *numbers, self.rounded]))

    @classmethod
    def from_bytes(cls, data: bytes) -> ReturnsRelease:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, users, most, horizon, *sums, noise, rounded = msgpack.unpackb(data, max_array_len=16, max_str_len=64)
            if name != FORMAT:
                raise ValueError(f"it is {name!r}")
            centred, squares, episodes = (validation.number("returns", value) for value in sums)
            first, second, third = (validation.number("noise", value) for value in noise)
            people, most_episodes = validation.integer("users", users, 0), validation.integer("episodes", most, 1)
            steps = validation.integer("horizon", horizon, 1)
            rounding = validation.number("rounding", rounded)
            return cls(people, most_episodes, steps, centred, squares, episodes, (first, second, third), rounding)
        except (ConfideError, ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
            raise FormatError(f"These bytes are not an answer this version can read: {error}") from error
