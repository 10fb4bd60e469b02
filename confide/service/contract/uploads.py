"""Uploads: a report as it is sent, with an id of its own, the contract it was made under, and the round its sender followed.

    "cfl1" | id (16) | contract (32) | round (4, little-endian) | report

The id is drawn for each report and says nothing about its sender. Where the contract names an issuer a token follows, and the
id is the first half of its nonce: what is counted once by its id is also a token that is spent once.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ...errors import FormatError
from ...protocol.design import Design
from ...protocol.releases.report import report_length

MAGIC = b"cfl1"
HEADER = struct.Struct("<4s16s32sI")
ID_BYTES = 16
MEDIA_TYPE = "application/vnd.confide.report"


@dataclass(frozen=True)
class Upload:
    """One report as it is sent: an id of its own, the contract's digest, the round that was followed, and the report."""

    id: bytes
    contract: bytes
    round: int
    report: bytes

    def to_bytes(self) -> bytes:
        """The body of the request."""
        return HEADER.pack(MAGIC, self.id, self.contract, self.round) + self.report

    @classmethod
    def from_bytes(cls, data: bytes) -> Upload:
        """Read what `to_bytes` wrote; the report in it is read by its design."""
        if len(data) < HEADER.size or data[:4] != MAGIC:
            raise FormatError("submission-start", "These bytes do not begin like a submission.")
        _, number, contract, followed = HEADER.unpack_from(data)
        return cls(number, contract, followed, data[HEADER.size :])


def upload_length(design: Design) -> int:
    """How many bytes every upload has, without a token: it follows from the question and the mechanism."""
    return HEADER.size + report_length(design)
