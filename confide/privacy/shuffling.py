"""The privacy loss of sums of randomised bits over a batch: exact numerics, always on the private side.

Every bit is flipped with probability q and only the sum of the n bits of a counter, one from each of n people, is seen. One
person's bit is one in world P and zero in world Q; the other n-1 people hold j zeros and n-1-j ones. With T the sum of
their flipped bits the sum seen is T + Bernoulli(1-q) or T + Bernoulli(q). T is log-concave, so the likelihood ratio grows
with the sum, the best events are {sum > t}, and the hockey-stick divergence is

    delta_j(e) = max over t of (1 - e^e) P(T > t) + (1 - q - e^e q) P(T = t).

**Worst others.** Neither j = 0 nor any other split is worst at every epsilon, so a counter is charged the pointwise
maximum over *all* j, which is the profile of a pair that dominates every split (Zhu, Dong, Wang 2022) and may be composed,
adaptively. Reversing all bits exchanges the worlds and turns j into n-1-j, so this profile serves both directions.
Splits near "everyone else equal" are worst for all epsilons that matter, and the nearest are tried one by one; further away
one computation covers several: taking people out of a batch never hides a user, so (z zeros, o ones) covers every split
with at least z zeros and at least o ones.

**Many bits.** A person who may change `changed` bits is charged that many counters. Counters that pool the bits of
several steps give away less: they are sums of the counters of the steps.

**Several batches.** A person who reports to several shufflers, with fresh flips for each, is charged all of them. Where batches
are *apart* every user is in one of them, and which one is known beforehand and depends on nothing that users do. Then a bit
is charged the pointwise maximum over all splits of all batches, which again is the profile of a pair that dominates the bits of
each batch; that many such pairs, composed, dominate what a person gives away in any one of them.

Tables of privacy losses: probabilities on a grid, and the mass of an infinite loss. Always rounded to the private side.

The methods are those of dp-accounting (connect the dots: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022; tails cut off by
Chernoff's bound), in numpy alone, since every server and device that reads a shuffled contract computes its loss. Tests compare
the two. Beside the tails, what Fourier transforms round below zero is taken to be zero, which is on the private side too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..compiled import compiled
from .loss import repeated

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

Probabilities = NDArray[np.float64]
LEFT_OUT = 1e-15
"""The mass of tails that is left out of a table, and charged as a certain breach."""
ORDERS = 20
"""Chernoff's bound is tried at this many orders to each side."""


