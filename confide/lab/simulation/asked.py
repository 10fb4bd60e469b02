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
def draw_asked(
    world: World, policy: Array, people_by_row: Integers, layout: Layout, rng: np.random.Generator, out: Integers
) -> None:
    """Add people to out (rows, 2 S + 1) by the category (s', paid) of their first visit, or none.

    A row is a pair, of a step where those are asked apart; people_by_row: (rows,) how many are asked about it.
    """
    horizon, states, actions = policy.shape
    model_layers, pairs = world.rewards.shape[0], states * actions
    chain = np.zeros((horizon, states, states))
    for h in range(horizon):
        for s in range(states):
            for a in range(actions):
                if policy[h, s, a] > 0.0:
                    for t in range(states):
                        chain[h, s, t] += policy[h, s, a] * world.transitions[h if model_layers > 1 else 0, s, a, t]
    here, after = np.zeros(states), np.zeros(states)
    first, visitors = np.zeros(horizon + 1), np.zeros(horizon + 1, dtype=np.int64)
    moved = np.zeros(states, dtype=np.int64)
    for row in range(people_by_row.size):
        if people_by_row[row] == 0:
            continue
        row_layer, pair = row // pairs, row % pairs
        s, a = pair // actions, pair % actions
        unvisited, reached = 1.0, 0.0
        for x in range(states):
            here[x] = world.initial[x]
        for h in range(horizon):
            first[h] = here[s] * policy[h, s, a] if layout.layers == 1 or h == row_layer else 0.0
            unvisited -= first[h]
            for t in range(states):
                after[t] = 0.0
            for x in range(states):
                if here[x] > 0.0:
                    for t in range(states):
                        after[t] += here[x] * chain[h, x, t]
            if first[h] > 0.0:
                for t in range(states):
                    lost = first[h] * world.transitions[h if model_layers > 1 else 0, s, a, t]
                    after[t] = max(0.0, after[t] - lost)
            for x in range(states):
                here[x] = after[x]
            reached += float(first[h])
        first[horizon] = max(0.0, unvisited)
        reached += float(first[horizon])
        for h in range(horizon + 1):
            first[h] /= reached
        split(people_by_row[row], first, rng, visitors)
        out[row, 2 * states] += visitors[horizon]
        for h in range(horizon):
            if visitors[h] == 0:
                continue
            layer = h if model_layers > 1 else 0
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
