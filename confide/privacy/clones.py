"""Hiding among the clones: what shuffling does for whole reports of any local mechanism.

Feldman, McMillan, Talwar (2021), *Hiding Among the Clones: A Simple and Nearly Optimal Analysis of Privacy Amplification by
Shuffling*, evaluated numerically. It knows nothing of the mechanism but its epsilon, so for bits it promises less than their own
accounting, and for reports of many bits, whose epsilon is large, nothing at all.
"""

from __future__ import annotations

import math

import numpy as np

from .. import validation
from .conversion import SLACK, bisect
from .shuffling import LEFT_OUT, MOST_PEOPLE, binomial


def clones_delta(local: float, people: int, epsilon: float) -> float:
    """delta of `people` shuffled reports of *any* local mechanism of epsilon `local` (Feldman, McMillan, Talwar 2021).

    Each other person's report is, with probability e^-local, a clone of one of the two reports in question. With C ~
    Binomial(n-1, e^-local) clones, A ~ Binomial(C, 1/2) of the first kind and D ~ Bernoulli(p), p = e^local/(e^local + 1),
    the pair is (A+D, C-A+1-D) against (A+1-D, C-A+D). Given C the ratio grows with the first count a, and exceeds e^epsilon
    where a/(C+1-a) exceeds (e^epsilon p - (1-p))/(p - e^epsilon (1-p)).
    """
    from scipy.special import bdtrc

    if epsilon >= local:
        return 0.0
    factor, p = math.exp(epsilon), 1 / (1 + math.exp(-local))
    first, chances = binomial(people - 1, math.exp(-local))
    clones = np.arange(first, first + chances.size)
    odds = (factor * p - (1 - p)) / (p - factor * (1 - p))
    last = np.minimum(np.floor(odds * (clones + 1) / (1 + odds)), clones + 1)
    above = np.where(last < clones, bdtrc(np.minimum(last, clones), clones, 0.5), 0.0)
    level = np.where(last <= clones, bdtrc(last - 1, clones, 0.5), 0.0) - above
    parts = (1 - factor) * above + (p - factor * (1 - p)) * level
    return float(chances @ parts.clip(0.0)) + LEFT_OUT


def clones_epsilon(local: float, people: int, delta: float) -> float:
    """The least epsilon with clones_delta at most delta, rounded up."""
    validation.integer("people", people, 1, MOST_PEOPLE)
    validation.positive("local epsilon", local)
    epsilon_found = bisect(lambda epsilon: -clones_delta(local, people, epsilon), -delta, 0.0, local)[1]
    return min(local, epsilon_found * (1 + SLACK))
