"""A progress bar on stderr, silent where nobody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
    """Shows what is being done, and for how long already, where nobody knows how much there is to do."""
    with stages(1, "") as (_, stage):
        stage(label)
        yield
