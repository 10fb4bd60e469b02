"""The SQL statements for every group of letters, as few as each kind of database allows.

Postgres is a conversation: every statement costs both sides as much as twenty letters, so ids go as one array, and all that is
written goes in one statement. It must be three, not two: what is known of ids is asked after the lock is held, or what another
collector wrote meanwhile would not be seen. SQLite is a library, to which a statement more costs little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from .schema import ids, sums, tally

POSTGRES = "postgresql"

LOCKED = select(tally.c.round, tally.c.people, tally.c.version).with_for_update()
_MOVED = update(tally).values(
    round=bindparam("to_round"), people=bindparam("to_people"), version=bindparam("to_version")
)
_KNOWN = select(ids.c.id).where(ids.c.id.in_(bindparam("numbers", expanding=True)))
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


def known(connection: Connection, numbers: Sequence[bytes]) -> list[bytes]:
    """The ids that were counted before."""
    if connection.dialect.name == POSTGRES:
        rows = connection.exec_driver_sql(_KNOWN_OF_ARRAY, (list(numbers),))
    else:
        rows = connection.execute(_KNOWN, {"numbers": list(numbers)})
    return [bytes(number) for number in rows.scalars()]


def write(
    connection: Connection, added: Sequence[AddedSum], counted: Sequence[tuple[bytes, int]], moved: tuple[int, int, int]
) -> None:
    """Write sums as they are now, ids with the rounds they were counted in, and where counting stands: round, people, version."""
    if connection.dialect.name == POSTGRES:
        columns = [list(column) for rows in (added, counted) for column in zip(*rows, strict=True)]
        connection.exec_driver_sql(_TOGETHER, (*columns, *moved))
        return
    for row_added in added:
        row = dict(zip(("of_round", "of_followed", "of_shard", "to_total"), row_added, strict=True))
        if connection.execute(_ADDED, row).rowcount == 0:
            connection.execute(insert(sums).values(row_added._asdict()))
    connection.execute(_COUNTED, [{"id": number, "round": of} for number, of in counted])
    connection.execute(_MOVED, dict(zip(("to_round", "to_people", "to_version"), moved, strict=True)))
