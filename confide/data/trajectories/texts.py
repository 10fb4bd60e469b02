"""Text tables (CSV and its relatives) as Arrow batches: a file is read once for its quotation marks, and once for its rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ...errors import FormatError
from .sources import readable
from .text_forms import COMMA, DELIMITERS, GROUPED, POINT, TextForm, looked_at, not_utf8

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv

BLOCK = 1 << 22
"""How many bytes are looked at together for quotation marks."""

BYTEWISE = ("utf-8", "latin-1", "cp1252")
"""Encodings in which a quotation mark, and the end of a line, is a byte."""

YES_NO = {
    "true_values": [spelt for word in ("true", "yes") for spelt in (word, word.title(), word.upper())],
    "false_values": [spelt for word in ("false", "no") for spelt in (word, word.title(), word.upper())],
}
"""Texts that are 1 and 0, in a column that holds no others."""


@dataclass(frozen=True)
class CsvPart:
    """One text table. Numbers are read as floats, `texts` as they stand, `inferred` as what they look like."""

    name: str
    form: TextForm
    names: tuple[str, ...]
    texts: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()
    textual: bool = True

    @classmethod
    def seen(cls, path: str, declared: TextForm) -> CsvPart:
        """The part of a file, whose first lines are looked at for its form."""
        form, names = looked_at(path, declared)
        return cls(path, form, names)

    @property
    def files(self) -> tuple[str, ...]:
        """The file itself."""
        return (self.name,)

    def reading(self, texts: tuple[str, ...], inferred: tuple[str, ...]) -> CsvPart:
        """The same part, given which columns may hold text."""
        return replace(self, texts=texts, inferred=inferred)

    def schema(self) -> pa.Schema:
        """Names from the header; the types of the first block."""
        with self._readable():
            return self._scanned().first.schema

    def beginning(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The first row, with columns as they look."""
        with self._readable():
            yield self._scanned().first.select(list(columns))

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
        """The file's batches, block by block."""
        import pyarrow as pa

        plain = [name for name in columns if name not in self.inferred or name in self.texts]
        schema = self.schema()
        types = {name: pa.string() if name in self.texts else _number_type(schema, name) for name in plain}
        with self._readable(), self._open(self.name, (list(columns), types), threads, self._quoted()) as reader:
            yield from reader

    def _scanned(self) -> TextScan:
        """What one look at the file shows, as long as it is the same file."""
        seen = os.stat(self.name)
        return _scan(replace(self, texts=(), inferred=()), (seen.st_ino, seen.st_size, seen.st_mtime_ns))

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Turn what Arrow says into a sentence. Its own is read for the place, and never shown: it quotes an entry."""
        try:
            with readable(self.name, "a table of text"):
                yield
        except FormatError as error:
            if error.__cause__ is None:
                raise
            with suppress(OSError):
                _refuse_open_quotes(self.name, self.form, _quotation_marks(self.name))
            raise self._refusal(str(error.__cause__)) or error from error.__cause__

    def _open(
        self,
        source: str | pa.NativeFile,
        wanted: tuple[list[str], dict[str, pa.DataType]] | None,
        threads: bool,
        quoted: bool,
    ) -> csv.CSVStreamingReader:
        from pyarrow import csv

        form = self.form
        read = csv.ReadOptions(
            use_threads=threads,
            block_size=1 << (20 if wanted is None else 22),
            encoding=form.encoding,
            column_names=list(self.names),
            skip_rows=form.skip + (0 if form.header else 1),
        )
        parse = csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=quoted)
        convert = csv.ConvertOptions(strings_can_be_null=True, decimal_point=form.decimal, **YES_NO)
        if form.time_format is not None:
            convert.timestamp_parsers = [form.time_format]
        if wanted is not None:
            convert.include_columns, convert.column_types = wanted
        return csv.open_csv(source, read_options=read, parse_options=parse, convert_options=convert)

    def _quoted(self) -> bool:
        """Whether there may be quotation marks. An odd one would swallow whatever follows it, and is refused."""
        quotes = self._scanned().quotes
        _refuse_open_quotes(self.name, self.form, quotes)
        return quotes > 0 or self.form.encoding not in BYTEWISE

    def _refusal(self, message: str) -> FormatError | None:
        """The error for what Arrow says is wrong: the name of the column, and the option that mends it."""
        width = re.search(r"Expected (\d+) columns, got (\d+)", message)
        if width:
            sign = DELIMITERS.get(self.form.delimiter or "", repr(self.form.delimiter))
            return FormatError(
                "text-row-width",
                f"{self.name} has a row of {width[2]} entries, but names {width[1]} columns, parted by a {sign}. Put entries "
                "that hold one into quotation marks, or say --delimiter, or --skip-rows.",
            )
        if "UTF8" in message:
            return not_utf8(self.name)
        place = re.search(r"In CSV column #(\d+)", message)
        if not place or "conversion error" not in message:
            return None
        shown = self.names[int(place[1])]  # Arrow counts the columns of the file
        entry = re.search(r"invalid value '(.*)'", message, re.DOTALL)
        sign = "," if self.form.decimal == "." else "."
        if entry and (COMMA if sign == "," else POINT).fullmatch(entry[1]):
            return FormatError(
                "text-decimal-sign",
                f"Column {shown!r} of {self.name} must hold numbers, and some have a {sign!r} in them. Say --decimal '{sign}'.",
            )
        if entry and GROUPED.fullmatch(entry[1]):
            return _grouped(self.name, shown)
        return FormatError(
            "text-column-not-numbers",
            f"Column {shown!r} of {self.name} must hold numbers, and some row does not. Give a list of labels (--labels) if it "
            "holds labels, name another column (--columns), or leave such rows empty.",
        )


class TextScan(NamedTuple):
    """What one reading of a file shows of all of it: its number of quotation marks, and its first row, typed as its first block."""

    quotes: int
    first: pa.RecordBatch

    def __repr__(self) -> str:
        return "TextScan()"


@lru_cache(maxsize=1024)
def _scan(part: CsvPart, identity: tuple[int, ...]) -> TextScan:
    """Read a file once, from beginning to end. identity: of the file as it is, so that another one is read again."""
    import pyarrow as pa

    with pa.input_stream(part.name, compression="detect") as file:
        block = file.read(BLOCK)
        head = bytes(block[: 1 << 20])
        quotes = block.count(b'"') + _marks_in(file)
    whole = len(head) == len(block) < BLOCK
    if not whole:
        head = head[: head.rfind(b"\n") + 1]
    if part.form.encoding not in BYTEWISE or (head.count(b'"') % 2 and not whole) or not head:
        reader = part._open(part.name, None, False, True)  # a row may go on beyond the first block
    else:
        reader = part._open(pa.BufferReader(head), None, False, True)
    with reader:
        return TextScan(quotes, next((batch.slice(0, 1) for batch in reader if batch.num_rows), _nothing(reader)))


def _nothing(reader: csv.CSVStreamingReader) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([], schema=reader.schema)


def _marks_in(file: pa.NativeFile) -> int:
    return sum(block.count(b'"') for block in iter(lambda: file.read(BLOCK), b""))


def _quotation_marks(path: str) -> int:
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as file:
        return _marks_in(file)


def _refuse_open_quotes(path: str, form: TextForm, quotes: int) -> None:
    if quotes % 2 and form.encoding in BYTEWISE:
        raise FormatError(
            "text-quotation-open",
            f"{path} opens a quotation mark that it never closes, so it is not known where an entry ends. "
            "Take the mark out, or close it.",
        )


def _grouped(path: str, column: str) -> FormatError:
    return FormatError(
        "text-thousands",
        f'Column {column!r} of {path} groups its thousands. Take the groups apart in a query: "duckdb:SELECT ..., '
        f"replace({column}, ',', '')::DOUBLE AS {column} FROM '{path}'\".",
    )


def _number_type(schema: pa.Schema, name: str) -> pa.DataType:
    """Floats; truth values where they are written in words."""
    import pyarrow as pa

    return pa.bool_() if pa.types.is_boolean(schema.field(name).type) else pa.float64()
