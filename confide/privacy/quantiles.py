"""Quantiles and tails of the normal and the chi-square law, by the standard library: servers load nothing else for them."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_NORMAL = NormalDist()
_erfc = np.frompyfunc(math.erfc, 1, 1)


def normal_quantile(probability: float) -> float:
    """x with P(N(0, 1) <= x) = probability; infinite at 0 and 1."""
    if not 0 < probability < 1:
        return math.inf if probability >= 1 else -math.inf
    return _NORMAL.inv_cdf(float(probability))


def normal_cdf(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(N(0, 1) <= x) of each, also far out on the left, where it is tiny."""
    return np.asarray(_erfc(-np.asarray(x) / math.sqrt(2)), dtype=np.float64) / 2


def chi_square_radius(degrees: float, failure: float) -> float:
    """The least x, up to rounding, with P(chi-square of this many degrees > x) <= failure: found by halving an interval."""
    if failure >= 1:
        return 0.0
    low, high = 0.0, 2 * degrees + 4 * math.log(1 / failure) + 4  # by Laurent and Massart the tail there is smaller
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if _tail(degrees / 2, middle / 2) > failure else (low, middle)
    return high


def _tail(shape: float, x: float) -> float:
    """The regularised upper incomplete gamma function: a series below the mean, a continued fraction above."""
    if x <= 0:
        return 1.0
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        at = shape
        while term > total * 1e-17:
            at += 1
            term *= x / at
            total += term
        return 1 - front * total
    tiny = 1e-300
    b = x + 1 - shape
    c, d = 1 / tiny, 1 / b
    fraction = d
    for i in range(1, 100_000):
        a = -i * (i - shape)
        b += 2
        d = 1 / (a * d + b or tiny)
        c = b + a / c or tiny
        step = c * d
        fraction *= step
        if abs(step - 1) < 1e-16:
            break
    return front * fraction