@dataclass(frozen=True)
class LossTable:
    """A loss of (lowest + i) width has probability `probabilities[i]`, an infinite one `infinite`."""

    width: float
    lowest: int
    probabilities: Probabilities = field(repr=False)
    infinite: float

    @classmethod
    def connecting(cls, width: float, lowest: int, deltas: Probabilities) -> LossTable:
        """The table whose hockey-stick divergences are `deltas` at lowest width, (lowest + 1) width, ... and no smaller between.

        deltas: not increasing, in [0, 1], at least two.
        """
        steps = np.diff(np.minimum.accumulate(deltas))
        mass = np.empty(deltas.size)
        mass[0] = 1 - deltas[0] + steps[0] / math.expm1(width)
        mass[1:-1] = (steps[1:] - steps[:-1] * math.exp(width)) / math.expm1(width)
        mass[-1] = steps[-1] / math.expm1(-width)
        return cls(width, lowest, np.maximum(mass, 0.0), float(np.min(deltas)))

    def repeated(self, times: int, left_out: float) -> LossTable:
        """The loss of this many independent ones. left_out: mass of tails that may be counted as infinite loss."""
        if times == 1:
            return self
        first, last = self._bounds(times, left_out)
        length = _fast_length(max(last - first + 1, self.probabilities.size))
        spectrum = np.fft.rfft(self.probabilities, length) ** times
        summed = np.roll(np.fft.irfft(spectrum, length), -first)[: last - first + 1]
        infinite = left_out - math.expm1(times * math.log1p(-self.infinite))
        return LossTable(self.width, self.lowest * times + first, np.maximum(summed, 0.0), infinite)

    def _bounds(self, times: int, left_out: float) -> tuple[int, int]:
        """Where the sum of this many indices lies but for the mass `left_out`, by Chernoff's bound."""
        size = self.probabilities.size
        first, last = 0, (size - 1) * times
        places = np.arange(size)
        for order in np.concatenate([np.arange(-ORDERS, 0), np.arange(1, ORDERS + 1)]) / size:
            exponents = places * order
            top = float(exponents.max())
            moment = top + math.log(float(np.exp(exponents - top) @ self.probabilities))
            bound = (times * moment + math.log(2 / left_out)) / float(order)
            if order > 0:
                last = min(last, math.ceil(bound))
            else:
                first = max(first, math.floor(bound))
        return first, max(first, last)

    def with_another(self, other: LossTable, left_out: float) -> LossTable:
        """The loss of both together."""
        summed = convolved(self.probabilities, other.probabilities)
        size = summed.size
        first = int(np.searchsorted(np.cumsum(summed), left_out / 2, side="right"))
        last = size - int(np.searchsorted(np.cumsum(summed[::-1]), left_out / 2, side="right"))
        last = max(last, first + 1)
        kept = summed[first:last].copy()
        kept[0] += summed[:first].sum()
        beyond = float(summed[last:].sum())
        infinite = self.infinite + other.infinite - self.infinite * other.infinite + beyond
        return LossTable(self.width, self.lowest + other.lowest + first, kept, infinite)

    @property
    def _losses(self) -> Probabilities:
        return np.asarray((np.arange(self.probabilities.size) + self.lowest) * self.width, dtype=np.float64)

    def delta(self, epsilon: float) -> float:
        """The hockey-stick divergence at `epsilon`."""
        losses = self._losses
        above = losses > epsilon
        return float(self.infinite + -np.expm1(epsilon - losses[above]) @ self.probabilities[above])

    def epsilon(self, delta: float) -> float:
        """The least epsilon, of at least 0, at which the divergence is at most `delta`; infinite if there is none."""
        if self.infinite > delta:
            return math.inf
        if self.delta(0.0) <= delta:
            return 0.0
        losses = self._losses[::-1]
        upper = self.infinite + np.cumsum(self.probabilities[::-1])
        lower = np.cumsum(self.probabilities[::-1] * np.exp(-losses))
        # Between two losses the divergence is upper - e^epsilon lower, with what lies above.
        with np.errstate(divide="ignore", invalid="ignore"):
            solved = np.log((upper - delta) / lower)
        following = np.append(losses[1:], -math.inf)
        found = np.flatnonzero((upper > delta) & (solved >= following))
        return max(0.0, float(solved[found[0]])) if found.size else 0.0

    def distribution(self) -> PrivacyLossDistribution:
        """The same table for dp-accounting, which composes it with others."""
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution

        table = pld_pmf.DensePLDPmf(self.width, self.lowest, self.probabilities, self.infinite, True)
        return privacy_loss_distribution.PrivacyLossDistribution(table)


@repeated.register
def _(loss: LossTable, times: int) -> LossTable:
    return loss.repeated(times, LEFT_OUT)


def convolved(one: Probabilities, other: Probabilities) -> Probabilities:
    """The law of a sum of two, by Fourier transforms; nothing is negative."""
    size = one.size + other.size - 1
    length = _fast_length(size)
    product = np.fft.rfft(one, length) * np.fft.rfft(other, length)
    return np.maximum(np.fft.irfft(product, length)[:size], 0.0)


