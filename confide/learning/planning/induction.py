"""The one backward induction, with rewards or costs, a bonus or none, greedy or under a given policy.

Pairs (s, a) lie on one axis of length N = S A, at s A + a, and the next state comes first in `transitions`: a step of
the induction is then a weighted sum of S rows of length N, which compiles to vector instructions as it stands. Arrays
with an axis L have one layer for all steps (L = 1) or one for each (L = H).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...compiled import merged
from ...mdp import Spec
from ...protocol.releases.release import Array

MAXIMISE, MINIMISE = 1.0, -1.0
"""The sense of an objective: rewards are maximised and a bonus is added, costs are minimised and it is subtracted."""

GREEDY, GIVEN = 1.0, 0.0
"""Whether the induction chooses the policy or evaluates the one given: numbers, as True would be compiled for anew."""

VISITS, ROWS, REWARD, WIDTH, SLOPE, SPREAD, NOISE = range(7)
"""The rows of `Workspace.pairs`: what is known of a pair."""


class Workspace(NamedTuple):
    """An estimated model, its bonus and room to compute in: allocated once, overwritten by every plan.

    pairs: (7, L, N), or (5, L, N) for a bonus that does not look at the value function. VISITS and ROWS are what
    rewards and transitions were divided by, REWARD is the mean reward (or cost), and the bonus at step h = 1..H is
    WIDTH + SLOPE (H-h+1) + sqrt(SPREAD Var_P(V_{h+1}) + NOISE sum_s' (V_{h+1}(s') - P V_{h+1})^2): SPREAD for the sampling error
    of those who moved on, NOISE for an independent error in each transition count. Pessimism is a bonus below zero:
    where SPREAD is negative, the root of its size is taken off.
    transitions: (L, S, N), probabilities of the next state, which comes first.
    q: (H, N), action values of the last plan, clipped. scratch: (2, N).

    Few arrays, because passing one to a compiled function costs as much as planning a step of a tiny problem.
    """

    pairs: Array
    transitions: Array
    q: Array
    scratch: Array


def workspace(spec: Spec, dispersed: bool = False) -> Workspace:
    """Room for problems of these sizes, all zero; `dispersed` if the bonus looks at the value function."""
    layers, states, pairs = spec.layers, spec.states, spec.states * spec.actions
    rows = 7 if dispersed else 5
    return Workspace(
        np.zeros((rows, layers, pairs)),
        np.zeros((layers, states, pairs)),
        np.zeros((spec.horizon, pairs)),
        np.zeros((2, pairs)),
    )


@merged
def add_spread(work: Workspace, sense: float, h: int, layer: int, values: Array) -> None:
    """Add to the means of the next values in work.q[h] the part of the bonus that grows with how far those values spread."""
    states, pairs = work.transitions.shape[1], work.q.shape[1]
    total, power = 0.0, 0.0
    for i in range(pairs):
        work.scratch[0, i] = 0.0
    for t in range(states):
        v = values[h + 1, t]
        total += v
        power += v * v
        for i in range(pairs):
            work.scratch[0, i] += work.transitions[layer, t, i] * (v * v)
    for i in range(pairs):
        mean = work.q[h, i]
        variance = max(0.0, work.scratch[0, i] - mean * mean)
        distance = max(0.0, power - mean * (2.0 * total - states * mean))
        square = work.pairs[SPREAD, layer, i] * variance + work.pairs[NOISE, layer, i] * distance
        work.q[h, i] += sense * math.copysign(math.sqrt(abs(square)), square)


@merged
def backward_induction(
    work: Workspace, sense: float, low: float, high: float, greedy: float, policy: Array, values: Array
) -> None:
    """Solve the model in `work`, last step first; writes values (H+1, S), work.q and, if greedy, policy (H, S, A).

    Q_h = r + P V_{h+1} + sense b_h for h = H..1, clipped to [low, high (H-h+1)]; V_h = sum_a policy_h(a|s) Q_h(s, a).
    If greedy, the policy takes the action whose Q_h is best *before* clipping, the first one on ties. Clipping keeps
    the order, so this is one of the best actions after it too; and where everything is clipped, the widest bonus goes
    first.
    """
    horizon, states, actions = policy.shape
    kinds, layers, pairs = work.pairs.shape
    fours = states - (states - 1) % 4
    for s in range(states):
        values[horizon, s] = 0.0
    for h in range(horizon - 1, -1, -1):
        layer = h if layers > 1 else 0
        steps_left = float(horizon - h)
        top = high * steps_left
        v = values[h + 1, 0]
        for i in range(pairs):
            work.q[h, i] = work.transitions[layer, 0, i] * v
        for t in range(1, fours, 4):  # four rows at a time: half as much memory traffic
            v, w, x, y = values[h + 1, t], values[h + 1, t + 1], values[h + 1, t + 2], values[h + 1, t + 3]
            for i in range(pairs):
                work.q[h, i] += (work.transitions[layer, t, i] * v + work.transitions[layer, t + 1, i] * w) + (
                    work.transitions[layer, t + 2, i] * x + work.transitions[layer, t + 3, i] * y
                )
        for t in range(fours, states):
            v = values[h + 1, t]
            for i in range(pairs):
                work.q[h, i] += work.transitions[layer, t, i] * v
        if kinds > SPREAD:
            add_spread(work, sense, h, layer, values)
        for s in range(states):
            first = s * actions
            best, chosen, value = -math.inf, 0, 0.0
            for a in range(actions):
                i = first + a
                bonus = work.pairs[WIDTH, layer, i] + work.pairs[SLOPE, layer, i] * steps_left
                q = work.q[h, i] + work.pairs[REWARD, layer, i] + sense * bonus
                if sense * q > best:
                    best, chosen = sense * q, a
                q = min(max(q, low), top)
                work.q[h, i] = q
                value += policy[h, s, a] * q
            if greedy == GREEDY:
                value = min(max(sense * best, low), top)
                for a in range(actions):
                    policy[h, s, a] = 1.0 if a == chosen else 0.0
            values[h, s] = value
