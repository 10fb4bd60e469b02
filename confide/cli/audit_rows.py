"""Runs the rows of an audit, in this process or in several, and divides the time among them, if it is short.

A row has an equal part of what is left of everybody's time when it begins, so what one leaves over goes to all that follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, NamedTuple

from ..lab.audit.pacing import BARELY, Pace, clock
from ..loading import worker_setup

if TYPE_CHECKING:
    from ..lab.audit import AuditEntry, Finding


class AuditJob(NamedTuple):
    """One row: an entry of the catalogue with its number, which tells its stream of noise from others', and how it is attacked.

    seed: of replayable noise; None draws what devices and servers really draw. promise: `epsilon`, `delta` and `confidence`.
    """

    number: int
    entry: AuditEntry
    samples: int
    seed: int | None
    promise: dict[str, Any]


def run_job(job: AuditJob, seconds: float | None) -> Finding:
    """Run one audit, in whichever process."""
    from numpy.random import SeedSequence

    from ..mechanisms.noise import ReplayableNoise

    noise = None if job.seed is None else ReplayableNoise(SeedSequence(job.seed, spawn_key=(job.number,)))
    return job.entry.audit(samples=job.samples, noise=noise, seconds=seconds, **job.promise)


def share(left: float, busy: Sequence[float], waiting: int) -> float:
    """The seconds of the next row: an equal part, for each row that waits, of what is left of everybody's time.

    left: until the end. busy: how long each of the other workers will be.
    """
    together = left + sum(max(0.0, left - other) for other in busy)
    return max(BARELY, min(left, together / waiting))


def findings(jobs: Sequence[AuditJob], workers: int, seconds: float | None) -> Iterator[tuple[int, Finding]]:
    """The number and the finding of every job, as they end. seconds: for all of them; None is as long as they take."""
    pace = Pace.of(seconds)
    if workers == 1:
        for done, job in enumerate(jobs):
            yield job.number, run_job(job, share(pace.left(), (), len(jobs) - done) if pace.timed else None)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), **worker_setup()) as pool:
        waiting = list(jobs)
        running: dict[Future[Finding], tuple[int, float]] = {}
        while waiting or running:
            while waiting and len(running) < workers:
                busy = [max(0.0, ends - clock()) for _, ends in running.values()]
                busy += [0.0] * (workers - 1 - len(running))
                given = share(pace.left(), busy, len(waiting)) if pace.timed else None
                job = waiting.pop(0)
                running[pool.submit(run_job, job, given)] = job.number, clock() + (given or 0.0)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future)[0], future.result()
