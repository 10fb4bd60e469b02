"""RiverSwim (Strehl and Littman, 2008): swimming right is hard and pays well, drifting left is easy and pays little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...mdp import PER_STEP, Model, Spec
from .registry import blank, register, start_in

LEFT, RIGHT = 0, 1


@register("riverswim", example="riverswim/6", horizon=20)
def riverswim(states: int, horizon: int) -> Model:
    """Swim up a river against the current: the far end pays 1, the near end .005.

    Left always moves left. Right moves right .35, stays .6 and drifts left .05; in the first state it moves right .6
    and stays .4; in the last it stays .6 and drifts left .4. Everyone starts in the first state.
    """
    spec = Spec(validation.integer("states", states, 2), 2, horizon)
    transitions, rewards = blank(spec)
    _fill(transitions[0, :, LEFT], left=1.0, right=0.0)
    _fill(transitions[0, :, RIGHT], left=0.05, right=0.35)
    transitions[0, 0, RIGHT, :2] = 0.4, 0.6
    transitions[0, -1, RIGHT, -2:] = 0.4, 0.6
    rewards[0, 0, LEFT], rewards[0, -1, RIGHT] = 0.005, 1.0
    return Model(transitions, rewards, start_in(0, spec.states), horizon)


@register(
    "riverswim-inhomogeneous", example="riverswim-inhomogeneous/5", horizon=lambda states: 2 * states, model=PER_STEP
)
def riverswim_inhomogeneous(states: int, horizon: int, seed: int = 0) -> Model:
    """Swim up a river whose current changes from step to step; the far end pays 1/H, the near end .005/H.

    With a = 0 for left and 1 for right and p_h ~ U(.8, 1) drawn from the instance seed, a swimmer moves right with
    probability a p_h. Inside the river she stays or moves left with (1 - a p_h)/2 each; in the first state she stays
    otherwise; in the last she moves left with (1 - a p_h)/2 and stays otherwise. (Liao, He and Gu, 2021, with the law
    of the last state completed: the printed one does not sum to one.)
    """
    spec = Spec(validation.integer("states", states, 2), 2, horizon, PER_STEP)
    transitions, rewards = blank(spec)
    currents = np.random.default_rng(validation.integer("seed", seed, 0)).uniform(0.8, 1.0, horizon)
    for layer, p in enumerate(currents):
        for action, right in ((LEFT, 0.0), (RIGHT, p)):
            kernel = transitions[layer, :, action]
            _fill(kernel, left=(1 - right) / 2, right=right)
            kernel[0, :2] = 1 - right, right
            kernel[-1, -2:] = (1 - right) / 2, (1 + right) / 2
    rewards[:, 0, LEFT], rewards[:, -1, RIGHT] = 0.005 / horizon, 1.0 / horizon
    return Model(transitions, rewards, start_in(0, spec.states), horizon)


def _fill(kernel: NDArray[np.float64], left: float, right: float) -> None:
    """Fill (S, S): one to the left, one to the right, else stay; at the banks what would leave stays."""
    states = np.arange(len(kernel))
    kernel[states, np.maximum(states - 1, 0)] += left
    kernel[states, np.minimum(states + 1, len(kernel) - 1)] += right
    kernel[states, states] += 1 - left - right
