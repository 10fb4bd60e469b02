"""Copies of a server's database: whole and consistent, taken while it is served."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Engine, MetaData, insert, inspect, select

from ...errors import InvalidInput
from . import databases

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
            databases.allow_long(before)
        databases.allow_long(after)
        for table in chosen:
            table.create(after)
            for rows in before.execute(select(table)).mappings().partitions(ROWS):
                after.execute(insert(table), [dict(row) for row in rows])
