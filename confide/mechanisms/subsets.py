"""Random subsets of categories: how large they are best, how they are drawn, and the sums of many of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .noise import NoiseSource

Whole = NDArray[np.int64]

MOST_AT_ONCE = 1 << 29
"""Hypergeometric draws are for no more people than this; larger groups are drawn in parts."""


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


def any_subset(among: int, size: int, noise: NoiseSource) -> Whole:
    """(size,) different numbers below `among`, every set equally likely: the places of the largest of as many words.

    Words that tie are all drawn again, so nothing is rounded.
    """
    while True:
        words = noise.integers(1 << 62, among)
        order = np.argsort(words)
        if (np.diff(words[order]) > 0).all():
            return np.asarray(order[among - size :])


def subset_sums(people: Whole, size: int, hit: float, rng: np.random.Generator) -> Whole:
    """(k,) how many messages name each category, `people` (k,) being in each: exact, drawn at once.

    Categories are gone through one after the other. Of people alike in whether they name their own, how many names they have
    left and whether their own category is still to come, those who name the next one are binomial. Whose own it is, is a
    random choice among those whose own is still to come: all else does not depend on which category is theirs.
    """
    if people.sum() > MOST_AT_ONCE:
        half = people // 2
        return subset_sums(half, size, hit, rng) + subset_sums(people - half, size, hit, rng)
    categories, left = len(people), np.tile(np.arange(size + 1), (2, 1))
    # (honest or not, names left): whose own category is still to come, and whose is behind.
    ahead, behind = np.zeros_like(left), np.zeros_like(left)
    ahead[1, size - 1] = honest = rng.binomial(int(people.sum()), hit)
    ahead[0, size] = people.sum() - honest
    summed = np.zeros(categories, dtype=np.int64)
    for category in range(categories):
        own = _chosen(ahead, int(people[category]), rng)
        ahead -= own
        summed[category] = own[1].sum()
        to_come = categories - category - 1
        for group, others in ((ahead, to_come), (behind, to_come + 1)):
            named = rng.binomial(group, np.minimum(left / max(1, others), 1.0))
            summed[category] += named.sum()
            group -= named
            group[:, :-1] += named[:, 1:]
        behind += own
    return summed


def _chosen(group: Whole, many: int, rng: np.random.Generator) -> Whole:
    """How many of each kind are among so many people of a group, drawn without putting them back."""
    if many == 0:
        return np.zeros_like(group)
    return np.asarray(rng.multivariate_hypergeometric(group.ravel(), many, method="marginals")).reshape(group.shape)
