"""What commands print: one JSON object to stdout, or tables for people; everything else goes to stderr.

A progress bar on stderr, silent without a terminal.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import click
import numpy as np

from ..analysis.reporting.numbers import written as plain_number
from ..validation import Json


@contextmanager
def bar(total: int, label: str) -> Iterator[Callable[[int], None]]:
    """A function to call with how many of `total` are done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task(label, total=total)
        yield lambda done: shown.update(task, completed=done)


@contextmanager
def stages(total: int, label: str) -> Iterator[tuple[Callable[[int], None], Callable[[str], None]]]:
    """Two functions: to call with how many of `total` are done, and with what is done next, which shows how long it takes."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task(label, total=total)

        def stage(name: str) -> None:
            shown.update(task, description=name, completed=0, total=total if name == label else None)

        yield (lambda done: shown.update(task, completed=done)), stage


@contextmanager
def working(label: str) -> Iterator[None]:
    """Shows what is being done, and for how long already, where it is unknown how much there is to do."""
    with stages(1, "") as (_, stage):
        stage(label)
        yield


__all__ = ["emit", "note", "plain_number", "table"]


def emit(data: Mapping[str, object]) -> None:
    """Print exactly one JSON object, with infinities and NaN as null (JSON has no word for them)."""
    click.echo(json.dumps(_plain(data)))


def _plain(value: object) -> Json:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"JSON has no word for {type(value).__name__}")


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
    # Without a terminal there is no edge to wrap at.
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
