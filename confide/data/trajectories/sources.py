"""Sources of rows: files, tables in memory, and queries. Each is a part of a data set that opens as Arrow batches.

An error names the file and what is wrong with it, never what is in it: Arrow's own messages quote entries.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from ...errors import ConfideError, FormatError, InvalidInput

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BATCH_ROWS = 1 << 17
"""Rows of a batch: large enough that Python does not count, small enough for a processor's cache."""

PARQUET, ARROW, DATABASE = (".parquet", ".pq"), (".arrow", ".feather", ".ipc"), (".duckdb", ".db")


class DataPart(Protocol):
    """A piece of a data set that can be read from beginning to end, again and again."""

    @property
    def name(self) -> str:
        """Its name in messages."""
        ...

    @property
    def textual(self) -> bool:
        """Whether names of people are read as text, whatever they look like."""
        ...

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it reads, by whatever opens them; those of a query are known once it was read."""
        ...

    def reading(self, texts: tuple[str, ...], inferred: tuple[str, ...]) -> DataPart:
        """The same part, given which columns may hold text, and which are read as what they look like."""
        ...

    def schema(self) -> pa.Schema:
        """Names and types of its columns, as an Arrow schema."""
        ...

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
        """Its rows, a batch at a time."""
        ...

    def beginning(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Its first rows, a batch at a time, of which only the first is asked for."""
        ...


class _FromItsBatches:
    """A part that has no shorter way to its first rows than to begin with all of them."""

    def beginning(self: DataPart, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The batches."""
        return self.batches(columns)


class Typed(_FromItsBatches):
    """A part whose columns have types of their own, of a file that has its name."""

    name: str
    textual = False

    @property
    def files(self) -> tuple[str, ...]:
        """The file of that name."""
        return (self.name,)

    def reading(self, texts: tuple[str, ...], inferred: tuple[str, ...]) -> Self:
        """The part itself: its columns have types of their own."""
        return self


class Wrapping(_FromItsBatches):
    """A part that is made of another one."""

    part: DataPart

    @property
    def textual(self) -> bool:
        """Whether the part is textual."""
        return self.part.textual

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the part."""
        return self.part.files


@contextmanager
def readable(name: str, form: str) -> Iterator[None]:
    """Turn what Arrow, DuckDB and the system say about unreadable input into one sentence without contents."""
    import pyarrow as pa

    try:
        yield
    except ConfideError:
        raise
    except FileNotFoundError as error:
        raise InvalidInput("file-missing", f"There is no file {name}. Check the path.") from error
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, EOFError) as error:
        size = os.path.getsize(name) if os.path.isfile(name) else None
        seen = "it is empty" if size == 0 else "it is cut off, damaged or something else"
        raise FormatError(
            "file-unreadable",
            f"{name} cannot be read as {form}: {seen}. Check that it was copied whole, and that its name ends as its "
            "kind does.",
        ) from error


@dataclass(frozen=True)
class ParquetPart(Typed):
    """One Parquet file."""

    name: str

    def schema(self) -> pa.Schema:
        """The schema in the file's footer."""
        from pyarrow import parquet

        with readable(self.name, "Parquet"):
            return parquet.read_schema(self.name)

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
        """The file's batches, row group by row group."""
        from pyarrow import parquet

        with readable(self.name, "Parquet"), parquet.ParquetFile(self.name) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=list(columns), use_threads=threads)


@dataclass(frozen=True)
class ArrowPart(Typed):
    """One Arrow or Feather file, in the file or the stream format."""

    name: str

    @contextmanager
    def _open(self) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        import pyarrow as pa

        with readable(self.name, "Arrow or Feather"), pa.memory_map(self.name) as file:
            try:
                reader = pa.ipc.open_file(file)
            except pa.ArrowInvalid:
                file.seek(0)
                stream = pa.ipc.open_stream(file)
                yield stream.schema, iter(stream)
                return
            yield reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))

    def schema(self) -> pa.Schema:
        """The schema at the head of the file."""
        with self._open() as (schema, _):
            return schema

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
        """The batches as they were written, in slices."""
        with self._open() as (_, found):
            for batch in found:
                yield from _slices(batch.select(list(columns)))


