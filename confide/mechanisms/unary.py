"""Randomised reports of one of k categories, with the *full* epsilon for it.

A message about one category is exactly as private as its encoding, whichever two categories two people have.

**Optimised unary encoding** (Wang, Blocki, Li, Jha 2017): k bits; the bit of the true category is one with probability
1/2, every other with q = 1/(e^eps + 1). Two categories differ in two bits, whose likelihood ratios multiply to at most
(p/q)((1-q)/(1-p)) = e^eps.
**Symmetric unary encoding** (Erlingsson, Pihur, Korolova 2014): k bits, each flipped with probability
1/(e^(eps/2) + 1), so that the two bits in which categories differ give eps/2 each. Every bit is as noisy as any other,
which is what sums need.
**k-ary randomised response** (Kairouz, Bonawitz, Ramage 2016): the true category with probability
e^eps/(e^eps + k - 1), any other with 1/(e^eps + k - 1).
**Subset selection** (Ye and Barg 2018): a set of w categories, uniform among those that hold the true one with probability
w e^eps/(w e^eps + k - w), else uniform among those that do not. A set that holds the true category is e^eps times as likely
as one that does not, and every set holds or does not hold a person's category: e^eps for any two of them, exactly. At w = 1
it is k-ary randomised response. With w near k/(e^eps + 1) its variance is the least of all such encodings in the worst case.

Secure noise draws these irrational probabilities exactly, so a message has its epsilon and not that of a rounded float.
`hit` and `miss` are floats: they serve estimates and forecasts, never a secure draw.

Random subsets of categories: how large they are best, how they are drawn, and the sums of many of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..privacy import Loss, Pure, Sensitivity
from ..validation import Json
from .noise import NoiseSource
from .randomizer import BITS, INDEX, CategoryRandomizer, bernstein_radius

Integers = NDArray[np.int64]


def subset_chances(epsilon: float, categories: int, size: int) -> tuple[float, float]:
    """How likely a subset names the true category, and any one other."""
    rest = (categories - size) / size * math.exp(-epsilon)
    hit = 1 / (1 + rest)
    return hit, (size - hit) / (categories - 1)


def subset_size(epsilon: float, categories: int) -> int:
    """The size with the least variance: one of the two whole numbers next to k/(e^eps + 1)."""
    middle = int(categories / (math.exp(min(epsilon, 700.0)) + 1))
    sizes = [size for size in (middle, middle + 1) if 1 <= size < categories]

    def variance(size: int) -> float:
        hit, miss = subset_chances(epsilon, categories, size)
        return miss * (1 - miss) / (hit - miss) ** 2

    return min(sizes, key=variance)


def any_subset(among: int, size: int, noise: NoiseSource) -> Integers:
    """(size,) different numbers below `among`, every set equally likely: the places of the largest of as many words.

    Words that tie are all drawn again, so nothing is rounded.
    """
    while True:
        words = noise.integers(1 << 62, among)
        order = np.argsort(words)
        if (np.diff(words[order]) > 0).all():
            return np.asarray(order[among - size :])


def subset_sums(people: Integers, size: int, hit: float, rng: np.random.Generator) -> Integers:
    """(k,) how many messages name each category, `people` (k,) being in each: exact, drawn at once."""
    from .subset_sums import add_subsets

    summed = np.zeros(len(people), dtype=np.int64)
    add_subsets(people, size, hit, rng, summed)
    return summed


UNARY = "unary"
SYMMETRIC = "symmetric"
KARY = "k-ary"
SUBSET = "subset"
LEAST_EPSILON = 1e-9
"""Below it reports say so little that probabilities in floats no longer differ."""


@dataclass(frozen=True)
class SampledStep(CategoryRandomizer):
    """A category of a randomly drawn step, by unary encoding, k-ary randomised response or subset selection."""

    epsilon: float
    categories: int = field()
    encoding: str = UNARY

    def __post_init__(self) -> None:
        if validation.positive("epsilon", self.epsilon) < LEAST_EPSILON:
            raise validation.refusal("epsilon-too-small", "epsilon", f"at least {LEAST_EPSILON:g}", self.epsilon)
        object.__setattr__(self, "categories", validation.integer("categories", self.categories, 2))
        validation.choice("encoding", self.encoding, (UNARY, SYMMETRIC, KARY, SUBSET))

    @classmethod
    def best(cls, epsilon: float, categories: int) -> SampledStep:
        """k-ary where k - 2 < 3 e^eps: then its variance (e^eps + k-2)/(e^eps - 1)^2 is below 4 e^eps/(e^eps - 1)^2."""
        return cls(epsilon, categories, KARY if (categories - 2) * math.exp(-epsilon) < 3 else UNARY)

    @cached_property
    def ones(self) -> int | None:
        """How many categories every message names; None if that varies."""
        if self.encoding in (UNARY, SYMMETRIC):
            return None
        return 1 if self.encoding == KARY else subset_size(self.epsilon, self.categories)

    @property
    def name(self) -> str:
        """`sampled-unary`, `sampled-symmetric`, `sampled-k-ary` or `sampled-subset`."""
        return f"sampled-{self.encoding}"

    @property
    def hit(self) -> float:
        """The probability that the true category is reported."""
        if self.encoding == UNARY:
            return 0.5
        if self.encoding == SYMMETRIC:
            return 1 - self.miss
        if self.ones is not None and self.ones > 1:
            return subset_chances(self.epsilon, self.categories, self.ones)[0]
        return 1 / (1 + (self.categories - 1) * math.exp(-self.epsilon))

    @property
    def miss(self) -> float:
        """The probability that any one other category is reported."""
        if self.encoding == UNARY:
            return math.exp(-self.epsilon) / (1 + math.exp(-self.epsilon))
        if self.encoding == SYMMETRIC:
            return math.exp(-self.epsilon / 2) / (1 + math.exp(-self.epsilon / 2))
        if self.ones is not None and self.ones > 1:
            return subset_chances(self.epsilon, self.categories, self.ones)[1]
        return math.exp(-self.epsilon) / (1 + (self.categories - 1) * math.exp(-self.epsilon))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The pure loss epsilon, for any two trajectories: the report is one category."""
        return Pure(self.epsilon)

    def describe(self) -> dict[str, Json]:
        """Name, epsilon and number of categories."""
        return {"name": self.name, "epsilon": self.epsilon, "categories": self.categories}

    @property
    def grid(self) -> float:
        """Messages are whole numbers."""
        return 1.0

    @property
    def packing(self) -> str:
        """An index for k-ary randomised response, else bits."""
        return INDEX if self.encoding == KARY else BITS

    def reach(self) -> float:
        """0: a message consists of bits, like what it reports."""
        return 0.0

    def variance(self, trials: float = 1.0) -> float:
        """Variance a person of the estimated number of people in one empty category: q(1-q)/(p-q)^2."""
        return self.miss * (1 - self.miss) / (self.hit - self.miss) ** 2

    def set_variance(self, categories: int, share: float) -> float:
        """Variance a person of the estimated number in a set of `categories`, a share of people being in it.

        Unary: independent bits, |C| q(1-q) plus, for those in it, p(1-p) - q(1-q). k-ary and subsets: how
        many of the names are in the set, which is hypergeometric.
        """
        p, q = self.hit, self.miss
        if self.ones is None:
            spread = categories * q * (1 - q) + share * (p * (1 - p) - q * (1 - q))
        else:
            inside = self._named(categories - 1, 1.0) if share > 0 else 0.0
            spread = share * inside + (1 - share) * self._named(categories, 0.0)
        return spread / (p - q) ** 2

    def _named(self, others: int, own: float) -> float:
        """Variance of how many of `others` further categories a message names, and her own besides if own is 1."""
        chance, other_categories, size = self.hit, self.categories - 1, int(self.ones or 0)
        mean, square = 0.0, 0.0
        for truthful, weight in ((1, chance), (0, 1 - chance)):
            drawn = size - truthful
            expected = drawn * others / other_categories
            spread = (
                expected * (1 - others / other_categories) * (other_categories - drawn) / max(1, other_categories - 1)
            )
            count = expected + own * truthful
            mean, square = mean + weight * count, square + weight * (spread + count**2)
        return square - mean**2

    def randomize(
        self, cells: NDArray[np.float64], trials: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.float64]:
        """One person's message about the category at which `cells` has its one: k bits, of which k-ary sets one."""
        return self.encoded(int(cells.argmax()), noise).astype(np.float64)

    def encoded(self, category: int, noise: NoiseSource) -> NDArray[np.int64]:
        """The message about a category."""
        if self.encoding == UNARY:
            bits = noise.lies(self.epsilon, 1, self.categories).astype(np.int64)
            bits[category] = int(noise.bernoulli(self.hit, 1)[0])
            return bits
        bits = np.zeros(self.categories, dtype=np.int64)
        if self.encoding == SYMMETRIC:
            bits[category] = 1
            return bits ^ noise.lies(self.epsilon / 2, 1, self.categories)
        if self.encoding == SUBSET:
            size = int(self.ones or 0)
            named = not bool(noise.lies(self.epsilon, self.categories - size, 1, size)[0])
            chosen = any_subset(self.categories - 1, size - named, noise)
            bits[chosen + (chosen >= category)] = 1
            bits[category] = named
            return bits
        other = int(noise.integers(self.categories - 1, 1)[0])
        lying = bool(noise.lies(self.epsilon, self.categories - 1, 1)[0])
        bits[other + (other >= category) if lying else category] = 1
        return bits

    def sum_of(
        self, totals: NDArray[np.float64], users: int, trials: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """The sum of the messages of `users` people, of whom `totals` (k,) are in each category, drawn at once."""
        people = np.rint(totals).astype(np.int64)
        if self.ones is None:
            return np.asarray(
                rng.binomial(people, self.hit) + rng.binomial(users - people, self.miss), dtype=np.float64
            )
        if self.encoding == SUBSET:
            return subset_sums(people, int(self.ones or 0), self.hit, rng).astype(np.float64)
        # With probability k q any category is named, all alike; else the true one: p = 1 - k q + q.
        honest = rng.binomial(people, self.hit - self.miss)
        anything = rng.multinomial(int((people - honest).sum()), np.full(self.categories, 1 / self.categories))
        return np.asarray(honest + anything, dtype=np.float64)

    def estimate(
        self, summed: NDArray[np.float64], users: ArrayLike, trials: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """How many people are in each category: (sum - n q)/(p - q)."""
        return np.asarray((summed - np.asarray(users) * self.miss) / (self.hit - self.miss))

    def radius(self, users: ArrayLike, failure: float, trials: float = 1.0, cells: float = 1.0) -> NDArray[np.float64]:
        """Bernstein's bound for the number of people in a set of `cells` categories, their own sampling error included.

        Bits are independent, so each is a term of the sum; the names of one message are not, so they are one term.
        """
        size, people = round(cells), np.asarray(users, dtype=np.float64)
        largest = (1 if self.ones is None else min(size, self.ones)) / (self.hit - self.miss)
        spread = max(self.set_variance(size, 0.0), self.set_variance(size, 1.0)) + 0.25
        return np.where(people > 0, bernstein_radius(people * spread, largest, failure), 0.0)
