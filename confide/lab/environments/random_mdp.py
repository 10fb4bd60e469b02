"""Random worlds: the RandomMDP of Garcelon, Perchet, Pike-Burke and Pirotta (2021)."""

from __future__ import annotations

import numpy as np

from ... import validation
from ...mdp import Model, Spec
from .registry import check_size, register

CONCENTRATION = 0.1
"""Of the Dirichlet law of next states: small, so each action leads mostly to one state."""


@register("random", example="random/2x2", horizon=2)
def random_mdp(states: int, actions: int, horizon: int, seed: int = 0) -> Model:
    """A world drawn at random once: Dirichlet(0.1) transitions, rewards that are 0 or 1 with equal chance.

    The paper does not say where a person starts. Here the first state is uniform: the law of the world does not
    distinguish states, so neither does its start, and no part of a nearly deterministic world stays out of reach.
    """
    spec = check_size(Spec(states, actions, horizon))
    rng = np.random.default_rng(validation.integer("seed", seed, 0))
    transitions = rng.dirichlet(np.full(spec.states, CONCENTRATION), size=(1, spec.states, spec.actions))
    rewards = (rng.random((1, spec.states, spec.actions)) <= 0.5).astype(np.float64)
    return Model(transitions, rewards, np.full(spec.states, 1 / spec.states), horizon)
