"""The stepwise engine: every person walks and reports, one after the other, in one compiled loop.

`loop` has two holes. `plan` is the learner's compiled plan. `respond` is what privacy does when a person has walked: it
changes `noise`, which is added to the true running counts at every release. The loop with its holes filled is compiled once
for each pair and kept between runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, specialise
from ..errors import InvalidInput
from ..learners import TabularLearner
from ..mechanisms.bounded import Bounded
from ..mechanisms.gaussian import Gaussian
from ..mechanisms.laplace import Laplace
from ..mechanisms.randomized_response import RandomizedResponse
from ..mechanisms.tree import TreeCounter
from ..planning.evaluation import flow_value
from ..planning.inlined import inlined
from ..privacy import Mechanism
from ..privacy.schedule import EVERY
from ..releases.reading import trials
from ..releases.release import Counts, Radius
from .draws import Array, Layout, World, layout_of, walk
from .setting import Outcome, Setting
from .streams import streams


def plan(
    counts: Counts, radius: Radius, users: float, constants: Array, memory: Any, rng: Any, policy: Any, values: Any
) -> None:
    """The hole for a learner's plan."""
    raise NotImplementedError


def respond(
    release: int, own: Array, size: float, table: Array, nodes: Array, rng: np.random.Generator, noise: Array
) -> None:
    """The hole for what privacy does."""
    raise NotImplementedError


def loop(
    world: World,
    best: float,
    layout: Layout,
    users: int,
    burn_in: bool,
    ends: NDArray[np.int64],
    radius_points: NDArray[np.int64],
    radius_table: Array,
    size: float,
    table: Array,
    nodes: Array,
    constants: Array,
    memory: Any,
    worlds: np.random.Generator,
    choices: np.random.Generator,
    noises: np.random.Generator,
    counts: Counts,
    policy: Array,
    values: Array,
    checkpoints: NDArray[np.int64],
    regret: Array,
) -> float:
    """Walk `users` people, planning anew after each of `ends` (after everybody if it is empty); returns the last value.

    With a burn-in people act at random until the first of `ends`. Writes the cumulative regret at the checkpoints.
    """
    cells = np.zeros(table.size)
    own, noise = np.zeros(table.size), np.zeros(table.size)
    flow = np.zeros((2, policy.shape[1]))
    plan(counts, Radius(0.0, 0.0, 0.0, 0.0, 0.0), 0.0, constants, memory, choices, policy, values)
    if burn_in:
        policy[:] = 1.0 / policy.shape[2]
    value = flow_value(world.transitions, world.rewards, world.initial, policy, flow)
    total, group, point, mark = 0.0, 0, 0, 0
    for k in range(1, users + 1):
        total += best - value
        if k == checkpoints[mark]:
            regret[mark] = total
            mark += 1
        own[:] = 0.0
        walk(world, policy, layout, worlds, own)
        for i in range(own.size):
            cells[i] += own[i]
        respond(group + 1, own, size, table, nodes, noises, noise)
        if ends.size == 0 or k == ends[group]:
            group += 1
            while radius_points[point] < k:
                point += 1
            unpack_into(layout, cells, noise, counts)
            row = radius_table[point]
            plan(
                counts,
                Radius(row[0], row[1], row[2], row[3], row[4]),
                float(k),
                constants,
                memory,
                choices,
                policy,
                values,
            )
            value = flow_value(world.transitions, world.rewards, world.initial, policy, flow)
    return value


@inlined
def unpack_into(layout: Layout, cells: Array, noise: Array, counts: Counts) -> None:
    """Noisy cells as the arrays of a release; derives what was not asked for, as `releases.unpack` does."""
    layers, states, actions, _ = counts.transitions.shape
    moving = layers - 1 if layers > 1 and layout.dropped else layers
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                pair = (layer * states + s) * actions + a
                row = 0.0
                if layout.transitions >= 0 and layer < moving:
                    start = layout.transitions + pair * states
                    for t in range(states):
                        noisy = cells[start + t] + noise[start + t]
                        counts.transitions[layer, s, a, t] = noisy
                        row += noisy
                visits = row
                if layout.visits >= 0:
                    visits = cells[layout.visits + pair] + noise[layout.visits + pair]
                rewards = 0.0
                if layout.rewards >= 0:
                    rewards = cells[layout.rewards + pair] + noise[layout.rewards + pair]
                elif layout.centred >= 0:
                    rewards = cells[layout.centred + pair] + noise[layout.centred + pair] + 0.5 * visits
                squares = rewards
                if layout.squares >= 0:
                    squares = cells[layout.squares + pair] + noise[layout.squares + pair]
                counts.visits[layer, s, a] = visits
                counts.rewards[layer, s, a] = rewards
                counts.squares[layer, s, a] = squares


@inlined
def stay_silent(
    release: int, own: Array, size: float, table: Array, nodes: Array, rng: np.random.Generator, noise: Array
) -> None:
    """No privacy, no noise."""


@inlined
def add_laplace(
    release: int, own: Array, size: float, table: Array, nodes: Array, rng: np.random.Generator, noise: Array
) -> None:
    """Laplace noise on every cell of every report: a difference of two exponentials."""
    for i in range(noise.size):
        noise[i] += size * (rng.standard_exponential() - rng.standard_exponential())


@inlined
def add_gaussian(
    release: int, own: Array, size: float, table: Array, nodes: Array, rng: np.random.Generator, noise: Array
) -> None:
    """Gaussian noise on every cell of every report."""
    for i in range(noise.size):
        noise[i] += size * rng.standard_normal()


