"""Prospects of a release: how well it covers the problem, and what a weaker or stronger promise would have given.

All of it is simulated from the private release. The data is not touched again, so nothing is spent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..learners.apvi import Apvi, OfflinePlan
from ..planning.ope import worth
from ..privacy import Guarantee
from ..privacy.conversion import gaussian_epsilon, gaussian_mu
from ..releases import CountRelease

FACTORS = (1e-2, 1e-1, 10**-0.5, 1.0, 10**0.5, 10.0, 100.0)
LARGE = 10**6
"""From so many cells on only every third promise is rehearsed."""


def prospects(
    learner: object, release: CountRelease, plan: object, scale: float | None, in_units: Callable[[float], float]
) -> dict[str, Any]:
    """`coverage`, `promises`, and `practice_there`, what current practice is worth in the world in which promises are
    compared: plain numbers in people's units; empty for learners without a model of the log. in_units: converts a sum of
    rewards in [0, 1] into people's units.
    """
    if not isinstance(learner, Apvi) or not isinstance(plan, OfflinePlan):
        return {}
    factors = FACTORS if plan.model.rows.size < LARGE else FACTORS[::3]

    def earned(noise_scale: float) -> float:
        return in_units(learner.rehearse(release, plan, noise_scale, scale))

    if plan.model.noise == 0:
        return {"coverage": coverage(plan), "promises": []}
    rows = [
        {"promise": _other(release.guarantee, factor), "value": earned(1 / math.sqrt(factor))} for factor in factors
    ]
    rows.append({"promise": None, "value": earned(0.0)})
    usual = in_units(worth(plan.model, None))
    return {"coverage": coverage(plan), "promises": rows, "practice_there": usual}


def coverage(plan: OfflinePlan) -> dict[str, float]:
    """Shares: of allowed pairs that are known to have been tried, of current practice that lies in them, and of the
    policy's steps that keep to current practice.
    """
    model = plan.model
    knowledge = model.knowledge
    pairs = np.broadcast_to(knowledge.allowed, model.covered.shape).copy()
    if knowledge.end is not None:
        pairs[:, knowledge.end] = False
    seen = np.where(pairs, model.visits / model.counted, 0.0)
    here, staying, moving = model.initial, 0.0, 0.0
    for h in range(len(plan.extended)):
        layer = h if len(model.rows) > 1 else 0
        here_now = here if knowledge.end is None else np.where(np.arange(len(here)) == knowledge.end, 0.0, here)
        staying += float(
            (here_now * plan.extended[h, :, 0]).sum()
        )  # added up as below, so that all is 1 to the last digit
        moving += float(here_now.sum())
        here = model.rows.flow(layer, here[:, None] * plan.extended[h])
    return {
        "pairs": float(model.covered[pairs].mean()),
        "practice": float(seen[model.covered].sum() / max(seen.sum(), 1e-300)),
        "kept": staying / max(moving, 1e-300),
    }


def _other(promise: Guarantee, factor: float) -> dict[str, float | None]:
    """The promise whose noise has variance 1/factor of this one's."""
    if promise.rho is not None:
        return {"rho": promise.rho * factor, "epsilon": None, "delta": 0.0}
    epsilon = promise.epsilon or 0.0
    if promise.delta == 0:
        return {"rho": None, "epsilon": epsilon * math.sqrt(factor), "delta": 0.0}
    mu = gaussian_mu(epsilon, promise.delta) * math.sqrt(factor)
    return {"rho": None, "epsilon": gaussian_epsilon(mu, promise.delta), "delta": promise.delta}
