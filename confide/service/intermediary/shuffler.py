"""A shuffler: it adds up the reports of open batches as they come, in memory only, and forgets who sent them."""

from __future__ import annotations

from pathlib import Path

from ...protocol.design import Design
from ...protocol.releases.report import report_length
from ...protocol.releases.shuffler import Shuffler
from ...protocol.trusts.mixing import ShuffledBatch
from ..contract.intermediary import SHUFFLER
from ..http.serving import Endpoint
from .open_batches import ClosedBatch
from .serving import serve


class ReportBatches:
    """The open batches of `Shuffler`, by the numbers that a service gives them, and as bytes."""

    def __init__(self, design: Design) -> None:
        self._design, self._shuffler = design, Shuffler(design)
        self.longest = max(report_length(design, level) for level in range(len(design.devices)))

    def _batch(self, number: int) -> ShuffledBatch:
        (batch,) = self._design.batches_of(number - 1)
        return batch

    def take(self, batch: int, message: bytes) -> None:
        """Add one report to the sum of its batch."""
        self._shuffler.take(self._batch(batch), message)

    def close(self, batch: int, tickets: int, state: bytes) -> ClosedBatch | None:
        """The sum of a batch, if enough came. One of fewer people than the guarantee counts on is not given out: it waits."""
        total = self._shuffler.close(self._batch(batch))
        return None if total is None else ClosedBatch(total.users, total.to_bytes(), b"")

    def forget(self, batch: int) -> None:
        """Overwrite the sum of a batch, and drop it."""
        self._shuffler.forget(self._batch(batch))


def shuffle(path: str | Path, endpoint: Endpoint, database: str | None = None, *, child: bool = False) -> None:
    """Serve the shuffler of a folder until it gets the signal to end. child: ends with standard input too."""
    serve(SHUFFLER, ReportBatches, path, endpoint, database, child=child)
