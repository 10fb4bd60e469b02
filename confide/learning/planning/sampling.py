"""A model drawn from what noisy counts leave possible: Dirichlet rows, beta rewards, each as sure as its counts are.

With sigma the standard deviation of the noise of one transition count, sigma_r that of a centred reward, N a pair's counted
visits, D the standard deviation of their noise (sigma sqrt(S) where they are the sum of a row) and n = max(1, N, D):

1. the row p is what is left of the pair's transition counts when min(2 sigma, n/5) is taken off each, clipped and divided by
   its sum; the mean reward r is the pair's rewards over n, clipped to [0, 1];
2. n noisy visits equal as many exact ones as have the same error: w_p = n^2/(n + sigma^2) for a row, and
   w_r = n^2/(n + sigma_r^2 + D^2 (r - 1/2)^2) for a reward, both 0 where N < 1;
3. P ~ Dirichlet(alpha + w_p p), r ~ Beta(1 + w_r r, 1 + w_r (1 - r)); alpha is 1 unless it is said otherwise.

Where each user's noise is their own sigma^2 is that of the people whose noise is in a pair's weighed counts, and the sampling error
of those who were heard is L times every user's: n^2/(L n + sigma^2).

The draws of a posterior, of Dirichlet transitions and normal rewards of unknown mean and precision, are here too.

A learner that plans greedily in such a draw needs no bonus: what is not known is tried because it may be good in some draws.
"""

from __future__ import annotations

import math

import numpy as np

from ...compiled import compiled
from ...protocol.releases.release import Array, Counts, Noise
from .estimate import shrink_pair
from .induction import NOISE, REWARD, SLOPE, SPREAD, VISITS, WIDTH, Workspace
from .inlined import inlined

LEAST = 1e-3
"""What every parameter of a posterior is clamped to from below: privacy's noise may have taken it below zero."""


@inlined
def draw_dirichlet(work: Workspace, layer: int, pair: int, rng: np.random.Generator) -> None:
    """Replace the Dirichlet parameters of one pair in work.transitions, clamped to `LEAST`, by a draw of its law.

    Independent gammas divided by their sum; uniform in the rare event that all of them are too small to be distinguished from 0.
    """
    states = work.transitions.shape[1]
    total = 0.0
    for t in range(states):
        draw = rng.standard_gamma(max(LEAST, work.transitions[layer, t, pair]))
        work.transitions[layer, t, pair] = draw
        total += draw
    for t in range(states):
        work.transitions[layer, t, pair] = work.transitions[layer, t, pair] / total if total > 0.0 else 1.0 / states


@inlined
def draw_mean(mean: float, pseudo_count: float, shape: float, rate: float, rng: np.random.Generator) -> float:
    """Draw a mean from Normal-Gamma(mean, pseudo_count, shape, rate): precision tau ~ Gamma(shape, rate), then
    N(mean, 1 / (pseudo_count tau)). All but the mean are clamped to `LEAST`.
    """
    tau = rng.standard_gamma(max(LEAST, shape)) / max(LEAST, rate)
    return mean + rng.standard_normal() / math.sqrt(max(LEAST, pseudo_count) * max(tau, 1e-300))


SHARE = 0.2
"""The most of a pair's visits that is taken off one of its transition counts."""


@compiled
def draw_model(
    counts: Counts, noise: Noise, people: Array, alpha: float, work: Workspace, rng: np.random.Generator
) -> None:
    """Write a drawn model into the workspace, without any bonus.

    people: (L, S, A), which share of the noise is in the counts of each pair; empty if all of it is in all of them.
    """
    layers, states, actions = counts.visits.shape
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                i = s * actions + a
                share = people[layer, s, a] if people.size > 0 else 1.0
                moves, total = share * noise.transitions, share * noise.visits
                shrink_pair(counts, (layer, s, a), 2.0 * math.sqrt(moves), SHARE, math.sqrt(total), work)
                n, r = work.pairs[VISITS, layer, i], work.pairs[REWARD, layer, i]
                sure, paid = 0.0, 0.0
                if counts.visits[layer, s, a] >= 1.0:
                    sure = n * n / (noise.luck * n + moves)
                    paid = n * n / (noise.luck * n + share * noise.centred + total * (r - 0.5) * (r - 0.5))
                for t in range(states):
                    work.transitions[layer, t, i] = alpha + sure * work.transitions[layer, t, i]
                draw_dirichlet(work, layer, i, rng)
                won = rng.standard_gamma(1.0 + paid * r)
                work.pairs[REWARD, layer, i] = won / (won + rng.standard_gamma(1.0 + paid * (1.0 - r)))
                work.pairs[WIDTH, layer, i] = work.pairs[SLOPE, layer, i] = 0.0
                work.pairs[SPREAD, layer, i] = work.pairs[NOISE, layer, i] = 0.0
