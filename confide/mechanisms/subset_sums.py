"""Sums of many random subsets, drawn at once, exactly: compiled, since a simulation draws them for every pair and group."""

from __future__ import annotations

import numpy as np

from ..compiled import compiled
from .unary import Integers


@compiled
def add_subsets(people: Integers, size: int, hit: float, rng: np.random.Generator, out: Integers) -> None:
    """Add to out (k,) how many messages name each category, `people` (k,) being in each.

    Those of one category name it with chance `hit`, and fill up with others, all sets alike. The others are gone through one
    after the other: of people who have x names left for m categories to come, those who name the next one are
    binomial(x/m), whatever they named before.
    """
    categories = people.size
    by_names_left = np.zeros(size + 1, dtype=np.int64)
    for own in range(categories):
        if people[own] == 0:
            continue
        honest = rng.binomial(people[own], hit) if hit < 1.0 else people[own]
        out[own] += honest
        by_names_left[:] = 0
        by_names_left[size] = people[own] - honest
        by_names_left[size - 1] += honest
        to_come, least, most = categories - 1, max(1, size - 1), size
        for other in range(categories):
            if other == own:
                continue
            while most > 0 and by_names_left[most] == 0:
                most -= 1
            if most == 0:
                break
            for names in range(least, most + 1):
                if by_names_left[names] > 0:
                    named = (
                        by_names_left[names]
                        if names >= to_come
                        else rng.binomial(by_names_left[names], names / to_come)
                    )
                    out[other] += named
                    by_names_left[names] -= named
                    by_names_left[names - 1] += named
            if least > 1 and by_names_left[least - 1] > 0:
                least -= 1
            to_come -= 1
