"""Documents that are signed: the bytes, their signature, and what they say."""

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
        """Refuse bytes that say nothing this version can read."""
        raise NotImplementedError

    @property
    def digest(self) -> str:
        """What the next document of a chain calls it."""
        return hashlib.sha256(self.data).hexdigest()

    def to_json(self) -> bytes:
        """As it is served."""
        return json.dumps({self.word: to_base64(self.data), "signature": to_base64(self.signature)}).encode()

    @classmethod
    def from_json(cls, data: bytes, public: bytes) -> Self:
        """Read what was served, and refuse it unless it is signed by this key."""
        try:
            told: Any = json.loads(data)
            found = cls(from_base64(told[cls.word]), from_base64(told["signature"]))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise FormatError(f"This is not a signed {cls.word}.") from error
        keys.verify(public, cls.context, found.data, found.signature)
        found.check()
        return found


def is_hash(text: Any) -> bool:
    """Whether this is a SHA-256 in hexadecimal."""
    return type(text) is str and len(text) == 64 and set(text) <= set("0123456789abcdef")
