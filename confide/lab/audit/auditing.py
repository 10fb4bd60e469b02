"""The audit: what it attacks (`Target`), what it does (`audit`) and what it found (`Finding`).

The bet that follows from what a mechanism says of itself: without a search, hence without selection.

Let L be the log-likelihood ratio of outputs, world 0 over world 1, that a mechanism claims. The best events are L >= t, which is
likelier in world 0, and L <= -t, likelier in world 1. Of outputs that are as often of either world, one with ratio L is of world 0
with probability e^L/(1 + e^L). So where L lies in a rehearsal tells how likely these events are in both worlds, and at odds of e^t
at least, however rare they are: no count of few outputs is taken for a probability. Threshold and stake are those that prove most.

If the claim is false such a bet may prove nothing, which is why one that was learned (`events`) is made beside it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ... import validation
from ...mechanisms.noise import NoiseSource
from ...privacy import Loss
from ...privacy.guarantee import LOCAL
from ...validation import Json
from .bound import STAKES, bet_bound, event_bound, expected_pairs, ideal_bound
from .directed import composed
from .events import FINE, Array, Bet, Event, Outputs, Statistic, choose, hoped, quantiles, rounded, staked
from .pacing import Pace, clock, rounds
from .reservoir import Reservoir
from .sources import source_of

# A threshold lies so far below the values that are to reach it, as these are rounded.
SLACK = 1e-6
# No number of samples tells larger odds from certainty.
OBVIOUS = 30.0

Chances = tuple[Array, Array]
"""Of an event, for each threshold: its probability in the world in which it is likelier, and in the other."""


def claimed_bet(outputs: Outputs, claimed: Statistic, trials: int, failure: float, delta: float) -> Bet | None:
    """The bet that proves most in this many trials if the claim is true; None if it claims that all outputs are equally likely."""
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
    """Which events, the stakes and (thresholds, stakes) their expected bound: either by itself, staked on or not, and both."""
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


SAMPLES = 100_000
"""Outputs of each of the two worlds, by default."""
CONFIDENCE = 0.999
"""The confidence that a lower bound is true, by default."""
FEWEST = 1000
# One sample in this number is spent on choosing what to bet on; of outputs that take long, of which there are few, more are.
REHEARSED, REHEARSED_OF_FEW = 5, 3
# A bet that is expected to prove this many times what is certified is tested at once.
BLATANT = 1.5
# Of what may fail, the share of the bet that follows from what is claimed.
CLAIMED = 0.8
# Of outputs that take long at least this many are made.
FEW = 250
# Outputs held in memory at once.
CHUNK = 1 << 17
# Where time is short: the share of it that all rehearsals have, of which half is for looking at what was made.
REHEARSING = 0.3
# A round of a rehearsal is as large as all before it, and a bet that is expected to prove nothing is chosen for this many times the
# trials.
DOUBLING, MORE_TRIALS = 1, 4

MANY, WHOLE = "many outputs a call", "whole runs"
"""How outputs are made: many in one call, as quickly as can be; or each by a run of its own, from its first draw on."""


@dataclass(frozen=True)
class Target:
    """A mechanism or privatizer with two neighbouring inputs, world 0 and world 1.

    loss: what is certified. sample(world, n, noise): n independent outputs, (n, cells). claimed: the log-likelihood
    ratio of outputs, world 0 over world 1, if the mechanism does what it says; without it the audit relies on what it
    learns. exact: the loss of these two inputs, if known; `loss` may be that of worse ones. grid: what outputs are
    said to be multiples of; whatever lies between its points is looked at closely. share: of the samples of an audit, for
    outputs that take long. how: in a few words, how an output is made. drawn_by: who draws outputs, where it is not the noise
    that `sample` is given.
    """

    name: str
    loss: Loss
    sample: Callable[[int, int, NoiseSource], Array]
    claimed: Statistic | None = None
    exact: Loss | None = None
    trust: str = LOCAL
    calibration: str = "none"
    grid: float = 1.0
    share: float = 1.0
    how: str = MANY
    drawn_by: str = ""


def again(target: Target, times: int) -> Target:
    """The target of this many independent outputs, side by side, about the same two inputs; `loss` is of all of them already."""
    claimed, exact = target.claimed, target.exact

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        return np.concatenate([target.sample(world, count, noise) for _ in range(times)], axis=1)

    def ratio(outputs: Array) -> Array:
        assert claimed is not None
        return np.asarray(sum(claimed(part) for part in np.split(outputs, times, axis=1)))

    ratios, losses = None if claimed is None else ratio, None if exact is None else composed([exact] * times)
    return replace(target, sample=sample, claimed=ratios, exact=losses)


@dataclass(frozen=True)
class Finding:
    """What an audit found, for whichever pair of inputs was tested; `event` says what the lower bound rests on.

    samples: outputs of each world, of that pair; how: they were made; drawn_by: whose noise is in them. pairs: how many
    pairs were rehearsed. whole_runs: how many of the outputs that were to be had of each world are whole runs.
    """

    name: str
    trust: str
    calibration: str
    certified_epsilon: float
    delta: float
    lower_bound: float
    ideal_bound: float
    confidence: float
    samples: int
    seconds: float
    event: str
    how: str = MANY
    pairs: int = 1
    whole_runs: int = 0
    drawn_by: str = ""

    @property
    def ok(self) -> bool:
        """False if what is certified is wrong, with the stated confidence."""
        return self.lower_bound <= self.certified_epsilon * (1 + 1e-9)

    def as_json(self) -> dict[str, Json]:
        """The stable machine-readable form."""
        return {
            "name": self.name,
            "trust": self.trust,
            "calibration": self.calibration,
            "certified_epsilon": self.certified_epsilon,
            "delta": self.delta,
            "lower_bound": self.lower_bound,
            "ideal_bound": self.ideal_bound,
            "confidence": self.confidence,
            "samples": self.samples,
            "pairs": self.pairs,
            "whole_runs": self.whole_runs,
            "drawn_by": self.drawn_by,
            "event": self.event,
            "seconds": self.seconds,
            "ok": self.ok,
        }


def audit(
    target: Target | Sequence[Target],
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    delta: float = 0.0,
    noise: NoiseSource | None = None,
    seconds: float | None = None,
) -> Finding:
    """Attack a target: a lower bound on epsilon at `delta`, from `samples` outputs of each world, or as many as time allows.

    It exceeds the true epsilon with probability 1 - confidence at most, also where the clock ends it (`pacing`). One output in
    five is a rehearsal, from which bets are chosen; the others tell how they go. Several targets are several pairs of inputs
    to the same mechanism: each is rehearsed, the most promising is tested. noise: what is drawn; by default that which devices
    or servers really draw. seconds: after which it ends; `FEWEST` samples are taken in any case.
    """
    samples = validation.integer("samples", samples, FEWEST)
    if not 0 < validation.number("confidence", confidence) < 1:
        raise validation.refusal("confidence-out-of-range", "confidence", "above 0 and below 1", confidence)
    delta = validation.delta("delta", delta)
    pace = Pace.of(None if seconds is None else validation.positive("seconds", seconds))
    targets = [target] if isinstance(target, Target) else list(target)
    failure, source = 1 - confidence, Reservoir(noise or source_of(targets[0].trust))
    candidates = [Candidate(each, _size(each, FEWEST), _size(each, samples)) for each in targets]

    started = time.perf_counter()
    with threadpool_limits(1, "blas"):  # the matrices are small, and an audit is measured on one core
        attempts = _rehearsed(candidates, failure, delta, source, pace)
        bounds = _tested(attempts, delta, source, pace)
    best = max(range(len(attempts)), key=lambda number: bounds[number])
    attacked = attempts[best].candidate
    certified = attacked.target.loss.epsilon(delta)
    return Finding(
        attacked.target.name,
        attacked.target.trust,
        attacked.target.calibration,
        certified,
        delta,
        bounds[best],
        min(_ideal(candidates, failure, delta), certified),
        confidence,
        attacked.outputs,
        time.perf_counter() - started,
        attempts[best].bet.what,
        attacked.target.how,
        len(candidates),
        sum(each.outputs for each in candidates if each.target.how == WHOLE),
        attacked.target.drawn_by or source.drawn_by,
    )


@dataclass(eq=False)
class Candidate:
    """A target with the outputs of each world that it may have, for the rehearsal and for the trials: this many at least, at most.

    rehearsals, trials: how many there are; of trials, until they are made, how many there are likely to be.
    losses: (n, 1) what is claimed of rehearsed outputs of each world, where that is all that is known of how far they are apart.
    """

    target: Target
    least: tuple[int, int]
    most: tuple[int, int]
    rehearsals: int = field(init=False)
    trials: int = field(init=False)
    losses: Outputs | None = None

    def __post_init__(self) -> None:
        self.rehearsals, self.trials = self.most

    @property
    def outputs(self) -> int:
        """Of each world, in all."""
        return self.rehearsals + self.trials

    def rehearse(self, seconds: float, later: float, noise: NoiseSource) -> Outputs:
        """As many outputs for the rehearsal as can be made in this many seconds; `later` is how long trials may take."""
        made: list[Outputs] = []
        for one in rounds(self.least[0], self.most[0], seconds, DOUBLING):
            began = clock()
            made.append(_outputs(self.target, one.size, noise))
            if math.isfinite(later):  # the last round is the largest, and tells best how quick large ones are
                likely = int(later * one.size / max(clock() - began, 1e-9))
                self.trials = min(max(likely, self.least[1]), self.most[1])
        self.rehearsals = sum(len(outputs[0]) for outputs in made)
        return np.concatenate([first for first, _ in made]), np.concatenate([second for _, second in made])

    def claimed_bet(self, outputs: Outputs, failure: float, delta: float) -> Bet | None:
        """The bet that follows from what is claimed; for more trials than are likely, where so few prove nothing."""
        if self.target.claimed is None:
            return None
        trials = self.trials
        bet = claimed_bet(outputs, self.target.claimed, trials, failure, delta)
        while bet is not None and bet.promise <= 0 and trials < self.most[1]:
            trials = min(MORE_TRIALS * trials, self.most[1])
            bet = claimed_bet(outputs, self.target.claimed, trials, failure, delta)
        return bet

    def play(self, attempts: list[Attempt], delta: float, seconds: float, noise: Reservoir) -> list[float]:
        """What each of the attempts proves, in as many trials as can be made in this many seconds."""
        timed = math.isfinite(seconds)
        tables: list[list[Array]] = [[] for _ in attempts]
        stakes: list[list[float]] = [[] for _ in attempts]
        planned, self.trials = self.trials, 0
        for many, likely in rounds(self.least[1], self.most[1], seconds):
            if timed:
                noise.empty()
            for (_, bet, failure), kept in zip(attempts, stakes, strict=True):
                kept.append(staked(bet, likely or planned, failure, delta).stake if timed else bet.stake)
            for table, pairs in zip(
                tables, self._pairs(many, [attempt.bet for attempt in attempts], noise), strict=True
            ):
                table.append(pairs)
            self.trials += many
        if not timed:
            return [one.bet.bound(table[0], one.failure, delta) for one, table in zip(attempts, tables, strict=True)]
        return [
            bet.bound_of_rounds(np.stack(table), kept, failure, delta)
            for (_, bet, failure), table, kept in zip(attempts, tables, stakes, strict=True)
        ]

    def _pairs(self, many: int, bets: list[Bet], noise: NoiseSource) -> list[Array]:
        """How each of the bets went in this many trials."""
        sizes: NDArray[np.int64] = np.diff(np.append(np.arange(0, many, CHUNK), many))
        totals = [np.zeros((3, 3)) for _ in bets]
        for size in sizes:
            outputs = _outputs(self.target, int(size), noise)
            for total, bet in zip(totals, bets, strict=True):
                total += bet.pairs(outputs)
        return totals


class Attempt(NamedTuple):
    """A bet that is to be tested: on which of the candidates, and how often it may prove too much."""

    candidate: Candidate
    bet: Bet
    failure: float


def _rehearsed(
    candidates: list[Candidate], failure: float, delta: float, noise: NoiseSource, pace: Pace
) -> list[Attempt]:
    """The bets with the best expected bounds: of those that follow from what is claimed, and of those that were learned.

    Both are tested and share what may fail, for if the claim is false only the second is any good.
    """
    claimed: list[Attempt] = []
    learned: list[Attempt] = []
    later = (1 - REHEARSING) * (pace.ends - pace.begins) / 2  # of two bets each may have trials of its own
    for place, candidate in enumerate(sorted(candidates, key=lambda candidate: sum(candidate.most))):
        target = candidate.target
        outputs = candidate.rehearse(pace.left(REHEARSING) / (2 * (len(candidates) - place)), later, noise)
        if target.claimed is not None:
            if target.exact is None:
                candidate.losses = target.claimed(outputs[0])[:, None], target.claimed(outputs[1])[:, None]
            bet = candidate.claimed_bet(outputs, CLAIMED * failure, delta)
            claimed += [] if bet is None else [Attempt(candidate, bet, CLAIMED * failure)]
        chosen = choose(outputs, target.claimed, target.grid, candidate.trials, failure, delta)
        learned.append(Attempt(candidate, chosen, failure))
        if chosen.promise > BLATANT * target.loss.epsilon(delta):
            return learned[-1:]  # what is as wrong as this needs no better one
    best = max(learned, key=lambda attempt: attempt.bet.promise)
    if not claimed:
        return [best]
    first = max(claimed, key=lambda attempt: attempt.bet.promise)
    # Of whole runs there are few, so doubt weighs heavily: what may exceed what is certified, as it was seen, is tested too.
    others = [best]
    for attempt in learned:
        target, trials = attempt.candidate.target, attempt.candidate.trials
        hopeful = hoped(attempt.bet, trials, (1 - CLAIMED) / 2 * failure, delta) > target.loss.epsilon(delta)
        if target.how == WHOLE and attempt is not best and hopeful:
            others = [best, attempt]
    left = (1 - CLAIMED) * failure / len(others)
    restaked = [(one.candidate, staked(one.bet, one.candidate.trials, left, delta)) for one in others]
    return [first, *(Attempt(candidate, bet, left) for candidate, bet in restaked)]


def _tested(attempts: list[Attempt], delta: float, noise: Reservoir, pace: Pace) -> list[float]:
    """What each bet proves. Bets on one candidate are tested on the same outputs."""
    proved: dict[Candidate, list[float]] = {}
    candidates = list(dict.fromkeys(attempt.candidate for attempt in attempts))
    for place, candidate in enumerate(candidates):
        hers = [attempt for attempt in attempts if attempt.candidate is candidate]
        proved[candidate] = candidate.play(hers, delta, pace.left() / (len(candidates) - place), noise)
    return [proved[attempt.candidate].pop(0) for attempt in attempts]


def _ideal(candidates: list[Candidate], failure: float, delta: float) -> float:
    """What an ideal attack on the worst pair of inputs would prove; of those whose loss is known, if there are any."""
    most = max(candidate.target.share for candidate in candidates)
    usual = [candidate for candidate in candidates if candidate.target.share == most]
    exact = [one for one in usual if one.target.exact is not None and one.target.exact.delta(0.0) > 0]
    known = exact or [one for one in usual if one.losses is not None] or usual
    return max(_ideal_of(candidate, failure, delta) for candidate in known)


def _ideal_of(candidate: Candidate, failure: float, delta: float) -> float:
    """The same of one candidate, by its loss; where only the likelihood ratio is known, by what that was in the rehearsal."""
    target = candidate.target
    if target.exact is None and candidate.losses is not None:
        bet = claimed_bet(candidate.losses, _only_cell, candidate.trials, failure, delta)
        return 0.0 if bet is None else bet.promise
    return ideal_bound(target.exact or target.loss, candidate.trials, failure, delta)


def _only_cell(outputs: Array) -> Array:
    return outputs[:, 0]


def _size(target: Target, samples: int) -> tuple[int, int]:
    """How many outputs of each world are for the rehearsal, and how many for the trials."""
    if target.share == 1:
        return samples // REHEARSED, samples - samples // REHEARSED
    few = min(samples, max(FEW, int(samples * target.share)))
    return few // REHEARSED_OF_FEW, few - few // REHEARSED_OF_FEW


def _outputs(target: Target, many: int, noise: NoiseSource) -> Outputs:
    """Outputs of both worlds, in random order: which of them are halves of a rehearsal or pairs of a bet is chance."""
    rng = np.random.default_rng(noise.integers(1 << 62, 4).tolist())
    return rng.permutation(target.sample(0, many, noise)), rng.permutation(target.sample(1, many, noise))
