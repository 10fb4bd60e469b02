"""Tables of privacy losses: probabilities on a grid, and the mass of an infinite loss. Always rounded to the private side.

The methods are those of dp-accounting (connect the dots: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022; tails cut off by
Chernoff's bound), in numpy alone, since every server and device that reads a shuffled contract computes its loss. Tests compare
the two. Beside the tails, what Fourier transforms round below zero is taken to be zero, which is on the private side too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

Probabilities = NDArray[np.float64]
ORDERS = 20
"""Chernoff's bound is tried at so many orders to each side."""


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
        """The loss of so many independent ones. left_out: mass of tails that may be counted as infinite loss."""
        if times == 1:
            return self
        first, last = self._bounds(times, left_out)
        length = _fast_length(max(last - first + 1, self.probabilities.size))
        spectrum = np.fft.rfft(self.probabilities, length) ** times
        summed = np.roll(np.fft.irfft(spectrum, length), -first)[: last - first + 1]
        infinite = left_out - math.expm1(times * math.log1p(-self.infinite))
        return LossTable(self.width, self.lowest * times + first, np.maximum(summed, 0.0), infinite)

    def _bounds(self, times: int, left_out: float) -> tuple[int, int]:
        """Where the sum of so many indices lies but for the mass `left_out`, by Chernoff's bound."""
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
