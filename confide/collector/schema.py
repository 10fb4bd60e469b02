"""The tables of a collector, and how they are reached: SQLite in the service's folder, or Postgres by its address."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from sqlalchemy import BigInteger, Column, Engine, Integer, LargeBinary, MetaData, String, Table, create_engine, event

from ..errors import InvalidInput

VERSION = b"3"
TABLES = MetaData()

service = Table("service", TABLES, Column("name", String(40), primary_key=True), Column("value", LargeBinary))
"""What the tables are for: `schema`, their version, and `contract`, its hash."""

tally = Table(
    "tally",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("round", Integer, nullable=False),
    Column("people", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
)
"""One row, which whoever counts has locked: the round that is counted into, everybody so far, and how often it was changed."""

sums = Table(
    "sums",
    TABLES,
    Column("round", Integer, primary_key=True),
    Column("followed", Integer, primary_key=True, autoincrement=False),
    Column("shard", String(16), primary_key=True),
    Column("total", LargeBinary, nullable=False),
)
"""What was reported in each round that is not closed yet, by the round whose policy people followed and by the process that
counted: nobody reads what another adds to."""

ids = Table(
    "ids",
    TABLES,
    Column("id", LargeBinary(16), primary_key=True),
    Column("round", Integer, nullable=False),
    sqlite_with_rowid=False,
)
"""Reports that were counted."""

heads = Table(
    "heads",
    TABLES,
    Column("number", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
)
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
"""Where the learner stood when a round was opened, and the sum of everybody before it; only the last is kept."""

expectations = Table(
    "expectations", TABLES, Column("number", Integer, primary_key=True), Column("data", LargeBinary, nullable=False)
)
"""The visits expected of whoever follows a round's policy, for learners that weigh people by them; only of the last rounds."""


def connect(url: str) -> Engine:
    """An engine for `sqlite:///...` or `postgresql://...`."""
    if url.startswith("sqlite:///"):
        return _sqlite(url)
    for start in ("postgresql://", "postgres://"):
        if url.startswith(start):
            return create_engine(
                "postgresql+psycopg://" + url.removeprefix(start),
                pool_size=4,
                connect_args={"connect_timeout": 5},
            )
    raise InvalidInput("--database must be an address such as sqlite:///path or postgresql://user@host/name.")


def _sqlite(url: str) -> Engine:
    """Committed is on disk: a write-ahead log, flushed at every commit; a writer takes the lock before it reads.

    The file is its owner's only, and so are those that SQLite puts beside it.
    """
    with contextlib.suppress(OSError):  # whatever is wrong with it, connecting says
        os.close(os.open(url.removeprefix("sqlite:///"), os.O_CREAT | os.O_RDWR, 0o600))
    engine = create_engine(url, pool_size=4, connect_args={"check_same_thread": False, "timeout": 10.0})

    @event.listens_for(engine, "connect")
    def _opened(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say
        cursor = connection.cursor()
        for line in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            cursor.execute(f"PRAGMA {line}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begun(connection: Any) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
