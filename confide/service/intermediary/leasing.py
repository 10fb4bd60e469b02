"""Who serves, where several processes share a database: one holds a lease and renews it; if it does not, another takes it.

Times are measured by the clock of the waiting process, and only differences of them, so that clocks need not agree. Taking over
begins an epoch, and the process that had the lease before commits nothing any more: a process that was frozen for a while cannot do
harm.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable

from .batch_manager import BatchManager
from .store import Lease, Superseded

LOG = logging.getLogger("confide.batches")
BEAT, LEASE = 1.0, 5.0
"""Seconds between two renewals, and after how many without one another process takes over."""
SILENT = 3.0
"""Seconds without a renewal after which the process says that it is not ready: whatever it would commit waits too."""


class LeaseKeeper(threading.Thread):
    """The thread that holds the lease, or waits for it."""

    def __init__(self, manager: BatchManager, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(name="confide-lease", daemon=True)
        self._manager, self._clock = manager, clock
        self._seen: tuple[Lease, float] | None = None
        self._stopped = threading.Event()
        self.renewed = -math.inf
        """When the lease was last renewed or taken, by the monotonic clock."""

    def start(self) -> None:
        """Take the lease, at once where no other process can have it, and look after it from then on."""
        if self._manager.store.alone:
            self._manager.begin()
            self.renewed = time.monotonic()
        else:
            self.step()
        super().start()

    def stop(self) -> None:
        """End the thread, and let go of the lease, so that no process has to wait."""
        self._stopped.set()
        self.join(5.0)
        if self._manager.holds:
            try:
                self._manager.store.renew("")
            except Exception as error:
                LOG.info("the lease was not given back", extra={"details": {"error": type(error).__name__}})

    def run(self) -> None:
        """Until stopped; what fails is tried again."""
        while not self._stopped.wait(BEAT):
            try:
                self.step()
            except Superseded:
                LOG.error("another process has taken over")
            except Exception as error:
                self._seen = None  # while the store does not answer, no process can have renewed anything
                LOG.error("the lease was not renewed", extra={"details": {"error": type(error).__name__}})

    def step(self) -> None:
        """Renew the lease, or take it if it is free or was not renewed for long enough."""
        if self._manager.holds:
            self._manager.renew()
            self.renewed = time.monotonic()
            return
        lease, now = self._manager.store.lease(), self._clock()
        if self._seen is None or self._seen[0] != lease:
            self._seen = lease, now
        if (not lease.address or now - self._seen[1] >= LEASE) and self._manager.begin(lease):
            self.renewed = time.monotonic()
            LOG.info("this process serves from now on", extra={"details": {"epoch": self._manager.epoch}})
