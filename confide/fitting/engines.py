"""Who counts the parts of a data set: threads on this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from .. import validation
from ..errors import InvalidInput, MissingExtra
from ..loading import load_files, loaded_files
from ..questions import CountQuestion
from ..statistics.choosing import Register
from ..statistics.counting import EVERYTHING, Partial, Total, count_part, total
from ..statistics.tally import Chosen
from ..trajectories.dataset import LIMIT, Dataset
from ..trajectories.keys import fresh_key

THREADS, DASK = "threads", "dask"
PATIENCE = 4.0
"""Seconds that a Dask scheduler has for an answer, and its first worker to come."""
MOST_MEMORY = 512 << 20
"""Bytes that the sums of all threads together should not exceed."""

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Engine:
    """threads: `workers` of them, by default as many as there are processors. dask: at the address of `scheduler`."""

    kind: str = THREADS
    scheduler: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        validation.choice("engine", self.kind, (THREADS, DASK))
        if (self.kind == DASK) != (self.scheduler is not None):
            raise InvalidInput("The engine dask and the address of its scheduler go together. Give both, or neither.")
        if self.workers is not None:
            validation.integer("workers", self.workers, 1)


def count(
    data: Dataset, question: CountQuestion, engine: Engine, progress: Progress | None = None, split: bool = False
) -> Total:
    """Count everybody, a part at a time, in any order. Where a choice is made, everybody is listed first.

    split: two random halves of the people are counted apart. Vectors are kept, not counted: they are split when asked.
    """
    key = fresh_key()
    if data.vectors is not None and engine.kind == DASK:
        raise InvalidInput("States that are vectors are asked again and again, where they lie. Use --engine threads.")
    apart = split and data.vectors is None
    if not apart and data.users.mode != LIMIT:
        return total(data, _told(_run(data, question, engine, key), progress))
    listed = sorted((one.without_cells() for one in _run(data, question, engine, key)), key=lambda one: one.part)
    register = Register.of(listed, key)

    def counted(chosen: list[Chosen], told: Progress | None = None) -> Total:
        many = sum(one.who.size for one in chosen)
        partials = _told(_run(data, question, engine, key, chosen), told)
        return total(data, partials, lambda found: register.check(found, many))

    if not apart:
        return counted(register.everybody(), progress)
    first, second = (counted(half) for half in register.halves())
    return replace(first, cells=first.cells + second.cells, halves=(first.cells, second.cells))


def _told(partials: Iterator[Partial], progress: Progress | None) -> Iterator[Partial]:
    for done, partial in enumerate(partials, 1):
        if progress is not None:
            progress(done)
        yield partial


def _run(
    data: Dataset, question: CountQuestion, engine: Engine, key: int, chosen: list[Chosen] | None = None
) -> Iterator[Partial]:
    whose = chosen or [EVERYTHING] * len(data.parts)
    if engine.scheduler is not None:
        return _dask(data, question, engine.scheduler, key, whose)
    return _threads(data, question, engine.workers or os.cpu_count() or 1, key, whose)


def _threads(data: Dataset, question: CountQuestion, workers: int, key: int, chosen: list[Chosen]) -> Iterator[Partial]:
    """Threads share the memory, so each has sums of its own: no more of them than fit."""
    parts = len(data.parts)
    most = max(1, MOST_MEMORY // (8 * question.cells))
    used = min(parts, most, workers)
    if used == 1:
        for number in range(parts):
            yield count_part(data, question, number, key, chosen[number], threads=True)
        return
    from joblib import Parallel, delayed

    tasks = (delayed(count_part)(data, question, number, key, chosen[number]) for number in range(parts))
    yield from Parallel(n_jobs=used, prefer="threads", return_as="generator_unordered", pre_dispatch="n_jobs")(tasks)


def _dask(data: Dataset, question: CountQuestion, scheduler: str, key: int, chosen: list[Chosen]) -> Iterator[Partial]:
    """Every worker must see the files under the same names. Raw rows stay where they are read; sums travel."""
    with connect(scheduler) as client:
        shared = client.scatter(data, broadcast=True)
        tasks = [
            client.submit(count_part, shared, question, number, key, chosen[number], pure=False)
            for number in range(len(data.parts))
        ]
        yield from finished(tasks)


def connect(scheduler: str) -> Any:
    """A client of the Dask scheduler at that address, whose workers have run the users' files that this process has."""
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra("dask must be installed. It was not found. Run: pip install confide[dask]") from error
    cluster: Any = distributed
    try:
        client = cluster.Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"No Dask scheduler answers at {scheduler}. Check the address.") from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        if loaded_files():
            client.run(load_files, loaded_files())
    except TimeoutError as error:
        client.close()
        raise InvalidInput(
            f"The Dask scheduler at {scheduler} has no workers. Start some: dask worker {scheduler}"
        ) from error
    return client


def finished(tasks: list[Any]) -> Iterator[Any]:
    """What tasks on a cluster return, as they are done."""
    from distributed import as_completed

    together: Any = as_completed
    for done in together(tasks):
        yield done.result()
        done.release()
