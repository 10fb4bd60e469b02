"""Where a source's words lead: to the parts that are read, and to the files and folders that a ledger speaks for."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from .. import validation
from ..errors import InvalidInput
from .arrays import MinariPart, table_of
from .sources import ARROW, CSV, DATABASE, PARQUET, ArrowPart, CsvPart, ParquetPart, Part, QueryPart, quoted

Source: TypeAlias = Any
"""A path, glob or directory, `duckdb:SELECT ...`, `minari:NAME`, a table with an Arrow interface, arrays by name."""

SUFFIXES = (*PARQUET, *CSV, *ARROW)


def parts_of(source: Source, table: str | None) -> Iterable[Part]:
    """The parts that a source stands for."""
    if not isinstance(source, str | Path):
        return [table_of(source)]
    text = str(source)
    if not text.strip():
        raise InvalidInput("There is nothing to read: a path is empty. Give a file, a directory, a table or a query.")
    scheme, colon, rest = text.partition(":")
    if colon and scheme == "duckdb":
        return [QueryPart(rest.strip().rstrip(";"))]
    if colon and scheme == "minari":
        return [MinariPart(rest)]
    path = Path(text)
    if path.suffix.lower() in DATABASE:
        if table is None:
            raise InvalidInput(f"{text} is a database. Say which table: --table NAME.")
        query = table if " " in table.strip() else f"SELECT * FROM {quoted(table)}"
        return [QueryPart(query.strip().rstrip(";"), text, f"table {table} of {text}")]
    if path.is_dir():
        return _files(path.rglob("*"), f"The directory {text}")
    if glob.has_magic(text) and not path.exists():
        return _files(map(Path, glob.glob(text, recursive=True)), f"The pattern {text}")
    return [_file(path)]


def _files(found: Iterable[Path], what: str) -> list[Part]:
    visible = [path for path in found if path.is_file() and not path.name.startswith((".", "_"))]
    chosen = sorted(path for path in visible if path.suffix.lower() in SUFFIXES)
    if not chosen:
        raise InvalidInput(f"{what} holds no file that ends in {', '.join(SUFFIXES)}. Check the path.")
    return [_file(path) for path in chosen]


def _file(path: Path) -> Part:
    kind = path.suffix.lower()
    if not path.exists():
        raise InvalidInput(f"There is no file {path}. Check the path.")
    if kind in PARQUET:
        return ParquetPart(str(path))
    if kind in CSV:
        return CsvPart(str(path))
    if kind in ARROW:
        return ArrowPart(str(path))
    raise validation.refusal("a data file's name", f"one that ends in {', '.join(SUFFIXES)}", str(path))


def home_of(sources: Sequence[Source]) -> Path | None:
    """What a ledger may lie beside: one file or directory. Of anything else no one place can speak."""
    if len(sources) == 1 and isinstance(sources[0], str | Path):
        path = Path(sources[0])
        if path.exists():
            return path
    return None


MANY = 100
"""Files of a pattern that are spoken of one by one; of more of them, the folder is."""


def homes_of(source: Source) -> list[Path]:
    """The files and folders that a source reads, as far as its words say: of a pattern what it finds, of a query the files
    that it names in quotes.
    """
    if not isinstance(source, str | Path):
        return []
    text = str(source)
    if text.startswith("duckdb:"):
        return [home for name in re.findall(r"'([^']+)'", text) for home in homes_of(name)]
    if os.path.exists(text):
        return [Path(text)]
    if not glob.has_magic(text) or text.startswith("minari:"):
        return []
    found = sorted(Path(name) for name in glob.glob(text, recursive=True) if Path(name).suffix.lower() in SUFFIXES)
    if len(found) <= MANY:
        return found
    fixed = Path(text)
    while glob.has_magic(str(fixed)):
        fixed = fixed.parent
    return [fixed]