@dataclass(frozen=True)
class TablePart(Typed):
    """A table in memory, and the file it was read from, if it was."""

    table: pa.Table = field(repr=False)
    name: str = "the table"
    files: tuple[str, ...] = ()

    @classmethod
    def from_file(cls, table: pa.Table, path: Path) -> TablePart:
        """The table that a file was read into."""
        return cls(table, str(path), (str(path),))

    def schema(self) -> pa.Schema:
        """The schema of the table."""
        return self.table.schema

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
        """The table in slices."""
        yield from self.table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS)


SEALED: dict[str, str | bool | int | float | list[str]] = {
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
}
"""A query reads files, which DuckDB opens and logs itself: no extension that would open a network or another database."""


@dataclass(frozen=True)
class QueryPart(Typed):
    """A query that DuckDB runs, over a database file or over files that it names itself.

    Which files those are DuckDB says: whatever quotes, patterns, views and attached databases name them, it logs what it opens.
    """

    query: str
    database: str = ":memory:"
    name: str = "the query"
    opened: set[str] = field(default_factory=set, compare=False, repr=False)

    @property
    def files(self) -> tuple[str, ...]:
        """The database, and every file that DuckDB opened for the query so far: all of them, once it was read."""
        return (*(() if self.database == ":memory:" else (self.database,)), *sorted(self.opened))

    @contextmanager
    def _reader(self, query: str) -> Iterator[pa.RecordBatch]:
        import duckdb
        import pyarrow as pa

        if self.database != ":memory:" and not Path(self.database).is_file():
            raise InvalidInput("database-missing", f"There is no database {self.database}. Check the path.")
        try:
            connection = duckdb.connect(self.database, read_only=self.database != ":memory:", config=SEALED)
        except duckdb.Error as error:
            raise FormatError(
                "database-unreadable", f"{self.database} cannot be opened as a DuckDB database. Check the file."
            ) from error
        with closing(connection), readable(self.name, "a table"):
            try:
                if len(connection.extract_statements(query)) != 1:
                    raise InvalidInput(
                        "query-several",
                        f"{self.name} must be one SELECT. It is several statements. Leave the others out.",
                    )
                with self._logging(connection):
                    yield pa.RecordBatchReader.from_stream(connection.sql(query))
            except duckdb.Error as error:
                # The first three speak of the query; others may quote entries.
                kinds = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
                reason = str(error).splitlines()[0].rstrip(".!") if isinstance(error, kinds) else type(error).__name__
                raise InvalidInput(
                    "query-failed",
                    f"{self.name} cannot be run: {reason}. Correct it; DuckDB, given the same query, says more.",
                ) from error

    @contextmanager
    def _logging(self, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Remember which files DuckDB opens meanwhile, by its own log. What it spills to disk lies in a folder of its own."""
        log = "SELECT DISTINCT path FROM duckdb_logs_parsed('FileSystem') WHERE op = 'OPEN'"
        with tempfile.TemporaryDirectory(prefix="confide-") as spill:
            connection.execute("SET temp_directory = ?", [spill])
            connection.execute("CALL enable_logging('FileSystem', storage = 'memory')")
            try:
                yield
            finally:
                opened = {os.path.abspath(path) for (path,) in connection.cursor().execute(log).fetchall()}
                self.opened.update(path for path in opened if not path.startswith(os.path.join(spill, "")))

    def schema(self) -> pa.Schema:
        """The schema of an answer without rows."""
        with self._reader(f"SELECT * FROM ({self.query}) LIMIT 0") as reader:
            return reader.schema

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
        """The batches as the database streams them."""
        with self._reader(f"SELECT {', '.join(map(quoted, columns))} FROM ({self.query})") as reader:
            for batch in reader:
                yield from _slices(batch)


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(start, BATCH_ROWS)
