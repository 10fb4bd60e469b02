"""Counts the parts of a data set: by threads on this machine, or by the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ... import validation
from ...data.statistics.choosing import Register
from ...data.statistics.counting import (
    EVERYTHING,
    NO_JUDGES,
    Counted,
    DatasetCounts,
    Judging,
    Partial,
    count_part,
    total,
)
from ...data.statistics.tally import Chosen
from ...data.trajectories.dataset import ALL, LIMIT, Dataset
from ...data.trajectories.keys import fresh_key
from ...errors import InvalidInput
from .dask_parts import ClusterParts, connect, finished

THREADS, DASK = "threads", "dask"
MOST_MEMORY = 512 << 20
"""Bytes that the sums of all threads together should not exceed."""

Progress = Callable[[int], None]
PartCounter = Callable[..., Iterator[Partial]]
"""Counts all parts under a key, of each the chosen episodes: run(key, chosen), or with keep=True their steps too."""

OnePart = Callable[..., Partial]
"""Counts one part: of (data, question, number, key, chosen)."""


@dataclass(frozen=True)
class Engine:
    """Who counts the rows: threads (`workers` of them, by default one a processor), or dask, at the address of `scheduler`."""

    kind: str = THREADS
    scheduler: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        validation.choice("engine", self.kind, (THREADS, DASK))
        if (self.kind == DASK) != (self.scheduler is not None):
            raise InvalidInput(
                "dask-scheduler-unsaid",
                "The engine dask and the address of its scheduler go together. Give both, or neither.",
            )
        if self.workers is not None:
            validation.integer("workers", self.workers, 1)


def count(
    data: Dataset,
    question: Counted,
    engine: Engine,
    progress: Progress | None = None,
    split: bool = False,
    judging: Judging = NO_JUDGES,
) -> DatasetCounts:
    """Count all users, a part at a time, in any order. Where a choice is made, every user is listed first.

    judging: who judges: they are not counted, and their steps are kept instead.
    split: two random halves of the people are counted apart. Vectors are kept, not counted: they are split when asked.
    """
    if data.observed is not None and engine.scheduler is not None:
        raise InvalidInput(
            "features-need-threads",
            "Steps of which features are made never leave this machine. Leave --scheduler out.",
        )
    if data.vectors is None or engine.scheduler is None:
        apart = split and data.vectors is None
        return _count(data, partial(_run, data, question, engine), progress, apart, judging)
    spread = ClusterParts(connect(engine.scheduler), data, question)
    try:
        return replace(_count(data, lambda key, chosen, **_: spread.count(key, chosen), progress, False), stored=spread)
    except BaseException:
        spread.close()
        raise


def _count(
    data: Dataset, run: PartCounter, progress: Progress | None, apart: bool, judging: Judging = NO_JUDGES
) -> DatasetCounts:
    """The counts of all users. apart: also those of two random halves of the people. judging: see `count`."""
    key, everything = fresh_key(), [EVERYTHING] * len(data.parts)
    if not apart and data.users.mode not in (LIMIT, ALL) and data.weights is None:
        everybody = total(data, _with_progress(run(key, everything, judging=judging), progress))
        judges = 0 if everybody.judging is None else everybody.judging.people
        return replace(everybody, users=everybody.users - judges)
    listed = sorted((part.without_cells() for part in run(key, everything)), key=lambda part: part.part)
    register = Register.of(listed, key, max(data.users.history, 1))
    if data.weights is not None:
        register = register.by_weight(data.weights.drawn(register.people))

    def counted(chosen: list[Chosen], on_part: Progress | None = None, keep: bool = False) -> DatasetCounts:
        many = sum(part.who.size for part in chosen)
        parts = _with_progress(run(key, chosen, keep=keep, judging=judging), on_part)
        return total(data, parts, lambda result: register.check(result, many))

    if judging.share:
        people = register.people
        judges = round(judging.share * people)
        choosing, others = register.parted(judges)
        kept = counted(others, keep=True)
        return replace(counted(choosing, progress), users=people - judges, judging=kept.judging)
    if not apart:
        return replace(counted(register.everybody(), progress), users=register.people)
    first, second = (counted(half) for half in register.halves())
    return replace(first, cells=first.cells + second.cells, halves=(first.cells, second.cells))


def _with_progress(partials: Iterator[Partial], progress: Progress | None) -> Iterator[Partial]:
    for done, part in enumerate(partials, 1):
        if progress is not None:
            progress(done)
        yield part


def _run(
    data: Dataset,
    question: Counted,
    engine: Engine,
    key: int,
    chosen: list[Chosen],
    **how: Any,
) -> Iterator[Partial]:
    count_one = partial(count_part, **how)
    if engine.scheduler is not None:
        return _dask(data, question, engine.scheduler, key, chosen, count_one)
    return _threads(data, question, engine.workers or os.cpu_count() or 1, key, chosen, count_one)


def _threads(
    data: Dataset, question: Counted, workers: int, key: int, chosen: list[Chosen], count_one: OnePart
) -> Iterator[Partial]:
    """Count parts by threads, which have sums of their own each: no more of them than fit into memory."""
    parts = len(data.parts)
    most = max(1, MOST_MEMORY // (8 * question.cells))
    used = min(parts, most, workers)
    if used == 1:
        for number in range(parts):
            yield count_one(data, question, number, key, chosen[number], threads=True)
        return
    from joblib import Parallel, delayed

    tasks = (delayed(count_one)(data, question, number, key, chosen[number]) for number in range(parts))
    yield from Parallel(n_jobs=used, prefer="threads", return_as="generator_unordered", pre_dispatch="n_jobs")(tasks)


def _dask(
    data: Dataset, question: Counted, scheduler: str, key: int, chosen: list[Chosen], count_one: OnePart
) -> Iterator[Partial]:
    """Count parts on a cluster whose workers see the files under the same names. Raw rows stay where they are read; sums travel."""
    with connect(scheduler) as client:
        shared = client.scatter(data, broadcast=True)
        tasks = [
            client.submit(count_one, shared, question, number, key, chosen[number], pure=False)
            for number in range(len(data.parts))
        ]
        yield from finished(tasks)
