"""Several policies in one document: of these every user follows one, drawn at random. One alone is written as itself.

"cfm1" | how many (4) | for each: its length (4, little-endian both), its bytes
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ..errors import FormatError
from .model import Spec
from .policy import Policy

MAGIC = b"cfm1"
COUNT = struct.Struct("<4sI")
LENGTH = struct.Struct("<I")
MOST = 1 << 12


def to_bytes(policies: Sequence[Policy]) -> bytes:
    """The bytes of one policy, or of several."""
    return together([policy.to_bytes() for policy in policies])


def from_bytes(data: bytes, spec: Spec) -> tuple[Policy, ...]:
    """The policies in a document; refuse anything else."""
    return tuple(Policy.from_bytes(raw, spec) for raw in apart(data))


def together(raws: Sequence[bytes]) -> bytes:
    """One document of the bytes of each policy."""
    if len(raws) == 1:
        return raws[0]
    return COUNT.pack(MAGIC, len(raws)) + b"".join(LENGTH.pack(len(raw)) + raw for raw in raws)


def apart(data: bytes) -> list[bytes]:
    """The bytes of each policy in a document; refuse one that is cut off or goes on."""
    if data[:4] != MAGIC:
        return [data]
    try:
        _, count = COUNT.unpack_from(data)
        if not 1 < count <= MOST:
            raise FormatError("policies-count", f"A document has 2 to {MOST} policies, or is one.")
        raws, start = [], COUNT.size
        for _ in range(count):
            (length,) = LENGTH.unpack_from(data, start)
            start += LENGTH.size + length
            raws.append(data[start - length : start])
    except struct.error as error:
        raise FormatError(
            "policies-cut-off", "These bytes are not policies that can be followed here: they end too early."
        ) from error
    if start != len(data):
        raise FormatError(
            "policies-too-long", "These bytes are not policies that can be followed here: they go on after the last."
        )
    return raws
