"""Prospects of a release: how well it covers the problem, and which gain would have been found under this and other promises.

All of it is simulated from the private release. The data is not touched again, so nothing is spent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...learning.learners.apvi import Apvi, OfflinePlan
from ...privacy import Guarantee
from ...privacy.conversion import gaussian_epsilon, gaussian_mu
from ...protocol.releases import CountRelease
from .power import CHANCE, Rehearsal

FACTORS = (0.1, 1.0, 10.0)
"""Between promises that are compared, in the inverse variance of their noise."""

LARGE = 10**5
"""From so many cells on other promises are not rehearsed, but for none at all."""


def prospects(
    learner: object, release: CountRelease, plan: object, scale: float | None, in_units: Callable[[float], float]
) -> dict[str, Any]:
    """`coverage` and `power`, plain numbers; empty for learners without a model of the log. in_units: converts a gain into people's
    units, cut to what can be gained over current practice.

    power: the `gain` that would have been found with this `chance`; null if not even the `largest` possible one. promises: the same
    under other promises (`promise` null is no privacy).
    """
    if not isinstance(learner, Apvi) or not isinstance(plan, OfflinePlan) or plan.evidence is None:
        return {}
    rehearsal = Rehearsal(learner, release, plan, plan.evidence.practice, scale)
    largest, found = in_units(math.inf), dict[float, float | None]()

    def stated(ratio: float) -> float | None:
        """The gain that is found at a ratio of noise; None where it is not below the largest there can be."""
        gain = rehearsal.found(ratio)
        return None if gain is None or in_units(gain) >= largest else in_units(gain)

    ratios = {} if plan.model.noise == 0 else {factor: 1 / math.sqrt(factor) for factor in FACTORS}
    if plan.model.rows.size >= LARGE:
        ratios = {factor: ratio for factor, ratio in ratios.items() if factor == 1}
    for ratio in sorted({1.0, 0.0, *ratios.values()}):
        # More noise finds no smaller gain; what chance says against that is chance.
        known = [found[less] for less in found if less < ratio]
        gain = None if None in known else stated(ratio)
        found[ratio] = None if gain is None else max([gain, *(one for one in known if one is not None)])
    rows = [
        {"promise": _other(release.guarantee, factor), "gain": found[ratio]} for factor, ratio in sorted(ratios.items())
    ]
    rows += [{"promise": None, "gain": found[0.0]}] if rows else []
    power = {"chance": CHANCE, "gain": found[1.0], "largest": largest, "promises": rows}
    return {"coverage": coverage(plan), "power": power}


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
