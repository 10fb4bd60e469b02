"""Bandits with contexts: one step, a context that a person brings, and arms that pay with chances of their own."""

from __future__ import annotations

import numpy as np

from ... import validation
from ...mdp import Model, Spec
from .registry import check_size, register


@register("arms", example="arms/5x5", horizon=1)
def arms(contexts: int, actions: int, horizon: int, seed: int = 0) -> Model:
    """A bandit drawn at random once: contexts by a flat Dirichlet law, and arms that pay 1 with a chance uniform in [0, 1].

    With a longer horizon every step is such a choice, in a fresh context.
    """
    spec = check_size(Spec(contexts, actions, horizon))
    rng = np.random.default_rng(validation.integer("seed", seed, 0))
    law = rng.dirichlet(np.ones(spec.states))
    rewards = rng.random((1, spec.states, spec.actions))
    return Model(np.broadcast_to(law, (1, spec.states, spec.actions, spec.states)).copy(), rewards, law, horizon)
