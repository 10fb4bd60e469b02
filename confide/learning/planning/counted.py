"""The share of people's visits that a budget lets through, pair by pair, under their own practice.

Budgeted counts (`questions.budgeted`) tell rows and mean rewards, and not how often people are where: of a pair that a person
comes back to, later visits may be left out. With k(s, a) the share of visits that are counted,

    E F(s, a, s') = k(s, a) E N(s, a, s'),

so what k is known for can be read off budgeted counts F as off all visits N. It follows from rows and practice alone, which F
tells: people are walked through the model of them, and the rule is applied to what they do. Only ratios of visits matter, so
what the model has wrong about how many people come to a state cancels.

Of histories the share depends on how many episodes people have, too: walkers have as many as the law says that was asked for. What
that law has wrong would make all shares too large, or all too small. So they are multiplied by the one number with which all
visits that were counted are as many as the model has of this many people.
"""

from __future__ import annotations

import math
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

FARTHEST = 4.0
"""By how much shares of histories are multiplied or divided at most."""

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


class Histories(NamedTuple):
    """How many episodes people have: (m,) the law of it; how many visits of one of them were counted on average; and how many
    episodes are walked."""

    law: Array
    each: float
    walked: int = WALKERS

    @property
    def mean(self) -> float:
        """The mean number of episodes."""
        return float(self.law @ np.arange(1, len(self.law) + 1))


ONE = Histories(np.ones(1), 0.0)
"""One episode each, whose shares are as they are."""


def counted_share(
    rows: TransitionRows,
    behaviour: Array,
    initial: Array,
    knowledge: Knowledge,
    budget: int,
    histories: Histories = ONE,
) -> Array:
    """(S, A): the share of visits of a pair that is counted under a budget, if people act by `behaviour` (S, A)."""
    ways, spec = rows.ways, knowledge.spec
    sums = np.cumsum(rows.chances[0])
    before = np.append(0.0, sums)[ways.starts[:-1]]
    chain = PracticeChain(
        np.cumsum(initial), np.cumsum(behaviour, axis=1), sums - before[ways.rows], ways.starts, ways.following
    )
    visits = np.zeros((2, spec.states * spec.actions), dtype=np.int64)
    end = -1 if knowledge.end is None else knowledge.end
    walkers = math.ceil(histories.walked / histories.mean)
    rule = np.array([spec.horizon, budget, end])
    _walk(chain, rule, np.cumsum(histories.law), walkers, np.random.default_rng(0), visits)
    all_visits, counted = visits.reshape(2, spec.states, spec.actions)
    visited = all_visits > 0
    # The average pair, and not the average visit: a state that people stay in for ever is like no other.
    usual = float((counted[visited] / all_visits[visited]).mean()) if visited.any() else 1.0
    share = np.asarray((counted + PRIOR * usual) / (all_visits + PRIOR))
    if len(histories.law) == 1:
        return share
    as_walked = float(counted.sum()) / walkers
    return share * min(max(histories.each / max(as_walked, 1e-300), 1 / FARTHEST), FARTHEST)


@compiled
def _walk(
    chain: PracticeChain,
    rule: NDArray[np.int64],
    law: Array,
    walkers: int,
    rng: np.random.Generator,
    visits: NDArray[np.int64],
) -> None:
    """Add up all visits, and those that are counted: (2, S A). rule: the horizon, the budget, and the end state or -1. law: the
    cumulative law of how many episodes a walker has."""
    horizon, budget, end = rule
    states, actions = chain.actions.shape
    most = law.size
    spending = unspent(states * actions, most * horizon)
    for _ in range(walkers):
        begin_spending(spending)
        episodes = 1 + drawn(law, 0, most, rng) if most > 1 else 1
        for number in range(1, episodes + 1):
            s = drawn(chain.first, 0, states, rng)
            for h in range(horizon):
                if s == end:
                    break
                pair = s * actions + drawn(chain.actions[s], 0, actions, rng)
                visits[0, pair] += 1
                visits[1, pair] += spend(spending, pair, (most - number) * horizon + horizon - h - 1, budget)
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
