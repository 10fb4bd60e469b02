"""Bytes inside JSON: base64, read strictly."""

from __future__ import annotations

import binascii

from ...validation import Json


def to_base64(data: bytes) -> str:
    """Standard base64 with padding, on one line."""
    return binascii.b2a_base64(data, newline=False).decode()


def from_base64(text: Json) -> bytes:
    """Read what `to_base64` wrote; refuse anything else by a ValueError."""
    if not isinstance(text, str):
        raise ValueError("bytes are written in base64")
    return binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
