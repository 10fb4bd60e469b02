"""Sources of a round's data: reports that the collector counted itself, or batches that a shuffler or a curator closed."""

from __future__ import annotations

import hashlib
import http.client
import math
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ...errors import ConfideError, FormatError, InvalidInput
from ..contract.closings import SignedClosing
from ..contract.exchange import PeerHeads, Restored
from ..contract.heads import FIRST, SignedHead
from ..contract.intermediary import CURATOR
from ..contract.signing import Behind, check_follows
from .alarms import Alarm, batch_alarm, round_alarm
from .store import CollectorStore, Group

TIMEOUT = 10.0
SILENCE = 5.0
"""Seconds without a response after which it counts as gone."""
MOVES = 3
"""How often a process that is queried may name another that has the lease."""
MOST_BYTES = 1 << 28
PATHS = {CURATOR: "releases"}
SCHEMES = ("http://", "https://")


class RoundData(NamedTuple):
    """What a round is learned from: the learner's state, the sum before the round, what it adds, and the people after it."""

    state: bytes
    before: bytes
    groups: list[Group]
    people: int


class RoundSource(Protocol):
    """Gives the data of rounds that are full."""

    def alarm(self, number: int, groups: Sequence[Group]) -> Alarm | None:
        """What honest devices cannot have sent in a round, of which these are the sums; None if they can have sent it all."""
        ...

    def idle(self, number: int) -> bool:
        """Whether there is surely nothing to do while this round is the published one: a quick look, taken again and again."""
        ...

    def round_data(self, number: int) -> RoundData | None:
        """The data that close a round; None while it is open."""
        ...

    def announce(self, head: SignedHead) -> None:
        """Show a round to the process that must have stored it before it is published; refused if they have not."""
        ...


class CountedReports:
    """Reports that were counted here."""

    def __init__(self, store: CollectorStore) -> None:
        self._store = store

    def alarm(self, number: int, groups: Sequence[Group]) -> Alarm | None:
        """By the sums that were counted, each of those who followed one policy."""
        return round_alarm(self._store, number)

    def idle(self, number: int) -> bool:
        """Whether no other round was opened, and this one is not full."""
        opened, counting = self._store.look()
        return opened == number >= counting

    def round_data(self, number: int) -> RoundData | None:
        """The data of a round, once as many people came as the schedule says."""
        if self._store.tally().round <= number:
            return None
        return RoundData(*self._store.round_data(number), self._store.contract.ends[number - 1])

    def announce(self, head: SignedHead) -> None:
        """Nothing: only devices and witnesses store it."""


class Unanswered(ConfideError):
    """The shuffler or the curator does not respond."""


