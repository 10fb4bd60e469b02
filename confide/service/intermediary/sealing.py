"""Encrypts what must be kept between two batches, so that a copy of the database alone tells nothing: ChaCha20-Poly1305."""

from __future__ import annotations

import os

from ...errors import FormatError

NONCE_BYTES = 12


def sealed(key: bytes, place: bytes, data: bytes) -> bytes:
    """The encrypted bytes, which only the holder of the key can read, and only in this place."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    nonce = os.urandom(NONCE_BYTES)
    return nonce + ChaCha20Poly1305(key).encrypt(nonce, data, place)


def opened(key: bytes, place: bytes, data: bytes) -> bytes:
    """The bytes that were sealed; refused if it was made with another key, for another place, or changed."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        return ChaCha20Poly1305(key).decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], place)
    except (InvalidTag, ValueError) as error:
        raise FormatError(
            "sealed-state-unreadable",
            "What was kept between two batches cannot be opened: the key or the place differs.",
        ) from error
