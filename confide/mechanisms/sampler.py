"""Exact discrete Laplace and Gaussian draws from a stream of random bits, compiled, in integer arithmetic only.

The algorithms are those of Canonne, Kamath and Steinke (2020), "The Discrete Gaussian for Differential Privacy". All
randomness reaches them through `_bernoulli`, which compares the binary expansion of a rational with random bits until
the two differ: two bits on average, no division, no modulo, no rounding. Floats appear only in `fractions.rational`, where a
scale becomes a fraction that is never smaller.

**Running out of bits.** A draw is a function of the bit stream, and its length depends on its value; so a draw cut off
by the end of the buffer must not be started again on fresh bits: that would favour short draws. Instead the cut-off
draw is undone, and repeated on *the same bits* followed by new ones. The result is the same, bit for bit, as if the
buffer had been endless, whatever the size of the pieces in which the words arrive.

**The one cap.** The geometric part of a Laplace draw stops at 255 scales, an event of probability exp(-255) < 1e-110 a
draw; with scales inside `RANGES`, no integer then exceeds 2^62.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from ..validation import refusal
from .plain import RANGES, LawName, Words, rational

_MOST_SCALES = 255
_MOST_WORDS = 2**15


def draw(words: Words, cells: int, law: LawName, scale: float) -> NDArray[np.int64]:
    """Independent integers, P(x) ~ exp(-|x| / s) or P(x) ~ exp(-x^2 / (2 s^2)), where s is `rational(law, scale)`."""
    fraction = rational(law, scale)
    if fraction is None:
        low, high = RANGES[law]
        raise refusal(
            "compiled-scale", f"the compiled {law}'s scale", f"between {low:g} and {high:g}", scale, "Use another grid."
        )
    out = np.empty(cells, dtype=np.int64)
    buffer = np.empty(0, dtype=np.int64)
    done, bit = 0, 0
    while done < cells:
        # Seen as int64, since compiled code turns arithmetic between signed and unsigned integers into floats.
        fresh = words(min(_MOST_WORDS, cells - done + 4)).view(np.int64)
        buffer = np.concatenate([buffer[bit >> 6 :], fresh])
        done, bit = _fill(out, done, buffer, bit & 63, *fraction, law == "gaussian")
    return out


@compiled
def _fill(
    out: NDArray[np.int64], done: int, words: NDArray[np.int64], bit: int, p: int, q: int, gaussian: bool
) -> tuple[int, int]:
    """Fill `out` from `done` on while bits last; returns the number of cells done and the first bit not used for them.

    A cursor beyond the last bit means that bits ran out. From then on `_bernoulli` says no and `_uniform` says zero,
    which ends all loops below; the unfinished draw is undone.
    """
    cursor = np.empty(1, dtype=np.int64)
    cursor[0] = bit
    end = 64 * words.size
    for cell in range(done, out.size):
        start = cursor[0]
        value = _gaussian(words, cursor, p, q) if gaussian else _laplace(words, cursor, p, q)
        if cursor[0] > end:
            return cell, start
        out[cell] = value
    return out.size, cursor[0]


@compiled
def _bernoulli(words: NDArray[np.int64], cursor: NDArray[np.int64], numerator: int, denominator: int) -> bool:
    """True with probability numerator / denominator <= 1: is a uniform number's binary expansion below theirs?"""
    if numerator >= denominator:
        return True
    end = 64 * words.size
    at = cursor[0]
    while at < end:
        random_bit = (words[at >> 6] >> (at & 63)) & 1
        at += 1
        numerator <<= 1
        digit = 1 if numerator >= denominator else 0
        if random_bit != digit:
            cursor[0] = at
            return digit == 1
        numerator -= digit * denominator
    cursor[0] = end + 1
    return False


@compiled
def _uniform(words: NDArray[np.int64], cursor: NDArray[np.int64], size: int) -> int:
    """Uniform on 0 .. size-1: as many bits as size-1 has, again while they make a number that is too large."""
    width = 0
    while (size - 1) >> width:
        width += 1
    end = 64 * words.size
    at = cursor[0]
    while at + width <= end:
        word, offset = at >> 6, at & 63
        at += width
        value = words[word] >> offset if width else 0
        if offset + width > 64:
            value = (value & ((1 << (64 - offset)) - 1)) | (words[word + 1] << (64 - offset))
        value &= (1 << width) - 1
        if value < size:
            cursor[0] = at
            return value
    cursor[0] = end + 1
    return 0


@compiled
def _bernoulli_exp(
    words: NDArray[np.int64], cursor: NDArray[np.int64], numerator: int, denominator: int, power: int, divisor: int
) -> bool:
    """True with probability exp(-g), g = (numerator / denominator)^power / divisor <= 1.

    Of independent events with probabilities g/1, g/2, g/3, ... the first to fail has an odd number with probability
    exp(-g). Event k is itself a conjunction of independent ones, so that no product of large integers is formed.
    """
    k = 1
    while True:
        happened = _bernoulli(words, cursor, 1, divisor * k)
        for _ in range(power):
            happened = happened and _bernoulli(words, cursor, numerator, denominator)
        if not happened:
            return (k & 1) == 1
        k += 1


@compiled
def _all_exp(
    words: NDArray[np.int64],
    cursor: NDArray[np.int64],
    times: int,
    numerator: int,
    denominator: int,
    power: int,
    divisor: int,
) -> bool:
    """True with probability exp(-times g), g as in `_bernoulli_exp`: that many independent successes."""
    for _ in range(times):  # noqa: SIM110 (compiled code has no generators)
        if not _bernoulli_exp(words, cursor, numerator, denominator, power, divisor):
            return False
    return True


@compiled
def _laplace(words: NDArray[np.int64], cursor: NDArray[np.int64], p: int, q: int) -> int:
    """Discrete Laplace of scale p/q: floor((u + p v) / q) with a sign, P(u) ~ exp(-u/p) below p, v geometric."""
    while True:
        u = _uniform(words, cursor, p)
        if not _bernoulli_exp(words, cursor, u, p, 1, 1):
            continue
        v = 0
        while v < _MOST_SCALES and _bernoulli_exp(words, cursor, 1, 1, 0, 1):
            v += 1
        magnitude = (u + p * v) // q
        if not _bernoulli(words, cursor, 1, 2):
            return magnitude
        if magnitude > 0:
            return -magnitude


@compiled
def _gaussian(words: NDArray[np.int64], cursor: NDArray[np.int64], p: int, q: int) -> int:
    """Discrete Gaussian of sigma = p/q: a discrete Laplace y of scale t = floor(sigma) + 1, kept with probability
    exp(-r^2 / 2), r = | |y| - sigma^2 / t | / sigma.

    r = (quotient + f), f < 1, and exp(-r^2 / 2) = exp(-1/2)^(quotient^2) exp(-f)^quotient exp(-f^2 / 2), each factor
    tried in turn. Writing r, and not r^2, as a fraction is what lets sigma reach 2^26 in 64 bits.
    """
    t = p // q + 1
    denominator = t * p * q
    while True:
        y = _laplace(words, cursor, t, 1)
        numerator = abs(abs(y) * t * q * q - p * p)
        quotient, remainder = numerator // denominator, numerator % denominator
        if (
            _all_exp(words, cursor, quotient * quotient, 1, 1, 0, 2)
            and _all_exp(words, cursor, quotient, remainder, denominator, 1, 1)
            and _all_exp(words, cursor, 1, remainder, denominator, 2, 2)
        ):
            return y
