"""The world in which local privacy is provably costly (Garcelon, Perchet, Pike-Burke and Pirotta, 2021, appendix B)."""

from __future__ import annotations

import math

import numpy as np

from ... import validation
from ...mdp import Model, Spec
from .registry import blank, register, start_in


def shortest_horizon(states: int, actions: int) -> int:
    """The least H that the bound allows, H >= 2 log_A(S - 2) + 2, for a perfect tree."""
    tree_depth(states, actions)
    return math.ceil(2 * math.log(states - 2) / math.log(actions) + 2)


def tree_depth(states: int, actions: int) -> int:
    """How many steps lead from the root to the ends + and -, where S - 2 = 1 + A + ... + A^(depth - 1)."""
    actions = validation.integer("actions", actions, 2)
    states = validation.integer("states", states, 3)
    depth, total, level = 1, 3, 1
    while total < states:
        level *= actions
        below, total, depth = total, total + level, depth + 1
    if total != states:
        way_out = f"Use {below} or {total} with {actions} actions."
        raise validation.refusal(
            "lower-bound-states", "states", "two more than a tree that is full, 1 + A + A^2 + ...", states, way_out
        )
    return depth


def advantage(leaves: int, actions: int, episodes: int, epsilon: float) -> float:
    """Delta = sqrt(L A / K) / (16 sqrt2 min(e^epsilon - 1, 1/2)), which epsilon-LDP hides for about K episodes."""
    episodes = validation.integer("episodes", episodes, 1)
    visible = min(math.expm1(min(validation.positive("epsilon", epsilon), 1.0)), 0.5)
    least = math.ceil(leaves * actions / (8 * visible) ** 2)
    if episodes < least:
        raise validation.refusal(
            "lower-bound-episodes",
            "episodes",
            f"at least {least} for the bound to hold at epsilon {epsilon:g}",
            episodes,
        )
    return math.sqrt(leaves * actions / episodes) / (16 * math.sqrt(2) * visible)


@register("lower-bound", example="lower-bound/9x2", horizon=shortest_horizon)
def lower_bound(
    states: int, actions: int, horizon: int, episodes: int = 10**6, epsilon: float = 1.0, seed: int = 0
) -> Model:
    """A tree in which one action of one leaf is better by a hair: the hard case of local privacy.

    States 0 .. S-3 are a perfect A-ary tree in breadth-first order, whose action a leads to child a; S-2 is "+", which
    pays 1 a step until the end, S-1 is "-", which pays nothing. A leaf leads to either with chance 1/2, but one action
    of one leaf, drawn uniformly from the instance seed, leads to "+" with 1/2 + Delta. `episodes` (K) and `epsilon` set
    Delta. The tree must be perfect: a leaf nearer to the root would pay more than the hair does.
    """
    depth = tree_depth(states, actions)
    reason = "The bound needs H >= 2 log_A(S - 2) + 2."
    horizon = validation.integer("horizon", horizon, shortest_horizon(states, actions), way_out=reason)
    transitions, rewards = blank(Spec(states, actions, horizon))
    good, bad = states - 2, states - 1
    leaves = actions ** (depth - 1)
    first_leaf = good - leaves
    for node in range(first_leaf):
        for action in range(actions):
            transitions[0, node, action, actions * node + 1 + action] = 1.0
    transitions[0, first_leaf:good, :, good:] = 0.5
    rng = np.random.default_rng(validation.integer("seed", seed, 0))
    leaf, best = first_leaf + int(rng.integers(leaves)), int(rng.integers(actions))
    gain = advantage(leaves, actions, episodes, epsilon)
    transitions[0, leaf, best, good:] = 0.5 + gain, 0.5 - gain
    transitions[0, good, :, good] = transitions[0, bad, :, bad] = rewards[0, good, :] = 1.0
    return Model(transitions, rewards, start_in(0, states), horizon)
