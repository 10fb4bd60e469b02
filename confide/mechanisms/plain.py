"""Exact discrete Laplace and Gaussian draws in plain numpy: the laws of `sampler`, for devices that compile nothing.

The algorithms are those of Canonne, Kamath and Steinke (2020), in integer arithmetic only, for many cells at once: every
rejection concerns some of the cells, which are drawn again from fresh bits. Each cell's draw is a function of bits that no
other cell uses, so cells are independent. The scale becomes the same fraction as in `sampler`, never a smaller one.

Exact draws of whether a randomised response lies: with probability m/(e^epsilon + m), m rational, which no float is.

A float in its place has an epsilon of its own: rounded to 53 bits, the probability of the truth among k categories is off
by 3e-5 in epsilon at 30, and from about 37 + ln(k-1) on it is 1, which hides nothing. Here a uniform number is drawn 64
binary digits at a time, and compared with an interval that contains the probability, until it lies outside. The interval
is rational arithmetic around one correctly rounded exponential (`decimal` guarantees that), and narrows with every 64
digits. So the outcome is that of comparing with the probability itself: nothing is rounded.

Scales as fractions that are never smaller: what exact samplers, compiled or plain, draw with.

Scales that 64 bits cannot hold are drawn at in whole numbers of any length (`drawn_at_any_scale`): the scale is then the fraction
that the float stands for, and nothing is rounded.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..validation import refusal

LawName = Literal["laplace", "gaussian"]

Words = Callable[[int], NDArray[np.uint64]]
"""A source of independent uniform 64-bit words: asked for n, it gives n that it never gives again."""

RANGES: dict[LawName, tuple[float, float]] = {"laplace": (2.0**-33, 2.0**53), "gaussian": (2.0**-6, 2.0**26)}
"""The scales whose numerator and denominator stay so small (2^53 and 2^26) that 64-bit arithmetic cannot overflow."""

RELATIVE_EXCESS = 1e-6


def rational(law: LawName, scale: float) -> tuple[int, int] | None:
    """The fraction p/q with scale <= p/q <= scale (1 + RELATIVE_EXCESS) whose q is the smallest power of two.

    Never below what was asked, so never less private. Multiplying a float by a power of two is exact, so p is exactly
    ceil(q scale). None outside the law's range.
    """
    low, high = RANGES[law]
    if not low <= scale <= high:
        return None
    q = 1
    while math.ceil(scale * q) - scale * q > RELATIVE_EXCESS * scale * q:
        q *= 2
    return math.ceil(scale * q), q


DIGITS = 64


def lies(words: Words, epsilon: float, others: int | Fraction, cells: int) -> NDArray[np.bool_]:
    """(cells,) True with probability others/(e^epsilon + others)."""
    low, high = enclosure(epsilon, others, DIGITS)
    drawn = words(cells)
    lying = drawn < np.uint64(min(low, 2**DIGITS - 1))
    unsure = ~lying if high > 2**DIGITS - 1 else ~lying & (drawn < np.uint64(high))
    for cell in np.flatnonzero(unsure):
        lying[cell] = _decided(words, int(drawn[cell]), epsilon, others)
    return lying


@lru_cache(maxsize=256)
def enclosure(epsilon: float, others: int | Fraction, digits: int) -> tuple[int, int]:
    """Whole numbers low and high, not much further apart than one, with low <= 2^digits p <= high."""
    if epsilon > digits + math.ceil(others).bit_length():
        return 0, 1  # p < others e^-epsilon < others 2^-epsilon
    precision = 10 + math.ceil(0.302 * digits)
    context = decimal.Context(prec=precision, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    exponential = Fraction(context.exp(decimal.Decimal(epsilon).copy_negate()))
    slack = exponential / 10 ** (precision - 1)
    low, high = (
        others * exponential_bound / (1 + others * exponential_bound)
        for exponential_bound in (exponential - slack, exponential + slack)
    )
    return math.floor(low * 2**digits), math.ceil(high * 2**digits)


def _decided(words: Words, drawn: int, epsilon: float, others: int | Fraction) -> bool:
    """Whether one cell lies whose first digits leave it open: more are drawn until they decide it."""
    digits = DIGITS
    while True:
        drawn, digits = (drawn << DIGITS) | int(words(1)[0]), digits + DIGITS
        low, high = enclosure(epsilon, others, digits)
        if drawn + 1 <= low:
            return True
        if drawn >= high:
            return False


Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

MOST_SCALES = 255
"""The geometric part of a Laplace draw stops here, an event of probability exp(-255) < 1e-110 a draw."""


class Bits:
    """Random bits and numbers from a source of 64-bit words."""

    def __init__(self, words: Words) -> None:
        """`words` is the source of random 64-bit words."""
        self._words = words

    def flips(self, count: int) -> Booleans:
        """(count,) fair coins."""
        raw = self._words(-(-count // 64)).view(np.uint8)
        return np.unpackbits(raw, count=count).astype(np.bool_)

    def below(self, size: int, count: int) -> Integers:
        """Uniform on 0 .. size-1: as many bits as size-1 has, again where they make a number that is too large."""
        mask = np.uint64((1 << (size - 1).bit_length()) - 1)
        out = self._words(count) & mask
        while (wrong := np.flatnonzero(out >= size)).size:
            out[wrong] = self._words(wrong.size) & mask
        return out.astype(np.int64)

    def chance(self, numerator: Integers, denominator: Integers) -> Booleans:
        """True with probability numerator/denominator: is a uniform number's binary expansion below theirs?"""
        out = numerator >= denominator
        undecided = np.flatnonzero(~out)
        remainder, divisors = numerator[undecided], denominator[undecided]
        while undecided.size:
            remainder = remainder << 1
            digit = remainder >= divisors
            differ = self.flips(undecided.size) != digit
            out[undecided[differ]] = digit[differ]
            remainder = (remainder - np.where(digit, divisors, 0))[~differ]
            undecided, divisors = undecided[~differ], divisors[~differ]
        return out

    def exp(self, numerator: Integers, denominator: Integers, power: int, divisor: int) -> Booleans:
        """True with probability exp(-g), g = (numerator/denominator)^power/divisor <= 1.

        Of independent events with probabilities g/1, g/2, ... the first to fail has an odd number with that probability.
        """
        out = np.zeros(numerator.size, dtype=np.bool_)
        undecided, k = np.arange(numerator.size), 1
        while undecided.size:
            happened = self.chance(np.ones(undecided.size, np.int64), np.full(undecided.size, divisor * k))
            for _ in range(power):
                happened[happened] = self.chance(numerator[undecided[happened]], denominator[undecided[happened]])
            out[undecided[~happened]] = k % 2 == 1
            undecided, k = undecided[happened], k + 1
        return out

    def all_exp(
        self, times: Integers, numerator: Integers, denominator: Integers, power: int, divisor: int
    ) -> Booleans:
        """True with probability exp(-times g): that many independent successes."""
        out = np.ones(times.size, dtype=np.bool_)
        for done in range(int(times.max(initial=0))):
            undecided = np.flatnonzero(out & (times > done))
            if not undecided.size:
                break
            out[undecided] = self.exp(numerator[undecided], denominator[undecided], power, divisor)
        return out


