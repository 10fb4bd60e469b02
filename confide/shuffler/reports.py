"""What a shuffler holds: the sums of open batches, in memory only; reports are added up as they come."""

from __future__ import annotations

from ..batches.holding import Closed
from ..contracts.letters import report_length
from ..designs import Design
from ..errors import InvalidInput
from ..releases.groups import Pile
from ..releases.sums import Sum


class Reports:
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

    def close(self, batch: int, tickets: int, state: bytes) -> Closed | None:
        """The sum of a batch, if enough came."""
        held = self._sums.get(batch)
        if held is None or held.users < self._least:
            return None
        return Closed(held.users, held.to_bytes(), b"")

    def forget(self, batch: int) -> None:
        """Overwrite the sum of a batch, and drop it."""
        held = self._sums.pop(batch, None)
        if held is not None:
            held.cells[...] = 0
            held.people[...] = 0
