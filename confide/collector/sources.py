"""Where a collector learns from: the reports that it counted itself, or what a shuffler or a curator closed a batch into."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from typing import NamedTuple, Protocol

from ..contracts.closings import SignedClosing
from ..contracts.heads import FIRST, SignedHead
from ..contracts.intermediary import CURATOR
from ..errors import ConfideError, FormatError, InvalidInput
from .store import Group, Store

TIMEOUT = 10.0
MOST_BYTES = 1 << 28
PATHS = {CURATOR: "releases"}


class Lesson(NamedTuple):
    """The learner's state, the sum of everybody before a round, what the round adds, and how many people there are then."""

    state: bytes
    before: bytes
    groups: list[Group]
    people: int


class Source(Protocol):
    """Says what there is to learn from."""

    def idle(self, number: int) -> bool:
        """Whether there is surely nothing to do while this round is the published one: a quick look, taken again and again."""
        ...

    def lesson(self, number: int) -> Lesson | None:
        """What closes a round; None while it is open."""
        ...

    def announce(self, head: SignedHead) -> None:
        """A round was published."""
        ...


class Counted:
    """Reports that were counted here."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def idle(self, number: int) -> bool:
        """Nobody opened another round, and this one is not full."""
        opened, counting = self._store.look()
        return opened == number >= counting

    def lesson(self, number: int) -> Lesson | None:
        """Once as many people came as the schedule says."""
        if self._store.standing().round <= number:
            return None
        return Lesson(*self._store.lesson(number), self._store.contract.ends[number - 1])

    def announce(self, head: SignedHead) -> None:
        """Nobody needs to be told."""


class Unanswered(ConfideError):
    """The shuffler or the curator does not answer."""


class Remote:
    """Batches that were closed by a shuffler or a curator, who signs for them."""

    def __init__(self, store: Store, url: str) -> None:
        self._store, self.url = store, url.rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise InvalidInput(f"A {self.role} has an address such as http://127.0.0.1:8001. Got {url!r}.")
        self._announced = ""

    def idle(self, number: int) -> bool:
        """It must be asked."""
        return False

    @property
    def heard(self) -> bool:
        """Whether it knows of a round."""
        return bool(self._announced)

    @property
    def role(self) -> str:
        """Who it is."""
        about = self._store.contract.intermediary
        assert about is not None
        return about.role

    def lesson(self, number: int) -> Lesson | None:
        """Once the closing is published; refused unless it is signed, and follows from the one before."""
        signed = self._closing(number)
        if signed is None:
            return None
        before = self._closing(number - 1) if number > 1 else None
        closing = signed.closing
        previous = FIRST if before is None else before.digest
        if (closing.contract, closing.previous) != (self._store.contract.digest.hex(), previous):
            raise FormatError(f"Closing {number} does not follow from the one before it.")
        body = self._ask(f"/v1/{PATHS.get(self.role, 'sums')}/{number}")
        if body is None or hashlib.sha256(body).hexdigest() != closing.body:
            raise FormatError(f"What closing {number} signs is not what the {self.role} shows.")
        return Lesson(*self._store.state(number), [Group(b"", body)], closing.people)

    def _closing(self, number: int) -> SignedClosing | None:
        raw = self._ask(f"/v1/closings/{number}")
        if raw is None:
            return None
        about = self._store.contract.intermediary
        assert about is not None
        signed = SignedClosing.from_json(raw, about.key)
        if signed.closing.number != number:
            raise FormatError(f"The {self.role} shows another closing than number {number}.")
        return signed

    def announce(self, head: SignedHead) -> None:
        """Tell which round batches follow from now on; again until it was heard."""
        if self._announced != head.digest:
            self._ask("/v1/rounds", head.to_json())
            self._announced = head.digest

    def _ask(self, path: str, body: bytes | None = None) -> bytes | None:
        """An answer; None if there is nothing under the address yet."""
        request = urllib.request.Request(self.url + path, body, {"Content-Type": "application/json"} if body else {})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                found: bytes = answer.read(MOST_BYTES)
                return found
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise Unanswered(f"The {self.role} answered {path} with {error.code}.") from error
        except (OSError, http.client.HTTPException) as error:
            raise Unanswered(f"The {self.role} did not answer ({type(error).__name__}).") from error
