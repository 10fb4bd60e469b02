"""The tables of a process that issues tickets and closes batches. Nothing in them depends on what an open batch holds."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Integer, LargeBinary, MetaData, String, Table

VERSION = 2
TABLES = MetaData()

desk = Table(
    "desk",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("contract", LargeBinary(32), nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("started", Float, nullable=False),
    Column("batch", Integer, nullable=False),
    Column("place", Integer, nullable=False),
    Column("round", Integer, nullable=False),
)
"""One row, which a process that changes anything has locked: whose turn it is (the epoch, and when it began), the batch that
tickets are issued for, its next free place, and the newest round that is known."""

batches = Table(
    "batches",
    TABLES,
    Column("number", Integer, primary_key=True),
    Column("round", Integer, nullable=False),
    Column("filled", Float),
    Column("closing", Integer),
    Column("more", Integer, nullable=False, server_default="0"),
    Column("given", Integer, nullable=False, server_default="0"),
)
"""Which round's policy a batch follows, when its last ticket was issued, and which closing was its own. more: tickets beyond those
that the contract names, since too few holders came; given: how many of these were issued."""

spent = Table(
    "spent",
    TABLES,
    Column("nonce", LargeBinary(32), primary_key=True),
    Column("batch", Integer, nullable=False),
    Column("place", Integer, nullable=False),
    Column("round", Integer, nullable=False),
    sqlite_with_rowid=False,
)
"""Tokens that were spent, by their nonce, which no issuer has seen, and the one place that each was given."""

closings = Table(
    "closings",
    TABLES,
    Column("number", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("shown", Float, nullable=False),
    Column("state", LargeBinary),
)
"""Signed closings, what they closed into, and from when on that is shown. state: sealed, and of the last one only."""

announced = Table(
    "announced",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("received", Integer, nullable=False),
)
"""One row: the newest signed head that the collector has shown, and the number of the last closing that it has stored; the body of
a closing is shown to no client before that."""

lease = Table(
    "lease",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("beat", BigInteger, nullable=False),
    Column("address", String(400), nullable=False),
)
"""One row: how often the process with the newest epoch has said that it lives, and where it is reached; empty if it let go."""
