"""The stepwise engine: every person walks and reports, one after the other, in one compiled loop.

`loop` calls two functions that are put in before it is compiled. `plan` is the learner's compiled plan. `respond` is the
mechanism: it makes a report of the true counts that were just added to every user's, adding noise. The loop is compiled
once for each pair of them and kept between runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar

import numpy as np

from ...compiled import bare, compiled, specialise
from ...errors import InvalidInput
from ...learning.learners.learner import Plan, plan
from ...learning.planning.addresses import GeneratorAddress, address_of, generator_at
from ...learning.planning.inlined import inlined
from ...mechanisms.bounded import Bounded
from ...mechanisms.exact import ExactCounter
from ...mechanisms.gaussian import Gaussian
from ...mechanisms.laplace import Laplace
from ...mechanisms.mechanism import NoiseMechanism
from ...mechanisms.randomized_response import RandomizedResponse
from ...mechanisms.tree import TreeCounter
from ...privacy.guarantee import JOINT, LOCAL, NONE
from ...privacy.schedule import EVERY
from ...protocol.kinds.counts import KIND as counts_kind
from ...protocol.releases.release import Noise
from .bundles import (
    Arrivals,
    CountArrays,
    LearnerArrays,
    RegretCurve,
    counting_of,
    curve_of,
    error_tables,
    learning_of,
)
from .draws import Array, ErrorTables, World, derive, estimates_of, layout_of, noise_at, walk, world_value
from .setting import Outcome, Setting
from .streams import streams

SIGNS = 32
"""How many signs are read off one uniform number, which has 53 bits."""


def respond(
    release: int, size: float, bits_per_cell: Array, nodes: Array, rng: np.random.Generator, cells: Array
) -> None:
    """The place of the mechanism: changes the true counts just added to cells into a report."""
    raise NotImplementedError


def loop(
    arrivals: Arrivals,
    errors: ErrorTables,
    learning: LearnerArrays,
    counting: CountArrays,
    generators: tuple[GeneratorAddress, GeneratorAddress, GeneratorAddress],
    curve: RegretCurve,
) -> float:
    """Walk every user, planning before the first and whenever it is due; returns the last policy's value.

    Writes the cumulative regret at the checkpoints. generators: of the world, of the learner and of noise.
    """
    worlds, choices, noises = generator_at(generators[0]), generator_at(generators[1]), generator_at(generators[2])
    world, layout, ends = arrivals.world, arrivals.layout, arrivals.ends
    cells, policy = counting.cells, learning.policy
    total, value, group, due, point, mark, k = 0.0, 0.0, 0, 0, 0, 0, 0
    while True:
        if k == due:
            while errors.points[point] < k:
                point += 1
            derive(layout, cells, counting.counts)
            estimates = estimates_of(counting.counts, errors.radii[point], noise_at(errors, point, k), float(k))
            plan(estimates, learning.constants, learning.memory, choices, policy, learning.values)
            if arrivals.burn_in and k == 0:
                learning.chances[:] = 1.0 / policy.shape[2]
            if renewed(learning.chances, learning.followed):
                value = world_value(world, policy, learning.flow)
            due = ends[group] if group < ends.size else k + 1
            group += 1
        if k == arrivals.users:
            return value
        k += 1
        total += arrivals.best - value
        if k == curve.checkpoints[mark]:
            curve.regret[mark] = total
            mark += 1
        walk(world, policy, layout, worlds, cells)
        respond(group, counting.size, counting.bits_per_cell, counting.nodes, noises, cells)


@inlined
def renewed(chances: Array, followed: Array) -> bool:
    """Whether a policy differs from the one that was followed so far, which it replaces."""
    new = False
    for i in range(chances.size):
        new |= chances[i] != followed[i]
        followed[i] = chances[i]
    return new


@inlined
def add_nothing(
    release: int, size: float, bits_per_cell: Array, nodes: Array, rng: np.random.Generator, cells: Array
) -> None:
    """Leave the true counts as they are, without privacy."""


@inlined
def add_laplace(
    release: int, size: float, bits_per_cell: Array, nodes: Array, rng: np.random.Generator, cells: Array
) -> None:
    """Add Laplace noise to every cell of a report: an exponential, and a sign from one of the bits of a uniform."""
    signs = 0
    for i in range(cells.size):
        if i % SIGNS == 0:
            signs = int(rng.random() * 2.0**SIGNS)
        cells[i] += size * (1.0 - 2.0 * (signs & 1)) * rng.standard_exponential()
        signs >>= 1


@inlined
def add_gaussian(
    release: int, size: float, bits_per_cell: Array, nodes: Array, rng: np.random.Generator, cells: Array
) -> None:
    """Add Gaussian noise to every cell of a report."""
    for i in range(cells.size):
        cells[i] += size * rng.standard_normal()


@compiled
def add_bounded(
    release: int, size: float, bits_per_cell: Array, nodes: Array, rng: np.random.Generator, cells: Array
) -> None:
    """Add bounded noise by its distribution function (first row of nodes) on a grid of `size`."""
    law = nodes[0]
    middle = (law.size - 1) // 2
    for i in range(cells.size):
        cells[i] += size * (min(np.searchsorted(law, rng.random(), side="right"), law.size - 1) - middle)


@compiled
def flip_bits(
    release: int, size: float, bits_per_cell: Array, nodes: Array, rng: np.random.Generator, cells: Array
) -> None:
    """Flip each of the bits behind a cell with probability `size` (randomised response), and remove the bias.

    The first row of nodes holds the cells before this person: the difference is the person's own.
    """
    for i in range(cells.size):
        true_ones, bits = round(cells[i] - nodes[0, i]), int(bits_per_cell[i])
        reported_ones = (rng.binomial(true_ones, 1.0 - size) if true_ones > 0 else 0) + (
            rng.binomial(bits - true_ones, size) if bits > true_ones else 0
        )
        nodes[0, i] += (reported_ones - bits * size) / (1.0 - 2.0 * size)
        cells[i] = nodes[0, i]


@compiled
def close_node(release: int, nodes: Array, cells: Array) -> Array:
    """Take the nodes that go out of use off the cells; returns the one that closes, all zero."""
    level = 0
    while (release >> level) & 1 == 0:
        for i in range(cells.size):
            cells[i] -= nodes[level, i]
            nodes[level, i] = 0.0
        level += 1
    closed: Array = nodes[level]
    return closed


def add_node(
    release: int, size: float, bits_per_cell: Array, nodes: Array, rng: np.random.Generator, cells: Array
) -> None:
    """Add a tree counter's noise: release t closes the node of level ctz(t) and carries those of the binary digits of t.

    It is compiled for each law of a node's noise, which stands in the place of `respond`.
    """
    node = close_node(release, nodes, cells)
    respond(release, size, bits_per_cell, nodes, rng, node)
    for i in range(cells.size):
        cells[i] += node[i]


tree_laplace = specialise(add_node, "laplace", respond=add_laplace)
tree_gaussian = specialise(add_node, "gaussian", respond=add_gaussian)


def _compiled_name(function: Callable[..., None]) -> str:
    """The name a function is compiled under, which no other function has."""
    return f"_{function.__module__}_{function.__name__}".replace(".", "_")


@cache
def _loop(name: str, the_plan: Plan, responding: Respond) -> Callable[..., float]:
    return specialise(loop, name, bare, plan=the_plan, respond=responding)


Respond = Callable[..., None]
"""A compiled function of the arguments of `respond` above."""

Response = tuple[Respond, float, Array]
"""A compiled `respond`, its size, and its nodes."""

M = TypeVar("M", bound=NoiseMechanism)


def _tree(counter: TreeCounter, cells: int) -> Response:
    nodes = np.zeros((counter.levels, cells))
    return (tree_laplace if counter.node == "laplace" else tree_gaussian), counter.scale, nodes


def _exact(mechanism: ExactCounter, cells: int) -> Response:
    return add_nothing, 0.0, np.zeros((1, 1))


def _laplace(mechanism: Laplace, cells: int) -> Response:
    return add_laplace, mechanism.scale, np.zeros((1, 1))


def _gaussian(mechanism: Gaussian, cells: int) -> Response:
    return add_gaussian, mechanism.sigma, np.zeros((1, 1))


def _bounded(mechanism: Bounded, cells: int) -> Response:
    return add_bounded, mechanism.grid, mechanism.distribution()[None]


def _flipped(mechanism: RandomizedResponse, cells: int) -> Response:
    return flip_bits, mechanism.flip, np.zeros((1, cells))


_RESPONSES: dict[type, Callable[..., Response]] = {}
"""What a mechanism, and none that is derived from it, does in compiled code: response(mechanism, cells)."""

# Where an aggregate does no more than add up what every user sends, or count under a counter. A tree counts after every user.
TRUSTS = (NONE, LOCAL, JOINT)


def register(mechanism: type[M], response: Callable[[M, int], Response]) -> None:
    """Enter what a mechanism does in compiled code; `respond` above says what it is given. Compare its law with the aggregate's."""
    _RESPONSES[mechanism] = response


