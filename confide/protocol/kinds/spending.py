"""The rule of budgeted counts, compiled, for whatever counts many people: data sets, simulated people, walkers through a model.

It is proved in `budgeted`; what a device does, in plain Python, is `statistics.tabular.counted_steps`. Imported only by code
that is compiled itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled, merged


class Spending(NamedTuple):
    """What is spent of one episode's budget: numbers (2,), the sum of squares of its counted visits and how many pairs it has
    visited; visits (S A,), how often each of them was counted; seen (H,), which they are.
    """

    numbers: NDArray[np.int64]
    visits: NDArray[np.int64]
    seen: NDArray[np.int64]


@compiled
def unspent(pairs: int, horizon: int) -> Spending:
    """Room for what an episode of this many steps spends."""
    return Spending(np.zeros(2, dtype=np.int64), np.zeros(pairs, dtype=np.int64), np.zeros(horizon, dtype=np.int64))


@merged
def begin_spending(spending: Spending) -> None:
    """An episode begins: nothing of its budget is spent."""
    for i in range(spending.numbers[1]):
        spending.visits[spending.seen[i]] = 0
    spending.numbers[0] = 0
    spending.numbers[1] = 0


@merged
def spend(spending: Spending, pair: int, steps_left: int, budget: int) -> bool:
    """Whether the visit of a pair is counted, before this many more steps; takes note of it."""
    before = spending.visits[pair]
    more = 2 * before + 1
    if before > 0:
        unseen = spending.visits.size - spending.numbers[1]
        if spending.numbers[0] + more + min(steps_left, unseen) > budget:
            return False
    else:
        spending.seen[spending.numbers[1]] = pair
        spending.numbers[1] += 1
    spending.numbers[0] += more
    spending.visits[pair] = before + 1
    return True
