"""The order of rows: who came after whom is what is learned from, so it must be vouched for, or a column says it.

Rows are sorted by person, episode and step by DuckDB, which uses the disk where memory is short. Texts that rows are ordered by
come as their numbers say, or as days and times in the form of ISO 8601. Sorted by characters visit10 comes before visit2, and
02.01.2026 before 31.12.2025. So texts are taken only where their order is plain: all are one text around one number, or all are
days (and times) of one length that begin with the year.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from ...errors import InvalidInput
from .columns import FLAGGED, ORDERED, Columns
from .dataset import ONE, Users
from .flags import EachRowPart, FlaggedPart
from .keys import named
from .kinds import kind_of_type
from .sources import DataPart, Typed, quoted, readable

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class RowOrder:
    """How rows come into order. sort: by person, episode and step. by: a column that orders the rows of an episode, where none
    tells the step. vouched: they stand in order already, on the user's word.
    """

    sort: bool = False
    by: str | None = None
    vouched: bool = False

    def check(self, columns: Columns, users: Users, horizon: int) -> None:
        """Refuse rows whose order is not vouched for."""
        if columns.by_row and users.mode != ONE:
            raise InvalidInput(
                "user-column-missing",
                "No column tells people apart, so every row is taken for a person of its own, who cannot have several. Name "
                "the column that does: --columns user=NAME.",
            )
        if self.sort and columns.episode == FLAGGED:
            raise InvalidInput(
                "sort-with-flags",
                "Episodes that flags tell apart are known by the order of their rows, which sorting would lose. Name a column "
                "that tells the episode (--columns episode=NAME), or leave --sort out.",
            )
        if self.vouched and columns.order is not None:
            raise InvalidInput(
                "order-twice",
                "Rows are ordered by a column, or stand in order already. Leave out --order-by or --in-order.",
            )
        if self.sort and columns.step is None:
            raise InvalidInput(
                "sort-loses-order",
                "Sorting by person alone would lose the order of their rows. Name the column that tells it: --order-by COLUMN.",
            )
        if users.mode != ONE and columns.step is None:
            raise InvalidInput(
                "step-column-needed",
                "Where people have several episodes, rows must tell their step. Name it: --columns step=NAME.",
            )
        if users.mode != ONE and columns.order is not None and columns.episode is None:
            raise InvalidInput(
                "episode-column-needed",
                "Where people have several episodes, rows ordered by a column must name theirs. Say --columns episode=NAME.",
            )
        if horizon > 1 and columns.step is None and not columns.next_state and not self.vouched:
            raise InvalidInput(
                "order-unsaid",
                "Rows tell neither their step nor their next state, so nothing shows in which order they happened. Name a "
                "column that does (--order-by COLUMN), or vouch for the order in which they stand (--in-order).",
            )

    def arranged(self, parts: tuple[DataPart, ...], columns: Columns, horizon: int) -> tuple[DataPart, ...]:
        """The parts with a person for each row, sorted, or with episodes distinguished by their flags, as the columns need it."""
        if columns.by_row:
            parts = tuple(EachRowPart(part, number) for number, part in enumerate(parts))
        elif self.sort or columns.order is not None:
            parts = (SortedPart.of(parts, columns),)
        if columns.flags:
            parts = tuple(FlaggedPart(part, number, columns, horizon) for number, part in enumerate(parts))
        return parts


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


IN_ORDER = "confide: in the form of all"
"""A column of no file: whether the text that orders a row has the form of the first."""

ONE_NUMBER = re.compile(r"(\D*)(\d{1,18})(\D*)", re.ASCII)
ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)


@dataclass(frozen=True)
class TextOrder:
    """The form that all texts of a column must have. form: a pattern of the whole text, whose group is the number that
    orders it, if `numbered`.
    """

    column: str
    form: str
    numbered: bool

    @classmethod
    def of(cls, column: str, text: str) -> TextOrder:
        """The form of a column whose first text is `text`; refused if that has none that says what comes before what."""
        one = ONE_NUMBER.fullmatch(text.strip())
        if one and one[1].strip() not in ("-", "+"):
            return cls(column, rf"\s*{re.escape(one[1])}(\d{{1,18}}){re.escape(one[3])}\s*", True)
        iso = ISO.fullmatch(text.strip())
        if not iso:
            raise cls._refusal(column)
        zone = iso[4] or ""
        moment = re.sub(r"\d", "0", text.strip().removesuffix(zone))
        return cls(column, re.escape(moment).replace("0", r"\d") + re.escape(zone), False)

    def key(self, column: str) -> str:
        """The SQL of what rows are sorted by. column: as SQL takes it."""
        return f"CAST(nullif(regexp_extract({column}, {self._pattern}, 1), '') AS BIGINT)" if self.numbered else column

    def kept(self, column: str) -> str:
        """The SQL of whether a row has that form, or no text at all."""
        return f"coalesce(regexp_full_match({column}, {self._pattern}), true)"

    def check(self, kept: bool) -> None:
        """Refuse rows of which not all have the form."""
        if not kept:
            raise self._refusal(self.column)

    @property
    def _pattern(self) -> str:
        return "'" + self.form.replace("'", "''") + "'"

    @staticmethod
    def _refusal(column: str) -> InvalidInput:
        return InvalidInput(
            "order-texts",
            f"Texts that rows are ordered by must be one text around a number, like visit2 and visit10, or days like 2026-01-31. "
            f"Those of {column!r} are not. Order by a number or a time, or name a column of steps (--columns step=NAME).",
        )
