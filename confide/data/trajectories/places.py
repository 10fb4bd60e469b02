"""From a source to the parts that are read, and to the files and folders whose budget a ledger keeps."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ... import validation
from ...errors import InvalidInput
from .arrays import MinariPart, table_of
from .documents import hdf5_part, json_part, lines_part, numpy_part
from .sources import ARROW, DATABASE, PARQUET, ArrowPart, DataPart, ParquetPart, QueryPart, quoted
from .text_forms import TextForm
from .texts import CsvPart

DataSource: TypeAlias = Any
"""A path, glob or directory, `duckdb:SELECT ...`, `minari:NAME`, a table with an Arrow interface, arrays by name."""

TEXT, LINES, JSON, NUMPY = (".csv", ".tsv", ".txt", ".tab", ".psv"), (".ndjson", ".jsonl"), (".json",), (".npz", ".npy")
HDF5, PACKED = (".hdf5", ".h5"), (".gz", ".bz2", ".zst", ".lz4")
SUFFIXES = (*PARQUET, ".csv", ".tsv", *ARROW, *LINES)
"""Of files that are taken from a folder; JSON and notes, which may be anything, are taken by name."""

READERS: dict[tuple[str, ...], Callable[[Path, TextForm], DataPart]] = {
    PARQUET: lambda path, form: ParquetPart(str(path)),
    TEXT: lambda path, form: CsvPart.seen(str(path), form),
    ARROW: lambda path, form: ArrowPart(str(path)),
    JSON: lambda path, form: json_part(path),
    LINES: lambda path, form: lines_part(path),
    NUMPY: lambda path, form: numpy_part(path),
    HDF5: lambda path, form: hdf5_part(path),
}
"""Who reads files of which suffixes."""

ELSEWHERE = {
    (".xlsx", ".xls", ".ods", ".numbers"): "Workbooks are not read. Save the sheet as CSV",
    (".zip", ".tar", ".7z", ".xz", ".rar", ".tgz"): "Archives are not opened. Unpack it first",
    (".pkl", ".pickle", ".joblib"): "Pickles run code when they are opened, so they are not. Save it as Parquet",
    (
        ".sas7bdat",
        ".dta",
        ".sav",
        ".rds",
        ".rdata",
        ".mat",
        ".orc",
        ".avro",
    ): "Files of this kind are not read. Save it as CSV or Parquet",
    (".sqlite", ".sqlite3"): "SQLite databases are not read. Export the table as CSV",
}
"""Formats that are not read, and what to do with them."""


def kind_of(path: Path) -> str:
    """The suffix of a file's name, without that of compression: `.csv` for `log.csv.gz`."""
    suffix = path.suffix.lower()
    inner = Path(path.stem).suffix.lower() if suffix in PACKED else suffix
    return inner if suffix not in PACKED or inner in TEXT else suffix


def parts_of(source: DataSource, table: str | None, form: TextForm) -> Iterable[DataPart]:
    """The parts that a source stands for."""
    if not isinstance(source, str | Path):
        return [table_of(source)]
    text = str(source)
    if not text.strip():
        raise InvalidInput(
            "path-empty", "There is nothing to read: a path is empty. Give a file, a directory, a table or a query."
        )
    scheme, colon, rest = text.partition(":")
    if colon and scheme == "duckdb":
        return [QueryPart(rest.strip().rstrip(";"))]
    if colon and scheme == "minari":
        return [MinariPart(rest)]
    if colon and scheme in ("http", "https", "s3", "gs", "ftp", "hdfs"):
        raise InvalidInput(
            "network-source",
            f"Nothing is read over a network, and {scheme}: is one. Copy the data to this machine first.",
        )
    path = Path(text).expanduser()
    if path.suffix.lower() in DATABASE:
        if table is None:
            raise InvalidInput("table-unsaid", f"{text} is a database. Say which table: --table NAME.")
        query = table if " " in table.strip() else f"SELECT * FROM {quoted(table)}"
        return [QueryPart(query.strip().rstrip(";"), str(path), f"table {table} of {text}")]
    if path.is_dir():
        stored = path / "data" / "main_data.hdf5"  # a folder that Minari wrote
        if stored.is_file():
            return [hdf5_part(stored)]
        return _files(path.rglob("*"), f"The directory {text}", form)
    if glob.has_magic(text) and not path.exists():
        return _files(map(Path, glob.glob(str(path), recursive=True)), f"The pattern {text}", form)
    return [_file(path, form)]


def _files(paths: Iterable[Path], what: str, form: TextForm) -> list[DataPart]:
    visible = [path for path in paths if path.is_file() and not path.name.startswith((".", "_"))]
    chosen = sorted(path for path in visible if kind_of(path) in SUFFIXES)
    if not chosen:
        raise InvalidInput(
            "folder-without-data", f"{what} holds no file that ends in {', '.join(SUFFIXES)}. Check the path."
        )
    return [_file(path, form) for path in chosen]


def _file(path: Path, form: TextForm) -> DataPart:
    kind = kind_of(path)
    if not path.exists():
        raise InvalidInput("file-missing", f"There is no file {path}. Check the path.")
    for kinds, reader in READERS.items():
        if kind in kinds:
            return reader(path, form)
    for kinds, verdict in ELSEWHERE.items():
        if kind in kinds:
            raise InvalidInput("file-not-read", f"{verdict}: {path}.")
    known = (*SUFFIXES, *JSON, *NUMPY, *HDF5, *DATABASE)
    raise validation.refusal("file-suffix", "a data file's name", f"one that ends in {', '.join(known)}", str(path))


def home_of(sources: Sequence[DataSource]) -> Path | None:
    """The one file or directory that a ledger may lie beside; None for anything else."""
    paths = _paths(sources)
    return paths[0] if len(sources) == len(paths) == 1 and paths[0].exists() else None


def folders_of(sources: Sequence[DataSource]) -> tuple[Path, ...]:
    """The folders among the sources: their ledgers speak for all that is in them."""
    return tuple(path for path in _paths(sources) if path.is_dir())


def _paths(sources: Sequence[DataSource]) -> list[Path]:
    """The sources that are paths: a query is none, and may be longer than the system allows a path to be."""
    texts = [str(source) for source in sources if isinstance(source, str | Path)]
    return [Path(text).expanduser() for text in texts if text.partition(":")[0] not in ("duckdb", "minari")]


MANY = 100
"""Files that are spoken of one by one; of more of them, the folder that holds all is."""


def homes_of(folders: Sequence[Path], files: Sequence[str]) -> tuple[Path, ...]:
    """What a data set is spoken of by, of all that it reads: the folders that were named, and the files in none of them."""
    within = [os.path.join(os.path.realpath(folder), "") for folder in folders]
    others = [file for file in dict.fromkeys(files) if not os.path.realpath(file).startswith(tuple(within))]
    if len(others) > MANY:
        others = [os.path.commonpath([os.path.dirname(os.path.abspath(file)) for file in others])]
    return (*folders, *map(Path, others))
