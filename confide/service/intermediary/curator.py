"""A curator: it adds up the episodes of open batches exactly, in memory only, and closes each batch into a private release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...data.privatizers import open_aggregate
from ...data.privatizers.curator import CuratorAggregate, Total
from ...data.statistics.answers import answer
from ...data.trajectories.observed import from_handed, handed_length
from ...errors import ConfideError, FormatError
from ...mechanisms.noise import NoiseSource, curator_noise
from ...protocol.design import Design
from ..contract.intermediary import CURATOR
from ..http.serving import Endpoint
from .open_batches import ClosedBatch
from .serving import serve


class EpisodeBatches:
    """Open batches of episodes. A user who does not come, or sends what cannot have happened, counts as an empty episode."""

    def __init__(self, design: Design, noise: NoiseSource | None = None, simulated: bool = False) -> None:
        """No batch is open. Replayable noise is refused unless people are simulated."""
        self._design, self._simulated = design, simulated
        self._noise = curator_noise(noise, simulated)
        self._sums: dict[int, NDArray[np.int64]] = {}
        self.longest = handed_length(design.question)

    def take(self, batch: int, message: bytes) -> None:
        """Add one episode to the exact sum of its batch."""
        design = self._design
        episode = from_handed(message, design.question)
        try:
            _, cells = answer(
                design.question.kind, design.question, episode, design.mechanism.grid, self._noise.integers
            )
        except ConfideError as error:
            raise FormatError(
                "episode-of-other-question", "This episode does not fit the contract's statistic."
            ) from error
        if batch not in self._sums:
            self._sums[batch] = np.zeros(design.question.width, dtype=np.int64)
        self._sums[batch] += cells

    def close(self, batch: int, tickets: int, state: bytes) -> ClosedBatch:
        """Release the running sums about every user who had a ticket, present or absent."""
        design = self._design
        simulated = self._simulated
        aggregate = (
            CuratorAggregate.from_bytes(state, design, self._noise, simulated)
            if state
            else open_aggregate(design, self._noise, simulated=simulated)
        )
        batch_sum = self._sums.get(batch)
        aggregate.take_sum(
            Total(np.zeros(design.question.width, dtype=np.int64) if batch_sum is None else batch_sum, tickets)
        )
        release = aggregate.close()
        return ClosedBatch(tickets, release.to_bytes(), aggregate.to_bytes())

    def forget(self, batch: int) -> None:
        """Overwrite the sum of a batch, and drop it."""
        batch_sum = self._sums.pop(batch, None)
        if batch_sum is not None:
            batch_sum[:] = 0


def curate(path: str | Path, endpoint: Endpoint, database: str | None = None, *, child: bool = False) -> None:
    """Serve the curator of a folder until it gets the signal to end. child: ends with standard input too."""
    serve(CURATOR, EpisodeBatches, path, endpoint, database, child=child)
