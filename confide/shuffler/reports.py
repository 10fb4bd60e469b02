"""The open batches of a shuffler: their sums, in memory only; reports are added up as they come."""

from __future__ import annotations

from ..batches.open_batches import ClosedBatch
from ..contracts.letters import report_length
from ..designs import Design
from ..errors import InvalidInput
from ..releases.groups import Pile
from ..releases.sums import Sum


class ReportBatches:
    """Open batches of reports. A batch of fewer people than the promise counts on is not given out: it waits."""

    def __init__(self, design: Design) -> None:
        if design.mixing is None:
            raise InvalidInput("This design has no shufflers. Make one under trust shuffle.")
        self._design, self._least = design, design.mixing.batch
        self._pile = Pile(design)
        self._sums: dict[int, Sum] = {}
        self.longest = report_length(design)

    def take(self, batch: int, message: bytes) -> None:
        """Add one report to the sum of its batch."""
        report = self._pile.check(message)
        if batch not in self._sums:
            self._sums[batch] = Sum.empty(self._design)
        self._sums[batch].merge(self._pile.total([report]))

    def close(self, batch: int, tickets: int, state: bytes) -> ClosedBatch | None:
        """The sum of a batch, if enough came."""
        batch_sum = self._sums.get(batch)
        if batch_sum is None or batch_sum.users < self._least:
            return None
        return ClosedBatch(batch_sum.users, batch_sum.to_bytes(), b"")

    def forget(self, batch: int) -> None:
        """Overwrite the sum of a batch, and drop it."""
        batch_sum = self._sums.pop(batch, None)
        if batch_sum is not None:
            batch_sum.cells[...] = 0
            batch_sum.people[...] = 0
