"""Signed documents: bytes, their signature, and how both are read and checked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from ...errors import FormatError, PrivacyError
from ...validation import Json
from . import keys
from .encoding import from_base64, to_base64


class Behind(PrivacyError):
    """What is shown of a chain is behind what was seen of it before, or another chain."""


class Link(NamedTuple):
    """The place of a document in its chain: its number, its own hash, and that of the one before it."""

    number: int
    digest: str
    previous: str


@dataclass(frozen=True)
class Signed:
    """The bytes of a document, and their signature. word: what it is called where it is served; context: see `keys`."""

    data: bytes
    signature: bytes

    word: ClassVar[str]
    context: ClassVar[bytes]

    @classmethod
    def of(cls, data: bytes, private: bytes) -> Self:
        """Sign the bytes of a document."""
        return cls(data, keys.sign(private, cls.context, data))

    def check(self) -> None:
        """Refuse bytes that this version cannot read."""
        raise NotImplementedError

    @property
    def digest(self) -> str:
        """The SHA-256 by which the next document of a chain names this one."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def link(self) -> Link:
        """Its place in the chain."""
        raise NotImplementedError

    def to_json(self) -> bytes:
        """The document and its signature as JSON, as it is served."""
        return json.dumps({self.word: to_base64(self.data), "signature": to_base64(self.signature)}).encode()

    @classmethod
    def from_bytes(cls, data: bytes | str) -> Self:
        """Read what was served and is believed already."""
        try:
            document: Any = json.loads(data)
            return cls(from_base64(document[cls.word]), from_base64(document["signature"]))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise FormatError("signed-document-unreadable", f"This is not a signed {cls.word}.") from error

    @classmethod
    def from_json(cls, data: bytes, public: bytes) -> Self:
        """Read what was served, and refuse it unless it is signed by this key."""
        signed = cls.from_bytes(data)
        keys.verify(public, cls.context, signed.data, signed.signature)
        signed.check()
        return signed


def check_follows(who: str, word: str, held: Link | None, shown: Link | None) -> None:
    """Refuse the newest document of a party's chain if it is behind the one that was seen last, or contradicts it.

    who: shows it. word: what a document is called, by number. A gap is not refused here: what lies in between is to be read.
    """
    if held is None:
        return
    if shown is None or shown.number < held.number:
        at = "nothing" if shown is None else f"{word} {shown.number}"
        raise Behind(
            "chain-went-back", f"The {who} went back from {word} {held.number} to {at}: an older copy was restored."
        )
    if shown.number == held.number and shown.digest != held.digest:
        raise Behind("chain-contradicts", f"The {who} shows two different heads of {word} {shown.number}, both signed.")
    if shown.number == held.number + 1 and shown.previous != held.digest:
        raise Behind(
            "chain-not-following",
            f"What the {who} shows as {word} {shown.number} does not follow from {word} {held.number}.",
        )


def is_hash(text: Json) -> bool:
    """Whether this is a SHA-256 in hexadecimal."""
    return type(text) is str and len(text) == 64 and set(text) <= set("0123456789abcdef")
