"""Periods: each person's guarantee is given anew in every one, by the collector's signed clock.

Periods are of one length and counted from 1970-01-01, UTC, so that a time says its period. Within one a person takes part
as often as the design prices, and batches of theirs stay as far apart as it prices across periods too. So what is guaranteed of one
period is the design's guarantee; n of them together are priced as n times as many visits (`collector.promises.over_periods`).

**Who says which period it is.** The collector signs the number of the period that has begun by its clock. A collector that put its
clock forward would renew guarantees early, so a device believes the earlier of two: the latest number that it saw signed, and the
one by its own clock. A device whose clock was put forward finds the collector's, one that is behind waits. No device goes back to
a period before that of a visit it remembers.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property

from ... import validation
from ...errors import FormatError, PrivacyError
from ...validation import Json
from . import keys
from .signing import Signed

SCHEMA = "confide.period/1"
MOST_SECONDS = 10 * 366 * 86400
"""The longest period."""


@dataclass(frozen=True)
class Periods:
    """The entry of a contract about its periods, each of which has this many seconds."""

    seconds: int

    def __post_init__(self) -> None:
        validation.integer("seconds of a period", self.seconds, 1, MOST_SECONDS)

    def at(self, time: float) -> int:
        """The number of the period of a time in seconds since 1970."""
        return int(time // self.seconds)

    def to_json(self) -> dict[str, int]:
        """The entry in a contract, as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Json) -> Periods:
        """Read the entry of a contract; refuse anything else."""
        if not isinstance(document, dict) or set(document) != {"seconds"} or type(document["seconds"]) is not int:
            raise ValueError("its period has a number of seconds, and nothing else")
        return cls(int(document["seconds"]))

    @property
    def words(self) -> str:
        """How long a period is, in words."""
        units = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))
        unit, size = next(one for one in units if self.seconds % one[1] == 0)
        many = self.seconds // size
        return f"{many:,} {unit}{'' if many == 1 else 's'}"


class SignedPeriod(Signed):
    """The bytes of a collector's statement that a period has begun, and their signature."""

    word = "period"
    context = keys.PERIOD

    @classmethod
    def signed(cls, contract: bytes, number: int, private: bytes) -> SignedPeriod:
        """Sign that a period of a contract has begun. contract: its digest."""
        document = {"schema": SCHEMA, "contract": contract.hex(), "number": number}
        return cls.of(json.dumps(document, sort_keys=True, separators=(",", ":")).encode(), private)

    @cached_property
    def stated(self) -> tuple[str, int]:
        """The contract, by its digest in hexadecimal digits, and the number of the period."""
        try:
            document = json.loads(self.data)
            if set(document) != {"schema", "contract", "number"} or document["schema"] != SCHEMA:
                raise ValueError(f"it is not of schema {SCHEMA!r}")
            if type(document["number"]) is not int or document["number"] < 0:
                raise ValueError("its number is none")
            return str(document["contract"]), document["number"]
        except (ValueError, TypeError, RecursionError) as error:
            raise FormatError("period-unreadable", f"This is no statement about a period: {error}.") from error

    def number_for(self, contract: bytes) -> int:
        """The number of the period; refused if it is about another contract than the one with this digest."""
        digest, number = self.stated
        if digest != contract.hex():
            raise PrivacyError("period-of-other-contract", "The service states the period of another contract.")
        return number

    def check(self) -> None:
        """Refuse bytes that are no such statement."""
        _ = self.stated
