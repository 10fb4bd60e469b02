"""Optimism by one standard error, for exact counts, and exploration users who look where most people no longer go.

With n visits of a pair, mean reward r and v = max(r(1-r), 1/(n+2)), the bonus at step h is

    b_h = sqrt(v/n) + sqrt(Var_P(V_{h+1})/n) + (H-h+2)/(4n),

H where n = 0. Ties are broken at random. There is no logarithm in it, so a pair that was unlucky would wait for ever: of k
people about 36 ln(1 + k/82) are exploration users, who follow a model drawn from its posterior instead (`planning.sampling`, with
Dirichlet(1/S) rows). They cost little, since most drawn models have the same best policy.
"""

from __future__ import annotations

import math

import numpy as np

from ...compiled import compiled
from ...protocol.releases.release import Array, Counts, Noise
from .estimate import shrink_pair
from .induction import NOISE, REWARD, SLOPE, SPREAD, VISITS, WIDTH, Workspace
from .inlined import inlined
from .value_sampling import SHARE, one_persons
from .weighing import WeightedCounts

RATE, START = 36.0, 82.0
"""Exploration users for each factor e of people, once there are more than START: fewer than two while people grow by 1.05."""

TIE = 1e-9
"""What random numbers that break ties are multiplied by."""

SCOUTED, LAST, SCOUTING = range(3)
"""What is remembered of exploration users: how many came, after how many people the last plan was made, whether for them."""


@inlined
def sends_scouts(users: float, seen: Array) -> bool:
    """Whether the next people are exploration users; seen: (3,), see above."""
    seen[SCOUTED] += seen[SCOUTING] * (users - seen[LAST])
    seen[LAST] = users
    seen[SCOUTING] = 1.0 if seen[SCOUTED] < RATE * math.log(1.0 + users / START) else 0.0
    return bool(seen[SCOUTING] > 0.0)


@compiled
def standard_errors(counts: Counts, horizon: int, work: Workspace, rng: np.random.Generator) -> None:
    """Write the empirical model and its bonus into the workspace."""
    layers, states, actions = counts.visits.shape
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                i = s * actions + a
                shrink_pair(counts, (layer, s, a), 0.0, 0.0, 0.0, work)
                n, r = work.pairs[VISITS, layer, i], work.pairs[REWARD, layer, i]
                width = math.sqrt(max(r * (1.0 - r), 1.0 / (n + 2.0)) / n) + 0.25 / n
                if counts.visits[layer, s, a] < 1.0:
                    width = float(horizon)
                work.pairs[WIDTH, layer, i] = width + TIE * rng.random()
                work.pairs[SLOPE, layer, i] = 0.25 / n
                work.pairs[SPREAD, layer, i] = 1.0 / n
                work.pairs[NOISE, layer, i] = 0.0


@compiled
def noisy_errors(weighted: WeightedCounts, noise: Noise, users: float, horizon: int, work: Workspace) -> None:
    """Write the model and bonus of noisy counts: estimates are shrunk, half a deviation of noise is inside the roots.

    With T, C and D the variances of the noise in a transition count, a centred reward and the visits, and n = max(1, N, sqrt(D)):

        b_h = sqrt(v/n + (C + D (r - 1/2)^2)/(2n)^2) + sqrt(Var_P(V)/n + T sum_t (V_t - P V)^2/(2n)^2) + (H-h+2)/(4n).
    """
    layers, states, actions = weighted.counts.visits.shape
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                i = s * actions + a
                people = weighted.people[layer, s, a] if noise.own > 0.0 else users
                moves, total = one_persons(noise.transitions, users) * people, one_persons(noise.visits, users) * people
                centred = one_persons(noise.centred, users) * people
                shrink_pair(weighted.counts, (layer, s, a), 2.0 * math.sqrt(moves), SHARE, math.sqrt(total), work)
                n, r = work.pairs[VISITS, layer, i], work.pairs[REWARD, layer, i]
                variance = max(r * (1.0 - r), 1.0 / (n + 2.0)) / n
                paid = (centred + total * (r - 0.5) * (r - 0.5)) / (4.0 * n * n)
                width = math.sqrt(variance + paid) + 0.25 / n
                if noise.transitions == 0.0 and weighted.counts.visits[layer, s, a] < 1.0:
                    width = float(horizon)
                work.pairs[WIDTH, layer, i] = width
                work.pairs[SLOPE, layer, i] = 0.25 / n
                work.pairs[SPREAD, layer, i] = 1.0 / n
                work.pairs[NOISE, layer, i] = moves / (4.0 * n * n)
