"""Issues tickets, takes what ticket holders hand over, and closes batches at their deadlines.

A ticket fixes the batch before anything happens; a batch closes at a public time after its last ticket, however many came; what
comes later is refused. So who is in a batch, and when it closes, depends on nobody's episode.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..contracts.closings import Closing, SignedClosing
from ..contracts.contract import Contract
from ..contracts.files import write_whole
from ..contracts.heads import FIRST
from ..contracts.intermediary import Intermediary
from ..contracts.tickets import Ticket, opened
from ..errors import FormatError, InvalidInput
from . import sealing
from .folder import RoleFolder
from .open_batches import OpenBatches
from .store import Batch, BatchStore, Place, Superseded

LOG = logging.getLogger("confide.batches")
TAKEN, CLOSED, SOON = "taken", "closed", "soon"
"""A message is in its batch; it came too late; whether it did is being decided."""


class BatchStatus(NamedTuple):
    """What anybody may know of a batch. epoch: of the process now, or of the one that closed it."""

    batch: int
    issued: int
    deadline: float | None
    closing: int | None
    epoch: int


class Office:
    """The ticket office of one shuffler or curator: what it does, without the web application."""

    def __init__(
        self,
        folder: RoleFolder,
        open_batches: OpenBatches,
        database: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder, self.open_batches, self.clock = folder, open_batches, clock
        self.contract: Contract = folder.contract()
        if self.contract.intermediary is None:
            raise InvalidInput("This contract has nobody between devices and the collector.")
        self.about: Intermediary = self.contract.intermediary
        self.keys = folder.keys(self.about)
        self.store = BatchStore(database or folder.database, self.contract)
        self.store.prepare()
        self._check_head()
        self._lock, self._publishing = threading.Lock(), threading.Lock()
        self._seen: dict[int, bytearray] = {}
        self._extended: dict[int, int] = {}
        self._open: dict[int, Batch] = {}
        self._closed: set[int] = set()
        self._published = 0
        self.ended = False
        """Whether the collector has published its last round."""
        self.superseded = False
        """Whether another process has taken over."""

    def _check_head(self) -> None:
        """Refuse a database that is behind what was published: it would draw published noise anew."""
        newest = self.store.newest()
        try:
            written = SignedClosing.from_json(self.folder.head_file.read_bytes(), self.about.key)
        except FileNotFoundError:
            return
        number = written.closing.number
        if newest is None or newest.number < number:
            raise FormatError(
                f"Closing {number} was published, but the database is behind it: an older copy was restored. "
                "Restore a newer one, or begin a new contract."
            )
        stored = self.store.closing(number)
        if stored is None or bytes(stored.data) != written.data:
            raise FormatError(
                f"The database has another closing {number} than the one that was published. Restore its own."
            )

    def begin(self) -> None:
        """Begin a new epoch, with nothing in memory."""
        self.store.begin_epoch(self.clock())
        self.look()

    @property
    def epoch(self) -> int:
        """The number of this process among all that served the contract."""
        return self.store.epoch

    @property
    def rounds(self) -> int:
        """How many batches are to be closed in all."""
        return len(self.contract.ends)

    def issue(self, number: int) -> list[Ticket | None]:
        """Issue so many tickets; None for those who come after the last batch."""
        if self.ended:
            return [None] * number
        places = self._turn(lambda: self.store.issue(number, self.rounds + len(self._extended), self.clock()))
        self.look()
        return [None if place is None else self._ticket(place) for place in places]

    def _turn(self, change: Callable[[], list[Place | None]]) -> list[Place | None]:
        try:
            return change()
        except Superseded:
            self.superseded = True
            raise

    def _ticket(self, place: Place) -> Ticket:
        return Ticket(self.contract.digest, *place).issued(self.keys.tickets)

    def count(self, wanted: Sequence[object]) -> list[Ticket | None]:
        """Issue a ticket for each of those who wait; `GroupCommitter` commits groups by this name."""
        return self.issue(len(wanted))

    def look(self) -> None:
        """Learn from the store which batches are full."""
        full = {batch.number: batch for batch in self.store.open_batches()}
        with self._lock:
            self._open = full

    def deadline(self, batch: Batch) -> float:
        """The time at which a full batch closes: a constant after its last ticket, or after a restart as long as devices
        need to send again."""
        assert batch.filled is not None
        due = max(batch.filled + self.about.deadline, self.store.started + self.about.patience)
        return due + self._extended.get(batch.number, 0) * self.about.deadline

    def read(self, body: bytes) -> tuple[Ticket, bytes]:
        """The ticket of a parcel, and its message; refused if it is a ticket of this contract and not valid."""
        ticket, message = opened(body)
        if ticket.contract == self.contract.digest and not ticket.valid(self.keys.tickets):
            raise FormatError("This ticket was not issued here.")
        return ticket, message

    def take(self, ticket: Ticket, message: bytes) -> str:
        """Add a message to the batch of its ticket, once: `taken`, `closed` or `soon`; or refuse it by a FormatError."""
        number = ticket.batch
        with self._lock:
            if number in self._closed or (
                number not in self._open and number not in self._seen and self._is_closed(number)
            ):
                self._closed.add(number)
                return CLOSED
            full = self._open.get(number)
            if full is not None and self.clock() >= self.deadline(full):
                return SOON
            seen = self._seen.setdefault(number, bytearray(self.contract.tickets(number)))
            if not seen[ticket.place]:
                self.open_batches.take(number, message)
                seen[ticket.place] = 1
            return TAKEN

    def _is_closed(self, number: int) -> bool:
        batch = self.store.batch(number)
        return batch is not None and batch.closing is not None

    def step(self) -> bool:
        """Close the first batch whose deadline has come, and return whether one was closed."""
        now = self.clock()
        for batch in list(self._open.values()):
            if now >= self.deadline(batch) and self._close(batch):
                return True
        self.publish()
        return False

    def _close(self, batch: Batch) -> bool:
        newest = self.store.newest()
        number = 1 if newest is None else int(newest.number) + 1
        if number > self.rounds:
            return False
        state_before = (
            b"" if newest is None else sealing.opened(self.keys.seal, self._place(number - 1), bytes(newest.state))
        )
        with self._lock:
            closed = self.open_batches.close(batch.number, self.contract.tickets(batch.number), state_before)
            if closed is None:
                self._extended[batch.number] = self._extended.get(batch.number, 0) + 1
                return False
        before = None if newest is None else SignedClosing(bytes(newest.data), bytes(newest.signature))
        closing = Closing(
            contract=self.contract.digest.hex(),
            number=number,
            batch=batch.number,
            previous=FIRST if before is None else before.digest,
            body=hashlib.sha256(closed.body).hexdigest(),
            people=closed.people + (0 if before is None else before.closing.people),
            epoch=self.epoch,
        )
        published_at = self.deadline(batch) + self.about.publication
        state = sealing.sealed(self.keys.seal, self._place(number), closed.state)
        signed = SignedClosing.signed(closing, self.keys.private)
        try:
            self.store.close(batch.number, number, signed, closed.body, published_at, state)
        except Superseded:
            self.superseded = True
            raise
        with self._lock:
            self.open_batches.forget(batch.number)
            seen = self._seen.pop(batch.number, bytearray())
            seen[:] = bytes(len(seen))
            self._closed.add(batch.number)
            self._open.pop(batch.number, None)
            self._extended.pop(batch.number, None)
        LOG.info("batch closed", extra={"details": {"batch": batch.number, "closing": number}})
        self.publish()
        return True

    def _place(self, number: int) -> bytes:
        """The data that a sealed state is bound to, so that nobody can put that of another closing in its place."""
        return self.contract.digest + number.to_bytes(8)

    def publish(self) -> None:
        """Write the newest closing that is public down outside the database."""
        with self._publishing:
            newest = self.store.newest(self.clock())
            if newest is not None and newest.number > self._published:
                signed = SignedClosing(bytes(newest.data), bytes(newest.signature))
                write_whole(self.folder.head_file, signed.to_json())
                self._published = int(newest.number)

    def public_closing(self, number: int) -> tuple[SignedClosing, bytes] | None:
        """A closing and its body, once it is public."""
        row = self.store.closing(number)
        if row is None or row.shown > self.clock():
            return None
        self.publish()
        return SignedClosing(bytes(row.data), bytes(row.signature)), bytes(row.body)

    def status(self, number: int) -> BatchStatus | None:
        """What anybody may know of a batch."""
        batch, row = self.store.batch(number), self.store.desk()
        if batch is None:
            return None
        issued = self.contract.tickets(number) if number < row.batch else int(row.place)
        if batch.closing is None:
            due = None if batch.filled is None else self.deadline(batch)
            return BatchStatus(number, issued, due, None, int(row.epoch))
        closing = self.store.closing(batch.closing)
        assert closing is not None
        epoch = SignedClosing(bytes(closing.data), bytes(closing.signature)).closing.epoch
        return BatchStatus(number, issued, None, batch.closing, epoch)
