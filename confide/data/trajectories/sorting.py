"""Rows in the order of person, episode and step, sorted by DuckDB, which uses the disk where memory is short."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from .columns import ORDERED, Columns
from .keys import named
from .kinds import kind_of_type
from .sources import DataPart, Typed, quoted, readable
from .text_order import IN_ORDER, TextOrder

if TYPE_CHECKING:
    import pyarrow as pa


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

    @property
    def files(self) -> tuple[str, ...]:
        """The files of all parts."""
        return tuple(file for part in self.parts for file in part.files)

    def schema(self) -> pa.Schema:
        """The schema of the first part, and the step of a row if it is made here."""
        return self.parts[0].schema()

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
        """All rows, sorted, a batch at a time."""
        import duckdb
        import pyarrow as pa
        import pyarrow.compute as pc

        needed = [name for name in dict.fromkeys([*columns, *self.by]) if name != ORDERED]
        with tempfile.TemporaryDirectory(prefix="confide-") as spill, duckdb.connect() as connection:
            connection.execute("SET temp_directory = ?", [spill])
            tables, form = list[str](), None
            for number, part in enumerate(self.parts):
                batches = (self._named(batch) for batch in part.batches(needed, threads))
                first = next(batches, None)
                if first is None:
                    continue
                form = form or self._form(first)
                reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
                connection.register(f"part_{number}", reader)
                tables.append(f"SELECT * FROM part_{number}")
            if not tables:
                return
            query = self._query(columns, f"({' UNION ALL BY NAME '.join(tables)})", form)
            with readable(self.name, "a table"):
                for batch in pa.RecordBatchReader.from_stream(connection.sql(query)):
                    if form is not None:
                        form.check(pc.all(batch.column(IN_ORDER)).as_py() is not False)
                    yield batch.select(list(columns))

    def _named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch in which people and episodes have their names in one form, so that their rows come to stand together."""
        for column in self.by[:-1]:
            batch = batch.set_column(batch.schema.get_field_index(column), column, named(batch.column(column)))
        return batch

    def _form(self, batch: pa.RecordBatch) -> TextOrder | None:
        """The form of the texts that rows are ordered by, as the first of them has it; None for numbers and times."""
        if self.order is None or kind_of_type(batch.schema.field(self.order).type) != "text":
            return None
        first = next((entry.as_py() for entry in batch.column(self.order) if entry.is_valid), None)
        return None if first is None else TextOrder.of(self.order, str(first))

    def _query(self, columns: Sequence[str], rows: str, form: TextOrder | None) -> str:
        """The SQL of these columns of all rows, sorted."""
        last = quoted(self.by[-1])
        key = last if form is None else form.key(last)
        chosen = [self._rank(key) if name == ORDERED else quoted(name) for name in columns]
        chosen += [] if form is None else [f"{form.kept(last)} AS {quoted(IN_ORDER)}"]
        among = ", ".join(map(quoted, self.by[:-1]))
        return f"SELECT {', '.join(chosen)} FROM {rows} ORDER BY {among}, {key}"

    def _rank(self, key: str) -> str:
        """The step of a row: how many different entries of its episode come before its own. key: what they are ordered by."""
        column, among = quoted(self.order or ""), ", ".join(map(quoted, self.by[:-1]))
        place = f"dense_rank() OVER (PARTITION BY {among} ORDER BY {key}) - 1"
        present = f"{column} IS NOT NULL AND CAST({column} AS VARCHAR) <> 'nan'"
        return f"CASE WHEN {present} THEN {place} END AS {quoted(ORDERED)}"
