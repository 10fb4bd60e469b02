"""The stepwise engine: every person walks and reports, one after the other, in one compiled loop.

`loop` has two holes. `plan` is the learner's compiled plan. `respond` is what privacy does when a person has walked: it
makes a report of the true counts that were just added to everybody's, adding noise. The loop with its holes filled is
compiled once for each pair and kept between runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import bare, compiled, specialise
from ..errors import InvalidInput
from ..learners.learner import plan
from ..mechanisms.bounded import Bounded
from ..mechanisms.exact import ExactCounter
from ..mechanisms.gaussian import Gaussian
from ..mechanisms.laplace import Laplace
from ..mechanisms.randomized_response import RandomizedResponse
from ..mechanisms.tree import TreeCounter
from ..planning.addresses import Address, address_of, generator_at
from ..planning.evaluation import flow_value
from ..planning.inlined import inlined
from ..privacy.guarantee import JOINT, LOCAL, NONE
from ..privacy.schedule import EVERY
from ..questions.counts import KIND as counts_kind
from ..releases.release import NO_NOISE, Counts, Noise
from .draws import Array, Layout, World, counted, derive, estimated, layout_of, walk
from .setting import Outcome, Setting
from .streams import streams

SIGNS = 32
"""How many signs are read off one uniform number, which has 53 bits."""


def respond(release: int, size: float, table: Array, nodes: Array, rng: np.random.Generator, heard: Array) -> None:
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
    noise_table: Array,
    size: float,
    table: Array,
    nodes: Array,
    constants: Array,
    memory: Any,
    luck: tuple[Address, Address, Address],
    heard: Array,
    counts: Counts,
    policy: Array,
    values: Array,
    chances: Array,
    followed: Array,
    flow: Array,
    checkpoints: NDArray[np.int64],
    regret: Array,
) -> float:
    """Walk `users` people, planning before the first and after each of `ends` (after everybody if it is empty).

    With a burn-in people act at random until the first of `ends`. Writes the cumulative regret at the checkpoints and
    returns the last policy's value. heard, counts: see `counted`. chances: the policy, flat; followed: room for the
    last one, so that a policy is evaluated only if it is new; flow: (2, S), scratch.
    """
    worlds, choices, noises = generator_at(luck[0]), generator_at(luck[1]), generator_at(luck[2])
    total, value, group, due, point, mark, k = 0.0, 0.0, 0, 0, 0, 0, 0
    while True:
        if k == due:
            while radius_points[point] < k:
                point += 1
            derive(layout, heard, counts)
            estimates = estimated(counts, radius_table[point], noise_table[point], float(k))
            plan(estimates, constants, memory, choices, policy, values)
            if burn_in and k == 0:
                chances[:] = 1.0 / policy.shape[2]
            if renewed(chances, followed):
                value = flow_value(world.transitions, world.rewards, world.initial, policy, flow)
            due = ends[group] if group < ends.size else k + 1
            group += 1
        if k == users:
            return value
        k += 1
        total += best - value
        if k == checkpoints[mark]:
            regret[mark] = total
            mark += 1
        walk(world, policy, layout, worlds, heard)
        respond(group, size, table, nodes, noises, heard)


@inlined
def renewed(chances: Array, followed: Array) -> bool:
    """Whether a policy differs from the one that was followed so far, which it replaces."""
    new = False
    for i in range(chances.size):
        new |= chances[i] != followed[i]
        followed[i] = chances[i]
    return new


@inlined
def stay_silent(release: int, size: float, table: Array, nodes: Array, rng: np.random.Generator, heard: Array) -> None:
    """No privacy, no noise."""


@inlined
def add_laplace(release: int, size: float, table: Array, nodes: Array, rng: np.random.Generator, heard: Array) -> None:
    """Laplace noise on every cell of every report: an exponential, and a sign from one of the bits of a uniform."""
    signs = 0
    for i in range(heard.size):
        if i % SIGNS == 0:
            signs = int(rng.random() * 2.0**SIGNS)
        heard[i] += size * (1.0 - 2.0 * (signs & 1)) * rng.standard_exponential()
        signs >>= 1


@inlined
def add_gaussian(release: int, size: float, table: Array, nodes: Array, rng: np.random.Generator, heard: Array) -> None:
    """Gaussian noise on every cell of every report."""
    for i in range(heard.size):
        heard[i] += size * rng.standard_normal()


@compiled
def add_bounded(release: int, size: float, table: Array, nodes: Array, rng: np.random.Generator, heard: Array) -> None:
    """Bounded noise by its distribution function (first row of nodes) on a grid of `size`."""
    law = nodes[0]
    middle = (law.size - 1) // 2
    for i in range(heard.size):
        heard[i] += size * (min(np.searchsorted(law, rng.random(), side="right"), law.size - 1) - middle)


@compiled
def flip_bits(release: int, size: float, table: Array, nodes: Array, rng: np.random.Generator, heard: Array) -> None:
    """Randomised response with flip probability `size` on the `table` bits behind each cell, de-biased.

    The first row of nodes is what had been heard before: the difference is the person's own.
    """
    for i in range(heard.size):
        ones, bits = round(heard[i] - nodes[0, i]), int(table[i])
        kept = (rng.binomial(ones, 1.0 - size) if ones > 0 else 0) + (
            rng.binomial(bits - ones, size) if bits > ones else 0
        )
        nodes[0, i] += (kept - bits * size) / (1.0 - 2.0 * size)
        heard[i] = nodes[0, i]


@compiled
def tree_laplace(release: int, size: float, table: Array, nodes: Array, rng: np.random.Generator, heard: Array) -> None:
    """Release t closes the node of level ctz(t); the running sum carries the nodes of the binary digits of t."""
    node = close_node(release, nodes, heard)
    add_laplace(release, size, table, nodes, rng, node)
    for i in range(heard.size):
        heard[i] += node[i]


@compiled
def tree_gaussian(
    release: int, size: float, table: Array, nodes: Array, rng: np.random.Generator, heard: Array
) -> None:
    """The same with Gaussian nodes."""
    node = close_node(release, nodes, heard)
    add_gaussian(release, size, table, nodes, rng, node)
    for i in range(heard.size):
        heard[i] += node[i]


@compiled
def close_node(release: int, nodes: Array, heard: Array) -> Array:
    """Take the nodes that go out of use off what is heard; returns the one that closes, all zero."""
    level = 0
    while (release >> level) & 1 == 0:
        for i in range(heard.size):
            heard[i] -= nodes[level, i]
            nodes[level, i] = 0.0
        level += 1
    closed: Array = nodes[level]
    return closed


def _word(function: Callable[..., Any]) -> str:
    """A name under which nothing else is compiled."""
    return f"_{function.__module__}_{function.__name__}".replace(".", "_")


@cache
def _loop(name: str, the_plan: Callable[..., Any], responding: Callable[..., Any]) -> Callable[..., float]:
    return specialise(loop, name, bare, plan=the_plan, respond=responding)


Response = tuple[Callable[..., Any], float, Array]
"""A compiled `respond`, its size, and its nodes."""


def _tree(counter: TreeCounter, cells: int) -> Response:
    nodes = np.zeros((counter.levels, cells))
    return (tree_laplace if counter.node == "laplace" else tree_gaussian), counter.scale, nodes


_RESPONSES: dict[type, Callable[[Any, int], Response]] = {
    ExactCounter: lambda mechanism, cells: (stay_silent, 0.0, np.zeros((1, 1))),
    Laplace: lambda mechanism, cells: (add_laplace, mechanism.scale, np.zeros((1, 1))),
    Gaussian: lambda mechanism, cells: (add_gaussian, mechanism.sigma, np.zeros((1, 1))),
    Bounded: lambda mechanism, cells: (add_bounded, mechanism.grid, mechanism.distribution()[None]),
    RandomizedResponse: lambda mechanism, cells: (flip_bits, mechanism.flip, np.zeros((1, cells))),
    TreeCounter: _tree,
}
"""What a mechanism, and none that is derived from it, does in compiled code: response(mechanism, cells)."""

# Where a book does no more than add up what everybody sends, or count under a counter. A tree counts after everybody.
TRUSTS = (NONE, LOCAL, JOINT)


def register(mechanism: type, response: Callable[[Any, int], Response]) -> None:
    """Enter what a mechanism does in compiled code; `respond` above says what it is given. Compare its law with the book's."""
    _RESPONSES[mechanism] = response


