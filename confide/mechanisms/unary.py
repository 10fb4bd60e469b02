"""One sampled step, sent as one of k categories with the *full* epsilon.

Every person draws one step of the episode uniformly, on the device, once, and sends its category: state, action, next
state and reward bit, or `absent` if the episode was shorter. Which step was drawn says nothing about the data, so the
whole report is exactly as private as the encoding of one category, whatever two trajectories it comes from.

**Optimised unary encoding** (Wang, Blocki, Li, Jha 2017): k bits; the bit of the true category is one with probability
1/2, every other with q = 1/(e^eps + 1). Two categories differ in two bits, whose likelihood ratios multiply to at most
(p/q)((1-q)/(1-p)) = e^eps.
**Symmetric unary encoding** (Erlingsson, Pihur, Korolova 2014): k bits, each flipped with probability
1/(e^(eps/2) + 1), so that the two bits in which categories differ give eps/2 each. Every bit is as noisy as any other,
which is what sums need.
**k-ary randomised response** (Kairouz, Bonawitz, Ramage 2016): the true category with probability
e^eps/(e^eps + k - 1), any other with 1/(e^eps + k - 1).

Secure noise draws these irrational probabilities exactly, so a message has its epsilon and not that of a rounded float.
`hit` and `miss` are floats: they serve estimates and forecasts, never a secure draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..privacy import Loss, Pure, Sensitivity
from .noise import NoiseSource

UNARY = "unary"
SYMMETRIC = "symmetric"
KARY = "k-ary"


@dataclass(frozen=True)
class SampledStep:
    """A category of a randomly drawn step, by unary encoding or k-ary randomised response."""

    epsilon: float
    categories: int
    encoding: str = UNARY

    def __post_init__(self) -> None:
        validation.positive("epsilon", self.epsilon)
        validation.integer("categories", self.categories, 2)
        validation.choice("encoding", self.encoding, (UNARY, SYMMETRIC, KARY))

    @classmethod
    def best(cls, epsilon: float, categories: int) -> SampledStep:
        """k-ary where k - 2 < 3 e^eps: then its variance (e^eps + k-2)/(e^eps - 1)^2 is below 4 e^eps/(e^eps - 1)^2."""
        return cls(epsilon, categories, KARY if (categories - 2) * math.exp(-epsilon) < 3 else UNARY)

    @property
    def name(self) -> str:
        """`sampled-unary`, `sampled-symmetric` or `sampled-k-ary`."""
        return f"sampled-{self.encoding}"

    @property
    def hit(self) -> float:
        """The probability that the true category is reported."""
        if self.encoding == UNARY:
            return 0.5
        if self.encoding == SYMMETRIC:
            return 1 - self.miss
        return 1 / (1 + (self.categories - 1) * math.exp(-self.epsilon))

    @property
    def miss(self) -> float:
        """The probability that any one other category is reported."""
        if self.encoding == UNARY:
            return math.exp(-self.epsilon) / (1 + math.exp(-self.epsilon))
        if self.encoding == SYMMETRIC:
            return math.exp(-self.epsilon / 2) / (1 + math.exp(-self.epsilon / 2))
        return math.exp(-self.epsilon) / (1 + (self.categories - 1) * math.exp(-self.epsilon))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """epsilon, for any two trajectories: the report is one category."""
        return Pure(self.epsilon)

    def describe(self) -> dict[str, Any]:
        """Name, epsilon and number of categories."""
        return {"name": self.name, "epsilon": self.epsilon, "categories": self.categories}

    def variance(self) -> float:
        """Variance a person of the estimated number of people in one category that nobody is in: q(1-q)/(p-q)^2."""
        return self.miss * (1 - self.miss) / (self.hit - self.miss) ** 2

    def set_variance(self, categories: int, share: float) -> float:
        """Variance a person of the estimated number in a set of `categories`, a share of people being in it.

        Unary: independent bits, |C| q(1-q) plus, for those in it, p(1-p) - q(1-q). k-ary: one Bernoulli.
        """
        p, q = self.hit, self.miss
        if self.encoding != KARY:
            spread = categories * q * (1 - q) + share * (p * (1 - p) - q * (1 - q))
        else:
            chance = share * (p + (categories - 1) * q) + (1 - share) * categories * q
            spread = chance * (1 - chance)
        return spread / (p - q) ** 2

    def randomize(self, category: int, noise: NoiseSource) -> NDArray[np.int64]:
        """One person's message: k bits, of which k-ary randomised response sets one."""
        if self.encoding == UNARY:
            bits = noise.lies(self.epsilon, 1, self.categories).astype(np.int64)
            bits[category] = int(noise.bernoulli(self.hit, 1)[0])
            return bits
        bits = np.zeros(self.categories, dtype=np.int64)
        if self.encoding == SYMMETRIC:
            bits[category] = 1
            return bits ^ noise.lies(self.epsilon / 2, 1, self.categories)
        other = int(noise.integers(self.categories - 1, 1)[0])
        lying = bool(noise.lies(self.epsilon, self.categories - 1, 1)[0])
        bits[other + (other >= category) if lying else category] = 1
        return bits

    def sum_of(self, totals: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """The sum of the messages of people of whom `totals` (k,) are in each category, drawn at once."""
        users = int(totals.sum())
        if self.encoding != KARY:
            return np.asarray(rng.binomial(totals, self.hit) + rng.binomial(users - totals, self.miss))
        honest = rng.binomial(totals, self.hit)
        lying = totals - honest  # each names one of the other k-1 categories
        summed = honest.copy()
        share = np.full(self.categories, 1 / (self.categories - 1))
        for category in np.flatnonzero(lying):
            chances = share.copy()
            chances[category] = 0.0
            summed += rng.multinomial(lying[category], chances / chances.sum())
        return summed

    def estimate(self, summed: NDArray[np.float64], users: ArrayLike) -> NDArray[np.float64]:
        """How many people are in each category: (sum - n q)/(p - q)."""
        return np.asarray((summed - np.asarray(users) * self.miss) / (self.hit - self.miss))
