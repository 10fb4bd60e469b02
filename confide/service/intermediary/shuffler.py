"""A shuffler: it adds up the reports of open batches as they come, in memory only, and forgets who sent them."""

from __future__ import annotations

from pathlib import Path

from ...errors import InvalidInput
from ...protocol.design import Design
from ...protocol.releases.groups import Pile
from ...protocol.releases.report import report_length
from ...protocol.releases.sums import Sum
from ..contract.intermediary import SHUFFLER
from ..http.serving import Endpoint
from .open_batches import ClosedBatch
from .serving import serve


class ReportBatches:
    """Open batches of reports. A batch of fewer people than the promise counts on is not given out: it waits."""

    def __init__(self, design: Design) -> None:
        if design.mixing is None:
            raise InvalidInput(
                "design-without-shufflers", "This design has no shufflers. Make one under trust shuffle."
            )
        self._design, self._mixing = design, design.mixing
        levels = range(len(design.devices))
        self._piles = [Pile(design, level) for level in levels]
        self._sums: dict[int, Sum] = {}
        self.longest = max(report_length(design, level) for level in levels)

    def take(self, batch: int, message: bytes) -> None:
        """Add one report to the sum of its batch."""
        ((_, level),) = self._design.batches_of(batch - 1)
        pile = self._piles[level]
        report = pile.check(message)
        if batch not in self._sums:
            self._sums[batch] = Sum.empty(self._design, level)
        self._sums[batch].merge(pile.total([report]))

    def close(self, batch: int, tickets: int, state: bytes) -> ClosedBatch | None:
        """The sum of a batch, if enough came."""
        batch_sum = self._sums.get(batch)
        if batch_sum is None or batch_sum.users < self._mixing.batch << batch_sum.level:
            return None
        return ClosedBatch(batch_sum.users, batch_sum.to_bytes(), b"")

    def forget(self, batch: int) -> None:
        """Overwrite the sum of a batch, and drop it."""
        batch_sum = self._sums.pop(batch, None)
        if batch_sum is not None:
            batch_sum.cells[...] = 0
            batch_sum.people[...] = 0


def shuffle(path: str | Path, endpoint: Endpoint, database: str | None = None, *, child: bool = False) -> None:
    """Serve the shuffler of a folder until it is told to end. child: ends with standard input too."""
    serve(SHUFFLER, ReportBatches, path, endpoint, database, child=child)
