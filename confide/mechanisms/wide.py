"""Exact discrete Laplace and Gaussian draws at any scale, in whole numbers of any length: for scales that 64 bits cannot hold.

The algorithms are those of Canonne, Kamath and Steinke (2020). The scale is the fraction that the float stands for: nothing is
rounded.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .plain import LawName, Words

MOST_SCALES = 255
"""The geometric part of a Laplace draw stops here, an event of probability exp(-255) < 1e-110 a draw."""


def draw(words: Words, cells: int, law: LawName, scale: float) -> NDArray[np.int64]:
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