@compiled
def add_bounded(
    release: int, own: Array, size: float, table: Array, nodes: Array, rng: np.random.Generator, noise: Array
) -> None:
    """Bounded noise by its distribution function (first row of nodes) on a grid of `size`."""
    law = nodes[0]
    middle = (law.size - 1) // 2
    for i in range(noise.size):
        noise[i] += size * (min(np.searchsorted(law, rng.random(), side="right"), law.size - 1) - middle)


@compiled
def flip_bits(
    release: int, own: Array, size: float, table: Array, nodes: Array, rng: np.random.Generator, noise: Array
) -> None:
    """Randomised response with flip probability `size` on the `table` bits behind each cell, de-biased."""
    for i in range(noise.size):
        ones, bits = int(own[i]), int(table[i])
        kept = (rng.binomial(ones, 1.0 - size) if ones > 0 else 0) + (
            rng.binomial(bits - ones, size) if bits > ones else 0
        )
        noise[i] += (kept - bits * size) / (1.0 - 2.0 * size) - own[i]


@compiled
def tree_laplace(
    release: int, own: Array, size: float, table: Array, nodes: Array, rng: np.random.Generator, noise: Array
) -> None:
    """Release t closes the node of level ctz(t); the running sum carries the nodes of the binary digits of t."""
    closed = close_node(release, nodes, noise)
    for i in range(noise.size):
        nodes[closed, i] = size * (rng.standard_exponential() - rng.standard_exponential())
        noise[i] += nodes[closed, i]


@compiled
def tree_gaussian(
    release: int, own: Array, size: float, table: Array, nodes: Array, rng: np.random.Generator, noise: Array
) -> None:
    """The same with Gaussian nodes."""
    closed = close_node(release, nodes, noise)
    for i in range(noise.size):
        nodes[closed, i] = size * rng.standard_normal()
        noise[i] += nodes[closed, i]


@compiled
def close_node(release: int, nodes: Array, noise: Array) -> int:
    """Take the nodes that go out of use off the noise; returns the level that closes."""
    level = 0
    while (release >> level) & 1 == 0:
        for i in range(noise.size):
            noise[i] -= nodes[level, i]
            nodes[level, i] = 0.0
        level += 1
    return level


def _word(function: Callable[..., Any]) -> str:
    """A name under which nothing else is compiled."""
    return f"_{function.__module__}_{function.__name__}".replace(".", "_")


@cache
def _loop(name: str, the_plan: Callable[..., Any], responding: Callable[..., Any]) -> Callable[..., float]:
    return specialise(loop, name, plan=the_plan, respond=responding)


def supports(setting: Setting) -> bool:
    """Whether a compiled loop exists: a learner with a compiled plan, a known model, and noise it knows."""
    tabular = isinstance(setting.learner, TabularLearner)
    return tabular and setting.environment.model is not None and _response(setting) is not None


def _response(setting: Setting) -> tuple[Callable[..., Any], float, NDArray[np.float64]] | None:
    """The compiled response, its size and its nodes."""
    if setting.privatizer is None:
        return stay_silent, 0.0, np.zeros((1, 1))
    mechanism: Mechanism = setting.privatizer.act.mechanism
    match mechanism:
        case Laplace():
            return add_laplace, mechanism.scale, np.zeros((1, 1))
        case Gaussian():
            return add_gaussian, mechanism.sigma, np.zeros((1, 1))
        case Bounded():
            return add_bounded, mechanism.grid, mechanism.distribution()[None]
        case RandomizedResponse():
            return flip_bits, mechanism.flip, np.zeros((1, 1))
        case TreeCounter() if setting.schedule.kind == EVERY:
            nodes = np.zeros((mechanism.levels, setting.question.cells))
            return (tree_laplace if mechanism.node == "laplace" else tree_gaussian), mechanism.scale, nodes
    return None


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """One seed, person by person."""
    found = _response(setting)
    learner, question, model = setting.learner, setting.question, setting.model
    if found is None or not isinstance(learner, TabularLearner):
        raise InvalidInput("The stepwise engine does not know this mechanism or learner. Use the batched engine.")
    responding, size, nodes = found
    luck, spec = streams(root), setting.context.spec
    shape = (spec.layers, spec.states, spec.actions)
    counts = Counts(np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros((*shape, spec.states)))
    policy = np.zeros((spec.horizon, spec.states, spec.actions))
    values = np.zeros((spec.horizon + 1, spec.states))
    regret = np.zeros(len(setting.checkpoints))
    points, table = setting.radius_table
    burn_in = setting.schedule.burn_in > 0
    every = setting.schedule.kind == EVERY and not burn_in
    compiled_loop = _loop(_word(learner.plan) + _word(responding), learner.plan, responding)
    value = compiled_loop(
        World(model.transitions, model.rewards, model.initial),
        setting.optimal_value,
        layout_of(question),
        setting.schedule.users,
        burn_in,
        np.zeros(0, dtype=np.int64) if every else setting.schedule.ends,
        points,
        table,
        size,
        trials(question).astype(np.float64),
        nodes,
        learner.constants(setting.context),
        learner.memory(setting.context),
        luck.world,
        luck.policy,
        luck.noise,
        counts,
        policy,
        values,
        np.append(setting.checkpoints, np.iinfo(np.int64).max),
        regret,
    )
    return Outcome(regret, float(value), policy)
