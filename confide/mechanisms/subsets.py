"""Random subsets of categories: how large they are best, how they are drawn, and the sums of many of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .noise import NoiseSource

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
