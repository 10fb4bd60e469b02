"""Linear mixture worlds (Liao, He and Gu, 2021): RiverSwim as a mixture, and one that is hard for every learner."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ... import validation
from ...mdp import PER_STEP, MixtureFeatures, Model
from .registry import Environment, check_size, register, start_in
from .riverswim import riverswim, riverswim_inhomogeneous


@register("riverswim-mixture", example="riverswim-mixture/5", horizon=lambda states: 2 * states)
def riverswim_mixture(states: int, horizon: int, inhomogeneous: bool = False, seed: int = 0) -> Environment:
    """RiverSwim as a linear mixture with one-hot features: d = S^2 A, rewards over H.

    The kernel is that of `riverswim`, or that of `riverswim-inhomogeneous`, whose current is drawn from the seed.
    """
    model: Any = riverswim_inhomogeneous(states, horizon, seed) if inhomogeneous else riverswim(states, horizon)
    if not inhomogeneous:
        model = Model(model.transitions, model.rewards / horizon, model.initial, horizon)
    return replace(Environment.known(model), features=MixtureFeatures.one_hot(states, model.spec.actions))


@register("mixture", example="mixture/20x3x4", horizon=10)
def mixture(states: int, actions: int, dimension: int, horizon: int, seed: int = 0) -> Environment:
    """A mixture of D known models of S states and A actions in proportions that are to be learned; rewards are known.

    In every model each pair of state and action leads to a few states (a Dirichlet law of 1/4 each); proportions are uniform on the
    simplex; a reward depends on the state alone and is a cube of a uniform number, so that few states are worth reaching.
    """
    draw = np.random.default_rng(validation.integer("seed", seed, 0))
    models = draw.dirichlet(np.full(states, 0.25), size=(dimension, states, actions))  # (D, S, A, S)
    theta = draw.dirichlet(np.ones(dimension))
    features = MixtureFeatures.from_array(np.moveaxis(models, 0, -1), parameter_norm=1.0)
    rewards = np.repeat(draw.random(states)[:, None] ** 3, actions, axis=1)
    model = Model(features.probabilities(theta[None]), rewards, start_in(0, states), horizon)
    return replace(Environment.known(model), features=features)


def hidden_advantage(dimension: int, horizon: int, episodes: int, epsilon: float) -> float:
    """Delta = sqrt(q/K)/(4 sqrt2), q = 1/H, or, where epsilon is above 0, sqrt(q)/(min(2, e^eps)(e^eps - 1) sqrt(K H)).

    All probabilities need Delta (d-1) to be at most q and 1-q.
    """
    episodes = validation.integer("episodes", episodes, 1)
    chance = 1 / horizon
    gap = math.sqrt(chance / episodes) / (4 * math.sqrt(2))
    if validation.between("epsilon", epsilon, 0.0, 100.0):
        gap = math.sqrt(chance / (episodes * horizon)) / (min(2.0, math.exp(epsilon)) * math.expm1(epsilon))
    most = min(chance, 1 - chance) / (dimension - 1)
    if gap > most:
        raise validation.refusal(
            "hard-mixture-episodes",
            "episodes",
            f"enough that Delta is at most {most:.3g}",
            f"{episodes}, Delta {gap:.3g}",
        )
    return gap


@register("hard-mixture", example="hard-mixture/d5h6", horizon=lambda d, h: h, model=PER_STEP)
def hard_mixture(
    d: int, h: int, horizon: int, episodes: int = 10**4, epsilon: float = 0.0, seed: int = 0
) -> Environment:
    """The mixture that is hard to learn: at each step one of 2^(d-1) actions is better by a hair.

    States x_1 .. x_(H+2), the last two absorbing; the reward is 1 in x_(H+2) and 0 elsewhere. Action a in {-1,1}^(d-1)
    leads from x_i to x_(H+2) with probability 1/H + <mu_h, a>, else to x_(i+1); mu_h in {-Delta,Delta}^(d-1) is drawn
    from the seed. (Zhou, Gu and Szepesvari, 2021, with the Delta of Liao, He and Gu, 2021, where epsilon is given.)
    """
    d, h = validation.integer("dimension", d, 2, 16), validation.integer("h", h, 2)
    if horizon != h:
        raise validation.refusal(
            "hard-mixture-horizon",
            "horizon",
            f"{h}, the length of the chain",
            horizon,
            f"Write hard-mixture/d{d}h{horizon}.",
        )
    gap, chance = hidden_advantage(d, h, episodes, epsilon), 1 / h
    alpha = math.sqrt(1 / (1 + gap * (d - 1)))
    beta = math.sqrt(gap / (1 + gap * (d - 1)))
    signs = 1.0 - 2.0 * ((np.arange(2 ** (d - 1))[:, None] >> np.arange(d - 1)) & 1)  # (A, d-1)
    states, actions = h + 2, len(signs)
    phi = np.zeros((states, actions, states, d))
    for i in range(h):
        phi[i, :, i + 1, 0], phi[i, :, i + 1, 1:] = alpha * (1 - chance), -beta * signs
        phi[i, :, h + 1, 0], phi[i, :, h + 1, 1:] = alpha * chance, beta * signs
    phi[h, :, h, 0] = phi[h + 1, :, h + 1, 0] = alpha
    draw = np.random.default_rng(validation.integer("seed", seed, 0))
    mu = gap * draw.choice((-1.0, 1.0), size=(h, d - 1))
    theta = np.concatenate([np.full((h, 1), 1 / alpha), mu / beta], axis=1)
    features = MixtureFeatures.from_array(phi, parameter_norm=1 + gap * (d - 1))
    rewards = np.zeros((h, states, actions))
    rewards[:, h + 1] = 1.0
    model = Model(features.probabilities(theta), rewards, start_in(0, states), h)
    check_size(model.spec)
    return replace(Environment.known(model), features=features)