class IntermediaryClient:
    """Batches that were closed by a shuffler or a curator, who signs for them.

    What came before is known from the collector's own database. A closing is stored there before any client is shown what the
    batch was closed into, and a head is published only when the shuffler or the curator has stored it.
    """

    def __init__(self, store: CollectorStore, url: str, private: bytes) -> None:
        """url: where it is, or one of several of whom one has the lease. private: the collector's key."""
        self._store, self._asked, self._private = store, url.rstrip("/"), private
        if not self._asked.startswith(SCHEMES):
            raise InvalidInput(
                "intermediary-address-form", f"A {self.role} has an address such as http://127.0.0.1:8001. Got {url!r}."
            )
        self.url = self._asked
        """The address of the process that has the lease."""
        self._nonce = b""
        self._newest: SignedClosing | None = None
        self._heard = -math.inf
        self._trouble = f"The {self.role} has not responded yet."

    def alarm(self, number: int, groups: Sequence[Group]) -> Alarm | None:
        """By the sum of a shuffler's batch. A curator is handed episodes, and counts those that cannot have happened as empty."""
        contract = self._store.contract
        if not contract.design.devices:
            return None
        return batch_alarm(contract.design, number, len(contract.ends), groups[-1].total)

    def idle(self, number: int) -> bool:
        """False: the shuffler or the curator must be asked."""
        return False

    @property
    def trouble(self) -> str:
        """What is wrong with it, in a sentence; empty if it responded just now, and neither is behind the other."""
        silent = time.monotonic() - self._heard > SILENCE
        return self._trouble or (f"The {self.role} does not respond." if silent else "")

    @property
    def role(self) -> str:
        """Its role in the contract: shuffler or curator."""
        about = self._store.contract.intermediary
        assert about is not None
        return about.role

    def announce(self, head: SignedHead) -> None:
        """Show the newest head, which is stored there from now on; refused unless neither of us is behind what the other stored."""
        try:
            answer = self._exchanged(head)
            if answer.nonce != self._nonce:
                self._nonce = (
                    answer.nonce
                )  # another process: it is sent again, by a signature that was not there before
                answer = self._exchanged(head)
            self._check(answer)
            if answer.head != head:
                raise Unanswered("intermediary-behind", f"The {self.role} has not stored round {head.head.round}.")
        except ConfideError as error:
            self._trouble = str(error)
            raise
        self._newest, self._trouble, self._heard = answer.closing, "", time.monotonic()

    def _exchanged(self, head: SignedHead) -> PeerHeads:
        """The response of the process that has the lease."""
        shown = PeerHeads(head, self._store.closing()).signed(self._private, self._nonce).to_json()
        for _ in range(MOVES):
            try:
                answer = PeerHeads.from_json(self._ask("/v1/rounds", shown) or b"", self._store.contract)
            except ConfideError:
                self.url = self._asked  # that process is gone, or another is there: the next one is asked for
                raise
            if not answer.holder:
                return answer
            if not answer.holder.startswith(SCHEMES):
                break
            self.url = answer.holder
        self.url = self._asked
        raise Unanswered("lease-passing", f"The lease of the {self.role} is passing from one process to another.")

    def _check(self, answer: PeerHeads) -> None:
        """End if a head under our own signature is not in our store; refuse the other if it is behind what we stored of it."""
        if answer.head is not None:
            stored = self._store.head(answer.head.head.round)
            if stored is None or stored.digest != answer.head.digest:
                raise Restored.of("collector", "round", answer.head.head.round)
        held, shown = self._store.closing(), answer.closing
        check_follows(self.role, "closing", None if held is None else held.link, None if shown is None else shown.link)

    def round_data(self, number: int) -> RoundData | None:
        """The data of a round, once its closing is published; refused unless it is signed, and follows from the one before."""
        if self._newest is None or self._newest.closing.number < number:
            return None
        signed = self._taken(number)
        head = self._store.newest()
        assert head is not None
        self.announce(head)
        body = self._ask(f"/v1/{PATHS.get(self.role, 'sums')}/{number}")
        if body is None or hashlib.sha256(body).hexdigest() != signed.closing.body:
            raise FormatError("closing-not-signed", f"What closing {number} signs is not what the {self.role} shows.")
        return RoundData(*self._store.state(number), [Group(b"", body)], signed.closing.people)

    def _taken(self, number: int) -> SignedClosing:
        """A closing, stored here: it follows from the one before it that is stored here, whatever else is shown."""
        signed, before = self._closing(number), self._store.closing(number - 1)
        closing = signed.closing
        previous = FIRST if number == 1 else closing.previous if before is None else before.digest
        if (closing.contract, closing.previous) != (self._store.contract.digest.hex(), previous):
            raise Behind("closing-not-following", f"Closing {number} does not follow from the one before it.")
        self._store.take(signed)
        if self._store.closing(number) != signed:
            raise Behind("closings-contradict", f"The {self.role} shows two different closings {number}, both signed.")
        return signed

    def _closing(self, number: int) -> SignedClosing:
        raw = self._ask(f"/v1/closings/{number}")
        about = self._store.contract.intermediary
        assert about is not None
        signed = SignedClosing.from_json(raw or b"", about.key)
        if signed.closing.number != number:
            raise FormatError("closing-number", f"The {self.role} shows another closing than number {number}.")
        return signed

    def _ask(self, path: str, body: bytes | None = None) -> bytes | None:
        """The body of a response; None if there is nothing under the address yet."""
        request = urllib.request.Request(self.url + path, body, {"Content-Type": "application/json"} if body else {})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                body_read: bytes = answer.read(MOST_BYTES)
                return body_read
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise Unanswered(
                "intermediary-response", f"The {self.role} responded to {path} with {error.code}."
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise Unanswered(
                "intermediary-silent", f"The {self.role} did not respond ({type(error).__name__})."
            ) from error
