"""What commands print: one JSON object to stdout, or tables for people; everything else goes to stderr."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import click

from ..analysis.reporting.numbers import written as plain_number
from ..validation import Json

__all__ = ["emit", "note", "plain_number", "table"]


def emit(data: dict[str, Json]) -> None:
    """Print exactly one JSON object, with infinities and NaN as null (JSON has no word for them)."""
    click.echo(json.dumps(_plain(data)))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """Print a table for people, on stdout."""
    texts = [[_cell_text(cell) for cell in row] for row in rows]
    try:
        from rich.console import Console
        from rich.table import Table
    except ModuleNotFoundError:  # where only what a device needs is installed
        click.echo(_aligned([list(columns), *texts], title))
        return
    drawn = Table(*columns, title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for text in texts:
        drawn.add_row(*text)
    console = Console()
    # Where nobody watches a terminal there is no edge to wrap at.
    (console if console.is_terminal else Console(width=200)).print(drawn)


def _aligned(rows: Sequence[Sequence[str]], title: str | None) -> str:
    """Rows below each other, every column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(([title] if title else []) + lines)


def note(text: str) -> None:
    """Print a line for people, on stderr."""
    click.echo(text, err=True)


def _cell_text(cell: object) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return plain_number(cell, digits=4)
    return str(cell)
