"""Releases of people's returns, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass

import msgpack

from ... import validation
from ...errors import ConfideError, FormatError

FORMAT = "confide.returns/1"


@dataclass(frozen=True)
class ReturnsRelease:
    """Sums over all episodes of g and g^2, where g is a return minus the middle of [low, high], and how many episodes; with noise
    of these deviations.

    users: how many people; most: how many episodes each may have. low, high: between which every return lies, in sums of rewards in
    [0, 1].
    """

    users: int
    most: int
    low: float
    high: float
    centred: float
    squares: float
    episodes: float
    noise: tuple[float, float, float]

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        numbers = [self.low, self.high, self.centred, self.squares, self.episodes, list(self.noise)]
        return bytes(msgpack.packb([FORMAT, self.users, self.most, *numbers]))

    @classmethod
    def from_bytes(cls, data: bytes) -> ReturnsRelease:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, users, most, *numbers = msgpack.unpackb(data, max_array_len=16, max_str_len=64)
            if name != FORMAT:
                raise ValueError(f"its format is {name!r}, not {FORMAT!r}")
            low, high, *sums, noise = numbers
            centred, squares, episodes = (validation.number("returns", value) for value in sums)
            first, second, third = (validation.number("noise", value) for value in noise)
            people, most_episodes = validation.integer("users", users, 0), validation.integer("episodes", most, 1)
            least = validation.number("returns", low)
            largest = least + validation.positive("range of returns", validation.number("returns", high) - least)
            return cls(people, most_episodes, least, largest, centred, squares, episodes, (first, second, third))
        except (ConfideError, ValueError, TypeError, IndexError, OverflowError, msgpack.UnpackException) as error:
            raise FormatError(
                "answer-unreadable", f"These bytes are not an answer this version can read: {error}"
            ) from error
