"""Rows in the order of person, episode and step, sorted by DuckDB, which uses the disk where memory is short."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .columns import ORDERED, Columns
from .sources import DataPart, Typed, quoted, readable


@dataclass(frozen=True)
class SortedPart(Typed):
    """All rows of several parts, sorted. What does not fit into memory lies in a temporary folder while it runs.

    order: a column whose rank within an episode, from 0, is the step `ORDERED`: rows that are tied have the same one, and
    a row without an entry has none.
    """

    parts: tuple[DataPart, ...]
    by: tuple[str, ...]
    order: str | None = None
    name: str = "the sorted rows"

    @classmethod
    def of(cls, parts: tuple[DataPart, ...], columns: Columns) -> SortedPart:
        """All rows sorted by person and episode, and then by step or by the column that orders them."""
        last = columns.order or columns.step
        by = tuple(name for name in (columns.user, columns.episode, last) if name is not None)
        return cls(parts, by, columns.order)

    def schema(self) -> Any:
        """The schema of the first part, and the step of a row if it is made here."""
        return self.parts[0].schema()

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[Any]:
        """All rows, sorted, a batch at a time."""
        import duckdb
        import pyarrow as pa

        needed = [name for name in dict.fromkeys([*columns, *self.by]) if name != ORDERED]
        with tempfile.TemporaryDirectory(prefix="confide-") as spill, duckdb.connect() as connection:
            connection.execute("SET temp_directory = ?", [spill])
            tables = []
            for number, part in enumerate(self.parts):
                batches = part.batches(needed, threads)
                first = next(batches, None)
                if first is None:
                    continue
                reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
                connection.register(f"part_{number}", reader)
                tables.append(f"SELECT * FROM part_{number}")
            if not tables:
                return
            chosen = ", ".join(self._rank() if name == ORDERED else quoted(name) for name in columns)
            order = ", ".join(map(quoted, self.by))
            query = f"SELECT {chosen} FROM ({' UNION ALL BY NAME '.join(tables)}) ORDER BY {order}"
            with readable(self.name, "a table"):
                yield from pa.RecordBatchReader.from_stream(connection.sql(query))

    def _rank(self) -> str:
        """The step of a row: how many different entries of its episode come before its own."""
        column, among = quoted(self.order or ""), ", ".join(map(quoted, self.by[:-1]))
        place = f"dense_rank() OVER (PARTITION BY {among} ORDER BY {column}) - 1"
        present = f"{column} IS NOT NULL AND CAST({column} AS VARCHAR) <> 'nan'"
        return f"CASE WHEN {present} THEN {place} END AS {quoted(ORDERED)}"
