"""Action values drawn from what very noisy counts leave possible: a Gaussian posterior on each backed-up value.

Every user's noise is their own here, so people are weighed by the visits expected of them (`planning.weighing`). For a pair
with N weighed visits, let T and C be the variances of the noise in one of its transition counts and in its centred reward,
both known, L the factor by which the sampling error of those who were heard exceeds that of all, and D^2 = S T.

1. n^ = max(1, N, D) divides rewards and rows; from each transition count min(2 sqrt(T), n^/5) is taken off, and what is
   left is clipped and divided by its sum. What is known of the pair equals n = sqrt(max(0, N^2 - D^2)), 0 if N <= 0.
2. One z ~ N(0, 1) a pair (and step, where models are per step), the same for all steps, times the spread c.
3. Last step first, with V = V_{h+1} and Q^ = r + P V: as long as nothing is known a value is like any other, of mean
   m = prior + mean_t V and variance t^2 = 1/4 + Var_t V. An observed one has the error

       e^2 = (T sum_t (V_t + 1/2 - Q^)^2 + C)/n^2 + L (n (r(1-r) + Var_P V) + L t^2)/((n + L) n),

   with 1/2 because rewards were centred. With w = t^2/(t^2 + e^2),

       Q = w Q^ + (1 - w) m + c z sqrt(w) e,   and Q = m + c z t where n = 0.

The policy is greedy in Q.
Rows are believed as far as n^2/(n^2 + D^2 + L n) when the visits of the next people are computed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ...protocol.releases.release import Array, Noise
from .estimate import shrink_pair
from .induction import NOISE, REWARD, ROWS, SPREAD, VISITS, WIDTH, Workspace
from .inlined import inlined
from .weighing import WeightedCounts, expect

SHARE = 0.2
"""The most of a pair's visits that is taken off one of its transition counts."""


@inlined
def one_persons(variance: float, users: float) -> float:
    """A person's share of the variance of noise that is each user's own."""
    return variance / max(1.0, users)


class ValueDraw(NamedTuple):
    """How values are drawn: whether larger ones are better (`sense`), what an unknown reward is taken for, the factor c on sampling
    error, and the share of the next people who follow the drawn policy.
    """

    sense: float
    prior: float
    spread: float
    share: float


@compiled
def know_pairs(weighted: WeightedCounts, noise: Noise, users: float, work: Workspace) -> None:
    """Write rows and rewards, the weight of each pair in visits, the variances of its noise, and how far its row is believed."""
    layers, states, actions = weighted.counts.visits.shape
    one_move, one_reward = one_persons(noise.transitions, users), one_persons(noise.centred, users)
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                i, people = s * actions + a, weighted.people[layer, s, a] if noise.own > 0.0 else users
                moves, visits = one_move * people, weighted.counts.visits[layer, s, a]
                total = states * moves
                shrink_pair(weighted.counts, (layer, s, a), 2.0 * math.sqrt(moves), SHARE, math.sqrt(total), work)
                square = max(0.0, visits * visits - total) if visits > 0.0 else 0.0
                known = math.sqrt(square)
                work.pairs[VISITS, layer, i] = known
                work.pairs[SPREAD, layer, i], work.pairs[NOISE, layer, i] = moves, one_reward * people
                work.pairs[ROWS, layer, i] = square / (square + total + noise.luck * known) if square > 0.0 else 0.0


@compiled
def sample_values(
    weighted: WeightedCounts,
    luck: float,
    how: ValueDraw,
    work: Workspace,
    rng: np.random.Generator,
    plan: tuple[Array, Array],
) -> None:
    """Write the policy that is greedy in values drawn around what `know_pairs` wrote, and the visits expected of it. `luck`: L of
    the noise. plan: the policy (H, S, A) and its values (H+1, S).
    """
    policy, values = plan
    layers, states, actions = weighted.counts.visits.shape
    for h in range(policy.shape[0]):
        for s in range(states):
            for a in range(actions):
                policy[h, s, a] = 0.0
    for layer in range(layers):
        for i in range(states * actions):
            work.pairs[WIDTH, layer, i] = how.spread * rng.standard_normal()
    solve_drawn(work, luck, how, policy, values)
    expect(work, policy, weighted, how.share)


@compiled
def solve_drawn(work: Workspace, luck: float, how: ValueDraw, policy: Array, values: Array) -> None:
    """Backward induction on drawn values; writes 1 into the policy, all of which is 0, where an action is best."""
    sense, prior = how.sense, how.prior
    horizon, states, actions = policy.shape
    layers = work.pairs.shape[1]
    for s in range(states):
        values[horizon, s] = 0.0
    for h in range(horizon - 1, -1, -1):
        layer = h if layers > 1 else 0
        total, power = 0.0, 0.0
        for t in range(states):
            total += values[h + 1, t]
            power += values[h + 1, t] * values[h + 1, t]
        mean = total / states
        doubt = 0.25 + max(0.0, power / states - mean * mean)
        for i in range(states * actions):
            work.q[h, i] = work.scratch[0, i] = 0.0
        for t in range(states):
            v = values[h + 1, t]
            for i in range(states * actions):
                ahead = work.transitions[layer, t, i] * v
                work.q[h, i] += ahead
                work.scratch[0, i] += ahead * v
        for i in range(states * actions):
            first, second = work.q[h, i], work.scratch[0, i]
            n, r = work.pairs[VISITS, layer, i], work.pairs[REWARD, layer, i]
            q = r + first
            w, error = 0.0, doubt
            if n > 0.0:
                off = 0.5 - q
                apart = max(0.0, power + off * (2.0 * total + states * off))
                noise = (work.pairs[SPREAD, layer, i] * apart + work.pairs[NOISE, layer, i]) / (n * n)
                lucky = r * (1.0 - r) + max(0.0, second - first * first)
                error = noise + luck * (n * lucky + luck * doubt) / ((n + luck) * n)
                w = doubt / (doubt + error)
                error *= w
            work.q[h, i] = w * q + (1.0 - w) * (prior + mean) + work.pairs[WIDTH, layer, i] * math.sqrt(error)
        for s in range(states):
            best = s * actions
            for i in range(s * actions + 1, (s + 1) * actions):
                if sense * work.q[h, i] > sense * work.q[h, best]:
                    best = i
            policy[h, s, best - s * actions] = 1.0
            values[h, s] = min(max(work.q[h, best], 0.0), float(horizon - h))