def _fast_length(least: int) -> int:
    """The least product of powers of 2, 3 and 5 that is not smaller: Fourier transforms of that length are quick."""
    best = 1 << (least - 1).bit_length()
    fives = 1
    while fives < best:
        threes = fives
        while threes < best:
            best = min(best, threes << max(0, (-(-least // threes) - 1).bit_length()))
            threes *= 3
        fives *= 5
    return best


MOST_PEOPLE = 10**12
# Probabilities below this are left out of tables; what is left out is charged as a certain breach.
NEGLIGIBLE = 1e-18
# Up to this many products a convolution is quicker as it stands than by Fourier transforms.
QUICK = 1 << 16
# The width of a table's cells, in standard deviations of the loss of one bit; and the widest there is.
CELLS, WIDEST = 32, 2.0**-6
# How many splits of the others are tried, evenly spread, besides those near the end that matters. With several batches there
# are fewer for each; what is lost in between is lost on the private side.
SPLITS = 256


@dataclass(frozen=True)
class ShuffledCrowd:
    """`people` honest people whose bits, flipped with probability `flip`, are seen as sums only."""

    flip: float
    people: int

    def __post_init__(self) -> None:
        if not 0 < validation.number("flip", self.flip) < 0.5:
            raise validation.refusal("flip-out-of-range", "flip", "above 0 and below 1/2", self.flip)
        validation.integer("people", self.people, 1, MOST_PEOPLE)

    @property
    def bit_epsilon(self) -> float:
        """The local epsilon of one flipped bit, where nothing else hides it: log((1-q)/q)."""
        return math.log1p(-self.flip) - math.log(self.flip)

    @property
    def variance(self) -> float:
        """Variance of the unbiased estimate of one counter: n q(1-q)/(1-2q)^2."""
        return self.people * self.flip * (1 - self.flip) / (1 - 2 * self.flip) ** 2

    @classmethod
    def of(cls, variance: float, people: int) -> ShuffledCrowd:
        """The batch whose unbiased counters have this variance: q = 2v/(r(r+1)), with v = variance/n and r^2 = 1 + 4v."""
        root = math.sqrt(1 + 4 * variance / people)
        return cls(2 * variance / people / (root * (root + 1)), people)


@compiled
def binomial(trials: int, chance: float) -> tuple[int, NDArray[np.float64]]:
    """The first value whose binomial probability is not negligible, and the probabilities from there on."""
    if trials == 0:
        return 0, np.ones(1)
    mode = min(trials, int((trials + 1) * chance))
    log_top = math.lgamma(trials + 1.0) - math.lgamma(mode + 1.0) - math.lgamma(trials - mode + 1.0)
    top = math.exp(log_top + mode * math.log(chance) + (trials - mode) * math.log1p(-chance))
    odds = chance / (1.0 - chance)
    low, here = mode, top
    while low > 0 and here > NEGLIGIBLE:
        here *= low / (trials - low + 1.0) / odds
        low -= 1
    high, here = mode, top
    while high < trials and here > NEGLIGIBLE:
        here *= (trials - high) / (high + 1.0) * odds
        high += 1
    law = np.empty(high - low + 1)
    law[mode - low] = total = top
    for x in range(mode, low, -1):
        law[x - 1 - low] = law[x - low] * x / (trials - x + 1.0) / odds
        total += law[x - 1 - low]
    for x in range(mode, high):
        law[x + 1 - low] = law[x - low] * (trials - x) / (x + 1.0) * odds
        total += law[x + 1 - low]
    # Logarithms of factorials of large numbers are off in their last digits; probabilities sum to one.
    for i in range(law.size):
        law[i] /= total
    return low, law


@compiled
def _raise(law: NDArray[np.float64], flip: float, factors: NDArray[np.float64], profile: NDArray[np.float64]) -> None:
    """Raise the profile, at e^epsilon = factors >= 1, increasing, to that of one bit among others whose sum has this law.

    For a factor of 1 the best threshold is the mode; it only grows with the factor.
    """
    t, above = 0, 0.0
    for x in range(1, law.size):
        if law[x] > law[t]:
            t = x
    for x in range(t + 1, law.size):
        above += law[x]
    for i in range(factors.size):
        factor = factors[i]
        while t + 1 < law.size:
            likelihood_one, likelihood_zero = (
                (1 - flip) * law[t] + flip * law[t + 1],
                flip * law[t] + (1 - flip) * law[t + 1],
            )
            if likelihood_one > factor * likelihood_zero:
                break
            t += 1
            above = max(0.0, above - law[t])
        profile[i] = max(profile[i], (1 - factor) * above + (1 - flip - factor * flip) * law[t])


def _law(zeros: int, ones: int, flip: float) -> NDArray[np.float64]:
    """The law of the sum of the others' flipped bits, where it is not negligible."""
    parts = binomial(zeros, flip)[1], binomial(ones, 1 - flip)[1]
    if parts[0].size * parts[1].size < QUICK:
        return np.convolve(*parts)
    return convolved(*parts)


def _splits(others: int, splits: int) -> NDArray[np.int64]:
    """(m, 2) zeros and ones such that every split of the others has at least this many of both as one row.

    With `many` = 0 only the split in which everyone else is equal, which is nearly the worst.
    """
    if splits == 0:
        return np.array([(0, others)])
    rows, zeros = [], 0
    while zeros <= others:
        gap = 1 if 4 * zeros < splits else max(1, min(zeros // 16, others // splits))
        last = min(zeros + gap - 1, others)
        rows.append((zeros, others - last))
        zeros = last + 1
    return np.array(rows, dtype=np.int64)


def _profile(crowd: ShuffledCrowd, factors: NDArray[np.float64], splits: int) -> NDArray[np.float64]:
    """delta at epsilon = log(factors) of one bit among the worst others, in either direction."""
    profile = np.zeros(factors.size)
    for zeros, ones in _splits(crowd.people - 1, splits):
        _raise(_law(int(zeros), int(ones), crowd.flip), crowd.flip, factors, profile)
    return np.minimum(profile + LEFT_OUT, 1.0)


def _width(crowds: Sequence[ShuffledCrowd]) -> float:
    """A power of two that is fine enough for the table of every batch."""
    finest = min(1 / math.sqrt(crowd.variance) for crowd in crowds)
    return 2.0 ** math.floor(math.log2(min(finest / CELLS, WIDEST)))


def _bit(crowds: Sequence[ShuffledCrowd], width: float, splits: int) -> LossTable:
    """The table of the loss of one bit in any one of the batches, connecting the dots of its profile."""
    top = math.ceil(max(crowd.bit_epsilon for crowd in crowds) / width)
    grid = np.arange(top + 1) * width
    above = np.max([_profile(crowd, np.exp(grid), splits) for crowd in crowds], axis=0)
    # Further out nothing but what was left out remains; it is charged as a certain breach.
    top = min(top, int(np.argmax(above <= 2 * LEFT_OUT)) or top)
    above, grid = above[: top + 1], grid[: top + 1]
    below = -np.expm1(-grid) + np.exp(-grid) * above  # of the other direction, which has the same profile
    profile = np.minimum.accumulate(np.concatenate([below[:0:-1], above]).clip(0.0, 1.0))
    return LossTable.connecting(width, -top, profile)


@lru_cache(maxsize=256)
def shuffled_loss(
    crowds: tuple[ShuffledCrowd, ...], changed: int, missing: float = 0.0, apart: bool = False
) -> LossTable:
    """The loss of a person who may change `changed` bits in every batch; if these are apart, in one of them.

    With probability `missing` a batch may turn out smaller than stated; that is charged as a certain breach.
    """
    return composed(crowds, changed, missing, apart, all_splits=True)


def composed(
    crowds: Sequence[ShuffledCrowd], changed: int, missing: float, apart: bool, *, all_splits: bool
) -> LossTable:
    """`shuffled_loss` without its cache; without `all_splits` among others who are all equal: nearly the worst, and quick."""
    width = _width(crowds)
    splits = int(SPLITS / math.sqrt(len(crowds))) if all_splits else 0
    charged = [crowds] if apart else [[crowd] for crowd in crowds]
    parts = [_bit(each, width, splits).repeated(changed, LEFT_OUT) for each in charged]
    if missing:
        parts.append(LossTable(width, 0, np.array([1 - missing]), missing))
    total = parts[0]
    for part in parts[1:]:
        total = total.with_another(part, LEFT_OUT)
    return total


def local_epsilon(crowds: Sequence[ShuffledCrowd], changed: int, apart: bool = False) -> float:
    """The pure epsilon towards the shufflers themselves: of every bit that may change, in every report."""
    return changed * (max if apart else math.fsum)(crowd.bit_epsilon for crowd in crowds)
