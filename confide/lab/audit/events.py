"""Which events to bet on: learned from a rehearsal, so that the trials that follow test a bet fixed beforehand.

An output is looked at through many *statistics*, each a number: the claimed privacy loss; single cells, and what of
them lies between points of the grid; differences of cells, in which noise that two cells share cancels; the direction
in which the worlds lie furthest apart for their spread; the sum over cells of learned log-ratios; where outputs are
few, the learned log-ratio of the whole output. Each is cut into bins, with heavy values in bins of their own. An event
is a set of bins: those above or below a value, or those that one half of the rehearsal saw more often in one world. The
other half decides which event has the best expected bound, among those that are likelier in either world; then one of them is bet
on, or both. A mechanism that states its privacy loss is besides attacked through that alone, without a search: `claims`.

Every statistic is rounded to `DECIMALS` first. Otherwise the last bits of floats alone tell neighbours apart, and an
audit of continuous noise reports a multiple of its epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bound import STAKES, best_stake, bet_bound, event_bound, expected_pairs, rounds_bound
from .pacing import failure_after

Array = NDArray[np.float64]
Statistic = Callable[[Array], Array]
Outputs = tuple[Array, Array]

DECIMALS = 9
# Levels at which a statistic is cut, denser in the tails; a cell inside the sum of log-ratios needs fewer.
FINE, COARSE = 64, 24
# Among many events some look better than they are: each is judged by bounds that fail with this probability.
DOUBT = 0.02
# A bet has the value of this many times the trials of an event that is bounded by itself.
ALONE, WORTH = 1, 3


@dataclass(frozen=True, eq=False)
class Event:
    """The outputs whose statistic falls into the bins that are `inside`.

    likelier: the world in which it happens more often. seen: how often there and in the other world. chances: the same, but
    at least and at most, in case it looks better than it is. `promise`: the bound that it is expected to give by itself.
    """

    what: str
    statistic: Statistic
    edges: Array
    inside: NDArray[np.bool_]
    likelier: int
    seen: tuple[float, float]
    chances: tuple[float, float]
    promise: float

    def happened(self, outputs: Array) -> NDArray[np.bool_]:
        """(n,) in which of the outputs (n, cells)."""
        return np.asarray(self.inside[_bins(rounded(self.statistic(outputs)), self.edges)])


@dataclass(frozen=True, eq=False)
class Bet:
    """One event, or two of which each is likelier in another world, and what is staked on them. `promise`: the bound that is
    expected.

    Nothing is staked where an event has a better bound by itself: one that hardly ever happens in the other world.
    """

    events: tuple[Event, ...]
    stake: float
    promise: float

    @property
    def what(self) -> str:
        """What it rests on, in a few words."""
        return " and ".join(dict.fromkeys(event.what for event in self.events)) or "nothing"

    def pairs(self, outputs: Outputs) -> Array:
        """(3, 3) of how many pairs of outputs, one of each world, this many events went as bet, and this many against it."""
        won, lost = (np.zeros(len(outputs[0]), dtype=np.int64) for _ in range(2))
        for event in self.events:
            won += event.happened(outputs[event.likelier])
            lost += event.happened(outputs[1 - event.likelier])
        return np.bincount(3 * won + lost, minlength=9).reshape(3, 3).astype(np.float64)

    def bound(self, pairs: Array, failure: float, delta: float) -> float:
        """What it proves, having gone like this."""
        if self.stake:
            return float(bet_bound(pairs, [self.stake], len(self.events), failure, delta)[0])
        return float(event_bound(pairs[1:].sum(), pairs[:, 1:].sum(), pairs.sum(), failure, delta))

    def bound_of_rounds(self, pairs: Array, stakes: list[float], failure: float, delta: float) -> float:
        """What it proves if it might have been ended after any round: pairs (rounds, 3, 3), with the stake of each (`pacing`)."""
        if self.stake:
            return rounds_bound(pairs, stakes, len(self.events), failure, delta)
        return self.bound(pairs.sum(axis=0), failure_after(len(pairs), failure), delta)


def choose(outputs: Outputs, claimed: Statistic | None, grid: float, trials: int, failure: float, delta: float) -> Bet:
    """The bet with the best expected bound in `trials` trials, given a rehearsal of (n, cells) outputs each."""
    half = len(outputs[0]) // 2
    first: Outputs = (outputs[0][:half], outputs[1][:half])
    second: Outputs = (outputs[0][half:], outputs[1][half:])
    best: dict[int, dict[int, Event]] = {ALONE: {}, WORTH: {}}
    for what, statistic, learned in statistics(first, claimed, grid):
        for times, event in _events(what, statistic, first, second, learned, trials, failure, delta):
            if event.likelier not in best[times] or event.promise > best[times][event.likelier].promise:
                best[times][event.likelier] = event
    bets = [Bet((event,), 0.0, event.promise) for event in best[ALONE].values()]
    bets += [_bet((event,), trials, failure, delta) for event in best[WORTH].values()]
    if len(best[WORTH]) == 2:
        bets.append(_bet((best[WORTH][0], best[WORTH][1]), trials, failure, delta))
    return max(bets, key=lambda bet: bet.promise, default=Bet((), 0.0, 0.0))


def hoped(bet: Bet, trials: int, failure: float, delta: float) -> float:
    """What a bet would prove if its events happened as often as they were seen to, without doubt."""
    if not bet.events:
        return 0.0
    if not bet.stake:
        p, q = bet.events[0].seen
        return float(event_bound(trials * p, trials * q, trials, failure, delta))
    likely = trials * expected_pairs(bet.events[0].seen, bet.events[1].seen if len(bet.events) > 1 else (0.0, 0.0))
    return float(bet_bound(likely, STAKES, len(bet.events), failure, delta).max())


def staked(bet: Bet, trials: int, failure: float, delta: float) -> Bet:
    """The same events with the stake that suits another failure: one that was chosen for a larger one may never pay enough."""
    return _bet(bet.events, trials, failure, delta) if bet.stake else bet


def _bet(events: tuple[Event, ...], trials: int, failure: float, delta: float) -> Bet:
    never = (0.0, 0.0)
    likely = trials * expected_pairs(events[0].seen, events[1].seen if len(events) > 1 else never)
    at_least = trials * expected_pairs(events[0].chances, events[1].chances if len(events) > 1 else never)
    stake = best_stake(likely, len(events), failure, delta)
    return Bet(events, stake, float(bet_bound(at_least, [stake], len(events), failure, delta)[0]))


def statistics(outputs: Outputs, claimed: Statistic | None, grid: float) -> Iterator[tuple[str, Statistic, bool]]:
    """All ways to look at an output, and whether each was learned from `outputs`."""
    if claimed is not None:
        yield "claimed loss", claimed, False
    yield "direction", _direction(outputs), True
    yield "sum of log-ratios", _sum_of_ratios(outputs), True
    of_whole = _whole_output(outputs)
    if of_whole is not None:
        yield "whole output", of_whole, True
    for cell in range(outputs[0].shape[1]):
        yield f"cell {cell}", partial(_cell, cell=cell), False
        for step in {grid, 1.0}:
            yield f"remainder of cell {cell} by {step:g}", partial(_remainder, cell=cell, grid=step), False
        if cell:
            yield f"cell {cell} - cell {cell - 1}", partial(_difference, cell=cell), False


def _cell(outputs: Array, cell: int) -> Array:
    return outputs[:, cell]


def _remainder(outputs: Array, cell: int, grid: float) -> Array:
    steps = outputs[:, cell] / grid
    return np.asarray(steps - np.rint(steps))


def _difference(outputs: Array, cell: int) -> Array:
    return outputs[:, cell] - outputs[:, cell - 1]


def _direction(outputs: Outputs) -> Statistic:
    """Fisher's linear discriminant, scaled to a gap of one between the worlds.

    The ridge is tiny, so a direction without any noise outweighs all others.
    """
    gap = outputs[0].mean(axis=0) - outputs[1].mean(axis=0)
    spread = sum(np.atleast_2d(np.cov(world, rowvar=False)) for world in outputs)
    ridge = 1e-9 * (np.trace(spread) / len(gap) + 1e-9)
    weights = np.linalg.solve(spread + ridge * np.eye(len(gap)), gap)
    size = float(weights @ gap)
    return partial(_weighted, weights=weights / size if size > 0 else weights)


def _weighted(outputs: Array, weights: Array) -> Array:
    return np.asarray(outputs @ weights)


def _sum_of_ratios(outputs: Outputs) -> Statistic:
    """Per cell a table of smoothed log-ratios; their sum is the privacy loss of a mechanism with independent cells."""
    tables = []
    for cell in range(outputs[0].shape[1]):
        values = [rounded(world[:, cell]) for world in outputs]
        edges = _edges(values, COARSE)
        counts = [_counted(each, edges) for each in values]
        tables.append((edges, np.log((counts[0] + 1) / (counts[1] + 1))))
    return partial(_looked_up, tables=tables)


def _whole_output(outputs: Outputs) -> Statistic | None:
    """A smoothed log-ratio of every output that occurs, where they are few: for what no cell tells alone, such as two
    people who lie together. None where most outputs occur once."""
    weights: Array = np.random.default_rng(0).random((outputs[0].shape[1],))
    keys = [rounded(_weighted(world, weights)) for world in outputs]
    known = np.unique(np.concatenate(keys))
    if 2 * len(known) > len(keys[0]) + len(keys[1]):
        return None
    counts = [np.bincount(np.searchsorted(known, world), minlength=len(known)) for world in keys]
    return partial(_whole_ratio, weights=weights, known=known, ratios=np.log((counts[0] + 1) / (counts[1] + 1)))


def _whole_ratio(outputs: Array, weights: Array, known: Array, ratios: Array) -> Array:
    keys = rounded(_weighted(outputs, weights))
    where = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[where] == keys, ratios[where], 0.0)


def _looked_up(outputs: Array, tables: list[tuple[Array, Array]]) -> Array:
    total = np.zeros(len(outputs))
    for cell, (edges, ratios) in enumerate(tables):
        total += ratios[_bins(rounded(outputs[:, cell]), edges)]
    return total


def _events(
    what: str,
    statistic: Statistic,
    first: Outputs,
    second: Outputs,
    learned: bool,
    trials: int,
    failure: float,
    delta: float,
) -> Iterator[tuple[int, Event]]:
    """The best set of bins for each direction, to be bounded alone or bet on; none if the statistic never varies.

    What the first half has taught is judged by the second alone; what owes it nothing, by both.
    """
    halves = [[rounded(statistic(world)) for world in half] for half in (first, second)]
    if all(float(values.min()) == float(values.max()) == float(halves[0][0][0]) for half in halves for values in half):
        return
    edges = _edges(halves[0], FINE)
    if len(edges) <= 2:  # one value, and what lies above it
        return
    taught, untaught = ([_counted(values, edges) for values in half] for half in halves)
    everything = [one + other for one, other in zip(taught, untaught, strict=True)]
    by_value, by_ratio = np.arange(len(edges) + 1), np.argsort((taught[0] + 0.5) / (taught[1] + 0.5))
    judged = untaught if learned else everything
    ways = [(1, by_value, judged), (1, by_ratio, untaught), (0, by_value[::-1], judged), (0, by_ratio[::-1], untaught)]
    hits: NDArray[np.intp] = np.cumsum([seen[likelier][order] for likelier, order, seen in ways], axis=1)
    other_hits: NDArray[np.intp] = np.cumsum([seen[1 - likelier][order] for likelier, order, seen in ways], axis=1)
    chances = (
        _hedged(hits / hits[:, -1:], -1, hits[:, -1:], DOUBT),
        _hedged(other_hits / hits[:, -1:], 1, hits[:, -1:], DOUBT),
    )
    for times, rows in ((times, rows) for times in (ALONE, WORTH) for rows in ((0, 1), (2, 3))):
        promises = _expected_bounds(*chances, times * trials, failure, delta)
        way = max(rows, key=lambda row: float(promises[row].max()))
        best, (likelier, order, _) = int(promises[way].argmax()), ways[way]
        inside = np.zeros(len(edges) + 1, dtype=np.bool_)
        inside[order[: best + 1]] = True
        best_chances = float(chances[0][way, best]), float(chances[1][way, best])
        of = float(hits[way, -1] + 1)
        often = float(hits[way, best]) / of, float(other_hits[way, best] + 1) / of
        yield times, Event(what, statistic, edges, inside, likelier, often, best_chances, float(promises[way, best]))


def _expected_bounds(p: ArrayLike, q: ArrayLike, trials: int, failure: float, delta: float) -> Array:
    """What events of these chances may be expected to prove in `trials` trials."""
    least, most = _hedged(p, -1, trials, failure / 2), _hedged(q, 1, trials, failure / 2)
    return np.log(np.maximum(least - delta, 1e-300) / most)


def _hedged(
    share: ArrayLike, side: int, trials: float | NDArray[np.int64] | NDArray[np.float64], failure: float
) -> Array:
    """Wilson's bound on a probability, from below (side -1) or above (1): close to the exact one, and quick."""
    from scipy.special import ndtri

    z, share = -float(ndtri(failure)), np.asarray(share, dtype=np.float64)
    spread = z * np.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    return np.asarray((share + z**2 / (2 * trials) + side * spread) / (1 + z**2 / trials))


def _edges(values: list[Array], levels: int) -> Array:
    """Quantiles of both worlds together; a value that is one of them and occurs often has a bin to itself."""
    together = np.sort(np.concatenate(values))
    cuts = np.unique(together[np.maximum(np.ceil(quantiles(levels) * len(together)).astype(np.int64) - 1, 0)])
    return np.unique(np.concatenate([cuts, np.nextafter(cuts, np.inf)]))


@cache
def quantiles(levels: int) -> Array:
    """(levels,) shares at which a statistic is cut, denser in the tails."""
    from scipy.special import ndtr

    return np.asarray(ndtr(np.linspace(-3.5, 3.5, levels)))


def rounded(values: Array) -> Array:
    """Values without the last bits of floats."""
    return np.round(values, DECIMALS)


def _bins(values: Array, edges: Array) -> NDArray[np.intp]:
    """Of values that are rounded."""
    return np.searchsorted(edges, values, side="right")


def _counted(values: Array, edges: Array) -> NDArray[np.intp]:
    return np.bincount(_bins(values, edges), minlength=len(edges) + 1)
