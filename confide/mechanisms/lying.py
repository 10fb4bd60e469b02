"""Exact draws of whether a randomised response lies: with probability m/(e^epsilon + m), m rational, which no float is.

A float in its place has an epsilon of its own: rounded to 53 bits, the probability of the truth among k categories is off
by 3e-5 in epsilon at 30, and from about 37 + ln(k-1) on it is 1, which hides nothing. Here a uniform number is drawn 64
binary digits at a time, and compared with an interval that contains the probability, until it lies outside. The interval
is rational arithmetic around one correctly rounded exponential (`decimal` promises that), and narrows with every 64
digits. So the outcome is that of comparing with the probability itself: nothing is rounded.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .fractions import Words

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