def supports(setting: Setting) -> bool:
    """Whether a compiled loop exists: a learner with a compiled plan, a known model, and noise it knows."""
    design = setting.design
    after_everybody = setting.schedule.kind == EVERY or type(design.mechanism) is not TreeCounter
    whole = design.question.kind == counts_kind  # the loop tells of all that a person did
    known = whole and design.trust in TRUSTS and type(design.mechanism) in _RESPONSES and after_everybody
    return known and setting.compiled and setting.environment.model is not None


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """One seed, person by person."""
    learner, question, model, mechanism = setting.learner, setting.question, setting.model, setting.design.mechanism
    if not supports(setting):
        raise InvalidInput("The stepwise engine does not know this mechanism or learner. Use the batched engine.")
    responding, size, nodes = _RESPONSES[type(mechanism)](mechanism, question.cells)
    luck, spec = streams(root), setting.context.spec
    heard, counts = counted(question)
    policy = np.zeros((spec.horizon, spec.states, spec.actions))
    regret = np.zeros(len(setting.checkpoints))
    points, table, noise = setting.design.error_table
    burn_in = setting.schedule.burn_in > 0
    every = setting.schedule.kind == EVERY and not burn_in
    planning = learner.plan_for(Noise(*noise[-1]))
    compiled_loop = _loop(_word(planning) + _word(responding), planning, responding)
    value = compiled_loop(
        World(model.transitions, model.rewards, model.initial),
        setting.optimal_value,
        layout_of(question),
        setting.schedule.users,
        burn_in,
        np.zeros(0, dtype=np.int64) if every else setting.schedule.ends,
        np.append(0, points),
        np.concatenate([np.zeros((1, 5)), table]),
        np.concatenate([[NO_NOISE], noise]),
        size,
        question.trials.astype(np.float64),
        nodes,
        learner.constants(setting.context),
        learner.memory(setting.context),
        (address_of(luck.world), address_of(luck.policy), address_of(luck.noise)),
        heard,
        counts,
        policy,
        np.zeros((spec.horizon + 1, spec.states)),
        policy.reshape(-1),
        np.zeros(policy.size),
        np.zeros((2, spec.states)),
        np.append(setting.checkpoints, np.iinfo(np.int64).max),
        regret,
    )
    return Outcome(regret, float(value), policy)
