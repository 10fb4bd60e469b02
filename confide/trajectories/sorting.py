"""Rows in the order of person, episode and step, sorted by DuckDB, which uses the disk where memory is short."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .sources import Part, quoted, readable


@dataclass(frozen=True)
class SortedPart:
    """All rows of several parts, sorted. What does not fit into memory lies in a temporary folder while it runs."""

    parts: tuple[Part, ...]
    by: tuple[str, ...]
    name: str = "the sorted rows"

    def schema(self) -> Any:
        """Of the first part."""
        return self.parts[0].schema()

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[Any]:
        """Sorted batches."""
        import duckdb
        import pyarrow as pa

        needed = list(dict.fromkeys([*columns, *self.by]))
        with tempfile.TemporaryDirectory(prefix="confide-") as spill, duckdb.connect() as connection:
            connection.execute("SET temp_directory = ?", [spill])
            tables = []
            for number, part in enumerate(self.parts):
                found = part.batches(needed, threads)
                first = next(found, None)
                if first is None:
                    continue
                reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], found))
                connection.register(f"part_{number}", reader)
                tables.append(f"SELECT * FROM part_{number}")
            if not tables:
                return
            chosen, order = (", ".join(map(quoted, names)) for names in (columns, self.by))
            query = f"SELECT {chosen} FROM ({' UNION ALL BY NAME '.join(tables)}) ORDER BY {order}"
            with readable(self.name, "a table"):
                yield from pa.RecordBatchReader.from_stream(connection.sql(query))
