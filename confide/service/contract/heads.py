"""Heads: what is signed about a round. Each names the one before it, so that all of them form a chain."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property

from ...errors import FormatError
from . import keys
from .signing import Link, Signed

SCHEMA = "confide.head/1"
MOST_BYTES = 1 << 14
FIRST = "0" * 64
"""The `previous` of the first head."""


@dataclass(frozen=True)
class Head:
    """One round: its policy, the release that the policy was learned from (None in the first), and how many people it is about.

    All hashes are SHA-256 in hexadecimal. ended: no report counts any more; this policy is the last. question: what people
    are asked, where that changes from round to round; otherwise it is left out.
    """

    contract: str
    round: int
    policy: str
    previous: str
    release: str | None
    people: int
    ended: bool
    successor: str | None = None
    question: str | None = None

    def to_bytes(self) -> bytes:
        """The bytes that are signed."""
        document = {"schema": SCHEMA, **asdict(self)}
        if self.question is None:
            del document["question"]
        return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


class SignedHead(Signed):
    """The bytes of a head, and their signature."""

    word = "head"
    context = keys.HEAD

    @classmethod
    def signed(cls, head: Head, private: bytes) -> SignedHead:
        """Sign a head."""
        return cls.of(head.to_bytes(), private)

    @cached_property
    def head(self) -> Head:
        """The head in the bytes."""
        try:
            document = json.loads(self.data)
            if document.pop("schema") != SCHEMA:
                raise ValueError(f"its schema is not {SCHEMA!r}")
            head = Head(**document)
            hashes = [
                head.contract,
                head.policy,
                head.previous,
                *filter(None, (head.release, head.successor, head.question)),
            ]
            if any(type(text) is not str or len(text) != 64 for text in hashes):
                raise ValueError("a hash in it is none")
            if type(head.round) is not int or type(head.people) is not int or type(head.ended) is not bool:
                raise ValueError("a number in it is none")
            return head
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise FormatError("head-unreadable", f"This is not a head that this version can read: {error}.") from error

    @property
    def link(self) -> Link:
        """Its place in the chain."""
        return Link(self.head.round, self.digest, self.head.previous)

    def check(self) -> None:
        """Refuse bytes that are no head."""
        _ = self.head
