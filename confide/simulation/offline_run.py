"""What learning from simulated logs leaves behind: what was learned, seed by seed, beside what is exactly true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..planning.ope import Estimate
from ..privacy import Certificate


class Saying(NamedTuple):
    """What a release alone says: value, gain over current practice, and the share of states where practice is kept."""

    value: Estimate
    gain: Estimate
    kept: float


@dataclass(frozen=True, eq=False)
class OfflineRun:
    """values: (seeds,), exact. sayings: (seeds,), where the learner keeps a model of the log."""

    environment: str
    learner: str
    users: int
    values: NDArray[np.float64]
    optimal_value: float
    practice_value: float
    certificate: Certificate
    seconds: float
    sayings: tuple[Saying, ...] = ()

    @property
    def suboptimality(self) -> NDArray[np.float64]:
        """(seeds,) how much less than the best, exactly."""
        return self.optimal_value - self.values

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """(seeds,) of the value."""
        return tuple(one.value for one in self.sayings)

    @property
    def gains(self) -> tuple[Estimate, ...]:
        """(seeds,) of the gain over current practice."""
        return tuple(one.gain for one in self.sayings)

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        said = {
            "environment": self.environment,
            "learner": self.learner,
            "users": self.users,
            "seeds": len(self.values),
            "value": {"mean": float(self.values.mean()), "each": self.values.tolist()},
            "optimal_value": self.optimal_value,
            "practice_value": self.practice_value,
        }
        if self.sayings:
            said |= {
                "estimated": [[one.value, one.low, one.high] for one in self.estimates],
                "gain_over_practice": [[one.value, one.low, one.high] for one in self.gains],
                "practice_kept": float(np.mean([one.kept for one in self.sayings])),
            }
        return {**said, "seconds": self.seconds, "certificate": self.certificate.as_json()}
