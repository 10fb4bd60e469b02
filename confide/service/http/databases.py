"""Databases of servers: SQLite in the service's folder, where committed is on disk, or Postgres by its address.

Every wait has an end. A process that is frozen, or cut off, while it holds the row that is counted in is idle inside a transaction:
Postgres ends that after `IDLE` seconds, so the next in line, who waits for a lock for at most `LOCK` seconds, has it. A file has no
server that could end a transaction: with SQLite the wait ends with a refusal, and counting goes on when the lock is free.

Copies of a database are whole and consistent, and taken while it is served.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, MetaData, create_engine, event, insert, inspect, select
from sqlalchemy.exc import OperationalError

from ...errors import FormatError, InvalidInput

if TYPE_CHECKING:
    import sqlite3

    import psycopg

SQLITE = "sqlite:///"
IDLE, LOCK, STATEMENT = 3.0, 4.0, 4.5
"""Seconds that a transaction may stand idle, that a lock is waited for, and that a statement may take."""
LONG = 120.0
"""Seconds that a statement may take where many rows are deleted, once a round."""
_SESSION = {"idle_in_transaction_session_timeout": IDLE, "lock_timeout": LOCK, "statement_timeout": STATEMENT}
_NETWORK = {
    "connect_timeout": 4,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    "tcp_user_timeout": 4000,
}
"""How soon a server that is cut off is given up: seconds, and milliseconds for the last."""


def connect(url: str) -> Engine:
    """An engine for `sqlite:///...` or `postgresql://...`; a file that is damaged is refused, and nothing is written."""
    if url.startswith(SQLITE):
        _check_sound(Path(url.removeprefix(SQLITE)))
        return _sqlite(url)
    for start in ("postgresql://", "postgres://"):
        if url.startswith(start):
            return _postgres("postgresql+psycopg://" + url.removeprefix(start))
    raise InvalidInput(
        "database-address", "--database must be an address such as sqlite:///path or postgresql://user@host/name."
    )


def _postgres(url: str) -> Engine:
    """Every session ends its own waits, and the server those of a session that is not heard of any more."""
    engine = create_engine(url, pool_size=4, pool_timeout=LOCK, hide_parameters=True, connect_args=_NETWORK)

    @event.listens_for(engine, "connect")
    def _opened(connection: psycopg.Connection, record: object) -> None:
        settings = "; ".join(f"SET {name} = {round(1000 * seconds)}" for name, seconds in _SESSION.items())
        connection.execute(settings)
        connection.commit()

    return engine


def allow_long(connection: Connection) -> None:
    """Let the statements of one transaction take longer, since they touch many rows."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {round(1000 * LONG)}")


def _sqlite(url: str) -> Engine:
    """Committed is on disk: a write-ahead log, flushed at every commit; a writer takes the lock before it reads.

    The file is its owner's only, and so are those that SQLite puts beside it.
    """
    engine = create_engine(
        url, pool_size=4, pool_timeout=LOCK, connect_args={"check_same_thread": False, "timeout": LOCK}
    )

    @event.listens_for(engine, "do_connect")
    def _private(*given: object) -> None:
        with contextlib.suppress(OSError):  # whatever is wrong with it, connecting says
            os.close(os.open(url.removeprefix(SQLITE), os.O_CREAT | os.O_RDWR, 0o600))

    @event.listens_for(engine, "connect")
    def _opened(connection: sqlite3.Connection, record: object) -> None:
        connection.isolation_level = None  # transactions begin where we say
        cursor = connection.cursor()
        for line in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            cursor.execute(f"PRAGMA {line}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def holds(engine: Engine, url: str, table: str) -> bool:
    """Whether a database holds a table; a file that is not there, or empty, is not made by looking."""
    if url.startswith(SQLITE):
        path = Path(url.removeprefix(SQLITE))
        if not path.is_file() or not path.stat().st_size:
            return False
    try:
        return inspect(engine).has_table(table)
    except OperationalError as error:
        reason = type(error.orig).__name__ if error.orig is not None else "no reason given"
        raise InvalidInput(
            "database-unreachable",
            f"The database does not respond ({reason}). Is it running, and are address, user and password right?",
        ) from error


def _check_sound(path: Path) -> None:
    """Refuse a file that is cut off, damaged, or no database at all."""
    if not path.is_file() or not path.stat().st_size:
        return
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            (pages,), (size,) = (connection.execute(f"PRAGMA page_{what}").fetchone() for what in ("count", "size"))
            log = path.with_name(path.name + "-wal")
            if path.stat().st_size < pages * size and not (log.is_file() and log.stat().st_size):
                found = f"{path.stat().st_size} of {pages * size} bytes"
    except sqlite3.OperationalError:
        return  # it cannot be opened to look: connecting says why
    except sqlite3.DatabaseError as error:
        found = str(error)
    if found != "ok":
        reason = " ".join(found.split())
        raise FormatError(
            "database-damaged",
            f"{path} is damaged or cut off ({reason}). Restore a whole copy of it; nothing was written.",
        )


ROWS = 1000
"""Rows that are copied at a time."""


def copy_file(source: Path, target: Path) -> None:
    """Copy a SQLite file as of one moment, while others write to it; the copy is its owner's only."""
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with (
        contextlib.closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True, timeout=10)) as before,
        contextlib.closing(sqlite3.connect(target)) as after,
    ):
        before.backup(after)
        after.execute("PRAGMA journal_mode=DELETE")


def copy_tables(source: Engine, target: Engine, tables: Sequence[MetaData]) -> None:
    """Copy the tables that are there, as of one moment, into a database that has none of them yet; all of them or nothing."""
    there = set(inspect(source).get_table_names())
    taken = set(inspect(target).get_table_names())
    chosen = [table for part in tables for table in part.sorted_tables if table.name in there]
    if any(table.name in taken for table in chosen):
        raise InvalidInput(
            "database-not-empty",
            "The database holds a service already. Give an empty one, or delete what it holds first.",
        )
    with source.connect() as before, target.execution_options(writes=True).begin() as after:
        if before.dialect.name == "postgresql":
            before.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            allow_long(before)
        allow_long(after)
        for table in chosen:
            table.create(after)
            for rows in before.execute(select(table)).mappings().partitions(ROWS):
                after.execute(insert(table), [dict(row) for row in rows])
