"""Exact translations between the currencies of privacy: (epsilon, delta), rho (zCDP) and mu (Gaussian DP).

Every function errs on the private side: an epsilon or delta that is returned is never below the true one, a mu or rho
never above the largest that keeps the guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

# Relative slack of every numerical inversion, always taken on the private side.
SLACK = 1e-9
# A few units in the last place: what a difference of two logarithms may be off by, relative to their size.
ROUNDOFF = 2.0**-50


def bisect(increasing: Callable[[float], float], target: float, low: float, high: float) -> tuple[float, float]:
    """Bracket (x0, x1) of the point where an increasing function passes `target`: f(x0) <= target < f(x1)."""
    for _ in range(200):
        middle = math.sqrt(low * high) if low > 0 and high / low > 4 else (low + high) / 2
        if not low < middle < high:
            break
        if increasing(middle) <= target:
            low = middle
        else:
            high = middle
    return low, high


def private_side(value: float, holds: Callable[[float], bool], sign: int) -> float:
    """`value`, moved by the slack in the direction of `sign`, and by more while rounding of the function still objects."""
    slack = SLACK
    while not holds(value * (1 + sign * slack)):
        slack *= 2
    return value * (1 + sign * slack)


def _least(delta_at: Callable[[float], float], delta: float) -> float:
    """The least epsilon with delta_at(epsilon) <= delta, rounded up; delta_at falls."""
    high = 1.0
    while delta_at(high) > delta:
        high *= 2
    least = bisect(lambda epsilon: -delta_at(epsilon), -delta, 0.0, high)[1]
    return private_side(least, lambda epsilon: delta_at(epsilon) <= delta, +1)


def _largest(delta_at: Callable[[float], float], delta: float) -> float:
    """The largest mu or rho with delta_at(mu) <= delta, rounded down; delta_at rises."""
    if delta <= 0:
        return 0.0
    high = 1.0
    while delta_at(high) <= delta:
        high *= 2
    largest = bisect(delta_at, delta, 0.0, high)[0]
    return private_side(largest, lambda size: delta_at(size) <= delta, -1)


def _log_normal_tail(x: float) -> float:
    """log of the upper tail of the standard normal law, stable far out, by the standard library alone.

    erfc is correct to a unit in the last place down to 1e-308, which is x = 37. From 30 on the asymptotic series is used,
    whose terms fall from 1/x^2 to below 1e-20 before they grow again.
    """
    if x < -6:
        return math.log1p(-0.5 * math.erfc(-x / math.sqrt(2)))
    if x < 30:
        return math.log(0.5 * math.erfc(x / math.sqrt(2)))
    term, total = 1.0, 1.0
    for k in range(1, 20):
        term *= -(2 * k - 1) / (x * x)
        total += term
    return -x * x / 2 - math.log(x * math.sqrt(2 * math.pi)) + math.log(total)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """delta of a Gaussian mechanism with l2 sensitivity over sigma equal to `mu` (Balle and Wang 2018, Theorem 8).

    delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2).
    """
    if mu == 0:
        return 0.0
    first = _log_normal_tail(epsilon / mu - mu / 2)
    second = epsilon + _log_normal_tail(epsilon / mu + mu / 2)
    # What rounding may have lost, above all where the two terms nearly cancel, is added.
    rounding = ROUNDOFF * (1 + abs(first) + epsilon)
    return min(1.0, math.exp(first) * (rounding - math.expm1(min(second - first, 0.0))))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least epsilon with gaussian_delta(mu, epsilon) <= delta, rounded up."""
    if mu == 0:
        return 0.0
    if delta <= 0:
        return math.inf
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    return _least(lambda epsilon: gaussian_delta(mu, epsilon), delta)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu with gaussian_delta(mu, epsilon) <= delta, rounded down. mu(1, 1e-6) = 0.2367."""
    return _largest(lambda mu: gaussian_delta(mu, epsilon), delta)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """delta of rho-zCDP at `epsilon`: the best known conversion (Canonne, Kamath, Steinke 2020, Corollary 13).

    delta = inf over alpha > 1 of exp((alpha-1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1). Any alpha
    gives a valid bound, so stopping the search early never claims too much.
    """
    if rho == 0:
        return 0.0

    def log_delta(log_order: float) -> float:
        log_order = min(max(log_order, -600.0), 600.0)  # beyond, nothing is gained and floats end
        excess = math.exp(log_order)  # alpha - 1
        alpha = 1 + excess
        return excess * (alpha * rho - epsilon) - alpha * math.log1p(1 / excess) - log_order

    start = math.log(max((epsilon + rho) / (2 * rho) - 1, 1e-3))
    return min(1.0, math.exp(min(_least_value(log_delta, start), 0.0)))


def _least_value(function: Callable[[float], float], start: float) -> float:
    """The least value of a function that falls and then rises, from a start: steps that double, then the golden section."""
    step = 1.0 if function(start + 1e-6) < function(start) else -1.0
    before, here = start, start
    while function(here + step) < function(here) and abs(here) < 700:
        before, here, step = here, here + step, 2 * step
    low, high = sorted((before, here + step))
    part = (math.sqrt(5) - 1) / 2
    one, two = high - part * (high - low), low + part * (high - low)
    at_one, at_two = function(one), function(two)
    while high - low > 1e-9:
        if at_one < at_two:
            high, two, at_two = two, one, at_one
            one = high - part * (high - low)
            at_one = function(one)
        else:
            low, one, at_one = one, two, at_two
            two = low + part * (high - low)
            at_two = function(two)
    return min(at_one, at_two)


@lru_cache(maxsize=1024)
def zcdp_epsilon(rho: float, delta: float) -> float:
    """The least epsilon that rho-zCDP gives at `delta`, rounded up."""
    if rho == 0:
        return 0.0
    if delta <= 0:
        return math.inf
    return _least(lambda epsilon: zcdp_delta(rho, epsilon), delta)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest rho whose conversion stays within (epsilon, delta), rounded down."""
    return _largest(lambda rho: zcdp_delta(rho, epsilon), delta)
