"""Issues tickets, takes what ticket holders hand over, and closes batches at their deadlines.

A ticket fixes the batch before anything happens; a batch closes at a public time after its last ticket; what comes later is
refused. A curator closes it however many came. A shuffler's guarantee counts on n reports, and on a share of these being honest:
if fewer came by then, the batch is joined to the people who come next. The next tickets are for it, a public share of those it
had (`JOINED`), and it closes at the same time after the last of them, or is joined again. Its sum is one, about all who came:
nothing is ever given out of a batch before it is closed, so a batch that was joined hides every user among at least n reports,
made with the noise of a batch of its size. Who is in it is fixed by tickets as before, and never by what users lived.

What is public of joining is that fewer than n came by a public time, and in the end how many did. The guarantee is given who
came: it holds for replacing what a user reports, not for hiding that they reported at all. That is why a device sends at the
time it drew before the episode, whatever happened, and the empty episode if nothing did: whether a report comes must not depend
on the episode. n counts reports, of which a share is assumed to be honest, and not tickets: where honest holders stay away more
often than hostile ones, the share of those who come is smaller than that of those who hold tickets.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from ...errors import FormatError, InvalidInput
from ..contract import sealed
from ..contract.closings import Closing, SignedClosing
from ..contract.contract import Contract
from ..contract.exchange import PeerHeads, Restored
from ..contract.files import write_whole
from ..contract.heads import FIRST, SignedHead
from ..contract.intermediary import CURATOR, Intermediary
from ..contract.signing import Behind, check_follows
from ..contract.tickets import Ticket, opened
from . import sealing
from .folder import RoleFolder
from .held import HeldUploads, spool_of
from .open_batches import OpenBatches
from .store import Batch, BatchStore, Lease, NotYet, Place, Superseded, Wanted

LOG = logging.getLogger("confide.batches")
TAKEN, CLOSED, SOON, FULL = "taken", "closed", "soon", "full"
"""A message is in its batch; it came too late; whether it did is being decided; no more sealed ones can be held for now."""


JOINED = 0.25
"""How many more tickets are issued of a batch to which too few came, as a share of those that the contract names. How many came is
not public, so the number may not depend on it. With half of the holders absent a batch that has a quarter more tickets than it
needs reports is joined three times, and then has 2.2 tickets a needed report."""
LATE = 30.0
"""Seconds after its deadline at which a batch that is neither closed nor joined is overdue."""
UNCONFIRMED = "The collector has not confirmed yet that nothing is missing here."
Changed = TypeVar("Changed")


class BatchStatus(NamedTuple):
    """What is public of a batch. epoch: of the process now, or of the one that closed it."""

    batch: int
    issued: int
    deadline: float | None
    closing: int | None
    epoch: int


class BatchManager:
    """The batches of one shuffler or curator: issues tickets, takes submissions and closes batches, without the web application."""

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
            raise InvalidInput(
                "contract-without-intermediary",
                "This contract has no shuffler or curator between devices and the collector.",
            )
        self.about: Intermediary = self.contract.intermediary
        self.keys = folder.keys(self.about)
        self.store = BatchStore(database or folder.database, self.contract)
        self._check_head()
        self.store.prepare()
        self._lock, self._exchanging = threading.Lock(), threading.Lock()
        self._seen: dict[int, bytearray] = {}
        self._open: dict[int, Batch] = {}
        self._closed: set[int] = set()
        self._nonce = os.urandom(16)
        self._held: HeldUploads | None = None
        if self.about.sealing is not None:
            spool = spool_of(folder.path, self.contract.digest, self.about.role)
            self._held = HeldUploads(spool, replaced=self.about.role == CURATOR)
        self.address = ""
        """Where this process is reached."""
        self.ended = False
        """Whether the collector has published its last round."""
        self.holds = False
        """Whether this process has the lease: no other issues tickets, takes uploads or closes batches."""
        self.confirmed = False
        """Whether the collector has confirmed, since this process has the lease, that nothing published is missing here."""
        self.unreadable = 0
        """How many sealed messages could not be read when their time had come; for the operator alone."""

    def _check_head(self) -> None:
        """Refuse a database that is behind what was published: it would draw published noise anew; and a folder that is behind
        its own database, since the file in it is written first."""
        newest = self.store.newest() if self.store.exists() else None
        received = self.store.received() if self.store.alone and self.store.exists() else 0
        try:
            written = SignedClosing.from_json(self.folder.head_file.read_bytes(), self.about.key)
        except FileNotFoundError:
            written = None
        if received > (0 if written is None else written.closing.number):
            raise FormatError(
                "folder-behind-closing",
                f"Closing {received} was published, but {self.folder.head_file} is behind it: an older copy of the folder was "
                "restored. Restore a newer one, or begin a new contract.",
            )
        if written is None:
            return
        number = written.closing.number
        if newest is None or newest.number < number:
            raise FormatError(
                "database-behind-closing",
                f"Closing {number} was published, but the database is behind it: an older copy was restored. "
                "Restore a newer one, or begin a new contract.",
            )
        stored = self.store.closing(number)
        if stored is None or bytes(stored.data) != written.data:
            raise FormatError(
                "database-of-other-closing",
                f"The database has another closing {number} than the one that was published. Restore its own.",
            )

    def begin(self, seen: Lease | None = None) -> bool:
        """Take the lease and begin a new epoch, with nothing in memory; whether it was us. seen: taken only if it is as it was."""
        self.lose()
        self.holds = self.store.begin_epoch(self.clock(), self.address, seen)
        if self.holds:
            self.look()
            self._recover()
        return self.holds

    def _recover(self) -> None:
        """Hold again what a process before this one held of batches that are open: a user who closed a page does not send again."""
        if self._held is not None:
            with self._lock:
                for batch in self._held.copied():
                    if self._is_closed(batch):
                        self._held.close(batch)
                    else:
                        self._held.recover(batch, self.keys.tickets)

    def lose(self) -> None:
        """Forget what is open, and that the collector has confirmed anything: another process has the lease, or this one begins."""
        with self._lock:
            self.holds = self.confirmed = False
            for number in list(self._seen):
                self._forget(number)
            if self._held is not None:
                self._held.forget_all()
            self._open = {}

    def exchange(self, shown: PeerHeads) -> PeerHeads:
        """Compare memories with the collector: what it has stored of ours must be here, or we were restored and must end; what it
        shows must not be behind what is stored of it, or nothing is confirmed.

        The response has the newest head that is stored, which proves to a collector that is behind that it is.
        """
        with self._exchanging:
            if not self.holds:
                return PeerHeads(holder=self.store.lease().address)
            self._check_own(shown.closing)
            held, newest = self.store.announced(), self.store.newest(self.clock())
            if shown.head is not None and shown.is_fresh(self.contract.key, self._nonce):
                held = self._confirm(held, shown.head, shown.closing)
            closing = None if newest is None else SignedClosing(bytes(newest.data), bytes(newest.signature))
            return PeerHeads(held, closing, self._nonce)

    def _check_own(self, closing: SignedClosing | None) -> None:
        """End if a closing under our own signature is not in our store."""
        if closing is not None:
            stored = self.store.closing(closing.closing.number)
            if stored is None or bytes(stored.data) != closing.data:
                raise Restored.of(self.about.role, "closing", closing.closing.number)

    def _confirm(self, held: SignedHead | None, head: SignedHead, closing: SignedClosing | None) -> SignedHead | None:
        """The newest head that is stored from now on. A collector publishes none before it is stored here, so a process that lacks
        one was restored. A closing that the collector has stored too is written down outside the database, and only then shown."""
        try:
            check_follows("collector", "round", None if held is None else held.link, head.link)
        except Behind as error:
            LOG.error("the collector is refused", extra={"details": {"text": str(error)}})
            return held
        if held is not None and head.head.round > held.head.round + 1:
            raise Restored.of(self.about.role, "collector's round", head.head.round - 1)
        received = self.store.received()
        stored = received if closing is None else max(received, closing.closing.number)
        if closing is not None and stored > received:
            write_whole(self.folder.head_file, closing.to_json())
        if held is None or held != head or stored > received:
            self._turn(lambda: self.store.announce(head, stored))
        self.ended = self.ended or head.head.ended
        self.confirmed = True
        return head

    @property
    def epoch(self) -> int:
        """The number of this process among all that served the contract."""
        return self.store.epoch

    @property
    def rounds(self) -> int:
        """How many batches are to be closed in all."""
        return len(self.contract.ends)

    def issue(self, wanted: Sequence[bytes | None], slots: Mapping[bytes, int] | None = None) -> list[Ticket | None]:
        """Issue a ticket to each, by the nonce of their token where the contract names an issuer; None for those who come after
        the last batch, or with a token of another slot than is due. slots: those of tokens, where people come again."""
        if self.ended:
            return [None] * len(wanted)
        if not self.confirmed:
            raise NotYet("rounds-unconfirmed", UNCONFIRMED)
        places = self._turn(lambda: self.store.issue(wanted, self.rounds, self.clock(), slots))
        self.look()
        return [None if place is None else self._ticket(place) for place in places]

    def _turn(self, change: Callable[[], Changed]) -> Changed:
        try:
            return change()
        except Superseded:
            self.lose()
            raise

    def renew(self) -> None:
        """Renew the lease."""
        self._turn(lambda: self.store.renew(self.address))

    def _ticket(self, place: Place) -> Ticket:
        return Ticket(self.contract.digest, *place).issued(self.keys.tickets)

    def next_batch(self) -> int | None:
        """The batch that tickets are issued for, which is public; None after the last."""
        return None if self.ended else self.store.next_batch(self.rounds)

    def count(self, wanted: Sequence[Wanted]) -> list[Ticket | None]:
        """Issue a ticket for each of those who wait; `GroupCommitter` commits groups by this name."""
        slots = {one.nonce: one.slot for one in wanted if one.nonce is not None and one.slot is not None}
        return self.issue([one.nonce for one in wanted], slots)

    def look(self) -> None:
        """Learn from the store which batches are full."""
        full = {batch.number: batch for batch in self.store.open_batches()}
        with self._lock:  # what was read may be older than what was closed meanwhile
            self._open = {number: batch for number, batch in full.items() if number not in self._closed}

    def deadline(self, batch: Batch) -> float:
        """The time at which a full batch closes: a constant after its last ticket, or after a restart as long as devices
        need to send again."""
        assert batch.filled is not None
        return max(batch.filled + self.about.deadline, self.store.started + self.about.patience)

    def overdue(self) -> bool:
        """Whether a batch should have been closed or joined a while ago, and was not."""
        with self._lock:
            return any(self.clock() > self.deadline(batch) + LATE for batch in self._open.values())

    def read(self, body: bytes) -> tuple[Ticket, bytes]:
        """The ticket of an upload, and its message; refused if it is a ticket of this contract and not valid."""
        ticket, message = opened(body)
        if ticket.contract == self.contract.digest and not ticket.valid(self.keys.tickets):
            raise FormatError("ticket-not-issued", "This ticket was not issued here.")
        return ticket, message

    def take(self, ticket: Ticket, message: bytes) -> str:
        """Add a message to the batch of its ticket, once, or hold it until its time if it is sealed: `taken`, `closed`, `soon` or
        `full`; or refuse it by a FormatError."""
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
            if self._held is None:
                self._count_once(ticket, message)
            elif self._held.full:
                return FULL
            elif not self._seen_of(ticket)[ticket.place]:  # what was opened is not replaced
                self._held.put(ticket, message)
            return TAKEN

    def _seen_of(self, ticket: Ticket) -> bytearray:
        """Of a ticket's batch, a byte for each place: whether a message is in the sum."""
        seen = self._seen.setdefault(ticket.batch, bytearray(self.contract.tickets(ticket.batch)))
        if ticket.place >= len(seen):  # the batch was joined to people who came later
            seen.extend(bytes(ticket.place + 1 - len(seen)))
        return seen

    def _count_once(self, ticket: Ticket, message: bytes) -> None:
        seen = self._seen_of(ticket)
        if not seen[ticket.place]:
            self.open_batches.take(ticket.batch, message)
            seen[ticket.place] = 1

    def _open_due(self, batch: int | None = None) -> None:
        """Open the sealed messages whose time has come, or all of a batch that closes, and add them up. One that cannot be read
        is an absentee's: it is in no sum, and is not replaced."""
        if self._held is not None:
            private = sealed.private_key(self.keys.private)
            for ticket, upload, *_ in self._held.due(self.clock(), batch):
                try:
                    self._count_once(ticket, sealed.opened(private, ticket.to_bytes(), upload))
                except FormatError:
                    self._seen_of(ticket)[ticket.place] = 1
                    self.unreadable += 1

    def _is_closed(self, number: int) -> bool:
        batch = self.store.batch(number)
        return batch is not None and batch.closing is not None

    def step(self) -> bool:
        """Close the first batch whose deadline has come, and return whether one was closed.

        A curator closes batches in their order, also where a clock was put back since the first of them was full: how far apart a
        user's batches are is priced by their places in the counter.
        """
        if not self.confirmed:
            return False
        now = self.clock()
        with self._lock:
            self._open_due()
            waiting = [self._open[number] for number in sorted(self._open)]
        if self.about.role == CURATOR:
            waiting = waiting[:1]
        return any(now >= self.deadline(batch) and self._close(batch) for batch in waiting)

    def _close(self, batch: Batch) -> bool:
        newest = self.store.newest()
        number = 1 if newest is None else int(newest.number) + 1
        if number > self.rounds:
            return False
        state_before = (
            b"" if newest is None else sealing.opened(self.keys.seal, self._place(number - 1), bytes(newest.state))
        )
        with self._lock:
            self._open_due(batch.number)
            closed = self.open_batches.close(batch.number, self.contract.tickets(batch.number), state_before)
        if closed is None:
            self._join(batch)
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
        self._turn(lambda: self.store.close(batch.number, number, signed, closed.body, published_at, state))
        with self._lock:
            self._forget(batch.number)
            if self._held is not None:
                self._held.close(batch.number)
            self._closed.add(batch.number)
            self._open.pop(batch.number, None)
        LOG.info("batch closed", extra={"details": {"batch": batch.number, "closing": number}})
        return True

    def _join(self, batch: Batch) -> None:
        """Join a batch to which too few came to the people who come next."""
        tickets = self.contract.tickets(batch.number)
        more = max(1, round(JOINED * tickets))
        self._turn(lambda: self.store.join(batch.number, more))
        self.look()
        details = {"batch": batch.number, "tickets": tickets + batch.more, "more": more}
        LOG.warning("batch waits for more people", extra={"details": details})

    def _forget(self, batch: int) -> None:
        """Overwrite and drop what memory holds of a batch."""
        self.open_batches.forget(batch)
        seen = self._seen.pop(batch, bytearray())
        seen[:] = bytes(len(seen))

    def _place(self, number: int) -> bytes:
        """The data that a sealed state is bound to, so that an attacker cannot put that of another closing in its place."""
        return self.contract.digest + number.to_bytes(8)

    def public_closing(self, number: int) -> SignedClosing | None:
        """A closing, once its time has come."""
        row = self.store.closing(number)
        return None if row is None or row.shown > self.clock() else SignedClosing(bytes(row.data), bytes(row.signature))

    def public_body(self, number: int) -> bytes | None:
        """What a batch was closed into, once the collector has stored its closing: nothing is shown that only we remember."""
        row = self.store.closing(number)
        return None if row is None or number > self.store.received() else bytes(row.body)

    def status(self, number: int) -> BatchStatus | None:
        """What is public of a batch."""
        batch, row = self.store.batch(number), self.store.desk()
        if batch is None:
            return None
        issued = (self.contract.tickets(number) if number < row.batch else int(row.place)) + batch.given
        if batch.closing is None:
            due = None if batch.filled is None else self.deadline(batch)
            return BatchStatus(number, issued, due, None, int(row.epoch))
        closing = self.store.closing(batch.closing)
        assert closing is not None
        epoch = SignedClosing(bytes(closing.data), bytes(closing.signature)).closing.epoch
        return BatchStatus(number, issued, None, batch.closing, epoch)
