"""Several policies in one document: of these everybody follows one, drawn at random. One alone is written as itself.

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
    raws = [policy.to_bytes() for policy in policies]
    if len(raws) == 1:
        return raws[0]
    return COUNT.pack(MAGIC, len(raws)) + b"".join(LENGTH.pack(len(raw)) + raw for raw in raws)


def from_bytes(data: bytes, spec: Spec) -> tuple[Policy, ...]:
    """The policies in a document; refuse anything else."""
    if data[:4] != MAGIC:
        return (Policy.from_bytes(data, spec),)
    try:
        _, count = COUNT.unpack_from(data)
        if not 1 < count <= MOST:
            raise FormatError("policies-count", f"A document has 2 to {MOST} policies, or is one.")
        policies, start = [], COUNT.size
        for _ in range(count):
            (length,) = LENGTH.unpack_from(data, start)
            start += LENGTH.size + length
            policies.append(Policy.from_bytes(data[start - length : start], spec))
    except struct.error as error:
        raise FormatError(
            "policies-cut-off", "These bytes are not policies that can be followed here: they end too early."
        ) from error
    if start != len(data):
        raise FormatError(
            "policies-too-long", "These bytes are not policies that can be followed here: they go on after the last."
        )
    return tuple(policies)
