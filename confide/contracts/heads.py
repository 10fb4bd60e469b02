"""Heads: what is signed about a round. Each names the one before it, so that all of them form a chain."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from ..errors import FormatError
from . import keys
from .encoding import from_base64, to_base64

SCHEMA = "confide.head/1"
MOST_BYTES = 1 << 14
FIRST = "0" * 64
"""What the first head names as the one before it."""


@dataclass(frozen=True)
class Head:
    """One round: its policy, the release that the policy was learned from (None in the first), and how many people it is about.

    All hashes are SHA-256 in hexadecimal. ended: no report counts any more; this policy is the last.
    """

    contract: str
    round: int
    policy: str
    previous: str
    release: str | None
    people: int
    ended: bool
    successor: str | None = None

    def to_bytes(self) -> bytes:
        """The bytes that are signed."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True, separators=(",", ":")).encode()


@dataclass(frozen=True)
class SignedHead:
    """The bytes of a head, and their signature."""

    data: bytes
    signature: bytes

    @classmethod
    def signed(cls, head: Head, private: bytes) -> SignedHead:
        """Sign a head."""
        data = head.to_bytes()
        return cls(data, keys.sign(private, keys.HEAD, data))

    @cached_property
    def head(self) -> Head:
        """What it says."""
        try:
            told = json.loads(self.data)
            if told.pop("schema") != SCHEMA:
                raise ValueError(f"its schema is not {SCHEMA!r}")
            head = Head(**told)
            hashes = [head.contract, head.policy, head.previous, *filter(None, (head.release, head.successor))]
            if any(type(text) is not str or len(text) != 64 for text in hashes):
                raise ValueError("a hash in it is none")
            if type(head.round) is not int or type(head.people) is not int or type(head.ended) is not bool:
                raise ValueError("a number in it is none")
            return head
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise FormatError(f"This is not a head that this version can read: {error}.") from error

    @property
    def digest(self) -> str:
        """What the next head calls it."""
        return hashlib.sha256(self.data).hexdigest()

    def to_json(self) -> bytes:
        """As it is served."""
        return json.dumps({"head": to_base64(self.data), "signature": to_base64(self.signature)}).encode()

    @classmethod
    def from_json(cls, data: bytes, public: bytes) -> SignedHead:
        """Read what was served, and refuse it unless it is signed by this key."""
        try:
            told: Any = json.loads(data)
            found = cls(from_base64(told["head"]), from_base64(told["signature"]))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise FormatError("This is not a signed head.") from error
        keys.verify(public, keys.HEAD, found.data, found.signature)
        _ = found.head
        return found
