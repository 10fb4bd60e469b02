"""The central curator of people's returns: one small question beside the counts, for a share of the guarantee."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidInput, PrivacyError
from ...mechanisms.noise import NoiseSource, curator_noise
from ...protocol.design import Design
from ...protocol.kinds.returns import RETURNS, ReturnsRelease
from ..statistics.answers import answer
from ..trajectories.trajectory import Trajectory
from .curator import Total

if TYPE_CHECKING:
    from ...protocol.kinds.question import Question

MOST_UNITS = 1 << 62


class ReturnsAggregate:
    """Holds the sums over episodes of u, u^2 and 1, where u is what the question counts, until it is closed, once."""

    def __init__(self, design: Design, noise: NoiseSource | None = None, simulated: bool = False) -> None:
        """Empty. Replayable noise is refused unless people are simulated."""
        self.noise = curator_noise(noise, simulated)
        self.design, self.users = design, 0
        self._sums: list[int] | None = [0, 0, 0]

    def __repr__(self) -> str:
        return f"ReturnsAggregate(users={self.users})"

    def take(self, message: Trajectory, question: Question | None = None) -> None:
        """Count one person's episode."""
        family = RETURNS.question_of(self.design)
        _, sums = answer(family.kind, family, message, family.grid, self.noise.integers)
        self.take_sum(Total(sums, 1))

    def take_sum(self, total: Total) -> None:
        """Count several people's episodes."""
        self._sums = [mine + int(more) for mine, more in zip(self._held(), total.cells, strict=True)]
        self.users += total.people

    def _held(self) -> list[int]:
        if self._sums is None:
            raise PrivacyError(
                "aggregate-closed",
                "This aggregate was closed before, and its noise is paid for once. Open another, and pay.",
            )
        return self._sums

    def close(self, question: Question | None = None) -> ReturnsRelease:
        """The release, drawn once. Sums are whole numbers, so nothing of them is left between points of the grid."""
        family, mechanism = RETURNS.question_of(self.design), self.design.additive
        total, square, count = self._held()
        units = family.units((total, square, count))
        finer = round(family.grid / mechanism.grid)  # the noise may be drawn on a finer grid
        if max(map(abs, units)) * finer >= MOST_UNITS:
            raise InvalidInput(
                "returns-too-many",
                f"Returns of {self.users:,} people over {family.horizon:,} steps are too many to add up.",
            )
        drawn = mechanism.steps(self.noise, (3,))
        self._sums = None
        noisy = [
            (unit * finer + int(noise_step)) * mechanism.grid for unit, noise_step in zip(units, drawn, strict=True)
        ]
        centred, squares, episodes = (value / scale for value, scale in zip(noisy, family.scales, strict=True))
        sizes = np.array(math.sqrt(mechanism.variance())) / family.scales
        noise = float(sizes[0]), float(sizes[1]), float(sizes[2])
        about = self.users, self.design.episodes, family.low, family.high
        return ReturnsRelease(*about, centred, squares, episodes, noise)

    def to_bytes(self) -> bytes:
        """Refused: exact sums about a data set are the data."""
        raise PrivacyError(
            "returns-never-stored",
            "Returns are summed and released in one go, and never stored. Sum it again.",
        )
