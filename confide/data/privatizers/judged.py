"""The curator of judging people's scores: each part is summed and released in one go, for a share of the guarantee to them."""

from __future__ import annotations

import math
import os

import numpy as np
from numpy.typing import NDArray

from ...errors import PrivacyError
from ...mechanisms.noise import NoiseSource, curator_noise
from ...protocol.design import Design
from ...protocol.kinds.judged import JUDGED, JudgedRelease
from .curator import Total


class JudgedAggregate:
    """Holds the exact sums of one part until it is closed, once."""

    def __init__(self, design: Design, noise: NoiseSource | None = None, simulated: bool = False) -> None:
        """Empty. Replayable noise is refused unless people are simulated."""
        self.noise = curator_noise(noise, simulated)
        self.design, self.users = design, 0
        self._sums: NDArray[np.int64] | None = np.zeros(JUDGED.question_of(design).cells, dtype=np.int64)

    def __repr__(self) -> str:
        return f"JudgedAggregate(users={self.users})"

    def take(self, message: object, question: object = None) -> None:
        """Refused: a score is made with a policy, which no single message tells."""
        raise PrivacyError("judged-in-sums", "Scores are summed with the policy that they judge. Use take_sum.")

    def take_sum(self, total: Total) -> None:
        """Count several people, in units of 1/resolution."""
        self._sums = self._held() + total.cells
        self.users += total.people

    def take_numbers(self, numbers: NDArray[np.float64], uniforms: NDArray[np.float64] | None = None) -> None:
        """Count people by their octaves, or by shares of a clip, which are rounded by the operating system's randomness."""
        if uniforms is None:
            uniforms = self._uniforms(numbers.shape)
        question = JUDGED.question_of(self.design)
        self.take_sum(Total(question.units(numbers, uniforms), len(numbers)))

    def _uniforms(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """By the operating system's randomness, or, of simulated people, by noise that can be replayed."""
        if not self.noise.secure:
            return np.asarray(self.noise.integers(1 << 53, shape) * 2.0**-53)
        words = np.frombuffer(os.urandom(8 * math.prod(shape)), dtype=np.uint64).reshape(shape)
        return np.asarray((words >> np.uint64(11)) * 2.0**-53)

    def _held(self) -> NDArray[np.int64]:
        if self._sums is None:
            raise PrivacyError(
                "aggregate-closed",
                "This aggregate was closed before, and its noise is paid for once. Open another, and pay.",
            )
        return self._sums

    def close(self, question: object = None, scale: float = 1.0) -> JudgedRelease:
        """The release, drawn once. scale: what a share of 1 stands for; it is public, and changes no noise."""
        family, mechanism, sums = JUDGED.question_of(self.design), self.design.additive, self._held()
        finer = round(family.grid / mechanism.grid)  # the noise may be drawn on a finer grid
        drawn = mechanism.steps(self.noise, (family.cells,))
        self._sums = None
        noisy = np.array(
            [(int(unit) * finer + int(step)) * mechanism.grid for unit, step in zip(sums, drawn, strict=True)]
        )
        values = family.values(noisy, self.users)
        sizes = family.deviations(math.sqrt(mechanism.variance()))
        return JudgedRelease(family.part, self.users, tuple(map(float, values)), tuple(map(float, sizes)), scale)

    def to_bytes(self) -> bytes:
        """Refused: exact sums about people are the data."""
        raise PrivacyError(
            "judged-not-stored", "Scores are summed and released in one go, and never stored. Sum them again."
        )
