"""Spreads tasks over this process, several processes, or a Dask cluster. Results do not depend on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar, TypeVarTuple

from ... import validation
from ...errors import InvalidInput
from ...loading import worker_setup

T = TypeVar("T")
Passed = TypeVarTuple("Passed")
LOCAL, DASK = "local", "dask"


@dataclass(frozen=True)
class TaskEngine:
    """What computes: local, `workers` processes here, or dask, the workers of the scheduler at that address."""

    name: str = LOCAL
    workers: int = 1
    scheduler: str | None = None

    def __post_init__(self) -> None:
        validation.choice("engine", self.name, (LOCAL, DASK))
        if (self.name == DASK) != (self.scheduler is not None):
            raise InvalidInput(
                "dask-scheduler-unsaid",
                "The engine dask and the address of its scheduler go together. Give both, or neither.",
            )


def spread(
    function: Callable[[*Passed], T], tasks: Sequence[tuple[*Passed]], engine: TaskEngine
) -> Iterator[tuple[int, T]]:
    """Call a function with each task's arguments, and yield the task's number and the result, as they are finished."""
    if engine.scheduler is not None:
        from ...analysis.fitting.dask_parts import connect, finished

        with connect(engine.scheduler) as client:
            yield from finished(
                [client.submit(_numbered, number, function, task, pure=False) for number, task in enumerate(tasks)]
            )
    elif engine.workers == 1 or len(tasks) == 1:
        for number, task in enumerate(tasks):
            yield number, function(*task)
    else:
        from joblib import Parallel, delayed

        calls = (delayed(_numbered)(number, function, task) for number, task in enumerate(tasks))
        yield from Parallel(n_jobs=engine.workers, return_as="generator_unordered", **worker_setup())(calls)


def _numbered(number: int, function: Callable[[*Passed], T], task: tuple[*Passed]) -> tuple[int, T]:
    return number, function(*task)
