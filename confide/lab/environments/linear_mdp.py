"""The linear decision process of the simulations of Qiao and Wang (2023) and Yin et al. (2022)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...mdp import PER_STEP, Model, Policy
from ...mdp.described import ACTION, IS, Category, DescribedFeatures, Factor
from ...mdp.linear import LinearFeatures
from .observed_world import ListedWorld
from .registry import Environment, register

ACTIONS, BITS = 100, 8
SCALE = 0.99
"""The paper's r, which sets all rewards."""

FAVOURITE = 0.6
"""How often the behaviour policy takes the first action; the rest is shared equally."""


def features() -> LinearFeatures:
    """phi(s, a) (2, 100, 10): the eight binary digits of a = 1..100, then delta and 1 - delta, divided by sqrt 7.

    delta = 1 where both or neither of s and a are the first.
    """
    number = np.arange(1, ACTIONS + 1)
    digits = (number[:, None] >> np.arange(BITS)[None, ::-1]) & 1
    same = np.stack([number == 1, number != 1]).astype(np.float64)  # (2, A): state 1, then state 2
    phi = np.concatenate([np.broadcast_to(digits, (2, ACTIONS, BITS)), same[..., None], 1 - same[..., None]], axis=-1)
    return LinearFeatures.declared(phi, float(np.sqrt(7)))


def rewards() -> NDArray[np.float64]:
    """(2, 100) <phi, theta>."""
    r = SCALE
    theta = np.array([r / 8, 0, r / 8, 0.5 - r / 2, r / 8, 0, r / 8, 0, r / 2, 0.5 - r / 2])
    known = features()
    return np.asarray(known.phi @ (theta * known.bound))


def described() -> DescribedFeatures:
    """The same features by a description: the digits of an action (but the first, which is always 0), and delta and 1 - delta."""
    number, used = np.arange(1, ACTIONS + 1), BITS - 1
    digits = [f"digit{i + 1}" for i in range(used)]
    numbers = {name: ((number >> place) & 1).tolist() for place, name in enumerate(reversed(digits))}
    numbers |= {"first": (number == 1).tolist(), "other": (number != 1).tolist()}
    both = [("1", "first"), ("2", "other"), ("1", "other"), ("2", "first")]
    terms = [(Factor(name, ACTION),) for name in digits]
    pairs = [(Factor("state", IS, state), Factor(name, ACTION)) for state, name in both]
    combined = np.zeros((used + 2, used + 4))
    combined[:used, :used] = np.eye(used)
    combined[used, used : used + 2] = combined[used + 1, used + 2 :] = 1.0
    states, actions = (Category("state", ("1", "2")),), [str(each) for each in number]
    ahead = [(), (Factor("state", IS, "1"),)]
    return DescribedFeatures.over_cloud(states, actions, [*terms, *pairs], ahead, numbers, combined)


@register("linear-mdp", horizon=20, model=PER_STEP)
def linear_mdp(horizon: int, seed: int = 0) -> Environment:
    """Two states, a hundred actions, ten features: the linear process of the offline papers' simulations.

    P_h(first state | s, a) = a_h delta + b_h (1 - delta), with a_h, b_h drawn uniformly from [0, 1], once.
    """
    rng = np.random.default_rng(validation.integer("seed", seed, 0))
    known = features()
    same = known.phi[..., BITS] * known.bound  # delta
    drawn = rng.random((horizon, 2))
    first = drawn[:, 0, None, None] * same + drawn[:, 1, None, None] * (1 - same)
    transitions = np.stack([first, 1 - first], axis=-1)
    paid = np.broadcast_to(np.clip(rewards(), 0, 1), (horizon, 2, ACTIONS))
    model = Model(transitions, paid, np.array([0.5, 0.5]), horizon)
    return replace(Environment.known(model), world=ListedWorld(model, described()))


def practice(horizon: int) -> Policy:
    """The behaviour of the paper's logs."""
    row = np.full(ACTIONS, (1 - FAVOURITE) / (ACTIONS - 1))
    row[0] = FAVOURITE
    return Policy(np.broadcast_to(row, (horizon, 2, ACTIONS)))
