"""Closings: what a shuffler or a curator signs when a batch is closed. Each names the one before, so that they form a chain.

A closing says public things only: the hash of what the batch was closed into, which is itself public, and never one of exact sums.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property

from ...errors import FormatError
from . import keys
from .signing import Link, Signed, is_hash

SCHEMA = "confide.closing/1"


@dataclass(frozen=True)
class Closing:
    """One batch, the number-th that was closed: the SHA-256 of its body, and how many people there are up to here.

    epoch: of the process that closed it. What another epoch acknowledged and this one did not is not in the batch.
    """

    contract: str
    number: int
    batch: int
    previous: str
    body: str
    people: int
    epoch: int

    def to_bytes(self) -> bytes:
        """The bytes that are signed."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True, separators=(",", ":")).encode()


class SignedClosing(Signed):
    """The bytes of a closing, and their signature."""

    word = "closing"
    context = keys.CLOSING

    @classmethod
    def signed(cls, closing: Closing, private: bytes) -> SignedClosing:
        """Sign a closing."""
        return cls.of(closing.to_bytes(), private)

    @cached_property
    def closing(self) -> Closing:
        """The closing in the bytes."""
        try:
            document = json.loads(self.data)
            if document.pop("schema") != SCHEMA:
                raise ValueError(f"its schema is not {SCHEMA!r}")
            closing = Closing(**document)
            if not all(map(is_hash, (closing.contract, closing.previous, closing.body))):
                raise ValueError("a hash in it is none")
            numbers = (closing.number, closing.batch, closing.people, closing.epoch)
            if any(type(number) is not int or number < 0 for number in numbers):
                raise ValueError("a number in it is none")
            return closing
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise FormatError(
                "closing-unreadable", f"This is not a closing that this version can read: {error}."
            ) from error

    @property
    def link(self) -> Link:
        """Its place in the chain."""
        return Link(self.closing.number, self.digest, self.closing.previous)

    def check(self) -> None:
        """Refuse bytes that are no closing."""
        _ = self.closing
