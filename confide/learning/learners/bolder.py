"""A family of bolder policies: less pessimism, and pairs that were seen often enough, with current practice in place of the others.

Which of them is any good cannot be judged by the release that made them: who was counted for them cannot judge them. Others do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..planning.logged import LoggedModel
from ..planning.ope import policy_values
from ..planning.pessimism import adaptive

if TYPE_CHECKING:
    from .apvi import OfflinePlan

STRENGTHS = (1.0, 0.5, 0.0)
"""Pessimism in standard deviations: lower confidence bounds (LCB); by default it is 2."""

SEEN = (5.0, 20.0, 100.0)
"""Greedy among pairs of at least this many visits, and current practice (as SPIBB, Laroche et al. 2019, with its bootstrapped pairs
left to practice)."""

EXCEEDS = 2.0
"""Deviations of their noise by which visits of a pair must exceed zero as well."""


def bolder(plan: OfflinePlan) -> list[OfflinePlan]:
    """The policies of the family that differ from a plan and from each other, by the model that chose the plan."""
    model = plan.model
    deviation = model.noise * np.sqrt(np.maximum(model.knowledge.width, 1))
    found = [plan]
    for strength in STRENGTHS:
        _add(found, plan, model, strength)
    for least in SEEN:
        seen = (model.visits >= np.maximum(least, EXCEEDS * deviation)) & model.knowledge.allowed
        _add(found, plan, replace(model, tried=seen), 0.0)
    return found[1:]


def _add(found: list[OfflinePlan], plan: OfflinePlan, model: LoggedModel, strength: float) -> None:
    """Add the policy that a model gives with that pessimism, if it is new and ever leaves current practice."""
    policy, values = np.empty(plan.extended.shape), np.empty(plan.values.shape)
    adaptive(model, strength, True, policy, values)
    if policy[..., 0].all() or any(np.array_equal(policy, one.extended) for one in found):
        return
    worth, _ = policy_values(plan.model, policy)
    found.append(plan._replace(policy=plan.model.resolved(policy), values=worth, extended=policy, more=None))