register(ExactCounter, _exact)
register(Laplace, _laplace)
register(Gaussian, _gaussian)
register(Bounded, _bounded)
register(RandomizedResponse, _flipped)
register(TreeCounter, _tree)


def supports(setting: Setting) -> bool:
    """Whether a compiled loop exists: a learner with a compiled plan, a known model, and noise it knows."""
    design = setting.design
    after_everybody = setting.schedule.kind == EVERY or type(design.mechanism) is not TreeCounter
    whole_episodes = design.question.kind == counts_kind  # the loop counts all that a person did
    known = whole_episodes and design.trust in TRUSTS and type(design.mechanism) in _RESPONSES and after_everybody
    return known and setting.tabular is not None and setting.environment.model is not None


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """Run one seed, person by person."""
    learner, question, model, mechanism = setting.tabular, setting.counts, setting.model, setting.design.mechanism
    if learner is None or not supports(setting):
        raise InvalidInput(
            "stepwise-engine-unfit",
            "The stepwise engine does not know this mechanism or learner. Use the batched engine.",
        )
    responding, size, nodes = _RESPONSES[type(mechanism)](mechanism, question.cells)
    rng, schedule, errors = streams(root), setting.schedule, error_tables(setting.design)
    learning, curve = learning_of(setting, learner), curve_of(setting)
    burn_in = schedule.burn_in > 0
    every = schedule.kind == EVERY and not burn_in
    ends = np.zeros(0, dtype=np.int64) if every else schedule.ends
    world = World(model.transitions, model.rewards, model.initial)
    planning = learner.plan_for(Noise(*errors.noise[-1]), setting.context.spec)
    compiled_loop = _loop(_compiled_name(planning) + _compiled_name(responding), planning, responding)
    value = compiled_loop(
        Arrivals(world, layout_of(question), setting.optimal_value, schedule.users, ends, burn_in),
        errors,
        learning,
        counting_of(question, size, nodes),
        (address_of(rng.world), address_of(rng.policy), address_of(rng.noise)),
        curve,
    )
    return Outcome(curve.regret, float(value), learning.policy)
