"""Linear mixture worlds (Liao, He and Gu, 2021): RiverSwim as a mixture, and one that is hard for every learner."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...mdp import PER_STEP, MixtureFeatures, Model
from .registry import Environment, check_size, register, start_in
from .riverswim import riverswim, riverswim_inhomogeneous

Array = NDArray[np.float64]


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
    simplex; a reward depends on the state alone and is a cube of a uniform number, so that few states have high rewards.
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
        gap = _private_advantage(chance, episodes * horizon, epsilon)
    return _possible(gap, chance, dimension, episodes)


def _private_advantage(chance: float, rounds: int, epsilon: float) -> float:
    """sqrt(q)/(min(2, e^eps)(e^eps - 1) sqrt(T)): what epsilon-LDP answers of T rounds do not show."""
    return math.sqrt(chance / rounds) / (min(2.0, math.exp(epsilon)) * math.expm1(epsilon))


def _possible(gap: float, chance: float, dimension: int, episodes: int) -> float:
    """Delta, refused where it makes a probability that is none."""
    most = min(chance, 1 - chance) / (dimension - 1)
    if gap > most:
        raise validation.refusal(
            "hard-mixture-episodes",
            "episodes",
            f"enough that Delta is at most {most:.3g}",
            f"{episodes}, Delta {gap:.3g}",
        )
    return gap


def _coded(d: int, gap: float) -> tuple[float, float, Array]:
    """alpha = sqrt(1/(1 + Delta (d-1))), beta = sqrt(Delta/(1 + Delta (d-1))), and (2^(d-1), d-1) the actions in {-1,1}^(d-1)."""
    scale = 1 + gap * (d - 1)
    bits = (np.arange(2 ** (d - 1))[:, None] >> np.arange(d - 1)) & 1
    signs: Array = 1.0 - 2.0 * bits.astype(np.float64)
    return math.sqrt(1 / scale), math.sqrt(gap / scale), signs


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
    alpha, beta, signs = _coded(d, gap)
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


@register("hard-bandit", example="hard-bandit/d5", horizon=2)
def hard_bandit(d: int, horizon: int, episodes: int = 10**4, epsilon: float = 1.0, seed: int = 0) -> Environment:
    """A linear bandit that is hard to learn under local privacy: one decision, one of 2^(d-1) actions better by a hair.

    The reward of action a in {-1,1}^(d-1) is 1 with probability 1/3 + <mu, a>, mu in {-Delta,Delta}^(d-1) drawn from the seed,
    Delta = sqrt(1/3)/(min(2, e^eps)(e^eps - 1) sqrt(K)): the instance of Lemma 5.5 of Liao, He and Gu (2021), H = 1 there. As
    a mixture it has a second step, in which the reward that was won is paid.
    """
    d, episodes = validation.integer("dimension", d, 2, 16), validation.integer("episodes", episodes, 1)
    if horizon != 2:
        raise validation.refusal(
            "hard-bandit-horizon", "horizon", "2, a decision and its reward", horizon, "Leave it out."
        )
    chance = 1 / 3
    gap = _possible(_private_advantage(chance, episodes, validation.positive("epsilon", epsilon)), chance, d, episodes)
    alpha, beta, signs = _coded(d, gap)
    begin, lost, won = range(3)
    phi = np.zeros((3, len(signs), 3, d))
    phi[begin, :, lost, 0], phi[begin, :, lost, 1:] = alpha * (1 - chance), -beta * signs
    phi[begin, :, won, 0], phi[begin, :, won, 1:] = alpha * chance, beta * signs
    phi[lost, :, lost, 0] = phi[won, :, won, 0] = alpha
    mu = gap * np.random.default_rng(validation.integer("seed", seed, 0)).choice((-1.0, 1.0), size=d - 1)
    theta = np.concatenate([[1 / alpha], mu / beta])
    features = MixtureFeatures.from_array(phi, parameter_norm=1 + gap * (d - 1))
    rewards = np.zeros((3, len(signs)))
    rewards[won] = 1.0
    model = Model(features.probabilities(theta[None]), rewards, start_in(begin, 3), horizon)
    check_size(model.spec)
    return replace(Environment.known(model), features=features)
