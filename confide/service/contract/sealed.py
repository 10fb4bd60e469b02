"""Sealed uploads: what a ticket holder hands over early, which only the shuffler or the curator can open, and opens at its time.

    ticket (64) | "cfs1" | opens (8, ms since 1970) | version (4, little-endian both) | enc (32) | ciphertext and tag

The message, a report or an episode, is encrypted to the key in the contract by HPKE in base mode (RFC 9180): DHKEM(X25519,
HKDF-SHA256), HKDF-SHA256, AES-128-GCM. All that stands before `enc` is bound by the `info` of the encryption, so that no upload
can be given another ticket or another time. Messages of a batch have one length, and so have their uploads.

A page that closes cannot wait for the time that was drawn for its report: it hands over the sealed upload, and the process that
receives it opens it at that time. Version: a sealed episode is replaced, until it is opened, by one of a higher version; of reports
only the first counts, since two reports about one episode would tell more than one.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from ...errors import FormatError
from .intermediary import Intermediary
from .tickets import FORM as TICKET
from .tickets import derived, parcel

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.hpke import Suite

MAGIC = b"cfs1"
FORM = struct.Struct("<4sQI")
ENC_BYTES, TAG_BYTES = 32, 16
KEY_BYTES = 32
OVERHEAD = FORM.size + ENC_BYTES + TAG_BYTES
"""How many bytes sealing adds to a message."""
LONGEST = 59_000
"""Longer messages are not sealed: no browser sends more than 64 KiB for a page that closes."""
CONTEXT = b"confide.sealed/1\n"
PURPOSE = b"uploads/1"


class SealedUpload(NamedTuple):
    """opens: milliseconds since 1970, drawn before the episode. version: from 0 on. box: what the key alone opens."""

    opens: int
    version: int
    box: bytes


def private_key(private: bytes) -> bytes:
    """The X25519 key that opens uploads, made from the signing key of a role."""
    return derived(private, PURPOSE)


def public_key(private: bytes) -> bytes:
    """The public X25519 key that a contract names, made from the signing key of a role."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(private_key(private)).public_key().public_bytes_raw()


def sealed(public: bytes, ticket: bytes, opens: int, version: int, message: bytes) -> bytes:
    """The bytes of an upload: the ticket, its time, and the message for the holder of the key."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    head = ticket + FORM.pack(MAGIC, opens, version)
    return head + _suite().encrypt(message, X25519PublicKey.from_public_bytes(public), info=CONTEXT + head)


def upload(about: Intermediary, ticket: bytes, message: bytes, opens: int = 0, version: int = 0) -> bytes:
    """What a ticket holder hands over: sealed where the contract has a key for it, else as it is."""
    if about.sealing is None:
        return parcel(ticket, message)
    return sealed(about.sealing, ticket, opens, version, message)


def read(data: bytes) -> SealedUpload:
    """What follows the ticket of an upload; nothing is opened."""
    if len(data) <= OVERHEAD or data[:4] != MAGIC:
        raise FormatError("upload-not-sealed", "This contract takes sealed uploads only. Update the device.")
    _, opens, version = FORM.unpack(data[: FORM.size])
    return SealedUpload(opens, version, data[FORM.size :])


def opened(private: bytes, ticket: bytes, upload: SealedUpload) -> bytes:
    """The message of an upload. private: of `private_key`. Refused if it was sealed to another key, ticket, time or version."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    head = ticket + FORM.pack(MAGIC, upload.opens, upload.version)
    try:
        return _suite().decrypt(upload.box, X25519PrivateKey.from_private_bytes(private), info=CONTEXT + head)
    except (InvalidTag, ValueError) as error:
        raise FormatError("upload-unopenable", "This upload is not sealed to the key of the contract.") from error


def length(message: int) -> int:
    """How many bytes an upload with a message of this many bytes has, ticket and all."""
    return TICKET.size + OVERHEAD + message


def _suite() -> Suite:
    from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
