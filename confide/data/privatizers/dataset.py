"""The central curator, who has a whole data set: counts of all users in, one release out, drawn once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidInput, PrivacyError
from ...mechanisms.noise import NoiseSource, curator_noise
from ...protocol.design import Design
from ...protocol.releases.release import release_about
from ..statistics.answers import answer
from ..trajectories.trajectory import Trajectory
from .curator import Total

if TYPE_CHECKING:
    from ...protocol.kinds.question import Question


def grid_of(design: Design) -> float:
    """What answers are whole multiples of: the unit of a question, or the grid of the noise where that has none."""
    resolution = design.question.resolution
    return 1 / resolution if resolution else float(design.mechanism.grid)


class DatasetAggregate:
    """Holds the exact counts of all users until it is closed, once."""

    def __init__(self, design: Design, noise: NoiseSource | None = None, simulated: bool = False) -> None:
        """Empty. Replayable noise is refused unless people are simulated."""
        self.noise = curator_noise(noise, simulated)
        self.design = design
        self.users = 0
        self._grid = grid_of(design)
        self._cells = np.zeros(design.question.width, dtype=np.int64)
        self._closed = False

    def __repr__(self) -> str:
        return f"DatasetAggregate(users={self.users})"

    def take(self, message: Trajectory, question: Question | None = None) -> None:
        """Count one person's episode."""
        member = self.design.question if question is None else self.design.question.member(question)
        _, cells = answer(self.design.question.kind, member, message, self._grid, self.noise.integers)
        self.take_sum(Total(cells, 1))

    def take_sum(self, total: Total) -> None:
        """Count several people's episodes, in multiples of the grid."""
        self._cells += total.cells
        self.users += total.people

    def close(self, question: Question | None = None) -> Any:
        """The release, drawn once: a second draw about the same people would not be paid for."""
        design = self.design
        if self._closed:
            raise PrivacyError(
                "aggregate-closed",
                "This aggregate was closed before, and its noise is paid for once. Open another, and pay.",
            )
        possible = slice(None) if design.possible is None else np.flatnonzero(design.possible)
        counted = self._cells[possible]
        if np.count_nonzero(counted) != np.count_nonzero(self._cells):
            raise InvalidInput(
                "counts-contradict-tables", "The counts contradict the public tables. Correct the tables or the data."
            )
        noisy = np.zeros(design.question.width)
        exact = np.asarray(counted * self._grid, dtype=np.float64)
        noisy[possible] = design.randomizer.randomize(exact, design.question.trials[possible], self.noise)
        self._closed = True
        self._cells = np.zeros(0, dtype=np.int64)
        return release_about(design, noisy, self.users)

    def to_bytes(self) -> bytes:
        """Refused: exact counts of a whole data set are the data."""
        raise PrivacyError(
            "counts-never-stored",
            "A data set is counted and released in one go; what is counted is never stored. Count again.",
        )
