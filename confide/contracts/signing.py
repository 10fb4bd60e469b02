"""Signed documents: bytes, their signature, and how both are read and checked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ..errors import FormatError
from . import keys
from .encoding import from_base64, to_base64


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

    def to_json(self) -> bytes:
        """The document and its signature as JSON, as it is served."""
        return json.dumps({self.word: to_base64(self.data), "signature": to_base64(self.signature)}).encode()

    @classmethod
    def from_json(cls, data: bytes, public: bytes) -> Self:
        """Read what was served, and refuse it unless it is signed by this key."""
        try:
            document: Any = json.loads(data)
            signed = cls(from_base64(document[cls.word]), from_base64(document["signature"]))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise FormatError(f"This is not a signed {cls.word}.") from error
        keys.verify(public, cls.context, signed.data, signed.signature)
        signed.check()
        return signed


def is_hash(text: Any) -> bool:
    """Whether this is a SHA-256 in hexadecimal."""
    return type(text) is str and len(text) == 64 and set(text) <= set("0123456789abcdef")
