"""Ed25519: what a collector signs, and how anyone checks it. Keys are raw bytes, 32 of them."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

from ...errors import FormatError

HEAD = b"confide.head/1\n"
"""The prefix of a head's bytes when it is signed, so that no signature means two things."""
CLOSING = b"confide.closing/1\n"
"""The prefix of a closing's bytes when it is signed."""
PERIOD = b"confide.period/1\n"
"""The prefix of the bytes by which a collector says that a period has begun."""
EXCHANGE = b"confide.exchange/1\n"
"""The prefix of what a collector signs to show that it is there now, and what it has stored."""


def new_key() -> bytes:
    """A private key from the operating system's randomness."""
    return os.urandom(32)


def public_key(private: bytes) -> bytes:
    """The public key of a private one, by which others check signatures."""
    public: bytes = _library().Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
    return public


def sign(private: bytes, context: bytes, message: bytes) -> bytes:
    """The signature of a message in a context."""
    signature: bytes = _library().Ed25519PrivateKey.from_private_bytes(private).sign(context + message)
    return signature


def verify(public: bytes, context: bytes, message: bytes, signature: bytes) -> None:
    """Refuse a signature that is not of this message, in this context, by this key."""
    from cryptography.exceptions import InvalidSignature

    try:
        _library().Ed25519PublicKey.from_public_bytes(public).verify(signature, context + message)
    except (InvalidSignature, ValueError) as error:
        raise FormatError("signature-wrong", "The signature is not by the key that the contract names.") from error


def load_key(path: Path) -> bytes:
    """Read a private key from its file, which other accounts may not read."""
    try:
        raw = bytes.fromhex(path.read_text(encoding="ascii").strip())
        mode = path.stat().st_mode & 0o077
    except (OSError, ValueError) as error:
        raise FormatError("key-file-unreadable", f"{path} cannot be read as a key: {error}.") from error
    if len(raw) != 32 or mode:
        raise FormatError(
            "key-file-rights", f"{path} must hold one key of 32 bytes that only its owner may read. chmod 600 it."
        )
    return raw


def save_key(path: Path, private: bytes) -> None:
    """Write a private key to a new file that only its owner may read."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(private.hex() + "\n")


def _library() -> ModuleType:
    """The part of `cryptography` that is used, loaded when it is."""
    from cryptography.hazmat.primitives.asymmetric import ed25519

    return ed25519
