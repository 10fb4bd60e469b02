"""Where rows come from: files, tables in memory, and queries. Each is a part of a data set that opens as Arrow batches.

An error names the file and what is wrong with it, never what is in it: Arrow's own messages quote entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..errors import ConfideError, FormatError, InvalidInput

BATCH_ROWS = 1 << 17
"""Rows of a batch: large enough that Python does not count, small enough for a processor's cache."""

PARQUET, CSV, ARROW, DATABASE = (".parquet", ".pq"), (".csv",), (".arrow", ".feather", ".ipc"), (".duckdb", ".db")


class Part(Protocol):
    """A piece of a data set that can be read from beginning to end, again and again."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    def schema(self) -> Any:
        """Names and types of its columns, as an Arrow schema."""
        ...

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[Any]:
        """Its rows, a batch at a time."""
        ...


@contextmanager
def readable(name: str, form: str) -> Iterator[None]:
    """Turn what Arrow, DuckDB and the system say about unreadable input into one sentence without contents."""
    import pyarrow as pa

    try:
        yield
    except ConfideError:
        raise
    except FileNotFoundError as error:
        raise InvalidInput(f"There is no file {name}. Check the path.") from error
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, EOFError) as error:
        raise FormatError(
            f"{name} cannot be read as {form}: it is empty, cut off, damaged or something else. Write it again."
        ) from error


@dataclass(frozen=True)
class ParquetPart:
    """One Parquet file."""

    name: str

    def schema(self) -> Any:
        """From the footer."""
        from pyarrow import parquet

        with readable(self.name, "Parquet"):
            return parquet.read_schema(self.name)

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[Any]:
        """Row group by row group."""
        from pyarrow import parquet

        with readable(self.name, "Parquet"), parquet.ParquetFile(self.name) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=list(columns), use_threads=threads)


@dataclass(frozen=True)
class CsvPart:
    """One CSV file with a header. Numbers are read as floats, `texts` as they stand, `inferred` as what they look like."""

    name: str
    texts: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()

    def schema(self) -> Any:
        """Names from the header; the types of the first block."""
        from pyarrow import csv

        with readable(self.name, "CSV"), csv.open_csv(self.name) as reader:
            return reader.schema

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[Any]:
        """Block by block."""
        import pyarrow as pa
        from pyarrow import csv

        plain = [name for name in columns if name not in self.inferred or name in self.texts]
        types = {name: pa.string() if name in self.texts else pa.float64() for name in plain}
        convert = csv.ConvertOptions(column_types=types, include_columns=list(columns), strings_can_be_null=True)
        read = csv.ReadOptions(use_threads=threads, block_size=1 << 22)
        numbers = [name for name in plain if name not in self.texts]
        with (
            readable(self.name, f"CSV with numbers in {', '.join(numbers)}"),
            csv.open_csv(self.name, read_options=read, convert_options=convert) as reader,
        ):
            yield from reader


@dataclass(frozen=True)
class ArrowPart:
    """One Arrow or Feather file, in the file or the stream format."""

    name: str

    @contextmanager
    def _open(self) -> Iterator[tuple[Any, Iterator[Any]]]:
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

    def schema(self) -> Any:
        """From the head of the file."""
        with self._open() as (schema, _):
            return schema

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[Any]:
        """As they were written, in slices."""
        with self._open() as (_, found):
            for batch in found:
                yield from _slices(batch.select(list(columns)))


@dataclass(frozen=True)
class TablePart:
    """A table in memory."""

    table: Any = field(repr=False)
    name: str = "the table"

    def schema(self) -> Any:
        """Of the table."""
        return self.table.schema

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[Any]:
        """In slices."""
        yield from self.table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS)


@dataclass(frozen=True)
class QueryPart:
    """A query that DuckDB runs, over a database file or over files that it names itself."""

    query: str
    database: str = ":memory:"
    name: str = "the query"

    @contextmanager
    def _reader(self, query: str) -> Iterator[Any]:
        import duckdb
        import pyarrow as pa

        if self.database != ":memory:" and not Path(self.database).is_file():
            raise InvalidInput(f"There is no database {self.database}. Check the path.")
        try:
            connection = duckdb.connect(self.database, read_only=self.database != ":memory:")
        except duckdb.Error as error:
            raise FormatError(f"{self.database} cannot be opened as a DuckDB database. Check the file.") from error
        with closing(connection), readable(self.name, "a table"):
            try:
                yield pa.RecordBatchReader.from_stream(connection.sql(query))
            except duckdb.Error as error:
                # The first three speak of the query; others may quote entries.
                kinds = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
                said = str(error).splitlines()[0].rstrip(".!") if isinstance(error, kinds) else type(error).__name__
                raise InvalidInput(f"{self.name} cannot be answered: {said}. Correct it.") from error

    def schema(self) -> Any:
        """Of an answer without rows."""
        with self._reader(f"SELECT * FROM ({self.query}) LIMIT 0") as reader:
            return reader.schema

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[Any]:
        """As the database streams them."""
        with self._reader(f"SELECT {', '.join(map(quoted, columns))} FROM ({self.query})") as reader:
            for batch in reader:
                yield from _slices(batch)


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


def _slices(batch: Any) -> Iterator[Any]:
    for start in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(start, BATCH_ROWS)
