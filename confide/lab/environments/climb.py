"""A climb: patience is paid at the top only, and one slip undoes it."""

from __future__ import annotations

import numpy as np

from ... import validation
from ...mdp import Model, Spec
from .registry import blank, register, start_in

CLIMB, REST = 0, 1


@register("climb", example="climb/7", horizon=lambda states: 3 * states)
def climb(states: int, horizon: int, slip: float = 0.15, rest: float = 0.1) -> Model:
    """Climb step by step to the top, which pays 1; who slips falls to the bottom, and resting pays a little on the way down.

    Climbing goes one state up, but with the chance `slip` back to the first. Resting pays `rest` and goes two states down, but with
    half that chance one up.
    """
    spec = Spec(validation.integer("states", states, 2), 2, horizon)
    validation.between("slip", slip, 0.0, 1.0)
    validation.between("rest", rest, 0.0, 1.0)
    transitions, rewards = blank(spec)
    every, top = np.arange(spec.states), spec.states - 1
    for action, down, chance in ((CLIMB, np.zeros_like(every), 1 - slip), (REST, np.maximum(every - 2, 0), slip / 2)):
        transitions[0, every, action, np.minimum(every + 1, top)] += chance
        transitions[0, every, action, down] += 1 - chance
    rewards[0, :, REST] = rest
    rewards[0, top, CLIMB] = 1.0
    return Model(transitions, rewards, start_in(0, spec.states), horizon)
