"""The database of tickets and closed batches. Open ones are in memory only: a sum stored twice tells who came between.

Of several processes on one database one holds the lease, which it renews. Who takes it over begins an epoch, the newest of which
holds: a process that finds that another has begun changes nothing any more. A closing's number is unique, so a batch is closed
once, and a published value is never drawn again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from ...errors import ConfideError, FormatError
from ..contract.closings import SignedClosing
from ..contract.contract import Contract
from ..contract.heads import SignedHead
from ..http import databases
from .schema import TABLES, VERSION, announced, batches, closings, desk, lease, spent


class Superseded(ConfideError):
    """Another process has begun an epoch since: this one changes nothing any more."""


class NotYet(ConfideError):
    """There is no policy to follow yet."""


class Place(NamedTuple):
    """A place in a batch, and the newest round, which its holder follows: it was learned from batches that are closed."""

    batch: int
    place: int
    round: int


class Wanted(NamedTuple):
    """Of one who wants a place: the nonce of their token, where the contract names an issuer; its slot, where people come again."""

    nonce: bytes | None = None
    slot: int | None = None


class Batch(NamedTuple):
    """A batch: round is the newest when its first ticket was issued, filled when its last was, closing its number when closed.
    more: tickets beyond those that the contract names; given: how many of these were issued."""

    number: int
    round: int
    filled: float | None
    closing: int | None
    more: int
    given: int


class Lease(NamedTuple):
    """How often its holder has renewed it, and where the holder is reached; empty if it let go."""

    beat: int
    address: str


class BatchStore:
    """The database of one shuffler or curator."""

    def __init__(self, url: str, contract: Contract) -> None:
        self.contract = contract
        self._url = url
        self._engine = databases.connect(url)
        self._writer = self._engine.execution_options(writes=True)
        self.epoch = 0
        self.started = 0.0

    def prepare(self) -> None:
        """Make the tables where there are none; refuse those of another contract or version."""
        first = {"epoch": 0, "started": 0.0, "batch": 1, "place": 0, "round": 0}
        with contextlib.suppress(IntegrityError):
            TABLES.create_all(self._engine)
            with self._writer.begin() as connection:
                if connection.execute(select(desk.c.id)).first() is None:
                    connection.execute(
                        insert(desk).values(id=1, version=VERSION, contract=self.contract.digest, **first)
                    )
                    connection.execute(insert(lease).values(id=1, beat=0, address=""))
        self._widen()
        row = self.desk()
        if row.version != VERSION or bytes(row.contract) != self.contract.digest:
            raise FormatError(
                "database-not-ours",
                "The database belongs to another contract or version. Give each contract one of its own.",
            )

    def _widen(self) -> None:
        """Give a database of version 1, whose batches could not be joined, the columns for that."""
        with self._writer.begin() as connection:
            if connection.execute(select(desk.c.version).with_for_update()).scalar_one() == 1:
                for column in (batches.c.more, batches.c.given):
                    text = f"ALTER TABLE {batches.name} ADD COLUMN {column.name} INTEGER NOT NULL DEFAULT 0"
                    connection.exec_driver_sql(text)
                connection.execute(update(desk).values(version=VERSION))

    def exists(self) -> bool:
        """Whether there are tables."""
        return databases.holds(self._engine, self._url, desk.name)

    @property
    def alone(self) -> bool:
        """Whether only one process can use it, as a file that is locked."""
        return self._engine.dialect.name == "sqlite"

    def close_connections(self) -> None:
        """Close the connections to the database."""
        self._engine.dispose()

    def desk(self) -> Row[Any]:
        """The one row of the desk."""
        with self._engine.begin() as connection:
            return connection.execute(select(desk)).one()

    def lease(self) -> Lease:
        """The lease as it stands."""
        with self._engine.begin() as connection:
            return Lease(*connection.execute(select(lease.c.beat, lease.c.address)).one())

    def begin_epoch(self, now: float, address: str, seen: Lease | None = None) -> bool:
        """Take the lease and begin an epoch: whatever another process holds does not count any more. Whether it was us.

        seen: the lease as it was seen; it is taken only if it was not renewed since.
        """
        with self._writer.begin() as connection:
            row = connection.execute(select(desk).with_for_update()).one()
            beat = connection.execute(select(lease.c.beat)).scalar_one()
            if seen is not None and beat != seen.beat:
                return False
            connection.execute(update(desk).values(epoch=row.epoch + 1, started=now))
            connection.execute(update(lease).values(beat=beat + 1, address=address))
        self.epoch, self.started = row.epoch + 1, now
        return True

    def renew(self, address: str) -> None:
        """Renew the lease; an empty address lets go of it."""
        with self._turn() as (connection, _):
            connection.execute(update(lease).values(beat=lease.c.beat + 1, address=address))

    @contextlib.contextmanager
    def _turn(self) -> Iterator[tuple[Connection, Row[Any]]]:
        """One transaction, refused unless the newest epoch is this process's."""
        with self._writer.begin() as connection:
            row = connection.execute(select(desk).with_for_update()).one()
            if row.epoch != self.epoch:
                raise Superseded(
                    "epoch-superseded",
                    f"Epoch {row.epoch} has begun; this process has epoch {self.epoch} and holds nothing.",
                )
            yield connection, row

    def issue(
        self, wanted: Sequence[bytes | None], last_batch: int, now: float, slots: Mapping[bytes, int] | None = None
    ) -> list[Place | None]:
        """Issue a place for each who wants one, in turn, up to the last batch; None for those after that, or with a token of a
        slot whose batches no tickets are issued for.

        wanted: nonces of tokens, where the contract names an issuer, else None. slots: those of tokens, where people come again.
        Each is spent in this transaction, on one place: who asks again with it is given the same one.
        """
        with self._turn() as (connection, row):
            if not row.round:
                raise NotYet("first-round-not-open", "The collector has not opened its first round yet.")
            named = {nonce: (slots or {}).get(nonce) for nonce in wanted if nonce is not None}
            query = select(spent).where(spent.c.nonce.in_(list(named)))
            given = {bytes(one[0]): Place(*one[1:]) for one in connection.execute(query)} if named else {}
            fresh = [nonce for nonce in named if nonce not in given]
            new: dict[bytes, Place] = {}
            for slot in dict.fromkeys(named[nonce] for nonce in fresh):
                here = [nonce for nonce in fresh if named[nonce] == slot]
                within = range(1, last_batch + 1) if slot is None else self._batches(slot, last_batch)
                new.update(zip(here, self._next_places(connection, len(here), within, now), strict=False))
            rows = [{"nonce": nonce, **place._asdict()} for nonce, place in new.items()]
            if rows:
                connection.execute(insert(spent), rows)
            unnamed = sum(nonce is None for nonce in wanted)
            places = iter(self._next_places(connection, unnamed, range(1, last_batch + 1), now))
        given.update(new)
        return [next(places, None) if nonce is None else given.get(nonce) for nonce in wanted]

    def _batches(self, slot: int, last_batch: int) -> range:
        """The batches of a slot, up to the last one."""
        slots = self.contract.slots
        within = range(0) if slots is None else slots.batches(slot)
        return range(within.start, min(within.stop, last_batch + 1))

    def next_batch(self, last_batch: int) -> int | None:
        """The batch that tickets are issued for: one that waits for more people first; None after the last."""
        waiting = select(func.min(batches.c.number)).where(batches.c.given < batches.c.more)
        with self._engine.begin() as connection:
            first = connection.execute(waiting).scalar()
            batch = int(connection.execute(select(desk.c.batch)).scalar_one())
        return int(first) if first is not None else batch if batch <= last_batch else None

    def _next_places(self, connection: Connection, number: int, within: range, now: float) -> list[Place]:
        """The next free places of some batches, `number` or as many as there are: first of those that wait for more, then of the
        newest."""
        places: list[Place] = []
        if number:
            row = connection.execute(select(desk)).one()
            newest = int(row.round)
            places = self._places_of_waiting(connection, newest, number, within, now)
            batch, place = int(row.batch), int(row.place)
            begun = connection.execute(select(batches.c.round).where(batches.c.number == batch)).scalar() is not None
            while len(places) < number and batch in within:
                if not begun:
                    begun = True
                    connection.execute(insert(batches).values(number=batch, round=newest))
                places.append(Place(batch, place, newest))
                place += 1
                if place == self.contract.tickets(batch):
                    connection.execute(update(batches).where(batches.c.number == batch).values(filled=now))
                    batch, place, begun = batch + 1, 0, False
            if places:
                connection.execute(update(desk).values(batch=batch, place=place))
        return places

    def _places_of_waiting(
        self, connection: Connection, newest: int, number: int, within: range, now: float
    ) -> list[Place]:
        """Places of batches to which too few came, in order; at most this many."""
        places: list[Place] = []
        waiting = select(batches).where(batches.c.given < batches.c.more).order_by(batches.c.number)
        for batch in [Batch(*row) for row in connection.execute(waiting) if row.number in within]:
            taken = min(batch.more - batch.given, number - len(places))
            if taken:
                first = self.contract.tickets(batch.number) + batch.given
                places += [Place(batch.number, first + one, newest) for one in range(taken)]
                full = {"filled": now} if batch.given + taken == batch.more else {}
                here = batches.c.number == batch.number
                connection.execute(update(batches).where(here).values(given=batch.given + taken, **full))
        return places

    def join(self, batch: int, more: int) -> None:
        """Let a batch that is full, and to which too few came, wait for more people: the next tickets are for it."""
        here = (batches.c.number == batch) & batches.c.closing.is_(None) & batches.c.filled.is_not(None)
        with self._turn() as (connection, _):
            connection.execute(update(batches).where(here).values(more=batches.c.more + more, filled=None))

    def joined(self) -> tuple[int, int]:
        """How many batches wait for more people than the contract names tickets for, and how many such tickets were issued."""
        waiting = select(func.count()).where((batches.c.more > 0) & batches.c.closing.is_(None)).scalar_subquery()
        with self._engine.begin() as connection:
            many, given = connection.execute(select(waiting, func.coalesce(func.sum(batches.c.given), 0))).one()
        return int(many), int(given)

    def announced(self) -> SignedHead | None:
        """The newest head that the collector has shown."""
        with self._engine.begin() as connection:
            row = connection.execute(select(announced.c.data, announced.c.signature)).first()
        return None if row is None else SignedHead(bytes(row[0]), bytes(row[1]))

    def received(self) -> int:
        """The number of the last closing that the collector has stored; 0 if there is none."""
        with self._engine.begin() as connection:
            return int(connection.execute(select(announced.c.received)).scalar() or 0)

    def announce(self, head: SignedHead, received: int) -> None:
        """Store the collector's newest head, and which closing it has stored: up to that one bodies are shown, and tickets of
        batches that begin from now on name the head's round."""
        with self._turn() as (connection, row):
            connection.execute(delete(announced))
            stored = {"data": head.data, "signature": head.signature, "received": received}
            connection.execute(insert(announced).values(id=1, **stored))
            connection.execute(update(desk).values(round=max(head.head.round, int(row.round))))

    def open_batches(self) -> list[Batch]:
        """The batches that are full and not closed, in order."""
        waiting = batches.c.filled.is_not(None) & batches.c.closing.is_(None)
        with self._engine.begin() as connection:
            rows = connection.execute(select(batches).where(waiting).order_by(batches.c.number))
            return [Batch(*row) for row in rows]

    def batch(self, number: int) -> Batch | None:
        """A batch by its number; None if it has not begun."""
        with self._engine.begin() as connection:
            row = connection.execute(select(batches).where(batches.c.number == number)).first()
        return None if row is None else Batch(*row)

    def close(self, batch: int, number: int, signed: SignedClosing, body: bytes, shown: float, state: bytes) -> None:
        """Commit what a batch was closed into, together with what is needed to go on."""
        with self._turn() as (connection, _):
            connection.execute(update(closings).values(state=None))
            row = {"number": number, "data": signed.data, "signature": signed.signature, "body": body}
            connection.execute(insert(closings).values(**row, shown=shown, state=state))
            connection.execute(update(batches).where(batches.c.number == batch).values(closing=number))
        if self._engine.dialect.name == "sqlite":  # an earlier state must not stay behind in the log
            raw = self._engine.raw_connection()
            raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            raw.close()

    def newest(self, shown: float | None = None) -> Row[Any] | None:
        """The last closing, with its state; or the last that is shown at some time."""
        query = select(closings).order_by(closings.c.number.desc()).limit(1)
        with self._engine.begin() as connection:
            return connection.execute(query if shown is None else query.where(closings.c.shown <= shown)).first()

    def closing(self, number: int) -> Row[Any] | None:
        """A closing by its number."""
        with self._engine.begin() as connection:
            return connection.execute(select(closings).where(closings.c.number == number)).first()
