"""The chain of Strens (2000), a Bayesian framework for reinforcement learning: patience against a small sure reward."""

from __future__ import annotations

import numpy as np

from ... import validation
from ...mdp import Model, Spec
from .registry import Environment, RewardScale, blank, register, start_in

FORWARD, BACK = 0, 1
SLIP = 0.2
PATIENT, IMPATIENT = 10.0, 2.0
"""What people are paid at the end of the chain, and for going back."""


@register("chain", example="chain/5", horizon=lambda states: 4 * states)
def chain(states: int, horizon: int) -> Environment:
    """Walk to the end of a chain, where each step pays 10, or go back for 2; one in five actions slips.

    A slip does the other action, and the pay follows what was done.
    """
    spec = Spec(validation.integer("states", states, 2), 2, horizon)
    transitions, rewards = blank(spec)
    every, last, scale = np.arange(spec.states), spec.states - 1, RewardScale(0, PATIENT)
    for action, forward in ((FORWARD, 1 - SLIP), (BACK, SLIP)):
        transitions[0, every, action, np.minimum(every + 1, last)] += forward
        transitions[0, every, action, 0] += 1 - forward
        rewards[0, :, action] = (1 - forward) * scale.to_learner(IMPATIENT)
        rewards[0, last, action] += forward * scale.to_learner(PATIENT)
    return Environment.known(Model(transitions, rewards, start_in(0, spec.states), horizon), scale)
