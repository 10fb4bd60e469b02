"""Commits reports in groups: a request that comes during one commit is in the next, answered when that is on disk."""

from __future__ import annotations

import asyncio
import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from .serving import LOGGER

LOG = logging.getLogger(LOGGER)
MOST_WAITING = 4096
MOST_TOGETHER = 512
LINGER, MOST_LINGER = 0.01, 0.05
"""Seconds that the first request waits for others: as long as the last commit took, between these. A commit costs nearly as much
for one as for many, and takes longer when several collectors take turns, who then have more together."""

PATIENCE = 5.0
"""Seconds after which a request whose report is not on disk is refused; the same bytes sent again count once."""

A = TypeVar("A")
"""What arrives."""
Out = TypeVar("Out")
"""The outcome of an arrival."""
GroupArrival = TypeVar("GroupArrival", contravariant=True)
GroupOutcome = TypeVar("GroupOutcome", covariant=True)


class GroupStore(Protocol[GroupArrival, GroupOutcome]):
    """Something that counts a group of arrivals in one commit, and returns the outcome of each."""

    def count(self, arrivals: Sequence[GroupArrival]) -> Sequence[GroupOutcome]:
        """Count them; the outcomes are on disk when this returns."""
        ...


class Busy(Exception):
    """More submissions wait than can be counted soon."""


class GroupCommitter(threading.Thread, Generic[A, Out]):
    """The one thread of a process that commits what arrives, group by group."""

    def __init__(
        self, store: GroupStore[A, Out], full: Callable[[], None], committed: Callable[[int, float], None]
    ) -> None:
        """full: called after every group. committed: called with how many reports were in it, and how many seconds it took."""
        super().__init__(name="confide-counter", daemon=True)
        self._store, self._full, self._committed = store, full, committed
        self._queue: queue.Queue[tuple[A, asyncio.Future[Out]] | None] = queue.Queue(MOST_WAITING)
        self._linger = LINGER
        self.last = -math.inf
        """When the last group was committed, by the monotonic clock."""

    @property
    def waiting(self) -> int:
        """How many submissions wait."""
        return self._queue.qsize()

    def submit(self, arrival: A) -> asyncio.Future[Out]:
        """A future of the outcome of a submission, set once that is on disk."""
        future: asyncio.Future[Out] = asyncio.get_running_loop().create_future()
        try:
            self._queue.put_nowait((arrival, future))
        except queue.Full:
            raise Busy from None
        return future

    async def outcome(self, arrival: A) -> Out:
        """The outcome of a submission, which is on disk; a TimeoutError if that takes too long."""
        future = self.submit(arrival)
        async with asyncio.timeout(PATIENCE):
            return await future

    def stop(self) -> None:
        """Count what waits, then end."""
        self._queue.put(None)
        self.join(2.0)

    def run(self) -> None:
        """Commit groups until stopped."""
        while not self._ended:
            self._next()

    def _next(self) -> None:
        """Commit one group; nothing of it is held while the next is waited for."""
        group = self._group()
        if group:
            self._count(group)

    _ended = False

    def _group(self) -> list[tuple[A, asyncio.Future[Out]]]:
        """The submissions that wait, at least one, unless it is time to stop."""
        group: list[tuple[A, asyncio.Future[Out]]] = []
        item = self._queue.get()
        time.sleep(self._linger)
        while True:
            if item is None:
                self._ended = True
                return group
            group.append(item)
            if len(group) == MOST_TOGETHER:
                return group
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return group

    def _count(self, group: Sequence[tuple[A, asyncio.Future[Out]]]) -> None:
        began = time.perf_counter()
        loop = group[0][1].get_loop()
        try:
            outcomes = self._store.count([arrival for arrival, _ in group])
        except Exception as error:
            LOG.error("counting failed", extra={"details": {"error": type(error).__name__, "reports": len(group)}})
            _call(loop, _failed, [future for _, future in group], error)
            return
        _call(loop, _answered, [future for _, future in group], outcomes)
        took = time.perf_counter() - began
        self.last = time.monotonic()
        self._linger = min(max(LINGER, took), MOST_LINGER)
        self._committed(len(group), took)
        self._full()


def _call(loop: asyncio.AbstractEventLoop, callback: Callable[..., None], *arguments: object) -> None:
    try:
        loop.call_soon_threadsafe(callback, *arguments)
    except RuntimeError:  # the loop is closed: the response is not awaited any more
        LOG.info("no request waits for a response")


def _answered(futures: Sequence[asyncio.Future[Out]], outcomes: Sequence[Out]) -> None:
    for future, outcome in zip(futures, outcomes, strict=True):
        if not future.done():
            future.set_result(outcome)


def _failed(futures: Sequence[asyncio.Future[Out]], error: Exception) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
