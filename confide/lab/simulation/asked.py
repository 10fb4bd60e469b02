"""The sums of what groups of people answer about asked pairs, drawn at once, exactly.

Everybody draws her own pair, so those who were asked about a pair are fresh people: their first visits are multinomial over
steps, and given the step next state and reward are. How likely a first visit is at each step follows by a forward recursion on
who has not been there yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled import compiled
from .draws import Array, Integers, Layout, World, layout_of, split, successes


@compiled
def chain_of(world: World, policy: Array) -> Array:
    """How likely each state follows each, (H, S, S), under the policy."""
    horizon, states, actions = policy.shape
    layered = world.rewards.shape[0] > 1
    chain = np.zeros((horizon, states, states))
    for h in range(horizon):
        for s in range(states):
            for a in range(actions):
                if policy[h, s, a] > 0.0:
                    for t in range(states):
                        chain[h, s, t] += policy[h, s, a] * world.transitions[h if layered else 0, s, a, t]
    return chain


@compiled
def first_visits(world: World, policy: Array, chain: Array, pair: tuple[int, int], only: int, first: Array) -> None:
    """Write to first (H + 1,) how likely the first visit of a pair is at each step, and that there is none.

    only: the step that is asked about, or -1 for all of them.
    """
    (horizon, states, _), (s, a) = policy.shape, pair
    layered = world.rewards.shape[0] > 1
    here, after = world.initial.copy(), np.zeros(states)
    unvisited, reached = 1.0, 0.0
    for h in range(horizon):
        first[h] = here[s] * policy[h, s, a] if only < 0 or h == only else 0.0
        unvisited -= first[h]
        for t in range(states):
            after[t] = 0.0
        for x in range(states):
            if here[x] > 0.0:
                for t in range(states):
                    after[t] += here[x] * chain[h, x, t]
        if first[h] > 0.0:
            for t in range(states):
                after[t] = max(0.0, after[t] - first[h] * world.transitions[h if layered else 0, s, a, t])
        here[:] = after
        reached += float(first[h])
    first[horizon] = max(0.0, unvisited)
    reached += float(first[horizon])
    for h in range(horizon + 1):
        first[h] /= reached


@compiled
def draw_asked(
    world: World, policy: Array, people_by_row: Integers, layout: Layout, rng: np.random.Generator, out: Integers
) -> None:
    """Add people to out (rows, 2 S + 1) by the category (s', paid) of their first visit, or none.

    A row is a pair, of a step where those are asked apart; people_by_row: (rows,) how many are asked about it.
    """
    horizon, states, actions = policy.shape
    layered, pairs = world.rewards.shape[0] > 1, states * actions
    chain = chain_of(world, policy)
    first, visitors = np.zeros(horizon + 1), np.zeros(horizon + 1, dtype=np.int64)
    moved = np.zeros(states, dtype=np.int64)
    for row in range(people_by_row.size):
        if people_by_row[row] == 0:
            continue
        s, a = row % pairs // actions, row % pairs % actions
        first_visits(world, policy, chain, (s, a), -1 if layout.layers == 1 else row // pairs, first)
        split(people_by_row[row], first, rng, visitors)
        out[row, 2 * states] += visitors[horizon]
        for h in range(horizon):
            if visitors[h] == 0:
                continue
            layer = h if layered else 0
            split(visitors[h], world.transitions[layer, s, a], rng, moved)
            for t in range(states):
                if moved[t] > 0:
                    paid = successes(moved[t], world.rewards[layer, s, a], rng)
                    earned = moved[t] - paid if layout.cost else paid
                    out[row, 2 * t] += moved[t] - earned
                    out[row, 2 * t + 1] += earned


def totals_of(
    world: World, question: Any, policy: Array, people: int, rng: np.random.Generator
) -> tuple[Array, Integers]:
    """Exact totals (rows, width) of a group's categories, and how many people (rows,) were asked about each pair."""
    law = question.law / question.law.sum()
    people_by_row = rng.multinomial(people, law).astype(np.int64)
    categories = np.zeros((question.rows, question.width), dtype=np.int64)
    draw_asked(world, policy, people_by_row, layout_of(question.counts), rng, categories)
    return categories.astype(np.float64), people_by_row
