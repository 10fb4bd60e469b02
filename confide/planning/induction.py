"""The one backward induction, with rewards or costs, a bonus or none, greedy or under a given policy.

Pairs (s, a) lie on one axis of length N = S A, at s A + a, and the next state comes first in `transitions`: a step of
the induction is then a weighted sum of S rows of length N, which compiles to vector instructions as it stands. Every
array with a leading axis L has one layer for all steps (L = 1) or one for each (L = H).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..compiled import compiled
from ..mdp import Spec
from ..releases.release import Array

REWARD = 1.0
COST = -1.0
"""The sense of an objective: a bonus is added to rewards and subtracted from costs; rewards are maximised, costs minimised."""


class Workspace(NamedTuple):
    """An estimated model, its bonus and room to compute in: allocated once, overwritten by every plan.

    The bonus at step h = 1..H is width + slope (H-h+1) + sqrt(spread Var_P(V_{h+1}) + noise sum_s' (V_{h+1}(s') - P V_{h+1})^2):
    `spread` is what one visit's luck adds and `noise` what an independent error in each transition count adds. Both are
    empty in a bonus that does not look at the value function.
    """

    visits: Array  # (L, N) what the rewards were divided by
    rows: Array  # (L, N) what the transitions were divided by
    rewards: Array  # (L, N) estimated mean rewards, or costs
    transitions: Array  # (L, S, N) estimated probabilities of the next state, which comes first
    width: Array  # (L, N)
    slope: Array  # (L, N)
    spread: Array  # (L, N) or (0, 0)
    noise: Array  # (L, N) or (0, 0)
    q: Array  # (H, N) action values of the last plan, clipped
    moment: Array  # (1, N) scratch
    cells: Array  # (1, S) scratch


def workspace(spec: Spec, dispersed: bool = False) -> Workspace:
    """Room for problems of these sizes, all zero; `dispersed` if the bonus looks at the value function."""
    layers, states, pairs = spec.layers, spec.states, spec.states * spec.actions
    flat = (layers, pairs)
    looks = flat if dispersed else (0, 0)
    return Workspace(
        visits=np.zeros(flat),
        rows=np.zeros(flat),
        rewards=np.zeros(flat),
        transitions=np.zeros((layers, states, pairs)),
        width=np.zeros(flat),
        slope=np.zeros(flat),
        spread=np.zeros(looks),
        noise=np.zeros(looks),
        q=np.zeros((spec.horizon, pairs)),
        moment=np.zeros((1, pairs)),
        cells=np.zeros((1, states)),
    )


@compiled
def expect(transitions: Array, layer: int, table: Array, row: int, out: Array, line: int) -> None:
    """out[line, i] = sum_t transitions[layer, t, i] table[row, t], four next states at a time."""
    _, states, pairs = transitions.shape
    whole = states - states % 4
    for i in range(pairs):
        out[line, i] = 0.0
    for t in range(0, whole, 4):
        a, b, c, d = table[row, t], table[row, t + 1], table[row, t + 2], table[row, t + 3]
        for i in range(pairs):
            out[line, i] += (transitions[layer, t, i] * a + transitions[layer, t + 1, i] * b) + (
                transitions[layer, t + 2, i] * c + transitions[layer, t + 3, i] * d
            )
    for t in range(whole, states):
        a = table[row, t]
        for i in range(pairs):
            out[line, i] += transitions[layer, t, i] * a


@compiled
def backward_induction(
    work: Workspace, sense: float, low: float, high: float, greedy: bool, policy: Array, values: Array
) -> None:
    """Solve the estimated model from the last step to the first; writes values (H+1, S), work.q and, if greedy, policy (H, S, A).

    Q_h = r + P V_{h+1} + sense b_h for h = H..1, clipped to [low, high (H-h+1)]. Greedy: the policy takes the action whose
    Q_h is best *before* clipping, the first one on ties, and V_h is its clipped value; clipping keeps the order, so this
    is one of the best actions after clipping too, and where everything is clipped the wider bonus is tried first.
    Otherwise V_h = sum_a policy_h(a|s) Q_h(s, a).
    """
    horizon, states, actions = policy.shape
    layers, pairs = work.rewards.shape
    q = work.q
    for s in range(states):
        values[horizon, s] = 0.0
    for h in range(horizon - 1, -1, -1):
        layer = h if layers > 1 else 0
        left = float(horizon - h)
        expect(work.transitions, layer, values, h + 1, q, h)
        if work.spread.shape[0] > 0:
            total, power = 0.0, 0.0
            for t in range(states):
                v = values[h + 1, t]
                work.cells[0, t] = v * v
                total += v
                power += v * v
            expect(work.transitions, layer, work.cells, 0, work.moment, 0)
            for i in range(pairs):
                mean = q[h, i]
                variance = max(0.0, work.moment[0, i] - mean * mean)
                distance = max(0.0, power - mean * (2.0 * total - states * mean))
                seen = math.sqrt(work.spread[layer, i] * variance + work.noise[layer, i] * distance)
                q[h, i] = (
                    work.rewards[layer, i] + mean + sense * (work.width[layer, i] + work.slope[layer, i] * left + seen)
                )
        else:
            for i in range(pairs):
                q[h, i] += work.rewards[layer, i] + sense * (work.width[layer, i] + work.slope[layer, i] * left)
        top = high * left
        for s in range(states):
            first = s * actions
            if greedy:
                best = 0
                for a in range(1, actions):
                    if sense * q[h, first + a] > sense * q[h, first + best]:
                        best = a
                for a in range(actions):
                    policy[h, s, a] = 0.0
                    q[h, first + a] = min(max(q[h, first + a], low), top)
                policy[h, s, best] = 1.0
                values[h, s] = q[h, first + best]
            else:
                value = 0.0
                for a in range(actions):
                    q[h, first + a] = min(max(q[h, first + a], low), top)
                    value += policy[h, s, a] * q[h, first + a]
                values[h, s] = value
