"""Releases of scores of judging people, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass

import msgpack

from ... import validation
from ...errors import ConfideError, FormatError
from ..kinds.judged import PARTS, JudgedQuestion

FORMAT = "confide.judged/1"


@dataclass(frozen=True)
class JudgedRelease:
    """One part of what judging people were asked (`kinds.judged`): noisy sums over `users` people, whose noise has that deviation
    in each; scale: what a share of 1 stands for, the clip of scores or of weights.
    """

    part: str
    users: int
    sums: tuple[float, ...]
    noise: tuple[float, ...]
    scale: float

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        return bytes(msgpack.packb([FORMAT, self.part, self.users, list(self.sums), list(self.noise), self.scale]))

    @classmethod
    def from_bytes(cls, data: bytes) -> JudgedRelease:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, part, users, sums, noise, scale = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
            if name != FORMAT:
                raise ValueError(f"its format is {name!r}, not {FORMAT!r}")
            cells = JudgedQuestion(validation.choice("part", part, PARTS)).cells
            if (len(sums), len(noise)) != (cells, cells):
                raise ValueError("it has other numbers than its part")
            numbers = tuple(validation.number("sum", each) for each in sums)
            sizes = tuple(validation.number("noise", each) for each in noise)
            return cls(part, validation.integer("users", users, 0), numbers, sizes, validation.positive("scale", scale))
        except (ConfideError, ValueError, TypeError, IndexError, OverflowError, msgpack.UnpackException) as error:
            raise FormatError(
                "answer-unreadable", f"These bytes are not an answer this version can read: {error}"
            ) from error
