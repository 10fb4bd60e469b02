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

**The sums** run over -K .. K, and what lies beyond is bounded. Let r_k = p(k+1)/p(k), for all whole k.

* p is log-concave: Poisson laws are, reversed too, and so are convolutions of such sequences (the 2 x 2 minors of a product of
  Toeplitz matrices are sums of products of theirs, by Cauchy and Binet). So r_k falls in k.
* p(k-1) - p(k+1) = (2k/m) p(k), so that 1/r_(k-1) = 2k/m + r_k. With r_k <= r_(k-1) this says r_(k-1)^2 + (2k/m) r_(k-1) >= 1 and
  r_k^2 + (2k/m) r_k <= 1. The positive root of r^2 + 2 x r = 1 is exp(-asinh x), hence

      asinh(k/m) <= -log r_k <= asinh((k+1)/m).

* The terms are t(k) = p(k-d)^a p(k)^(1-a). To the right of k >= d, t(k+1)/t(k) = r_(k-d)^a r_k^(1-a) is at most
  exp((a-1) asinh((k+1)/m) - a asinh((k-d)/m)), which falls in k, since asinh is steeper at k-d < k+1: its exponent's slope has the
  sign of (a-1)/sqrt(m^2 + (k+1)^2) - a/sqrt(m^2 + (k-d)^2) < 0. To the left, 1/r_(-j-1) = r_j by symmetry, so
  t(-j-1)/t(-j) = r_(j+d)^a r_j^(1-a) <= r_j <= exp(-asinh(j/m)), which falls in j: r_(j+d) <= r_j, and a is one more than a - 1.
* So with q and q' these bounds at the ends, what is left out is at most t(K) q/(1-q) + t(-K) q'/(1-q'), a geometric series on
  either side, and `log_moment` adds that. It holds for every K at which q < 1; larger ones only make it tighter.
* Probabilities are divided by their sum over the table, which is less than all: each is too large by one factor f >= 1, and every
  term too, since a + (1-a) = 1. So g is never too small for it.

**Floats**, with u = 2^-53. Ratios are found downwards from r_b, b beyond the table, as exp(-asinh((b + 1/2)/m)), whose logarithm is
off by at most 1/m; one step makes three roundings, and an error w of log r_k becomes at most r_k r_(k-1) (1 + 2w) w of log r_(k-1).
`log_law` follows that bound with the ratios, so that the start is charged. A term is a times a sum of d logarithms of ratios and
one log p(k), partial sums make one rounding a ratio, and logarithms and exponentials are taken to be right to four units of the
last place: `_rounded` adds all of these up, and divergences are rounded up by it.

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
UNIT = 2.0**-53
"""The most by which one operation on floats is off, relatively."""
LARGEST = 60.0
"""Orders whose divergence is larger are of no use: no such epsilon is asked for."""
LEAST_RATE = 4
"""The least lambda: with less the noise of a sum is hardly any."""


@dataclass(frozen=True)
class LogLaw:
    """The logarithms of a Skellam law on a table of whole numbers, and how far they may be off.

    values: (2 most + 1,), of p(-most) .. p(most), divided by their sum. one, whole: bounds of the error of the logarithm of a ratio
    of neighbours, and of a probability.
    """

    variance: float
    values: Array
    one: float
    whole: float

    @property
    def most(self) -> int:
        """The table ends here, on both sides."""
        return len(self.values) // 2


@lru_cache(maxsize=4)
def log_law(variance: float, most: int) -> LogLaw:
    """The law on -most .. most."""
    beyond = most + 64 + int(8 * math.sqrt(variance))
    ratio, error = math.exp(-math.asinh((beyond + 0.5) / variance)), 1 / variance + 8 * UNIT
    ratios, errors = np.empty(most), np.empty(most)
    for k in range(beyond, 0, -1):
        before, ratio = ratio, 1 / (2 * k / variance + ratio)
        error = 4 * UNIT + before * ratio * (1 + 2 * error) * error
        if k <= most:
            ratios[k - 1], errors[k - 1] = ratio, error
    logs = np.log(ratios)
    side = np.cumsum(logs)
    errors += 8 * UNIT * np.abs(logs) + 2 * UNIT * np.abs(side)  # of a logarithm, and of a partial sum
    farthest = float(errors.sum())
    total = math.log1p(2 * math.fsum(np.exp(side)))
    values = np.concatenate([side[::-1], [0.0], side]) - total
    rounded = 8 * UNIT * (1 + total + float(np.abs(values).max()))
    return LogLaw(variance, values, float(errors.max()), 2 * farthest + rounded)


def log_moment(law: LogLaw, shift: int, order: int, most: int) -> float:
    """The logarithm of the sum of p(k - shift)^order p(k)^(1 - order) over all k, or somewhat more; infinite where the terms need
    not fall yet beyond -most .. most. The law is known to most + shift.
    """
    middle, variance = law.most, law.variance
    here = law.values[middle - most : middle + most + 1]
    moved = law.values[middle - most - shift : middle + most + 1 - shift]
    terms = order * moved - (order - 1) * here
    right = (order - 1) * math.asinh((most + 1) / variance) - order * math.asinh((most - shift) / variance)
    left = -math.asinh(most / variance)
    if most < shift or max(left, right) >= 0:
        return math.inf
    top = float(terms.max())
    beyond = sum(
        math.exp(float(end) - top + ratio) / -math.expm1(ratio) for end, ratio in ((terms[-1], right), (terms[0], left))
    )
    return top + math.log(float(np.exp(terms - top).sum()) + beyond) + _rounded(law, terms, shift, order)


def _rounded(law: LogLaw, terms: Array, shift: int, order: int) -> float:
    """The most by which floats make the logarithm of a sum of these terms too small."""
    powers = 8 * UNIT * (order * float(np.abs(law.values).max()) + float(np.abs(terms).max()))
    return order * shift * law.one + law.whole + powers + 2 * UNIT * len(terms)


def divergence(variance: float, shift: int, order: int, law: LogLaw | None = None) -> float:
    """g(shift, order), rounded up. law: `log_law` of a wide range, if it is at hand."""
    most = int(order * shift + 14 * math.sqrt(variance) + 64)
    while True:
        known = law if law is not None and law.most >= most + shift else log_law(variance, most + shift)
        found = log_moment(known, shift, order, most)
        if found < math.inf:
            return found / (order - 1)
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
