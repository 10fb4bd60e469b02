"""The database of a collector: a report, its sum and the number of people change together or not at all.

Every change is one transaction. The counting process locks the one row of `tally` first, so that several collectors may count into
one database. A round is closed by inserting the head of the next one, whose number is unique: it is closed once, by whichever
process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Table, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from ...errors import FormatError
from ...protocol.releases.sums import Checked, Pile, Sum
from ..contract.closings import SignedClosing
from ..contract.contract import Contract
from ..contract.heads import SignedHead
from ..http import databases
from . import schema
from .schema import (
    AddedSum,
    closings,
    expectations,
    heads,
    ids,
    policies,
    questions,
    releases,
    service,
    states,
    sums,
    tally,
)

COUNTED, REPEATED, ENDED, FORGED = "counted", "repeated", "ended", "forged"
LATE_ROUNDS = 8
"""For this many rounds, the open one included, sums are kept by the round people followed; who followed an older one counts as
having followed the oldest of them."""


_TOUCHED = update(tally).values(version=tally.c.version)
_LOOK = select(select(func.max(heads.c.number)).scalar_subquery(), tally.c.round)


class Arrival(NamedTuple):
    """A submission that was checked: its id, the report in it, and the round whose policy its sender followed. token: where the
    contract names an issuer; its signature is checked when it is counted."""

    id: bytes
    report: Checked
    followed: int = 1
    token: bytes = b""


class Opening(NamedTuple):
    """What opens a round: its head, its policy, where the learner stands, the sum of every user before; what closed the last;
    the visits expected of a user who follows the policy, where the learner weighs people by them; and what people are asked, where
    that changes.
    """

    head: SignedHead
    policy: bytes
    state: bytes
    total: bytes
    release: bytes | None
    expected: bytes = b""
    question: bytes = b""


class Group(NamedTuple):
    """Reports of one round by people who followed one policy: the visits expected of one of them, if known, and their sum."""

    expected: bytes
    total: bytes


class Tally(NamedTuple):
    """The round that is counted into, all users so far, and how often that was changed."""

    round: int
    people: int
    version: int


class CollectorStore:
    """The database of one contract."""

    def __init__(self, url: str, contract: Contract) -> None:
        self.contract = contract
        self._url = url
        self._engine = databases.connect(url)
        self._writer = self._engine.execution_options(writes=True)
        self._shard = os.urandom(8).hex()
        self._held: tuple[Tally, dict[int, Sum]] | None = None
        self.earlier = b""
        """What the learner begins with: what contracts before this one taught."""
        self.turned = False
        """Whether the last group filled a round."""

    @cached_property
    def _pile(self) -> Pile:
        """Adds up reports, where they come straight here."""
        return Pile(self.contract.design)

    def prepare(self) -> None:
        """Make the tables where there are none; refuse those of another contract or version."""
        with contextlib.suppress(IntegrityError):
            schema.TABLES.create_all(self._engine)
            with self.writing() as connection:
                if connection.execute(select(func.count()).select_from(service)).scalar_one() == 0:
                    connection.execute(insert(service).values(name="schema", value=schema.VERSION))
                    connection.execute(insert(service).values(name="contract", value=self.contract.digest))
                    connection.execute(insert(tally).values(id=1, round=1, people=0, version=0))
        with self._engine.begin() as connection:
            stored = {row.name: bytes(row.value) for row in connection.execute(select(service))}
        if stored.get("schema") != schema.VERSION:
            raise FormatError(
                "database-version",
                "The database has tables of another version. Use the version of confide that made them.",
            )
        if stored.get("contract") != self.contract.digest:
            raise FormatError(
                "database-of-other-contract",
                "The database belongs to another contract. Give each contract a database of its own.",
            )

    def close(self) -> None:
        """Close the connections to the database."""
        self._engine.dispose()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction that may change something: committed when the block ends, or nothing happened."""
        with self._writer.begin() as connection:
            yield connection

    def count(self, arrivals: Sequence[Arrival]) -> list[str]:
        """Count submissions, each once: `counted`, `repeated`, `ended` or `forged` for each, and true when this returns.

        A user who comes when a round is full is counted into the next one. Tokens are checked for a whole group before anything is
        locked: one after the other they cost a third of what each costs alone, between other work that takes the cache.
        """
        admitted = [self._admits(arrival) for arrival in arrivals]
        counted = iter(self._count_admitted([arrival for arrival, may in zip(arrivals, admitted, strict=True) if may]))
        return [next(counted) if may else FORGED for may in admitted]

    def _admits(self, arrival: Arrival) -> bool:
        """Whether the contract names no issuer, or the issuer signed the token that the submission's id was taken from."""
        checker = self.contract.tokens
        return checker is None or (checker.accepts(arrival.token) and arrival.token.startswith(arrival.id))

    def _count_admitted(self, arrivals: Sequence[Arrival]) -> list[str]:
        """The outcome of each submission, all of whose senders may take part."""
        self.turned = False
        if not arrivals:
            return []
        try:
            with self.writing() as connection:
                outcomes, held = self._counted(connection, arrivals)
            self.turned = self._held is None or self._held[0].round != held[0].round
            self._held = held
            return outcomes
        except BaseException:
            self._held = None  # what is in memory may be ahead of what is stored
            raise

    def _counted(
        self, connection: Connection, arrivals: Sequence[Arrival]
    ) -> tuple[list[str], tuple[Tally, dict[int, Sum]]]:
        standing, before = schema.locked(connection, [arrival.id for arrival in arrivals])
        current, known = Tally(*standing), set(before)
        totals = self._totals(connection, current)
        outcomes, fresh = [], []
        for arrival in arrivals:
            repeated = arrival.id in known
            outcomes.append(REPEATED if repeated else COUNTED)
            if not repeated:
                known.add(arrival.id)
                fresh.append((len(outcomes) - 1, arrival))
        ends = self.contract.ends
        number, people = current.round, current.people
        added: list[AddedSum] = []
        counted: list[tuple[bytes, int]] = []
        while fresh and number <= len(ends):
            in_round, fresh = fresh[: ends[number - 1] - people], fresh[ends[number - 1] - people :]
            added += self._added(number, totals, [arrival for _, arrival in in_round])
            counted += [(arrival.id, number) for _, arrival in in_round]
            people += len(in_round)
            if people == ends[number - 1]:
                number, totals = number + 1, {}
        for place, _ in fresh:
            outcomes[place] = ENDED
        if not counted:
            return outcomes, (current, totals)
        moved = Tally(number, people, current.version + 1)
        schema.write(connection, added, counted, moved)
        return outcomes, (moved, totals)

    def _added(self, number: int, totals: dict[int, Sum], arrivals: Sequence[Arrival]) -> Iterator[AddedSum]:
        """This process's sums of a round, by the policy that people followed, after more reports; those that changed."""
        groups: dict[int, list[Checked]] = {}
        for arrival in arrivals:
            groups.setdefault(min(number, max(arrival.followed, number - LATE_ROUNDS + 1)), []).append(arrival.report)
        for followed, reports in groups.items():
            total = totals[followed].copy() if followed in totals else Sum.empty(self.contract.design)
            total.merge(self._pile.total(reports))
            totals[followed] = total
            yield AddedSum(number, followed, self._shard, total.to_bytes())

    def _totals(self, connection: Connection, current: Tally) -> dict[int, Sum]:
        """What this process has added to the open round, whose tally is locked: from memory, if it is there."""
        if self._held is not None and self._held[0].round == current.round:
            return dict(self._held[1])
        own = (sums.c.round == current.round) & (sums.c.shard == self._shard)
        rows = connection.execute(select(sums.c.followed, sums.c.total).where(own)).all()
        return {followed: Sum.from_bytes(bytes(raw), self.contract.design) for followed, raw in rows}

    def tally(self) -> Tally:
        """The round that is counted into, and all users so far."""
        with self._engine.begin() as connection:
            return Tally(*connection.execute(select(tally.c.round, tally.c.people, tally.c.version)).one())

    def touch(self) -> None:
        """Commit what is there already, as counting would: locked, written and on disk, or it raises."""
        with self.writing() as connection:
            connection.execute(_TOUCHED)

    def look(self) -> tuple[int, int]:
        """The number of the last round that was opened, 0 if there is none, and the one that is counted into: for those who look
        again and again whether there is anything to do."""
        with self._engine.begin() as connection:
            opened, counting = connection.execute(_LOOK).one()
        return opened or 0, counting

    def newest(self) -> SignedHead | None:
        """The head of the last round that was opened."""
        with self._engine.begin() as connection:
            query = select(heads.c.data, heads.c.signature).order_by(heads.c.number.desc()).limit(1)
            row = connection.execute(query).first()
        return None if row is None else SignedHead(bytes(row[0]), bytes(row[1]))

    def head(self, number: int) -> SignedHead | None:
        """The head of a round."""
        with self._engine.begin() as connection:
            query = select(heads.c.data, heads.c.signature).where(heads.c.number == number)
            row = connection.execute(query).first()
        return None if row is None else SignedHead(bytes(row[0]), bytes(row[1]))

    def release(self, number: int) -> bytes | None:
        """The release that closed a round."""
        with self._engine.begin() as connection:
            raw = connection.execute(select(releases.c.data).where(releases.c.number == number)).scalar()
        return None if raw is None else bytes(raw)

    def policy(self, digest: str) -> bytes | None:
        """A policy by its hash."""
        return self._by_digest(policies, digest)

    def question(self, digest: str) -> bytes | None:
        """What people of a round are asked, by its hash."""
        return self._by_digest(questions, digest)

    def _by_digest(self, table: Table, digest: str) -> bytes | None:
        with self._engine.begin() as connection:
            raw = connection.execute(select(table.c.data).where(table.c.digest == digest)).scalar()
        return None if raw is None else bytes(raw)

    def state(self, number: int) -> tuple[bytes, bytes]:
        """Where the learner stood when a round was opened, and the sum of every user before it."""
        with self._engine.begin() as connection:
            query = select(states.c.state, states.c.total).where(states.c.number == number)
            state, before = connection.execute(query).one()
        return bytes(state), bytes(before)

    def round_data(self, number: int) -> tuple[bytes, bytes, list[Group]]:
        """The data that a round is learned from: the learner's state, the sum of every user before it, and those of the round,
        by the policy that people followed; its own comes last."""
        state, before = self.state(number)
        with self._engine.begin() as connection:
            shards = connection.execute(select(sums.c.followed, sums.c.total).where(sums.c.round == number)).all()
            expected = {row.number: bytes(row.data) for row in connection.execute(select(expectations))}
        design = self.contract.design
        during = {number: Sum.empty(design)}
        for followed, raw in shards:
            during.setdefault(followed, Sum.empty(design)).merge(Sum.from_bytes(bytes(raw), design))
        groups = [Group(expected.get(followed, b""), during[followed].to_bytes()) for followed in sorted(during)]
        return state, before, groups

    def sums_of(self, number: int) -> dict[int, Sum]:
        """What was reported in a round that is not closed yet, by the round whose policy people followed."""
        with self._engine.begin() as connection:
            rows = connection.execute(select(sums.c.followed, sums.c.total).where(sums.c.round == number)).all()
        design, found = self.contract.design, dict[int, Sum]()
        for followed, raw in rows:
            found.setdefault(followed, Sum.empty(design)).merge(Sum.from_bytes(bytes(raw), design))
        return found

    def rows_so_far(self, number: int, rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many answered each row in the rounds before this one, and how many would have on average."""
        raw = self._value(f"rows {number - 1}")
        both = np.zeros((2, rows)) if raw is None else np.frombuffer(raw, dtype="<f8").reshape(2, rows)
        return both[0].copy(), both[1].copy()

    def keep_rows(self, number: int, people: NDArray[np.generic], expected: NDArray[np.generic]) -> None:
        """Store them up to this round, in place of those up to the one before the last."""
        self._keep_value(f"rows {number}", np.stack([people, expected]).astype("<f8").tobytes())
        with self.writing() as connection:
            connection.execute(delete(service).where(service.c.name == f"rows {number - 2}"))

    def trust_rows(self, people: NDArray[np.generic], expected: NDArray[np.generic]) -> None:
        """Store the same up to the last round in which nothing was remarkable: the published policy was learned then."""
        self._keep_value("trusted rows", np.stack([people, expected]).astype("<f8").tobytes())

    def trusted_rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """What `trust_rows` stored; None where there was no such round."""
        raw = self._value("trusted rows")
        if raw is None:
            return None
        people, expected = np.frombuffer(raw, dtype="<f8").reshape(2, -1)
        return people, expected

    def raise_alarm(self, number: int, sentence: str) -> None:
        """Store that a round holds what honest devices cannot have sent; the first alarm stays."""
        if self.alarm() is None:
            self._keep_value("alarm", f"{number} {sentence}".encode())

    def alarm(self) -> tuple[int, str] | None:
        """The round of the first alarm, and what was found in it."""
        number, _, sentence = (self._value("alarm") or b"").decode().partition(" ")
        return (int(number), sentence) if number else None

    def open(self, opening: Opening) -> bool:
        """Open a round, and close the one before it; whether it was us, since another collector may have done it."""
        head = opening.head.head
        try:
            with self.writing() as connection:
                signed = opening.head
                row = {"number": head.round, "data": signed.data, "signature": signed.signature}
                connection.execute(insert(heads).values(row))
                _keep(connection, policies, head.policy, opening.policy)
                if head.question is not None:
                    _keep(connection, questions, head.question, opening.question)
                if opening.release is not None:
                    connection.execute(insert(releases).values(number=head.round - 1, data=opening.release))
                connection.execute(insert(states).values(number=head.round, state=opening.state, total=opening.total))
                connection.execute(delete(states).where(states.c.number < head.round))
                connection.execute(insert(expectations).values(number=head.round, data=opening.expected))
                connection.execute(delete(expectations).where(expectations.c.number <= head.round - LATE_ROUNDS))
                connection.execute(delete(sums).where(sums.c.round < head.round))
                if head.ended:
                    databases.allow_long(connection)
                    connection.execute(delete(ids))
        except IntegrityError:
            return False
        return True

    def end(self, head: SignedHead) -> bool:
        """Open a last round in which nothing counts, whatever the schedule says; reports of the open one are dropped. Whether it
        was us: another collector may have closed a round meanwhile."""
        try:
            with self.writing() as connection:
                connection.execute(schema.LOCKED).one()
                row = {"number": head.head.round, "data": head.data, "signature": head.signature}
                connection.execute(insert(heads).values(row))
                connection.execute(update(tally).values(round=len(self.contract.ends) + 1))
                databases.allow_long(connection)
                for table in (sums, ids, expectations):
                    connection.execute(delete(table))
        except IntegrityError:
            return False
        return True

    def name_successor(self, digest: bytes) -> None:
        """Store which contract follows this one: every head that is signed from now on names it."""
        self._keep_value("successor", digest)

    def successor(self) -> bytes | None:
        """The digest of the contract that follows this one, if it was named."""
        return self._value("successor")

    def begin_with(self, earlier: bytes) -> None:
        """Remember what the learner begins with, by its hash, before the first round; refuse anything else afterwards."""
        self.earlier = earlier
        digest = hashlib.sha256(earlier).digest() if earlier else b""
        if self.newest() is None and self._value("earlier") is None:
            self._keep_value("earlier", digest)
        if (self._value("earlier") or b"") != digest:
            raise FormatError(
                "earlier-changed",
                "The learner began with something else than is in earlier.bin now. Put that file back as it was, or away.",
            )

    def note_published(self, number: int) -> None:
        """Store that a round was published, and written down outside the database."""
        if number > self.published():
            self._keep_value("published", number.to_bytes(8))

    def published(self) -> int:
        """The last round that was written down outside the database; 0 if none was."""
        return int.from_bytes(self._value("published") or b"")

    def _keep_value(self, name: str, value: bytes) -> None:
        with contextlib.suppress(IntegrityError), self.writing() as connection:  # another collector may be first
            connection.execute(insert(service).values(name=name, value=value))
            return
        with self.writing() as connection:
            connection.execute(update(service).where(service.c.name == name).values(value=value))

    def _value(self, name: str) -> bytes | None:
        with self._engine.begin() as connection:
            raw = connection.execute(select(service.c.value).where(service.c.name == name)).scalar()
        return None if raw is None else bytes(raw)

    def take(self, closing: SignedClosing) -> None:
        """Store a closing of the shuffler or the curator, before any client is shown what it closed into."""
        row = {"number": closing.closing.number, "data": closing.data, "signature": closing.signature}
        with contextlib.suppress(IntegrityError), self.writing() as connection:
            connection.execute(insert(closings).values(row))

    def closing(self, number: int | None = None) -> SignedClosing | None:
        """A closing that was taken; by default the last."""
        query = select(closings.c.data, closings.c.signature).order_by(closings.c.number.desc()).limit(1)
        with self._engine.begin() as connection:
            row = connection.execute(query if number is None else query.where(closings.c.number == number)).first()
        return None if row is None else SignedClosing(bytes(row[0]), bytes(row[1]))

    def exists(self) -> bool:
        """Whether there are tables."""
        return databases.holds(self._engine, self._url, "service")

    def drop(self) -> None:
        """Delete everything."""
        schema.TABLES.drop_all(self._engine)

    @property
    def kind(self) -> str:
        """`sqlite` or `postgresql`."""
        return self._engine.dialect.name

    def known_ids(self) -> int:
        """How many ids are remembered."""
        with self._engine.begin() as connection:
            return int(connection.execute(select(func.count()).select_from(ids)).scalar_one())


def _keep(connection: Connection, table: Table, digest: str, data: bytes) -> None:
    """Keep a document under its hash, if it is not there already."""
    if connection.execute(select(table.c.digest).where(table.c.digest == digest)).first() is None:
        connection.execute(insert(table).values(digest=digest, data=data))
