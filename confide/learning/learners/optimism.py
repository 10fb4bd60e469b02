"""The plan that all optimistic learners share: estimate, bonus, backward induction.

A learner supplies `optimism(estimates, constants, work, horizon)`, compiled, which fills in the estimated
model and the bonus; the rest is here. The first three constants mean the same everywhere: the sense of the objective,
what action values are clipped to from below, and the bonus scale.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...compiled import merged, specialise
from ...protocol.releases.release import Array, Estimates
from ..planning.induction import GREEDY, MAXIMISE, MINIMISE, Workspace, backward_induction, workspace
from .learner import Context, Plan

SENSES = {"reward": MAXIMISE, "cost": MINIMISE}

Optimism = Callable[[Estimates, Array, Workspace, int], None]


def optimism(estimates: Estimates, constants: Array, work: Workspace, horizon: int) -> None:
    """The hole for a learner's estimate and bonus."""


def plan(
    estimates: Estimates, constants: Array, memory: Workspace, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """Act greedily in the optimistic model."""
    optimism(estimates, constants, memory, policy.shape[0])
    backward_induction(memory, constants[0], constants[1], 1.0, GREEDY, policy, values)


def optimistic(name: str, how: Optimism) -> Plan:
    """The compiled plan of a learner that is given by its optimism."""
    return specialise(plan, name, merged, optimism=how)


def constants(context: Context, *others: float, sense: float = MAXIMISE, low: float = 0.0) -> Array:
    """The three constants that optimistic plans share, and a learner's further ones."""
    return np.array([sense, low, context.bonus_scale, *others])


def memory(context: Context, dispersed: bool) -> Workspace:
    """The workspace to plan in."""
    return workspace(context.spec, dispersed)
