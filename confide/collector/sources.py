"""Sources of a round's data: reports that the collector counted itself, or batches that a shuffler or a curator closed."""

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
from .store import CollectorStore, Group

TIMEOUT = 10.0
MOST_BYTES = 1 << 28
PATHS = {CURATOR: "releases"}


class RoundData(NamedTuple):
    """What a round is learned from: the learner's state, the sum before the round, what it adds, and the people after it."""

    state: bytes
    before: bytes
    groups: list[Group]
    people: int


class RoundSource(Protocol):
    """Gives the data of rounds that are full."""

    def idle(self, number: int) -> bool:
        """Whether there is surely nothing to do while this round is the published one: a quick look, taken again and again."""
        ...

    def round_data(self, number: int) -> RoundData | None:
        """The data that close a round; None while it is open."""
        ...

    def announce(self, head: SignedHead) -> None:
        """Make known that a round was published."""
        ...


class CountedReports:
    """Reports that were counted here."""

    def __init__(self, store: CollectorStore) -> None:
        self._store = store

    def idle(self, number: int) -> bool:
        """Whether nobody opened another round, and this one is not full."""
        opened, counting = self._store.look()
        return opened == number >= counting

    def round_data(self, number: int) -> RoundData | None:
        """The data of a round, once as many people came as the schedule says."""
        if self._store.tally().round <= number:
            return None
        return RoundData(*self._store.round_data(number), self._store.contract.ends[number - 1])

    def announce(self, head: SignedHead) -> None:
        """Nothing: there is nobody else to tell."""


class Unanswered(ConfideError):
    """The shuffler or the curator does not answer."""


class IntermediaryClient:
    """Batches that were closed by a shuffler or a curator, who signs for them."""

    def __init__(self, store: CollectorStore, url: str) -> None:
        self._store, self.url = store, url.rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise InvalidInput(f"A {self.role} has an address such as http://127.0.0.1:8001. Got {url!r}.")
        self._announced = ""

    def idle(self, number: int) -> bool:
        """False: the shuffler or the curator must be asked."""
        return False

    @property
    def announced(self) -> bool:
        """Whether a round was announced to it."""
        return bool(self._announced)

    @property
    def role(self) -> str:
        """Its role in the contract: shuffler or curator."""
        about = self._store.contract.intermediary
        assert about is not None
        return about.role

    def round_data(self, number: int) -> RoundData | None:
        """The data of a round, once its closing is published; refused unless it is signed, and follows from the one before."""
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
        return RoundData(*self._store.state(number), [Group(b"", body)], closing.people)

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
        """Announce the round whose policy batches follow from now on; tried again until it is answered."""
        if self._announced != head.digest:
            self._ask("/v1/rounds", head.to_json())
            self._announced = head.digest

    def _ask(self, path: str, body: bytes | None = None) -> bytes | None:
        """The body of an answer; None if there is nothing under the address yet."""
        request = urllib.request.Request(self.url + path, body, {"Content-Type": "application/json"} if body else {})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                body_read: bytes = answer.read(MOST_BYTES)
                return body_read
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise Unanswered(f"The {self.role} answered {path} with {error.code}.") from error
        except (OSError, http.client.HTTPException) as error:
            raise Unanswered(f"The {self.role} did not answer ({type(error).__name__}).") from error
