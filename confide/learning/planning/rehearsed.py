"""People who walk in a table of transitions, all at once: in a world, or in a model that is believed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


def walked(
    transitions: Array, initial: Array, policy: Array, people: int, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """States (n, H+1) and actions (n, H) of people who follow a policy (H, S, A), in transitions (L, S, A, S): for all steps, or
    for each, the last of them for those that are missing."""
    horizon, moves = len(policy), transitions.cumsum(axis=-1)
    states, actions = np.zeros((people, horizon + 1), dtype=np.int64), np.zeros((people, horizon), dtype=np.int64)
    states[:, 0] = rng.choice(len(initial), size=people, p=initial)
    chances = policy.cumsum(axis=-1)
    for step in range(horizon):
        here = states[:, step]
        actions[:, step] = _placed(chances[step, here], rng)
        layer = min(step, len(transitions) - 1)
        states[:, step + 1] = _placed(moves[layer, here, actions[:, step]], rng)
    return states, actions


def _placed(cumulative: Array, rng: np.random.Generator) -> Integers:
    """(n,) draws from the laws whose sums (n, m) these are."""
    drawn = rng.random((len(cumulative), 1)) * cumulative[:, -1:] >= cumulative
    return np.asarray(np.minimum(drawn.sum(axis=1), cumulative.shape[1] - 1))


def visits(transitions: Array, initial: Array, policy: Array) -> Array:
    """(H, S, A) the chances with which a person is there at each step."""
    found, here = np.empty(policy.shape), initial
    for step in range(len(policy)):
        found[step] = here[:, None] * policy[step]
        layer = min(step, len(transitions) - 1)
        here = np.einsum("sa,sat->t", found[step], transitions[layer])
    return found
