"""The share of people's visits that a budget lets through, pair by pair, under their own practice.

Budgeted counts (`questions.budgeted`) tell rows and mean rewards, and not how often people are where: of a pair that a person
comes back to, later visits may be left out. With k(s, a) the share of visits that are counted,

    E F(s, a, s') = k(s, a) E N(s, a, s'),

so what k is known for can be read off budgeted counts F as off all visits N. It follows from rows and practice alone, which F
tells: people are walked through the model of them, and the rule is applied to what they do. Only ratios of visits matter, so
what the model has wrong about how many people come to a state cancels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ...mdp.knowledge import Knowledge
from ...mdp.possible_cells import Indices
from ...protocol.kinds.spending import begin_spending, spend, unspent
from ...protocol.releases.release import Array
from .rows import TransitionRows

WALKERS = 50_000
"""How many simulated people are walked. The share of a pair that a hundred of them visit is off by a few per cent."""

PRIOR = 4.0
"""How many visits the share of the average pair stands for, where few walkers come."""


class PracticeChain(NamedTuple):
    """What walkers draw from: cumulative laws of the first state (S,), of actions (S, A) and, row by row of possible cells, of
    next states (cells,).
    """

    first: Array
    actions: Array
    following: Array
    starts: Indices
    states: Indices


def counted_share(rows: TransitionRows, behaviour: Array, initial: Array, knowledge: Knowledge, budget: int) -> Array:
    """(S, A): the share of visits of a pair that is counted under a budget, if people act by `behaviour` (S, A)."""
    ways, spec = rows.ways, knowledge.spec
    sums = np.cumsum(rows.chances[0])
    before = np.append(0.0, sums)[ways.starts[:-1]]
    chain = PracticeChain(
        np.cumsum(initial), np.cumsum(behaviour, axis=1), sums - before[ways.rows], ways.starts, ways.following
    )
    visits = np.zeros((2, spec.states * spec.actions), dtype=np.int64)
    end = -1 if knowledge.end is None else knowledge.end
    _walk(chain, np.array([spec.horizon, budget, end]), WALKERS, np.random.default_rng(0), visits)
    all_visits, counted = visits.reshape(2, spec.states, spec.actions)
    visited = all_visits > 0
    # The average pair, and not the average visit: a state that people stay in for ever is like no other.
    usual = float((counted[visited] / all_visits[visited]).mean()) if visited.any() else 1.0
    return np.asarray((counted + PRIOR * usual) / (all_visits + PRIOR))


@compiled
def _walk(
    chain: PracticeChain, rule: NDArray[np.int64], walkers: int, rng: np.random.Generator, visits: NDArray[np.int64]
) -> None:
    """Add up all visits, and those that are counted: (2, S A). rule: the horizon, the budget, and the end state or -1."""
    horizon, budget, end = rule
    states, actions = chain.actions.shape
    spending = unspent(states * actions, horizon)
    for _ in range(walkers):
        s = drawn(chain.first, 0, states, rng)
        begin_spending(spending)
        for h in range(horizon):
            if s == end:
                break
            pair = s * actions + drawn(chain.actions[s], 0, actions, rng)
            visits[0, pair] += 1
            visits[1, pair] += spend(spending, pair, horizon - h - 1, budget)
            s = chain.states[drawn(chain.following, chain.starts[pair], chain.starts[pair + 1], rng)]


@compiled
def drawn(sums: Array, first: int, last: int, rng: np.random.Generator) -> int:
    """An index from `first` to below `last`, by cumulative probabilities; rounding leads to none beyond."""
    u, low, high = rng.random(), first, last - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] <= u:
            low = middle + 1
        else:
            high = middle
    return low
