"""Random illnesses, in which it is hard to tell a good treatment from one that is nearly as good."""

from __future__ import annotations

import numpy as np

from ... import validation
from ...mdp import Model, Spec
from .registry import blank, check_size, register


@register("illness", example="illness/6x3", horizon=10)
def illness(states: int, actions: int, horizon: int, seed: int = 0) -> Model:
    """An illness drawn at random once: from well to gone, each treatment helps or harms with chances of its own.

    A step up the ladder has a chance of 0.02 to 0.5, one down of 0.02 to 0.4; who is gone stays so. The states' rewards are
    in order, and a treatment takes up to 0.1 off that. Many treatments are nearly as good as the best.
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
