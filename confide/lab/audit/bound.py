"""From how often events happened to what that proves: lower bounds on epsilon, and the best that could be hoped for.

(epsilon, delta)-DP says P(A) <= e^epsilon Q(A) + delta for every event A and both orders of two neighbours P and Q.

**One event.** P(A) >= p and Q(A) <= q prove epsilon >= log((p - delta)/q). Both probabilities are bounded by Clopper and
Pearson's exact intervals, each of which may fail with half of the allowed probability.

**A bet** proves more with the same outputs. Let A be likelier under P and B under Q. If epsilon is at most log x, then

    W = 1[A in P] - x 1[A in Q] + 1[B in Q] - x 1[B in P] - 2 delta,

for one output of each world, is 0 or less on average. So an auditor who stakes a fixed share s of what she has on every pair of
outputs, 1 + s W for 1, has after n independent pairs no more than she began with, on average, and 1/failure times as much
with probability `failure` at most (Markov). The bound is the largest log x at which she became as rich as that. Every output
counts for both events, and two errors are weighed against each other instead of both being assumed. It takes a third of the
outputs that bounds of single probabilities take.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...privacy import Loss, Tabulated
from .directed import orders

Array = NDArray[np.float64]

# How many thresholds an ideal auditor tries, and then again around the best; and a chance too small to look at.
THRESHOLDS = 48
RAREST = 1e-9
# Shares that may be staked; the best is close to a root of log(1/failure) over the trials. Bounds are found by halving.
STAKES = np.geomspace(1e-6, 0.5, 40)
HALVINGS = 30
# Stands for the loss of everything.
RUIN = -1 + 1e-12
# How many events of a pair of outputs went her way, and how many against her.
WON, LOST = np.indices((3, 3)).reshape(2, -1)


def least_chance(hits: ArrayLike, trials: float, failure: float) -> Array:
    """p such that an event of smaller probability is seen `hits` times or more with probability at most `failure`."""
    from scipy.special import betaincinv

    seen = np.asarray(hits, dtype=np.float64)
    return np.where(seen > 0, betaincinv(np.maximum(seen, 1e-300), trials - seen + 1, failure), 0.0)


def largest_chance(hits: ArrayLike, trials: float, failure: float) -> Array:
    """q such that an event of larger probability is seen `hits` times or less with probability at most `failure`."""
    return 1 - least_chance(trials - np.asarray(hits, dtype=np.float64), trials, failure)


def event_bound(hits: ArrayLike, other_hits: ArrayLike, trials: float, failure: float, delta: float) -> Array:
    """The epsilon that an event proves which happened `hits` times in one world and `other_hits` in the other; 0 if nothing.

    If the event was fixed before the trials, the bound exceeds the true epsilon with probability at most `failure`.
    """
    margin = least_chance(hits, trials, failure / 2) - delta
    ratio = np.maximum(margin, 0.0) / largest_chance(other_hits, trials, failure / 2)
    return np.log(np.maximum(ratio, 1.0))


def bet_bound(pairs: Array, stakes: ArrayLike, events: int, failure: float, delta: float) -> Array:
    """What a bet on this many events (1 or 2) proves; 0 if nothing. Of several bets, and with several stakes, at once.

    pairs: (..., 3, 3) of how many pairs of outputs this many events went her way, and this many against her. If events and stake
    were fixed before the trials, the bound exceeds the true epsilon with probability at most `failure`.
    """
    counts, staked = pairs.reshape(*pairs.shape[:-2], 1, 9), np.asarray(stakes, dtype=np.float64)[..., None]
    occurring = counts.reshape(-1, 9).any(axis=0)
    won, lost, counts = WON[occurring], LOST[occurring], counts[..., occurring]
    # She may not lose more than she has, whatever happens.
    most = np.log(np.maximum((1 / staked - events * delta) / events, 1.0)) * (1 - 1e-9)
    low, high = np.zeros_like(most) - 1e-9, most

    def rich(logs: Array) -> NDArray[np.bool_]:
        growth = np.log1p(np.maximum(staked * (won - np.exp(logs) * lost - events * delta), RUIN))
        return np.asarray((counts * growth).sum(axis=-1, keepdims=True) >= -math.log(failure))

    low = np.broadcast_to(low, np.broadcast_shapes(low.shape, (*counts.shape[:-1], 1)))
    high = np.broadcast_to(high, low.shape)
    high = np.where(rich(low), high, 0.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        enough = rich(middle)
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    return np.maximum(low[..., 0], 0.0)


def rounds_bound(pairs: Array, stakes: ArrayLike, events: int, failure: float, delta: float) -> float:
    """What a bet proves that was made in rounds, each with its own stake, which was fixed before the round; 0 if nothing.

    pairs: (rounds, 3, 3) as in `bet_bound`, which it is if all stakes are the same.
    """
    staked = np.asarray(stakes, dtype=np.float64)
    counts = pairs.reshape(len(staked), 9)
    low, high = -1e-9, math.log(max((1 / float(staked.max()) - events * delta) / events, 1.0)) * (1 - 1e-9)

    def rich(log: float) -> bool:
        growth = np.log1p(np.maximum(staked[:, None] * (WON - math.exp(log) * LOST - events * delta), RUIN))
        return float((counts * growth).sum()) >= -math.log(failure)

    if not rich(low):
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rich(middle) else (low, middle)
    return max(low, 0.0)


def expected_pairs(first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike]) -> Array:
    """(..., 3, 3) shares of pairs: A has probabilities `first` under P and Q, and B `second` under Q and P.

    Two events of one world are taken to be as disjoint as they can be.
    """
    shape = np.broadcast_shapes(*(np.shape(chance) for chance in (*first, *second)))
    expected = np.zeros((*shape, 3, 3))
    for here in ((1, 1), (1, 0), (0, 1), (0, 0)):  # A, B in the output of P
        for there in ((1, 1), (1, 0), (0, 1), (0, 0)):  # A, B in the output of Q
            chance = _both(first[0], second[1], *here) * _both(first[1], second[0], *there)
            expected[..., here[0] + there[1], here[1] + there[0]] += chance
    return expected


def _both(one: ArrayLike, other: ArrayLike, first: int, second: int) -> Array:
    """How likely it is that the first of two events happens or not, and the second."""
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    both = np.maximum(one + other - 1, 0.0)
    chances = {(1, 1): both, (1, 0): one - both, (0, 1): other - both, (0, 0): 1 - one - other + both}
    return np.asarray(chances[first, second])


def best_stake(pairs: Array, events: int, failure: float, delta: float) -> float:
    """The stake with which a bet proves most that goes like this."""
    return float(STAKES[bet_bound(pairs, STAKES, events, failure, delta).argmax()])


def ideal_bound(loss: Loss, trials: int, failure: float, delta: float) -> float:
    """What a bet on the best events would prove if they happened exactly as often as their probabilities say.

    The best events are those where the privacy loss exceeds a threshold, in either direction. Their probabilities follow
    from the loss: with x = e^epsilon, delta(x) = sup_A P(A) - x Q(A) is convex, its slope at x is -Q(A) and its intercept P(A).
    """
    # This many trials prove no more than log(trials).
    low, high = 0.0, min(max(loss.epsilon(RAREST), 1e-3), math.log(trials))
    for _ in range(2):
        thresholds = np.linspace(low, high, THRESHOLDS)
        bounds = _threshold_bounds(loss, thresholds, trials, failure, delta)
        best = int(bounds.argmax())
        low, high = float(thresholds[max(best - 1, 0)]), float(thresholds[min(best + 2, THRESHOLDS - 1)])
    return min(float(bounds[best]), loss.epsilon(delta))


def _threshold_bounds(loss: Loss, thresholds: Array, trials: int, failure: float, delta: float) -> Array:
    """What bets on events prove whose thresholds lie between two consecutive ones; if orders differ, also on either alone."""
    there, back = orders(loss)
    first = _chances(there, thresholds)
    second, never = first if back is there else _chances(back, thresholds), (np.zeros(1), np.zeros(1))
    ways = [(first, second, 2)] if back is there else [(first, second, 2), (first, never, 1), (second, never, 1)]
    bounds = [bet_bound(trials * expected_pairs(*both), STAKES, events, failure, delta) for *both, events in ways]
    return np.asarray(np.max([each.max(axis=1) for each in bounds], axis=0))


def _chances(loss: Loss, thresholds: Array) -> tuple[Array, Array]:
    """How likely the loss is to exceed a threshold between two consecutive ones, in the likelier world and in the other."""
    x = np.exp(thresholds)
    excess = _deltas(loss, thresholds)
    q = np.clip(np.diff(-excess) / np.diff(x), 0.0, 1.0)
    return np.clip(excess[:-1] + x[:-1] * q, 0.0, 1.0), q


@singledispatch
def _deltas(loss: Loss, thresholds: Array) -> Array:
    """(thresholds,) the delta at each."""
    return np.array([loss.delta(float(threshold)) for threshold in thresholds])


@_deltas.register
def _(loss: Tabulated, thresholds: Array) -> Array:
    return np.asarray(loss.table.get_delta_for_epsilon(thresholds.tolist()), dtype=np.float64)  # read once for all
