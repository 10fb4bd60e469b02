"""What groups of people answer about asked pairs, drawn at once, exactly.

Everybody draws her own pair, so those who were asked about a pair are fresh people: their first visits are multinomial over
steps, and given the step next state and reward are. How likely a first visit is at each step follows by a forward recursion on
who has not been there yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from .draws import Array, Layout, Whole, World, layout_of, split, successes


@compiled
def draw_asked(world: World, policy: Array, asked: Whole, layout: Layout, rng: np.random.Generator, out: Whole) -> None:
    """Add people by the category (s', paid) of their first visit, or none: asked (rows,) people, out (rows, 2 S + 1)."""
    horizon, states, actions = policy.shape
    deep, pairs = world.rewards.shape[0], states * actions
    chain = np.zeros((horizon, states, states))
    for h in range(horizon):
        for s in range(states):
            for a in range(actions):
                if policy[h, s, a] > 0.0:
                    for t in range(states):
                        chain[h, s, t] += policy[h, s, a] * world.transitions[h if deep > 1 else 0, s, a, t]
    here, after = np.zeros(states), np.zeros(states)
    first, came = np.zeros(horizon + 1), np.zeros(horizon + 1, dtype=np.int64)
    moved = np.zeros(states, dtype=np.int64)
    for row in range(asked.size):
        if asked[row] == 0:
            continue
        at, pair = row // pairs, row % pairs
        s, a = pair // actions, pair % actions
        never, reached = 1.0, 0.0
        for x in range(states):
            here[x] = world.initial[x]
        for h in range(horizon):
            first[h] = here[s] * policy[h, s, a] if layout.layers == 1 or h == at else 0.0
            never -= first[h]
            for t in range(states):
                after[t] = 0.0
            for x in range(states):
                if here[x] > 0.0:
                    for t in range(states):
                        after[t] += here[x] * chain[h, x, t]
            if first[h] > 0.0:
                for t in range(states):
                    lost = first[h] * world.transitions[h if deep > 1 else 0, s, a, t]
                    after[t] = max(0.0, after[t] - lost)
            for x in range(states):
                here[x] = after[x]
            reached += float(first[h])
        first[horizon] = max(0.0, never)
        reached += float(first[horizon])
        for h in range(horizon + 1):
            first[h] /= reached
        split(asked[row], first, rng, came)
        out[row, 2 * states] += came[horizon]
        for h in range(horizon):
            if came[h] == 0:
                continue
            layer = h if deep > 1 else 0
            split(came[h], world.transitions[layer, s, a], rng, moved)
            for t in range(states):
                if moved[t] > 0:
                    paid = successes(moved[t], world.rewards[layer, s, a], rng)
                    earned = moved[t] - paid if layout.cost else paid
                    out[row, 2 * t] += moved[t] - earned
                    out[row, 2 * t + 1] += earned


def totals_of(world: World, question: Any, policy: Array, people: int, rng: np.random.Generator) -> tuple[Array, Whole]:
    """Exact totals (rows, width) of a group's categories, and how many people (rows,) were asked about each pair."""
    law = question.law / question.law.sum()
    asked = rng.multinomial(people, law).astype(np.int64)
    out = np.zeros((question.rows, question.width), dtype=np.int64)
    draw_asked(world, policy, asked, layout_of(question.counts), rng, out)
    return out.astype(np.float64), asked