def draw(words: Words, cells: int, law: LawName, scale: float) -> Integers:
    """Independent integers, P(x) ~ exp(-|x|/s) or P(x) ~ exp(-x^2/(2 s^2)), where s is `rational(law, scale)`."""

    fraction = rational(law, scale)
    if fraction is None:
        low, high = RANGES[law]
        raise refusal("plain-scale", f"the {law}'s scale", f"between {low:g} and {high:g}", scale, "Use another grid.")
    return (_gaussian if law == "gaussian" else _laplace)(Bits(words), cells, *fraction)


def _laplace(bits: Bits, cells: int, p: int, q: int) -> Integers:
    """Discrete Laplace of scale p/q: floor((u + p v)/q) with a sign, P(u) ~ exp(-u/p) below p, v geometric."""
    out, undecided = np.zeros(cells, dtype=np.int64), np.arange(cells)
    while undecided.size:
        u = bits.below(p, undecided.size)
        accepted = np.flatnonzero(bits.exp(u, np.full(u.size, p), 1, 1))
        v, growing = np.zeros(accepted.size, dtype=np.int64), np.arange(accepted.size)
        ones = np.ones(accepted.size, dtype=np.int64)
        while growing.size and v.max(initial=0) < MOST_SCALES:
            growing = growing[bits.exp(ones[growing], ones[growing], 0, 1)]
            v[growing] += 1
        magnitude = (u[accepted] + p * v) // q
        negative = bits.flips(accepted.size)
        good = ~negative | (magnitude > 0)
        out[undecided[accepted[good]]] = np.where(negative, -magnitude, magnitude)[good]
        undecided = np.delete(undecided, accepted[good])
    return out


