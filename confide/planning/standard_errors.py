"""Optimism by one standard error, for exact counts, and scouts who look where most people no longer go.

With n visits of a pair, mean reward r and v = max(r(1-r), 1/(n+2)), the bonus at step h is

    b_h = sqrt(v/n) + sqrt(Var_P(V_{h+1})/n) + (H-h+2)/(4n),

H where n = 0. Ties are broken at random. There is no logarithm in it, so a pair that was unlucky would wait for ever: of k
people about 36 ln(1 + k/82) are scouts, who follow a model drawn from its posterior instead (`planning.sampling`, with
Dirichlet(1/S) rows). They cost little, since most drawn models have the same best policy.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import compiled
from ..releases.release import Array, Counts
from .estimate import shrink_pair
from .induction import NOISE, REWARD, SLOPE, SPREAD, VISITS, WIDTH, Workspace
from .inlined import inlined

RATE, START = 36.0, 82.0
"""So many scouts for each factor e of people, once there are more than START: fewer than two while people grow by 1.05."""

TIE = 1e-9
"""What random numbers that break ties are multiplied by."""

SCOUTED, LAST, SCOUTING = range(3)
"""What is remembered of scouts: how many there were, after how many people the last plan was made, and whether for scouts."""


@inlined
def sends_scouts(users: float, seen: Array) -> bool:
    """Whether the next people are scouts; seen: (3,), see above."""
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
                shrink_pair(counts, layer, s, a, 0.0, 0.0, 0.0, work)
                n, r = work.pairs[VISITS, layer, i], work.pairs[REWARD, layer, i]
                width = math.sqrt(max(r * (1.0 - r), 1.0 / (n + 2.0)) / n) + 0.25 / n
                if counts.visits[layer, s, a] < 1.0:
                    width = float(horizon)
                work.pairs[WIDTH, layer, i] = width + TIE * rng.random()
                work.pairs[SLOPE, layer, i] = 0.25 / n
                work.pairs[SPREAD, layer, i] = 1.0 / n
                work.pairs[NOISE, layer, i] = 0.0
