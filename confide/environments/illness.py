"""Worlds in which it is hard to tell good from nearly as good, or to stay on the way: on them constants are chosen."""

from __future__ import annotations

import numpy as np

from .. import validation
from ..mdp import Model, Spec
from .environment import blank, check_size, start_in
from .registry import register

CLIMB, REST = 0, 1


@register("illness", example="illness/6x3", horizon=10)
def illness(states: int, actions: int, horizon: int, seed: int = 0) -> Model:
    """An illness drawn at random once: from well to gone, each treatment helps or harms with chances of its own.

    A step up the ladder has a chance of 0.02 to 0.5, one down of 0.02 to 0.4; who is gone stays so. Each state is worth
    something in order, and a treatment takes up to 0.1 off that. Many treatments are nearly as good as the best.
    """
    spec = check_size(Spec(validation.integer("states", states, 2), actions, horizon))
    rng = np.random.default_rng(validation.integer("seed", seed, 0))
    transitions, _ = blank(spec)
    for s in range(spec.states - 1):
        for a in range(spec.actions):
            up, down = rng.uniform(0.02, 0.5), rng.uniform(0.02, 0.4)
            transitions[0, s, a, max(0, s - 1)] += up
            transitions[0, s, a, s + 1] += down
            transitions[0, s, a, s] += 1 - up - down
    transitions[0, -1, :, -1] = 1.0
    worth = np.sort(rng.uniform(0, 1, spec.states))[::-1].copy()
    worth[-1] = 0.0
    rewards = np.clip(worth[:, None] - rng.uniform(0, 0.1, spec.actions)[None], 0, 1)
    initial = rng.dirichlet([*np.ones(spec.states - 1), 0.01])
    return Model(transitions, rewards[None], initial, horizon)


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
