"""The audit: what it attacks (`Target`), what it does (`audit`) and what it found (`Finding`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .. import validation
from ..mechanisms.noise import NoiseSource, ReplayableNoise
from ..privacy import Loss
from ..privacy.guarantee import LOCAL
from .bound import ideal_bound
from .claims import claimed_bet
from .events import Array, Bet, Outputs, Statistic, choose, hoped, staked
from .reservoir import Reservoir

SAMPLES = 100_000
"""Outputs of each of the two worlds, by default."""
CONFIDENCE = 0.999
"""The confidence that a lower bound is true, by default."""
FEWEST = 1000
# One sample in so many is spent on choosing what to bet on; of outputs that take long, of which there are few, more are.
REHEARSED, REHEARSED_OF_FEW = 5, 3
# A bet that promises so many times what is certified is tested at once.
BLATANT = 1.5
# Of what may fail, the share of the bet that follows from what is claimed.
CLAIMED = 0.8
# Of outputs that take long at least so many are made.
FEW = 250
# Outputs held in memory at once.
CHUNK = 1 << 17

MANY, WHOLE = "many outputs a call", "whole runs"
"""How outputs are made: many in one call, as quickly as can be; or each by a run of its own, from its first draw on."""


@dataclass(frozen=True)
class Target:
    """A mechanism or privatizer with two neighbouring inputs, world 0 and world 1.

    loss: what is certified. sample(world, n, noise): n independent outputs, (n, cells). claimed: the log-likelihood
    ratio of outputs, world 0 over world 1, if the mechanism does what it says; without it the audit relies on what it
    learns. exact: the loss of these two inputs, if known; `loss` may be that of worse ones. grid: what outputs are
    said to be multiples of; whatever lies between its points is looked at closely. share: of the samples of an audit, for
    outputs that take long. how: in a few words, how an output is made.
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


