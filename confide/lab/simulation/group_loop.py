"""The engine for counts of whole episodes and compiled learners: one compiled loop over groups of people, each drawn at once.

It has the law of the batched engine, whose aggregates it stands for: a curator's exact sums or tree, and a server that adds up
reports with Laplace noise of people's own. A tree's nodes are normal and not rounded to its grid; sums of Laplace noise are on
their grid, and cut off where devices cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ...compiled import compiled, specialise
from ...errors import InvalidInput
from ...learning.learners.learner import Plan, plan
from ...mechanisms.exact import ExactCounter
from ...mechanisms.laplace import Laplace
from ...mechanisms.tree import TreeCounter
from ...privacy.guarantee import JOINT, LOCAL, NONE
from ...protocol.design import Design
from ...protocol.kinds.counts import KIND, TRANSITIONS
from ...protocol.releases.release import NO_NOISE, Counts, Noise
from ...protocol.releases.report import limits
from .batched import curve
from .bundles import LearnerArrays, Luck, learning_of, luck_of
from .draws import (
    Array,
    Integers,
    Layout,
    World,
    derive,
    draw_counts,
    estimates_of,
    layout_of,
    world_value,
    zero_counts,
)
from .setting import Outcome, Setting
from .shuffle_loop import followers
from .stepwise import tree_gaussian, tree_laplace
from .streams import streams


class Groups(NamedTuple):
    """people: (G,) of each group after which a release is made; radii and noise: (G + 1, 5) of what is known of no users, and after
    each; burn_in: whether the first group acts at random."""

    people: Integers
    radii: Array
    noise: Array
    burn_in: bool


class GroupNoise(NamedTuple):
    """The noise of a mechanism: its size and grid, what a tree remembers (levels, cells), and the least and the largest number
    that a device sends in each cell, in multiples of the grid."""

    size: float
    grid: float
    nodes: Array
    low: Array
    high: Array


def add_group(release: int, people: int, fresh: Array, noise: GroupNoise, rng: Generator, cells: Array) -> None:
    """The place of the mechanism: adds the counts of a group to the estimated cells, with the noise of release 1, 2, ..."""
    raise NotImplementedError


@compiled
def add_exactly(release: int, people: int, fresh: Array, noise: GroupNoise, rng: Generator, cells: Array) -> None:
    """Without noise."""
    for i in range(cells.size):
        cells[i] += fresh[i]


@compiled
def add_under_gaussian_tree(
    release: int, people: int, fresh: Array, noise: GroupNoise, rng: Generator, cells: Array
) -> None:
    """A tree counter with Gaussian nodes."""
    add_exactly(release, people, fresh, noise, rng, cells)
    tree_gaussian(release, noise.size, noise.low, noise.nodes, rng, cells)


@compiled
def add_under_laplace_tree(
    release: int, people: int, fresh: Array, noise: GroupNoise, rng: Generator, cells: Array
) -> None:
    """A tree counter with Laplace nodes."""
    add_exactly(release, people, fresh, noise, rng, cells)
    tree_laplace(release, noise.size, noise.low, noise.nodes, rng, cells)


@compiled
def add_laplace_reports(
    release: int, people: int, fresh: Array, noise: GroupNoise, rng: Generator, cells: Array
) -> None:
    """Each user's own discrete Laplace noise: its sum is the difference of two negative binomials."""
    stay = -np.expm1(-noise.grid / noise.size)
    for i in range(cells.size):
        drawn = rng.negative_binomial(people, stay) - rng.negative_binomial(people, stay)
        told = np.rint(fresh[i] / noise.grid) + drawn
        cells[i] += noise.grid * min(max(told, people * noise.low[i]), people * noise.high[i])


def loop(
    world: World,
    layout: Layout,
    groups: Groups,
    learning: LearnerArrays,
    noise: GroupNoise,
    luck: Luck,
    estimated: tuple[Array, Counts],
    policy_values: Array,
) -> None:
    """Run all groups. estimated: cells and counts, which are views of them. policy_values: (G + 1, M), the values of the M policies
    before each group and after the last, of which every user follows one.
    """
    cells, counts = estimated
    policies = np.zeros((policy_values.shape[1], *learning.policy.shape))
    followed, fresh, users = policies.copy(), np.zeros(cells.size), 0
    for t in range(len(policy_values)):  # a plan that stands here once is compiled in half the time
        if t > 0:
            people = groups.people[t - 1]
            fresh[:] = 0.0
            many = followers(people, policies, luck.worlds)
            for m in range(len(policies)):
                draw_counts(world, policies[m], many[m], layout, luck.worlds, fresh)
            add_group(t, people, fresh, noise, luck.noises, cells)
            users += people
        derive(layout, cells, counts)
        told = groups.noise[t]
        known = Noise(told[0], told[1], told[2], told[3], told[4])
        estimates = estimates_of(counts, groups.radii[t], known, float(users))
        for m in range(len(policies)):
            plan(estimates, learning.constants, learning.memory, luck.choices, policies[m], learning.values)
            if groups.burn_in and t == 0:
                policies[m] = 1.0 / policies.shape[3]
            if t > 0 and np.array_equal(policies[m], followed[m]):
                policy_values[t, m] = policy_values[t - 1, m]
                continue
            followed[m] = policies[m]
            policy_values[t, m] = world_value(world, policies[m], learning.flow)
    learning.policy[:] = policies[0]


