"""From how often an event happened to what that proves: lower bounds on epsilon, and the best that could be hoped for.

(epsilon, delta)-DP says P(A) <= e^epsilon Q(A) + delta for every event A and both orders of two neighbours P and Q. So
one event with P(A) >= p and Q(A) <= q proves epsilon >= log((p - delta)/q). Both probabilities are bounded by Clopper
and Pearson's exact intervals, each of which may fail with half of the allowed probability.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..privacy import Loss

# How many thresholds an ideal auditor tries, and then again around the best; and a chance that is not worth a look.
THRESHOLDS = 48
RAREST = 1e-9


def least_chance(hits: ArrayLike, trials: float, failure: float) -> NDArray[np.float64]:
    """p such that an event of smaller probability is seen `hits` times or more with probability at most `failure`."""
    from scipy.special import betaincinv

    seen = np.asarray(hits, dtype=np.float64)
    return np.where(seen > 0, betaincinv(np.maximum(seen, 1e-300), trials - seen + 1, failure), 0.0)


def largest_chance(hits: ArrayLike, trials: float, failure: float) -> NDArray[np.float64]:
    """q such that an event of larger probability is seen `hits` times or less with probability at most `failure`."""
    return 1 - least_chance(trials - np.asarray(hits, dtype=np.float64), trials, failure)


def event_bound(hits: ArrayLike, others: ArrayLike, trials: float, failure: float, delta: float) -> NDArray[np.float64]:
    """What an event proves that happened `hits` times in one world and `others` times in the other; 0 if nothing.

    If the event was fixed before the trials, the bound exceeds the true epsilon with probability at most `failure`.
    """
    margin = least_chance(hits, trials, failure / 2) - delta
    ratio = np.maximum(margin, 0.0) / largest_chance(others, trials, failure / 2)
    return np.log(np.maximum(ratio, 1.0))


def ideal_bound(loss: Loss, trials: int, failure: float, delta: float) -> float:
    """What the best event would prove if it happened exactly as often as its probability says.

    The best events are those where the privacy loss exceeds a threshold. Their probabilities follow from the loss: with
    x = e^epsilon, delta(x) = sup_A P(A) - x Q(A) is convex, its slope at x is -Q(A) and its intercept P(A).
    """
    # So many trials prove no more than log(trials).
    low, high = 0.0, min(max(loss.epsilon(RAREST), 1e-3), math.log(trials))
    for _ in range(2):
        thresholds = np.linspace(low, high, THRESHOLDS)
        bounds = _threshold_bounds(loss, thresholds, trials, failure, delta)
        best = int(bounds.argmax())
        low, high = float(thresholds[max(best - 1, 0)]), float(thresholds[min(best + 2, THRESHOLDS - 1)])
    return min(float(bounds[best]), loss.epsilon(delta))


def _threshold_bounds(
    loss: Loss, thresholds: NDArray[np.float64], trials: int, failure: float, delta: float
) -> NDArray[np.float64]:
    """What the events prove whose thresholds lie between two consecutive ones."""
    x = np.exp(thresholds)
    excess = np.array([loss.delta(float(threshold)) for threshold in thresholds])
    q = np.diff(-excess) / np.diff(x)
    p = excess[:-1] + x[:-1] * q
    hits, others = (trials * np.clip(chance, 0.0, 1.0) for chance in (p, q))
    return event_bound(hits, others, trials, failure, delta)
