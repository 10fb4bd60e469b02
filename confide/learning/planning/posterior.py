"""Draws from the posterior of a model: Dirichlet transitions, normal rewards of unknown mean and precision."""

from __future__ import annotations

import math

import numpy as np

from .induction import Workspace
from .inlined import inlined

LEAST = 1e-3
"""What every parameter of a posterior is clamped to from below: privacy's noise may have taken it below zero."""


@inlined
def draw_dirichlet(work: Workspace, layer: int, pair: int, rng: np.random.Generator) -> None:
    """Replace the Dirichlet parameters of one pair in work.transitions, clamped to `LEAST`, by a draw of its law.

    Independent gammas divided by their sum; uniform in the rare event that all of them are too small to be told from 0.
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
