"""Sums of many random subsets, drawn at once, exactly: compiled, since a simulation draws them for every pair and group."""

from __future__ import annotations

import numpy as np

from ..compiled import compiled
from .subsets import Whole


@compiled
def add_subsets(people: Whole, size: int, hit: float, rng: np.random.Generator, out: Whole) -> None:
    """Add to out (k,) how many messages name each category, `people` (k,) being in each.

    Those of one category name it with chance `hit`, and fill up with others, all sets alike. The others are gone through one
    after the other: of people who have x names left for m categories to come, those who name the next one are
    binomial(x/m), whatever they named before.
    """
    categories = people.size
    left = np.zeros(size + 1, dtype=np.int64)
    for own in range(categories):
        if people[own] == 0:
            continue
        honest = rng.binomial(people[own], hit) if hit < 1.0 else people[own]
        out[own] += honest
        left[:] = 0
        left[size] = people[own] - honest
        left[size - 1] += honest
        to_come = categories - 1
        for other in range(categories):
            if other == own:
                continue
            for names in range(1, size + 1):
                if left[names] > 0:
                    named = left[names] if names >= to_come else rng.binomial(left[names], names / to_come)
                    out[other] += named
                    left[names] -= named
                    left[names - 1] += named
            to_come -= 1