@dataclass(frozen=True)
class Finding:
    """What an audit found, for whichever pair of inputs was tested; `event` says what the lower bound rests on.

    samples: outputs of each world, of that pair; how: they were made. pairs: how many pairs were rehearsed. whole_runs: how
    many of the outputs that were to be had of each world are whole runs.
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

    @property
    def ok(self) -> bool:
        """False if what is certified is wrong, with the stated confidence."""
        return self.lower_bound <= self.certified_epsilon * (1 + 1e-9)

    def as_json(self) -> dict[str, Any]:
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
) -> Finding:
    """Attack a target: a lower bound on epsilon at `delta`, from `samples` outputs of each world.

    It exceeds the true epsilon with probability 1 - confidence at most. One output in five is a rehearsal, from which
    bets are chosen; the others tell how they go. Several targets are several pairs of inputs
    to the same mechanism: each is rehearsed, the most promising is tested.
    """
    candidates = [target] if isinstance(target, Target) else list(target)
    samples = validation.integer("samples", samples, FEWEST)
    if not 0 < validation.number("confidence", confidence) < 1:
        raise validation.refusal("confidence", "above 0 and below 1", confidence)
    delta = validation.delta("delta", delta)
    failure, source = 1 - confidence, Reservoir(noise or ReplayableNoise(0))
    sizes = [_size(candidate, samples) for candidate in candidates]

    started = time.perf_counter()
    with threadpool_limits(1, "blas"):  # the matrices are small, and an audit is measured on one core
        attempts = _rehearsed(candidates, sizes, failure, delta, source)
        bounds = _tested(candidates, sizes, attempts, delta, source)
    best = max(range(len(attempts)), key=lambda number: bounds[number])
    attacked, size = candidates[attempts[best].candidate], sizes[attempts[best].candidate]
    certified = attacked.loss.epsilon(delta)
    return Finding(
        attacked.name,
        attacked.trust,
        attacked.calibration,
        certified,
        delta,
        bounds[best],
        min(_ideal(candidates, sizes, failure, delta), certified),
        confidence,
        sum(size),
        time.perf_counter() - started,
        attempts[best].bet.what,
        attacked.how,
        len(candidates),
        sum(sum(size) for each, size in zip(candidates, sizes, strict=True) if each.how == WHOLE),
    )


class Attempt(NamedTuple):
    """A bet that is to be tested: on which of the candidates, and how often it may prove too much."""

    candidate: int
    bet: Bet
    failure: float


def _rehearsed(
    candidates: list[Target], sizes: list[tuple[int, int]], failure: float, delta: float, noise: NoiseSource
) -> list[Attempt]:
    """The bets that promise most: of those that follow from what is claimed, and of those that were learned.

    Both are tested and share what may fail, for if the claim is false only the second is any good.
    """
    claimed: list[Attempt] = []
    learned: list[Attempt] = []
    for index in sorted(range(len(candidates)), key=lambda index: sum(sizes[index])):
        target, (rehearsals, trials) = candidates[index], sizes[index]
        outputs = _outputs(target, rehearsals, noise)
        if target.claimed is not None:
            bet = claimed_bet(outputs, target.claimed, trials, CLAIMED * failure, delta)
            claimed += [] if bet is None else [Attempt(index, bet, CLAIMED * failure)]
        learned.append(Attempt(index, choose(outputs, target.claimed, target.grid, trials, failure, delta), failure))
        if learned[-1].bet.promise > BLATANT * target.loss.epsilon(delta):
            return learned[-1:]  # what is as wrong as this needs no better one
    best = max(learned, key=lambda attempt: attempt.bet.promise)
    if not claimed:
        return [best]
    first = max(claimed, key=lambda attempt: attempt.bet.promise)
    # Of whole runs there are few, so doubt weighs heavily: what may exceed what is certified, as it was seen, is tested too.
    others = [best]
    for attempt in learned:
        target, trials = candidates[attempt.candidate], sizes[attempt.candidate][1]
        hopeful = hoped(attempt.bet, trials, (1 - CLAIMED) / 2 * failure, delta) > target.loss.epsilon(delta)
        if target.how == WHOLE and attempt is not best and hopeful:
            others = [best, attempt]
    left = (1 - CLAIMED) * failure / len(others)
    restaked = [(one.candidate, staked(one.bet, sizes[one.candidate][1], left, delta)) for one in others]
    return [first, *(Attempt(candidate, bet, left) for candidate, bet in restaked)]


def _tested(
    candidates: list[Target], sizes: list[tuple[int, int]], attempts: list[Attempt], delta: float, noise: NoiseSource
) -> list[float]:
    """What each bet proves. Bets on one candidate are tested on the same outputs."""
    pairs: dict[int, list[Array]] = {}
    for index in dict.fromkeys(attempt.candidate for attempt in attempts):
        bets = [attempt.bet for attempt in attempts if attempt.candidate == index]
        pairs[index] = _pairs(candidates[index], bets, sizes[index][1], noise)
    return [attempt.bet.bound(pairs[attempt.candidate].pop(0), attempt.failure, delta) for attempt in attempts]


def _ideal(candidates: list[Target], sizes: list[tuple[int, int]], failure: float, delta: float) -> float:
    """What an ideal attack on the worst pair of inputs would prove; of those whose loss is known, if there are any."""
    most = max(target.share for target in candidates)
    usual = [(target, size[1]) for target, size in zip(candidates, sizes, strict=True) if target.share == most]
    known = [pair for pair in usual if pair[0].exact is not None and pair[0].exact.delta(0.0) > 0] or usual
    return max(ideal_bound(target.exact or target.loss, trials, failure, delta) for target, trials in known)


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


def _pairs(target: Target, bets: list[Bet], trials: int, noise: NoiseSource) -> list[Array]:
    """How each of the bets went."""
    sizes: NDArray[np.int64] = np.diff(np.append(np.arange(0, trials, CHUNK), trials))
    totals = [np.zeros((3, 3)) for _ in bets]
    for size in sizes:
        outputs = _outputs(target, int(size), noise)
        for total, bet in zip(totals, bets, strict=True):
            total += bet.pairs(outputs)
    return totals
