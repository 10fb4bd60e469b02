"""Logs of simulated people with linear features, as linear learners are asked about them."""

from __future__ import annotations

import numpy as np

from confide.data.statistics.gram import LoggedSteps
from confide.lab.simulation.offline_log import draw_log
from confide.mdp import Model, Policy
from confide.mdp.linear import LinearFeatures
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import REWARDS, TRANSITIONS
from confide.protocol.kinds.gram import TARGET_BITS


def draw_steps(
    features: LinearFeatures, model: Model, behaviour: Policy, users: int, rng: np.random.Generator
) -> LoggedSteps:
    """The log of `users` people in one group; rewards are 0 or 1."""
    question = CountQuestion(model.per_step().spec, (REWARDS, TRANSITIONS))
    cells = draw_log(model, behaviour, users, question, rng)
    paid, moves = (cells[question.slices[part]].reshape(1, *question.shape(part)) for part in (REWARDS, TRANSITIONS))
    rewards = np.rint(paid * float(1 << TARGET_BITS)).astype(np.int64)
    return LoggedSteps(features, np.rint(moves).astype(np.int64), rewards, (users,))
