"""Draws what simulated people do: one at a time, or the counts of any number of them at once, exactly.

Between two releases the policy is fixed, so n people are exchangeable and the sums of their counts can be drawn without
walking n episodes: the first states are multinomial, and given how many people are in a state at a step, their actions,
their next states and their rewards are multinomial too. Multinomials are chains of binomials.

The sums of what groups of people answer about asked pairs, drawn at once, exactly.

Every user draws her own pair, so those who were asked about a pair are fresh people: their first visits are multinomial over
steps, and given the step next state and reward are. How likely a first visit is at each step follows by a forward recursion on
who has not been there yet.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled, merged
from ...learning.planning.addresses import GeneratorAddress, generator_at
from ...learning.planning.evaluation import flow_value, flow_visits
from ...learning.planning.inlined import inlined
from ...protocol.kinds.asked import AskedQuestion
from ...protocol.kinds.counts import CENTRED, DROPPED, HALVES, REWARDS, SQUARES, TRANSITIONS, VISITS, CountQuestion
from ...protocol.kinds.spending import begin_spending, spend, unspent
from ...protocol.releases.release import Counts, Estimates, Noise, Radius

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


class World(NamedTuple):
    """A known model as compiled code takes it: transitions (L, S, A, S), rewards (L, S, A), initial (S,)."""

    transitions: Array
    rewards: Array
    initial: Array


@merged
def world_value(world: World, policy: Array, flow: Array) -> float:
    """The expected return of policy (H, S, A) in a world; flow: (2, S), scratch."""
    return flow_value(world.transitions, world.rewards, world.initial, policy, flow)


class Layout(NamedTuple):
    """Where the parts of a question start in its flat cells, -1 if absent, how its last transition is treated, and at which level
    rewards are centred.
    """

    visits: int
    rewards: int
    squares: int
    centred: int
    halves: int
    transitions: int
    layers: int
    dropped: int
    cost: int
    centre: float


def zero_counts(question: CountQuestion) -> tuple[Array, Counts]:
    """The cells of a question, all zero, and counts that are views of them; `derive` completes these.

    What was asked for is a view. Transitions that were not come last among the cells, so the view goes on beyond them.
    """
    spec = question.spec
    pairs = (spec.layers, spec.states, spec.actions)
    moves = math.prod(pairs) * spec.states
    buffer = np.zeros(question.cells + moves)
    parts = {part: buffer[where].reshape(pairs) for part, where in question.slices.items() if part != TRANSITIONS}
    start = question.slices[TRANSITIONS].start if TRANSITIONS in question.slices else question.cells
    visits, rewards = parts.get(VISITS, np.zeros(pairs)), parts.get(REWARDS, np.zeros(pairs))
    transitions = buffer[start : start + moves].reshape(*pairs, spec.states)
    return buffer[: question.cells], Counts(visits, rewards, parts.get(SQUARES, rewards), transitions)


@inlined
def derive(layout: Layout, cells: Array, counts: Counts) -> None:
    """Compute the counts that were not asked for from the others, as `releases.unpack` does; squares default to rewards."""
    layers, states, actions = counts.visits.shape
    if layout.visits >= 0 and layout.rewards >= 0:
        return
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                if layout.visits < 0:
                    counts.visits[layer, s, a] = 0.0
                    for t in range(states):
                        counts.visits[layer, s, a] += counts.transitions[layer, s, a, t]
                    if layout.halves >= 0:
                        half = cells[layout.halves + (layer * states + s) * actions + a]
                        weight = states / (4.0 + states)  # `designs.reading.weight_of_halves`
                        counts.visits[layer, s, a] = (1.0 - weight) * counts.visits[layer, s, a] + weight * 2.0 * half
                if layout.rewards < 0 and layout.centred >= 0:
                    centred = cells[layout.centred + (layer * states + s) * actions + a]
                    counts.rewards[layer, s, a] = centred + layout.centre * counts.visits[layer, s, a]


class ErrorTables(NamedTuple):
    """Error radii (P, 5) and noise (P, 5) of releases about `points` (P,) people, the first of them 0.

    Between two points the radii of the larger hold. People's own noise adds up from person to person, so it lies in between.
    """

    points: Integers
    radii: Array
    noise: Array


@inlined
def noise_at(errors: ErrorTables, point: int, users: float) -> Noise:
    """The noise of a release about this many people. point: the first of the tables with as many or more."""
    noise = errors.noise[point]
    moves, centred, visits = noise[1], noise[2], noise[4]
    if noise[0] > 0.0 and errors.points[point] > users:
        before, first, last = errors.noise[point - 1], float(errors.points[point - 1]), float(errors.points[point])
        missing = (last - users) / (last - first)
        moves -= missing * (moves - before[1])
        centred -= missing * (centred - before[2])
        visits -= missing * (visits - before[4])
    return Noise(noise[0], moves, centred, noise[3], visits)


@inlined
def estimates_of(counts: Counts, radii: Array, noise: Noise, users: float) -> Estimates:
    """The estimates that a plan starts from: counts of this many users, with a row of the table of error radii, and noise."""
    return Estimates(counts, Radius(radii[0], radii[1], radii[2], radii[3], radii[4]), noise, users)


def layout_of(question: CountQuestion) -> Layout:
    """The layout of a question about rewards of 0 and 1 (one level), as simulated people earn them."""
    start = {part: where.start for part, where in question.slices.items()}
    return Layout(
        start.get(VISITS, -1),
        start.get(REWARDS, -1),
        start.get(SQUARES, -1),
        start.get(CENTRED, -1),
        start.get(HALVES, -1),
        start.get(TRANSITIONS, -1),
        question.spec.layers,
        int(question.last == DROPPED),
        int(question.objective == "cost"),
        float(question.centre),
    )


@compiled
def successes(total: int, chance: float, rng: np.random.Generator) -> int:
    """Binomial(total, chance), certain at chances from 1 on and from 0 down."""
    if total == 0 or chance <= 0.0:
        return 0
    return rng.binomial(total, chance) if chance < 1.0 else total


@compiled
def split(total: int, weights: Array, rng: np.random.Generator, out: Integers) -> None:
    """Multinomial(total, weights) as a chain of binomials; weights sum to one."""
    remaining, mass = total, 1.0
    last = weights.size - 1
    for i in range(last):
        if mass <= 0.0:
            out[i] = 0
            continue
        out[i] = successes(remaining, weights[i] / mass, rng)
        remaining -= out[i]
        mass -= weights[i]
    out[last] = remaining


@inlined
def add_step(
    layout: Layout, step: tuple[int, int, int, int], sizes: tuple[int, int, int], many: int, paid: int, cells: Array
) -> None:
    """Add `many` people to the cells, in counts, who went by a step (h, s, a, t): from (s, a) to t at time h; `paid` of them were
    paid. sizes: H, S and A.
    """
    h, s, a, t = step
    horizon, states, actions = sizes
    pair = ((h if layout.layers > 1 else 0) * states + s) * actions + a
    earned = many - paid if layout.cost else paid
    if layout.visits >= 0:
        cells[layout.visits + pair] += many
    if layout.rewards >= 0:
        cells[layout.rewards + pair] += earned
    if layout.squares >= 0:
        cells[layout.squares + pair] += earned
    if layout.centred >= 0:
        cells[layout.centred + pair] += earned - layout.centre * many
    if layout.halves >= 0:
        cells[layout.halves + pair] += 0.5 * many
    if layout.transitions >= 0 and not (h + 1 == horizon and layout.dropped):
        cells[layout.transitions + pair * states + t] += many


@compiled
def draw_counts(
    world: World, policy: Array, users: int, layout: Layout, rng: np.random.Generator, cells: Array
) -> None:
    """Add the counts of `users` people who all follow the policy (H, S, A) to the flat cells of a question."""
    horizon, states, actions = policy.shape
    layers = world.rewards.shape[0]
    here, after = np.zeros(states, dtype=np.int64), np.zeros(states, dtype=np.int64)
    chosen, moved = np.zeros(actions, dtype=np.int64), np.zeros(states, dtype=np.int64)
    split(users, world.initial, rng, here)
    for h in range(horizon):
        layer = h if layers > 1 else 0
        for s in range(states):
            after[s] = 0
        for s in range(states):
            if here[s] == 0:
                continue
            split(here[s], policy[h, s], rng, chosen)
            for a in range(actions):
                if chosen[a] == 0:
                    continue
                mean = world.rewards[layer, s, a]
                split(chosen[a], world.transitions[layer, s, a], rng, moved)
                for t in range(states):
                    if moved[t] == 0:
                        continue
                    after[t] += moved[t]
                    paid = successes(moved[t], mean, rng)
                    add_step(layout, (h, s, a, t), policy.shape, moved[t], paid, cells)
        here, after = after, here


@compiled
def draw_counts_at(
    world: World, policy: Array, users: int, layout: Layout, luck: GeneratorAddress, cells: Array
) -> None:
    """`draw_counts` with a generator by its address: handing over a generator costs more than drawing for a tiny world."""
    draw_counts(world, policy, users, layout, generator_at(luck), cells)


@compiled
def walk_budgeted(
    world: World, policy: Array, users: int, layout: Layout, budget: int, rng: np.random.Generator, cells: Array
) -> None:
    """Add the budgeted counts of `users` people, who walk one after the other: budgets are not linear in totals."""
    horizon, states, actions = policy.shape
    spending = unspent(states * actions, horizon)
    for _ in range(users):
        s = pick(world.initial, rng)
        begin_spending(spending)
        for h in range(horizon):
            a = pick(policy[h, s], rng)
            mean = world.rewards[0, s, a]
            paid = 1 if mean >= 1.0 or (mean > 0.0 and rng.random() < mean) else 0
            t = pick(world.transitions[0, s, a], rng)
            if spend(spending, s * actions + a, horizon - h - 1, budget):
                add_step(layout, (h, s, a, t), policy.shape, 1, paid, cells)
            s = t


@compiled
def draw_sampled(
    world: World, visits: Array, users: int, layout: Layout, rng: np.random.Generator, out: Integers
) -> None:
    """Add people by the category (s, a, s', paid) of one step each drew: out (layers, k), k = 2 S A S + 1; or (s, a, paid) of a
    single step, k = 2 S A + 1.

    visits: (H, S, A) how likely each pair is at each step. Steps are drawn uniformly, so those who drew step h are fresh
    people at step h: their pairs are multinomial, independently of other steps.
    """
    horizon, states, actions = visits.shape
    model_layers = world.rewards.shape[0]
    people_by_step, uniform = np.zeros(horizon, dtype=np.int64), np.zeros(horizon)
    for h in range(horizon):
        uniform[h] = 1.0 / horizon
    split(users, uniform, rng, people_by_step)
    pairs, law = np.zeros(states * actions, dtype=np.int64), np.zeros(states * actions)
    moved = np.zeros(states, dtype=np.int64)
    nexts = states if layout.transitions >= 0 else 1
    for h in range(horizon):
        layer, row = (h if model_layers > 1 else 0), (h if layout.layers > 1 else 0)
        for s in range(states):
            for a in range(actions):
                law[s * actions + a] = visits[h, s, a]
        split(people_by_step[h], law, rng, pairs)
        for i in range(states * actions):
            if pairs[i] == 0:
                continue
            s, a = i // actions, i % actions
            mean = world.rewards[layer, s, a]
            split(pairs[i], world.transitions[layer, s, a], rng, moved)
            for t in range(states):
                if moved[t] > 0:
                    paid = successes(moved[t], mean, rng)
                    earned = moved[t] - paid if layout.cost else paid
                    category = 2 * (i * nexts + min(t, nexts - 1))
                    out[row, category] += moved[t] - earned
                    out[row, category + 1] += earned


@compiled
def draw_sampled_at(
    world: World, policy: Array, users: int, layout: Layout, luck: GeneratorAddress, flow: Array, out: Integers
) -> None:
    """`draw_sampled` of people who follow the policy (H, S, A), with a generator by its address. flow: (2, S), scratch."""
    visits = np.zeros(policy.shape)
    flow_visits(world.transitions, world.initial, policy, flow, visits)
    draw_sampled(world, visits, users, layout, generator_at(luck), out)


@inlined
def pick(weights: Array, rng: np.random.Generator) -> int:
    """An index with the given probabilities; rounding never picks an impossible one."""
    u, below, chosen = rng.random(), 0.0, 0
    for i in range(weights.size - 1):  # without leaving early: a branch that cannot be predicted costs more than a sum
        below += weights[i]
        chosen += u >= below
    while chosen > 0 and weights[chosen] <= 0.0:
        chosen -= 1
    return chosen


@inlined
def walk(world: World, policy: Array, layout: Layout, rng: np.random.Generator, cells: Array) -> None:
    """Add one person's episode to the cells."""
    horizon = policy.shape[0]
    layers = world.rewards.shape[0]
    s = pick(world.initial, rng)
    for h in range(horizon):
        layer = h if layers > 1 else 0
        a = pick(policy[h, s], rng)
        mean = world.rewards[layer, s, a]
        paid = 1 if mean >= 1.0 or (mean > 0.0 and rng.random() < mean) else 0
        t = pick(world.transitions[layer, s, a], rng)
        add_step(layout, (h, s, a, t), policy.shape, 1, paid, cells)
        s = t


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
def walk_to(world: World, policy: Array, pair: tuple[int, int], only: int, cost: int, rng: np.random.Generator) -> int:
    """The category (s', paid) of one person's first visit of a pair, at any step or at `only`; 2 S if there was none."""
    horizon, states, _ = policy.shape
    layered = world.rewards.shape[0] > 1
    here = pick(world.initial, rng)
    for h in range(horizon):
        layer = h if layered else 0
        action = pick(policy[h, here], rng)
        after = pick(world.transitions[layer, here, action], rng)
        if here == pair[0] and action == pair[1] and (only < 0 or only == h):
            paid = 1 if rng.random() < world.rewards[layer, here, action] else 0
            return int(2 * after + (1 - paid if cost else paid))
        here = after
    return int(2 * states)


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
        if people_by_row[row] < states:  # to walk them is less work, and the same law
            only = -1 if layout.layers == 1 else row // pairs
            for _ in range(people_by_row[row]):
                out[row, walk_to(world, policy, (s, a), only, layout.cost, rng)] += 1
            continue
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
    world: World, question: AskedQuestion, policy: Array, people: int, rng: np.random.Generator
) -> tuple[Array, Integers]:
    """Exact totals (rows, width) of a group's categories, and how many people (rows,) were asked about each pair."""
    law = question.law / question.law.sum()
    people_by_row = rng.multinomial(people, law).astype(np.int64)
    categories = np.zeros((question.rows, question.width), dtype=np.int64)
    draw_asked(world, policy, people_by_row, layout_of(question.counts), rng, categories)
    return categories.astype(np.float64), people_by_row
