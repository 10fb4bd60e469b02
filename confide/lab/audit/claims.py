"""The bet that follows from what a mechanism says of itself: without a search, hence without luck.

Let L be the log-likelihood ratio of outputs, world 0 over world 1, that a mechanism claims. The best events are L >= t, which is
likelier in world 0, and L <= -t, likelier in world 1. Of outputs that are as often of either world, one with ratio L is of world 0
with probability e^L/(1 + e^L). So where L lies in a rehearsal tells how likely these events are in both worlds, and at odds of e^t
at least, however rare they are: no count of few outputs is taken for a probability. Threshold and stake are those that prove most.

If the claim is false such a bet may prove nothing, which is why one that was learned (`events`) is made beside it.
"""

from __future__ import annotations

import numpy as np

from .bound import STAKES, bet_bound, event_bound, expected_pairs
from .events import FINE, Array, Bet, Event, Outputs, Statistic, quantiles, rounded

# A threshold lies so far below the values that are to reach it, as these are rounded.
SLACK = 1e-6
# No number of samples tells larger odds from certainty.
OBVIOUS = 30.0

Chances = tuple[Array, Array]
"""Of an event, for each threshold: its probability in the world in which it is likelier, and in the other."""


def claimed_bet(outputs: Outputs, claimed: Statistic, trials: int, failure: float, delta: float) -> Bet | None:
    """The bet that proves most in so many trials if the claim is true; None if it claims that all outputs are equally likely."""
    losses = np.sort(rounded(np.concatenate([claimed(world) for world in outputs])))
    thresholds = np.unique(np.quantile(np.abs(losses), quantiles(FINE), method="inverted_cdf"))
    thresholds = thresholds[thresholds > SLACK] - SLACK
    if not thresholds.size:
        return None
    chances = beyond(losses, thresholds)
    best: tuple[float, tuple[int, ...], int, float] = (-1.0, (), 0, 0.0)
    for worlds, stakes, promises in _promises(chances, trials, failure, delta):
        row, column = np.unravel_index(int(promises.argmax()), promises.shape)
        best = max(best, (float(promises[row, column]), worlds, int(row), float(stakes[column])))
    promise, worlds, at, stake = best
    events = tuple(_event(claimed, float(thresholds[at]), world, chances[world], at) for world in worlds)
    return Bet(events, stake, promise)


def beyond(losses: Array, thresholds: Array) -> tuple[Chances, Chances]:
    """How likely L >= t and L <= -t are in both worlds, for each t, given sorted values of L from both worlds together."""
    first = 1 / (1 + np.exp(-np.clip(losses, -OBVIOUS, OBVIOUS)))
    up_to = [np.append(0.0, np.cumsum(weights) / weights.sum()) for weights in (first, 1 - first)]
    high = [1 - total[np.searchsorted(losses, thresholds)] for total in up_to]
    low = [total[np.searchsorted(losses, -thresholds, side="right")] for total in up_to]
    return (high[0], high[1]), (low[1], low[0])


def _promises(
    chances: tuple[Chances, Chances], trials: int, failure: float, delta: float
) -> list[tuple[tuple[int, ...], Array, Array]]:
    """Which events, the stakes and (thresholds, stakes) what they promise: either by itself, staked on or not, and both."""
    never = (np.zeros(1), np.zeros(1))
    promises: list[tuple[tuple[int, ...], Array, Array]] = []
    for world in (0, 1):
        p, q = chances[world]
        promises.append(((world,), np.zeros(1), event_bound(trials * p, trials * q, trials, failure, delta)[:, None]))
    every: tuple[tuple[int, ...], ...] = ((0,), (1,), (0, 1))
    for worlds in every:
        second = chances[1] if len(worlds) > 1 else never
        pairs = trials * expected_pairs(chances[worlds[0]], second)
        promises.append((worlds, STAKES, bet_bound(pairs, STAKES, len(worlds), failure, delta)))
    return promises


def _event(claimed: Statistic, threshold: float, likelier: int, chances: Chances, at: int) -> Event:
    """L at `threshold` or above, or at minus that or below."""
    edges, inside = np.array([-threshold if likelier else threshold]), np.array([likelier == 1, likelier == 0])
    seen = float(chances[0][at]), float(chances[1][at])
    return Event("claimed loss", claimed, edges, inside, likelier, seen, seen, 0.0)
