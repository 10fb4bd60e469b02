"""Exact discrete Laplace and Gaussian draws in plain numpy: the laws of `sampler`, for devices that compile nothing.

The algorithms are those of Canonne, Kamath and Steinke (2020), in integer arithmetic only, for many cells at once: every
rejection concerns some of the cells, which are drawn again from fresh bits. Each cell's draw is a function of bits that no
other cell uses, so cells are independent. The scale becomes the same fraction as in `sampler`, never a smaller one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..validation import refusal

if TYPE_CHECKING:
    from .fractions import Law, Words

Whole = NDArray[np.int64]
Truth = NDArray[np.bool_]

MOST_SCALES = 255
"""The geometric part of a Laplace draw stops here, an event of probability exp(-255) < 1e-110 a draw."""


class Bits:
    """Random bits and numbers from a source of 64-bit words."""

    def __init__(self, words: Words) -> None:
        """The source."""
        self._words = words

    def flips(self, count: int) -> Truth:
        """Fair coins."""
        raw = self._words(-(-count // 64)).view(np.uint8)
        return np.unpackbits(raw, count=count).astype(np.bool_)

    def below(self, size: int, count: int) -> Whole:
        """Uniform on 0 .. size-1: as many bits as size-1 has, again where they make a number that is too large."""
        mask = np.uint64((1 << (size - 1).bit_length()) - 1)
        out = self._words(count) & mask
        while (wrong := np.flatnonzero(out >= size)).size:
            out[wrong] = self._words(wrong.size) & mask
        return out.astype(np.int64)

    def chance(self, numerator: Whole, denominator: Whole) -> Truth:
        """True with probability numerator/denominator: is a uniform number's binary expansion below theirs?"""
        out = numerator >= denominator
        open_ = np.flatnonzero(~out)
        rest, whole = numerator[open_], denominator[open_]
        while open_.size:
            rest = rest << 1
            digit = rest >= whole
            differ = self.flips(open_.size) != digit
            out[open_[differ]] = digit[differ]
            rest = (rest - np.where(digit, whole, 0))[~differ]
            open_, whole = open_[~differ], whole[~differ]
        return out

    def exp(self, numerator: Whole, denominator: Whole, power: int, divisor: int) -> Truth:
        """True with probability exp(-g), g = (numerator/denominator)^power/divisor <= 1.

        Of independent events with probabilities g/1, g/2, ... the first to fail has an odd number with that probability.
        """
        out = np.zeros(numerator.size, dtype=np.bool_)
        open_, k = np.arange(numerator.size), 1
        while open_.size:
            happened = self.chance(np.ones(open_.size, np.int64), np.full(open_.size, divisor * k))
            for _ in range(power):
                happened[happened] = self.chance(numerator[open_[happened]], denominator[open_[happened]])
            out[open_[~happened]] = k % 2 == 1
            open_, k = open_[happened], k + 1
        return out

    def all_exp(self, times: Whole, numerator: Whole, denominator: Whole, power: int, divisor: int) -> Truth:
        """True with probability exp(-times g): that many independent successes."""
        out = np.ones(times.size, dtype=np.bool_)
        for done in range(int(times.max(initial=0))):
            open_ = np.flatnonzero(out & (times > done))
            if not open_.size:
                break
            out[open_] = self.exp(numerator[open_], denominator[open_], power, divisor)
        return out


def draw(words: Words, cells: int, law: Law, scale: float) -> Whole:
    """Independent integers, P(x) ~ exp(-|x|/s) or P(x) ~ exp(-x^2/(2 s^2)), where s is `rational(law, scale)`."""
    from .fractions import RANGES, rational

    fraction = rational(law, scale)
    if fraction is None:
        low, high = RANGES[law]
        raise refusal(f"the {law}'s scale", f"between {low:g} and {high:g}", scale, "Use another grid.")
    return (_gaussian if law == "gaussian" else _laplace)(Bits(words), cells, *fraction)


def _laplace(bits: Bits, cells: int, p: int, q: int) -> Whole:
    """Discrete Laplace of scale p/q: floor((u + p v)/q) with a sign, P(u) ~ exp(-u/p) below p, v geometric."""
    out, open_ = np.zeros(cells, dtype=np.int64), np.arange(cells)
    while open_.size:
        u = bits.below(p, open_.size)
        kept = np.flatnonzero(bits.exp(u, np.full(u.size, p), 1, 1))
        v, going = np.zeros(kept.size, dtype=np.int64), np.arange(kept.size)
        one = np.ones(kept.size, dtype=np.int64)
        while going.size and v.max(initial=0) < MOST_SCALES:
            going = going[bits.exp(one[going], one[going], 0, 1)]
            v[going] += 1
        magnitude = (u[kept] + p * v) // q
        negative = bits.flips(kept.size)
        good = ~negative | (magnitude > 0)
        out[open_[kept[good]]] = np.where(negative, -magnitude, magnitude)[good]
        open_ = np.delete(open_, kept[good])
    return out


def _gaussian(bits: Bits, cells: int, p: int, q: int) -> Whole:
    """Discrete Gaussian of sigma = p/q: a discrete Laplace of scale t = floor(sigma) + 1, kept as `sampler` says."""
    t = p // q + 1
    denominator = t * p * q
    out, open_ = np.zeros(cells, dtype=np.int64), np.arange(cells)
    while open_.size:
        y = _laplace(bits, open_.size, t, 1)
        numerator = np.abs(np.abs(y) * (t * q * q) - p * p)
        whole, rest = numerator // denominator, numerator % denominator
        under = np.full(y.size, denominator)
        one = np.ones(y.size, dtype=np.int64)
        kept = bits.all_exp(whole * whole, one, one, 0, 2)
        for times, power, divisor in ((whole, 1, 1), (one, 2, 2)):
            some = np.flatnonzero(kept)
            kept[some] = bits.all_exp(times[some], rest[some], under[some], power, divisor)
        out[open_[kept]] = y[kept]
        open_ = open_[~kept]
    return out
