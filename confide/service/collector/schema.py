"""The tables of a collector."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, String, Table

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


def _signed(name: str) -> Table:
    """A table of signed documents, by number."""
    parts = (Column(part, LargeBinary, nullable=False) for part in ("data", "signature"))
    return Table(name, TABLES, Column("number", Integer, primary_key=True), *parts)


heads, closings = _signed("heads"), _signed("taken_closings")
"""Those of the collector; and of a shuffler or curator those that were taken: nobody else's word counts for what came before. A
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
"""Where the learner stood when a round was opened, and the sum of everybody before it; only the last is kept."""

expectations = Table(
    "expectations", TABLES, Column("number", Integer, primary_key=True), Column("data", LargeBinary, nullable=False)
)
"""The visits expected of whoever follows a round's policy, for learners that weigh people by them; only of the last rounds."""
