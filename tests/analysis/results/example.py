"""A run that no one had to wait for."""

from __future__ import annotations

from typing import Any

import numpy as np

from confide.analysis.results import Run
from confide.mdp import Policy
from confide.mechanisms.laplace import Laplace
from confide.privacy import Act, Certificate, Local, Schedule, Sensitivity


def example_certificate(epsilon: float = 2.0) -> Certificate:
    sensitivity = Sensitivity(6.0, 6**0.5, ((1.0, 6),), 6)
    act = Act(Laplace(6.0 / epsilon, 1.0), sensitivity)
    return Certificate.of([act], Local(epsilon), "tight", "replayable", ("rewards in [0, 1]",))


def example_run(seeds: int = 4, points: int = 30, **changes: Any) -> Run:
    luck = np.random.default_rng(5)
    checkpoints = np.unique(np.geomspace(1, 10_000, points).astype(np.int64))
    given: dict[str, Any] = {
        "environment": "random/2x2",
        "learner": "obi",
        "trust": "local",
        "episodes": 10_000,
        "seeds": seeds,
        "schedule": Schedule.growth(10_000, 1.1).describe(),
        "engine": "batched",
        "checkpoints": checkpoints,
        "regret": np.sqrt(checkpoints) * luck.uniform(1, 3, (seeds, 1)),
        "optimal_value": 1.25,
        "final_value": luck.uniform(1, 1.2, seeds),
        "seconds": 0.5,
        "certificate": example_certificate(),
        "policy": Policy(luck.dirichlet([1, 1, 1], size=(2, 4))),
        "config": {"seed": 2**100 + 1, "bonus_scale": 0.1, "options": {"mechanism": "laplace"}},
    }
    return Run(**{**given, **changes})