def _gaussian(bits: Bits, cells: int, p: int, q: int) -> Integers:
    """Discrete Gaussian of sigma = p/q: a discrete Laplace of scale t = floor(sigma) + 1, kept as `sampler` says."""
    t = p // q + 1
    denominator = t * p * q
    out, undecided = np.zeros(cells, dtype=np.int64), np.arange(cells)
    while undecided.size:
        y = _laplace(bits, undecided.size, t, 1)
        numerator = np.abs(np.abs(y) * (t * q * q) - p * p)
        quotient, remainder = numerator // denominator, numerator % denominator
        denominators = np.full(y.size, denominator)
        ones = np.ones(y.size, dtype=np.int64)
        accepted = bits.all_exp(quotient * quotient, ones, ones, 0, 2)
        for times, power, divisor in ((quotient, 1, 1), (ones, 2, 2)):
            trying = np.flatnonzero(accepted)
            accepted[trying] = bits.all_exp(times[trying], remainder[trying], denominators[trying], power, divisor)
        out[undecided[accepted]] = y[accepted]
        undecided = undecided[~accepted]
    return out


def drawn_at_any_scale(words: Words, cells: int, law: LawName, scale: float) -> NDArray[np.int64]:
    """Independent integers, P(x) ~ exp(-|x|/scale) or P(x) ~ exp(-x^2/(2 scale^2))."""
    coins = _Coins(words)
    exact = Fraction(scale)
    one = coins.gaussian if law == "gaussian" else coins.laplace
    return np.array([one(exact) for _ in range(cells)], dtype=np.int64)


class _Coins:
    """Random whole numbers and events from a source of 64-bit words."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def below(self, size: int) -> int:
        """Uniform on 0 .. size-1: as many bits as size-1 has, again where they make a number that is too large."""
        bits = (size - 1).bit_length()
        count = -(-bits // 64)
        while True:
            number = 0
            for word in self._words(count) if count else ():
                number = number << 64 | int(word)
            number &= (1 << bits) - 1
            if number < size:
                return number

    def exp(self, exponent: Fraction) -> bool:
        """True with probability exp(-exponent), exponent >= 0."""
        while exponent > 1:
            if not self.exp(Fraction(1)):
                return False
            exponent -= 1
        tries = 1
        while self.below(exponent.denominator * tries) < exponent.numerator:
            tries += 1
        return tries % 2 == 1

    def laplace(self, scale: Fraction) -> int:
        """A discrete Laplace draw: floor((u + p v)/q) with a sign, scale = p/q, P(u) ~ exp(-u/p) below p, v geometric."""
        while True:
            part = self.below(scale.numerator)
            if not self.exp(Fraction(part, scale.numerator)):
                continue
            wholes = 0
            while wholes < MOST_SCALES and self.exp(Fraction(1)):
                wholes += 1
            size = (part + scale.numerator * wholes) // scale.denominator
            negative = self.below(2) == 1
            if size or not negative:
                return -size if negative else size

    def gaussian(self, sigma: Fraction) -> int:
        """A discrete Gaussian draw: a Laplace draw y of scale t = floor(sigma) + 1, kept with probability
        exp(-(|y| - sigma^2/t)^2/(2 sigma^2))."""
        t = math.floor(sigma) + 1
        while True:
            drawn = self.laplace(Fraction(t))
            if self.exp((abs(drawn) - sigma**2 / t) ** 2 / (2 * sigma**2)):
                return drawn