@cache
def _loop(name: str, the_plan: Plan, adder: Callable[..., None]) -> Callable[..., None]:
    return specialise(loop, name, plan=the_plan, add_group=adder)


def noise_of(design: Design) -> tuple[Callable[..., None], GroupNoise] | None:
    """The compiled function that adds a group, and the noise it adds; None of a mechanism that this loop does not know."""
    mechanism, width = design.mechanism, int(design.question.width)
    none = np.zeros(width)
    if type(mechanism) is ExactCounter and design.trust in (NONE, JOINT):
        return add_exactly, GroupNoise(0.0, 1.0, np.zeros((1, 1)), none, none)
    if type(mechanism) is TreeCounter and design.trust == JOINT:
        adder = add_under_laplace_tree if mechanism.node == "laplace" else add_under_gaussian_tree
        nodes = np.zeros((mechanism.levels, width))
        return adder, GroupNoise(mechanism.scale, mechanism.grid, nodes, none, none)
    if type(mechanism) is Laplace and mechanism.grid and design.trust == LOCAL:
        low, high = limits(design)
        noise = GroupNoise(
            mechanism.scale, mechanism.grid, np.zeros((1, 1)), low.astype(np.float64), high.astype(np.float64)
        )
        return add_laplace_reports, noise
    return None


def supports(setting: Setting) -> bool:
    """Whether a compiled loop exists: counts of whole episodes, noise that it knows, a known model, a compiled plan."""
    design = setting.design
    whole = design.question.kind == KIND and TRANSITIONS in design.counts.parts and design.counts.spec.horizon > 1
    known = whole and setting.tabular is not None and setting.environment.model is not None
    return known and noise_of(design) is not None


def errors_after(design: Design) -> tuple[Array, Array]:
    """(G, 5) radii and noise of every release of a design, as its releases state them one by one."""
    kept: dict[str, tuple[Array, Array]] = design.__dict__
    if "_errors_after" not in kept:
        points, table, _ = design.error_table
        ends = design.schedule.ends
        noise = np.asarray(design.kind.noise(design.question, design.law(ends)))
        kept["_errors_after"] = table[np.searchsorted(points, ends)], noise
    return kept["_errors_after"]


def groups_of(setting: Setting) -> Groups:
    """The groups of a setting after which a release is made: all, but the last where it is cut short."""
    ends = setting.schedule.ends
    due = len(ends) if setting.due(len(ends) - 1) else len(ends) - 1
    radii, noise = errors_after(setting.design)
    return Groups(
        np.diff(ends[:due], prepend=0),
        np.concatenate([np.zeros((1, 5)), radii[:due]]),
        np.concatenate([[NO_NOISE], noise[:due]]),
        setting.schedule.burn_in > 0,
    )


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """Run one seed, group by group."""
    model, learner, noise = setting.model, setting.tabular, noise_of(setting.design)
    if learner is None or noise is None:
        raise InvalidInput(
            "group-loop-learner",
            "This loop is for whole episodes and learners with a compiled plan. Use the batched engine.",
        )
    (adder, added), groups, learning = noise, groups_of(setting), learning_of(setting, learner)
    estimated, last = zero_counts(setting.counts), Noise(*groups.noise[-1])
    models = learner.models_for(last, estimated[1].transitions.size)
    policy_values = np.empty((len(groups.people) + 1, models))
    planning = learner.plan_for(last, setting.context.spec)
    _loop(f"{planning.__module__}_{planning.__name__}_{adder.__name__}".replace(".", "_"), planning, adder)(
        World(model.transitions, model.rewards, model.initial),
        layout_of(setting.counts),
        groups,
        learning,
        added,
        luck_of(streams(root)),
        estimated,
        policy_values,
    )
    return outcome_of(setting, policy_values, learning.policy)


def outcome_of(setting: Setting, policy_values: Array, policy: Array) -> Outcome:
    """The outcome of a loop that wrote the values of the policies before each group and after the last."""
    ends, values = setting.schedule.ends, policy_values.mean(axis=1)
    gaps = (setting.optimal_value - values[: len(ends)]) * np.diff(ends, prepend=0)
    return Outcome(curve(ends, gaps, setting.checkpoints), float(values[-1]), policy)
