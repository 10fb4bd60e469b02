"""Tickets: taken before an episode, they fix whose batch it is in; and uploads, what a ticket holder hands over.

    "cft1" | contract (32) | batch (4) | place (4) | round (4, little-endian all) | mac (16)

The mac is an HMAC-SHA256 by the process that issues tickets, which therefore needs to remember none of them. A ticket says
nothing about its holder. An upload is a ticket and, after it, a report or an episode.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass, replace

from ...errors import FormatError

MAGIC = b"cft1"
FORM = struct.Struct("<4s32sIII16s")
MAC_BYTES = 16
MEDIA_TYPE = "application/vnd.confide.submission"


def derived(private: bytes, purpose: bytes) -> bytes:
    """A key for one purpose, made from a private key."""
    return hmac.digest(private, b"confide." + purpose, "sha256")


@dataclass(frozen=True)
class Ticket:
    """batch: from 1 on. place: in the batch, from 0 on. round: whose policy every user in the batch follows."""

    contract: bytes
    batch: int
    place: int
    round: int
    mac: bytes = bytes(MAC_BYTES)

    def to_bytes(self) -> bytes:
        """The bytes that are handed out, and sent back in front of an upload."""
        return FORM.pack(MAGIC, self.contract, self.batch, self.place, self.round, self.mac)

    def issued(self, key: bytes) -> Ticket:
        """The same ticket with a valid mac."""
        return replace(self, mac=self._mac(key))

    def valid(self, key: bytes) -> bool:
        """Whether it was issued with this key."""
        return hmac.compare_digest(self.mac, self._mac(key))

    def _mac(self, key: bytes) -> bytes:
        return hmac.new(key, self.to_bytes()[:-MAC_BYTES], hashlib.sha256).digest()[:MAC_BYTES]

    @classmethod
    def from_bytes(cls, data: bytes) -> Ticket:
        """Read what `to_bytes` wrote; the issuer checks the mac."""
        if len(data) != FORM.size or data[:4] != MAGIC:
            raise FormatError("ticket-unreadable", "These bytes are no ticket.")
        return cls(*FORM.unpack(data)[1:])


def parcel(ticket: bytes, message: bytes) -> bytes:
    """The bytes of an upload: a ticket and the message of its holder."""
    return ticket + message


def opened(data: bytes) -> tuple[Ticket, bytes]:
    """The ticket of an upload, and the message."""
    return Ticket.from_bytes(data[: FORM.size]), data[FORM.size :]
