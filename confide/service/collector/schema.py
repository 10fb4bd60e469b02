"""The tables of a collector, and the statements that its store executes.

There are as few statements for a group of submissions as each kind of database allows.
Postgres is a conversation, in which every turn costs both sides as much as twenty submissions: so ids go as one array, all that is
written goes in one statement, and there are two turns: begin, lock and look; write and commit. Statements of a turn go together and
are answered together, but run one after the other, each with a snapshot of its own: what is known of ids is asked once the lock is
held, or what another collector wrote meanwhile would not be seen. SQLite is a library, to which a statement more costs little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    bindparam,
    insert,
    select,
    update,
)

if TYPE_CHECKING:
    import psycopg

VERSION = b"1"
TABLES = MetaData()

service = Table("service", TABLES, Column("name", String(40), primary_key=True), Column("value", LargeBinary))
"""What the tables are for: `schema`, their version; `contract`, its hash; `published`, the last round that was."""

tally = Table(
    "tally",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("round", Integer, nullable=False),
    Column("people", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
)
"""One row, locked by the counting process: the round that is counted into, all users so far, and how often it was changed."""

sums = Table(
    "sums",
    TABLES,
    Column("round", Integer, primary_key=True),
    Column("followed", Integer, primary_key=True, autoincrement=False),
    Column("shard", String(16), primary_key=True),
    Column("total", LargeBinary, nullable=False),
)
"""What was reported in each round that is not closed yet, by the round whose policy people followed and by the process that
counted: no transaction reads what another adds to."""

ids = Table(
    "ids",
    TABLES,
    Column("id", LargeBinary(16), primary_key=True),
    Column("round", Integer, nullable=False),
    sqlite_with_rowid=False,
)
"""Reports that were counted."""


def _signed(name: str) -> Table:
    """A table of signed documents, by number."""
    parts = (Column(part, LargeBinary, nullable=False) for part in ("data", "signature"))
    return Table(name, TABLES, Column("number", Integer, primary_key=True), *parts)


heads, closings = _signed("heads"), _signed("taken_closings")
"""Those of the collector; and of a shuffler or curator those that were taken: no other party's word counts for what came before. A
curator in the same database has a table `closings` of its own."""
releases = Table(
    "releases", TABLES, Column("number", Integer, primary_key=True), Column("data", LargeBinary, nullable=False)
)
policies = Table(
    "policies", TABLES, Column("digest", String(64), primary_key=True), Column("data", LargeBinary, nullable=False)
)
questions = Table(
    "questions", TABLES, Column("digest", String(64), primary_key=True), Column("data", LargeBinary, nullable=False)
)
"""What people are asked, where that changes from round to round."""
states = Table(
    "states",
    TABLES,
    Column("number", Integer, primary_key=True),
    Column("state", LargeBinary, nullable=False),
    Column("total", LargeBinary, nullable=False),
)
"""Where the learner stood when a round was opened, and the sum of every user before it; only the last is kept."""

expectations = Table(
    "expectations", TABLES, Column("number", Integer, primary_key=True), Column("data", LargeBinary, nullable=False)
)
"""The visits expected of a user who follows a round's policy, for learners that weigh people by them; only of the last rounds."""


POSTGRES = "postgresql"

LOCKED = select(tally.c.round, tally.c.people, tally.c.version).with_for_update()
_MOVED = update(tally).values(
    round=bindparam("to_round"), people=bindparam("to_people"), version=bindparam("to_version")
)
_KNOWN = select(ids.c.id).where(ids.c.id.in_(bindparam("numbers", expanding=True)))
_LOCKED_ROW = "SELECT round, people, version FROM tally FOR UPDATE"
_KNOWN_OF_ARRAY = "SELECT id FROM ids WHERE id = ANY(%s)"
_COUNTED = insert(ids)
_ADDED = (
    update(sums)
    .where(
        sums.c.round == bindparam("of_round"),
        sums.c.followed == bindparam("of_followed"),
        sums.c.shard == bindparam("of_shard"),
    )
    .values(total=bindparam("to_total"))
)
_TOGETHER = """
WITH added AS (
    INSERT INTO sums (round, followed, shard, total)
    SELECT * FROM unnest(%s::integer[], %s::integer[], %s::varchar[], %s::bytea[])
    ON CONFLICT (round, followed, shard) DO UPDATE SET total = EXCLUDED.total
), counted AS (
    INSERT INTO ids (id, round) SELECT * FROM unnest(%s::bytea[], %s::integer[])
)
UPDATE tally SET round = %s, people = %s, version = %s
"""


class AddedSum(NamedTuple):
    """One process's sum of the reports of a round by people who followed one policy, all of them so far."""

    round: int
    followed: int
    shard: str
    total: bytes


def locked(connection: Connection, numbers: Sequence[bytes]) -> tuple[tuple[int, int, int], list[bytes]]:
    """Where counting stands (round, people, version), locked until the transaction ends; and which ids were counted before."""
    if connection.dialect.name == POSTGRES:
        talking = _conversation(connection)
        with talking.pipeline():
            standing = talking.execute(_LOCKED_ROW)
            rows = talking.execute(_KNOWN_OF_ARRAY, (list(numbers),))
        return _standing(standing.fetchone()), [bytes(number) for (number,) in rows.fetchall()]
    row = connection.execute(LOCKED).one()
    return _standing(row), [
        bytes(number) for number in connection.execute(_KNOWN, {"numbers": list(numbers)}).scalars()
    ]


def write(
    connection: Connection, added: Sequence[AddedSum], counted: Sequence[tuple[bytes, int]], moved: tuple[int, int, int]
) -> None:
    """Write sums as they are now, ids with the rounds they were counted in, and where counting stands: round, people, version.

    Nothing may be written after it in the same transaction: on Postgres it is committed when this returns."""
    if connection.dialect.name == POSTGRES:
        columns = [list(column) for rows in (added, counted) for column in zip(*rows, strict=True)]
        talking = _conversation(connection)
        with talking.pipeline():
            talking.execute(_TOGETHER, (*columns, *moved))
            talking.commit()
        return
    for row_added in added:
        row = dict(zip(("of_round", "of_followed", "of_shard", "to_total"), row_added, strict=True))
        if connection.execute(_ADDED, row).rowcount == 0:
            connection.execute(insert(sums).values(row_added._asdict()))
    connection.execute(_COUNTED, [{"id": number, "round": of} for number, of in counted])
    connection.execute(_MOVED, dict(zip(("to_round", "to_people", "to_version"), moved, strict=True)))


def _conversation(connection: Connection) -> psycopg.Connection[tuple[Any, ...]]:
    """Postgres' own connection, inside the same transaction."""
    return cast("psycopg.Connection[tuple[Any, ...]]", connection.connection.driver_connection)


def _standing(row: Sequence[int] | None) -> tuple[int, int, int]:
    assert row is not None
    number, people, version = row
    return int(number), int(people), int(version)
