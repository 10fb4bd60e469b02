"""The results of learning from simulated logs: what was learned, seed by seed, beside what is exactly true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...learning.planning.estimates import Estimate
from ...privacy import Certificate
from ...validation import Json


class OfflineEvaluation(NamedTuple):
    """What a release alone says of a learned policy: its value, its gain, and the share of states where practice is kept."""

    value: Estimate
    gain: Estimate
    practice_share: float


@dataclass(frozen=True, eq=False)
class OfflineRun:
    """All seeds' results. values: (seeds,), exact. evaluations: (seeds,), where the learner keeps a model of the log."""

    environment: str
    learner: str
    users: int
    values: NDArray[np.float64]
    optimal_value: float
    practice_value: float
    certificate: Certificate
    seconds: float
    evaluations: tuple[OfflineEvaluation, ...] = ()

    @property
    def suboptimality(self) -> NDArray[np.float64]:
        """(seeds,) how much less than the best, exactly."""
        return self.optimal_value - self.values

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """(seeds,) estimates of the learned policy's value, from the release alone."""
        return tuple(evaluation.value for evaluation in self.evaluations)

    @property
    def gains(self) -> tuple[Estimate, ...]:
        """(seeds,) estimates of the gain over current practice, from the release alone."""
        return tuple(evaluation.gain for evaluation in self.evaluations)

    def as_json(self) -> dict[str, Json]:
        """The machine-readable form."""
        document: dict[str, Json] = {
            "environment": self.environment,
            "learner": self.learner,
            "users": self.users,
            "seeds": len(self.values),
            "value": {"mean": float(self.values.mean()), "each": self.values.tolist()},
            "optimal_value": self.optimal_value,
            "practice_value": self.practice_value,
        }
        if self.evaluations:
            document |= {
                "estimated": [[estimate.value, estimate.low, estimate.high] for estimate in self.estimates],
                "gain_over_practice": [[estimate.value, estimate.low, estimate.high] for estimate in self.gains],
                "practice_kept": float(np.mean([evaluation.practice_share for evaluation in self.evaluations])),
            }
        return {**document, "seconds": self.seconds, "certificate": self.certificate.as_json()}
