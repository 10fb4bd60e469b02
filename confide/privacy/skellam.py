"""The account of Skellam noise: integers whose law is the difference of two Poisson variables of mean lambda, one a cell.

**Claim.** Let two vectors of integers differ by d, with sum |d_i| <= D1 and sum d_i^2 <= D2^2. Independent Skellam noise of
variance m = 2 lambda on every cell then has a Renyi divergence of integer order a of at most

    R(a) = A D2^2 + B D1,   A = a/(2 m),   B = max over d = 1 .. floor(D2) of max(0, g(d, a) - A d^2)/d,

where g(d, a) is the divergence of one cell that is shifted by d:

    g(d, a) = 1/(a-1) log sum_k p(k-d)^a p(k)^(1-a),   p(k) = e^-m I_k(m).

**Proof.** Cells are independent, so their divergences add up to sum g(|d_i|, a); the law is symmetric, so a sign does not matter
and either order of the two vectors gives the same. No |d_i| exceeds D2. By the choice of B every g(d, a) <= A d^2 + B d, so the sum
is at most A sum d_i^2 + B sum |d_i|. (A d^2 is what a Gaussian of the same variance has; B is what the grid costs, and small:
Agarwal, Kairouz and Liu (2021), arXiv 2110.04995, bound it in closed form, which tests compare with.)

**The sums** are added up in logarithms. p(k+1)/p(k) = r_k obeys r_(k-1) = 1/(2k/m + r_k), which is stable downwards from any start,
and terms are added until they are below 1e-20 of the largest on both sides, where each is less than 0.9 of the one before, and
falls faster still; SLACK is added for them and for what floats round.

**More noise than was counted on** only helps: what dishonest people's devices add is independent of the rest, and adding it is
post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from .conversion import gaussian_mu

Array = NDArray[np.float64]

ORDERS = (*range(2, 21), *range(22, 41, 2), *range(44, 65, 4), 80, 96, 128, 192, 256)
"""The orders at which divergences are known."""
SLACK = 1e-9
"""Added to every divergence."""
LARGEST = 60.0
"""Orders whose divergence is larger are of no use: no such epsilon is asked for."""
LEAST_RATE = 4
"""The least lambda: with less the noise of a sum is hardly any."""


def log_ratios(variance: float, most: int) -> Array:
    """(most,) the logarithms of p(k+1)/p(k), k = 0 .. most-1, of a Skellam law of this variance."""
    beyond = most + 64 + int(8 * math.sqrt(variance))
    ratio, ratios = variance / (2 * beyond + 2 + variance), np.empty(most)
    for k in range(beyond, 0, -1):
        ratio = 1 / (2 * k / variance + ratio)
        if k <= most:
            ratios[k - 1] = ratio
    return np.log(ratios)


@lru_cache(maxsize=4)
def log_law(variance: float, most: int) -> Array:
    """(2 most + 1,) the logarithms of p(-most) .. p(most), which are taken for all there is: most is 14 deviations or more."""
    side = np.cumsum(log_ratios(variance, most))
    total = math.log1p(2 * math.fsum(np.exp(side)))
    return np.concatenate([side[::-1], [0.0], side]) - total


def divergence(variance: float, shift: int, order: int, law: Array | None = None) -> float:
    """g(shift, order), rounded up by SLACK. law: `log_law` of a wide range, if it is at hand."""
    most = int(order * shift + 14 * math.sqrt(variance) + 64)
    while True:
        known = law if law is not None and len(law) > 2 * (most + shift) else log_law(variance, most + shift)
        middle = len(known) // 2
        here = known[middle - most : middle + most + 1]
        moved = known[middle - most - shift : middle + most + 1 - shift]
        terms = order * moved - (order - 1) * here
        top = float(terms.max())
        ended = max(terms[0], terms[-1]) - top < math.log(1e-20)
        falling = max(terms[0] - terms[1], terms[-1] - terms[-2]) < math.log(0.9)
        if ended and falling:
            return (top + math.log(float(np.exp(terms - top).sum()))) / (order - 1) + SLACK
        most *= 2


@dataclass(frozen=True)
class RenyiLoss:
    """A loss known by its Renyi divergences. curve: pairs of an order and the divergence. missing: a delta that is charged at every
    epsilon, for what happens with so small a chance.
    """

    curve: tuple[tuple[int, float], ...]
    missing: float = 0.0

    def delta(self, epsilon: float) -> float:
        """The least delta at `epsilon`: exp((a-1)(R - epsilon)) (1 - 1/a)^a/(a-1) at the best order (Canonne et al. 2020)."""
        logs = ((a - 1) * (r - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1) for a, r in self.curve)
        return min(1.0, math.exp(min(0.0, min(logs))) + (1 + math.exp(min(epsilon, 700.0))) * self.missing)

    def epsilon(self, delta: float) -> float:
        """The least epsilon at `delta`, infinite if there is none: by bisection, on the private side."""
        if delta <= 0:
            return math.inf
        low, high = 0.0, 1.0
        while self.delta(high) > delta:
            low, high = high, 2 * high
            if high > 1e4:
                return math.inf
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high

    def distribution(self) -> Any:
        """None exists: divergences bound moments, and have no dominating pair of their own."""
        raise TypeError("a Renyi bound does not compose with others here")


def skellam_loss(variance: float, l1: float, l2: float, missing: float = 0.0) -> RenyiLoss:
    """The loss of Skellam noise of this variance a cell, for vectors of integers that are l1 and l2 apart."""
    if variance < 2 * LEAST_RATE:
        raise InvalidInput("skellam-variance", f"Skellam noise needs a variance of {2 * LEAST_RATE} or more. Add some.")
    return RenyiLoss(_curve(variance, float(l1), float(l2)), missing)


@lru_cache(maxsize=256)
def _curve(variance: float, l1: float, l2: float) -> tuple[tuple[int, float], ...]:
    most = max(1, math.floor(l2 + 1e-9))
    orders = [order for order in ORDERS if order * l2**2 / (2 * variance) <= LARGEST]
    law = log_law(variance, int((max(orders, default=2) + 1) * most + 14 * math.sqrt(variance) + 64))
    curve = []
    for order in orders:
        gaussian = order / (2 * variance)
        beyond = max(
            max(0.0, divergence(variance, shift, order, law) - gaussian * shift**2) / shift
            for shift in range(1, most + 1)
        )
        curve.append((order, gaussian * l2**2 + beyond * l1))
    if not curve:
        curve = [(2, math.inf)]
    return tuple(curve)


def least_rate(epsilon: float, delta: float, l1: float, l2: float, missing: float = 0.0) -> int:
    """The least whole lambda with which sums keep (epsilon, delta)."""
    guess = max(LEAST_RATE, round(l2**2 / (2 * gaussian_mu(epsilon, delta) ** 2)))  # as much as a Gaussian's
    low, high = (guess if guess > LEAST_RATE else LEAST_RATE - 1) - 1, guess
    while skellam_loss(2.0 * high, l1, l2, missing).delta(epsilon) > delta:
        low, high = high, high + max(1, high >> 3)
        if high > 1 << 40:
            raise InvalidInput(
                "skellam-out-of-reach",
                f"No Skellam noise keeps epsilon {epsilon:g} with delta {delta:g}. Ask for more.",
            )
    while high - low > max(1, high >> 8):  # to half a per cent
        middle = (low + high) // 2
        low, high = (
            (middle, high) if skellam_loss(2.0 * middle, l1, l2, missing).delta(epsilon) > delta else (low, middle)
        )
    return high
