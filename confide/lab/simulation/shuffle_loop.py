"""The engine for shufflers and compiled learners: one compiled loop over batches, made from a `plan` and an `add_batch`.

What shufflers give out about simulated people: sums of flipped bits over full batches, drawn at once, exactly.

A counter over n people with N ones among nw bits becomes Binomial(N, 1-q) + Binomial(nw - N, q). Simulated rewards are 0
or 1, so all m bits of a reward are alike, and a count of N rewards is m N ones. A short last batch is held and never given out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ...compiled import compiled, specialise
from ...errors import InvalidInput
from ...learning.learners.learner import Plan, plan
from ...learning.planning.evaluation import flow_visits
from ...privacy.guarantee import SHUFFLE
from ...protocol.design import Design
from ...protocol.kinds import bits, step
from ...protocol.releases.release import Counts, Noise
from .batched import curve
from .bundles import LearnerArrays, Luck, error_tables, learning_of, luck_of
from .draws import (
    Array,
    ErrorTables,
    Integers,
    Layout,
    World,
    derive,
    draw_counts,
    draw_sampled,
    estimates_of,
    layout_of,
    noise_at,
    split,
    world_value,
    zero_counts,
)
from .setting import Outcome, Setting
from .streams import streams


class Mixer(NamedTuple):
    """Shufflers as compiled code takes them.

    layout: where the estimated cells lie. batch: people of a base batch. ends: (groups,) people after each full batch; levels:
    (groups,) its level, in a tree that of the largest node that is full then. flips: (levels,) chance of a flipped bit.
    bits_per_person, bits_per_count: (cells,).
    open: what nodes that are not full hold, and received: the estimates of full ones; (levels, cells), or (layers, k) for
    sampled steps, where open counts people and received counts reported ones.
    """

    layout: Layout
    batch: int
    tree: bool
    ends: NDArray[np.int64]
    levels: NDArray[np.int64]
    flips: Array
    bits_per_person: Array
    bits_per_count: Array
    open: Array
    received: Array


def mixer_of(design: Design) -> Mixer:
    """The shufflers of a design, before the first report."""
    question, mixing = design.question, design.mixing
    if mixing is None:
        raise InvalidInput("design-without-shufflers", "This design has no shufflers. Make one under trust shuffle.")
    flips = np.array(design.shares.flips)
    ends, levels = design.schedule.ends, mixing.closing_levels(design.schedule.releases)
    full = mixing.full(design.schedule)
    shape, bits_per_person, bits_per_count = (question.rows, question.width), np.zeros(0), np.zeros(0)
    if question.kind == bits.KIND:
        shape = (len(flips), question.width)
        bits_per_person, bits_per_count = (
            question.trials.astype(np.float64),
            bits.BITS.question_of(design).weights.astype(np.float64),
        )
    return Mixer(
        layout_of(design.counts),
        mixing.batch,
        mixing.tree,
        ends[full],
        levels[full],
        flips,
        bits_per_person,
        bits_per_count,
        np.zeros(shape),
        np.zeros(shape),
    )


@compiled
def flipped(ones: int, zeros: int, flip: float, rng: Generator) -> int:
    """How many bits are one after each was flipped with this probability."""
    ones_kept = rng.binomial(ones, 1.0 - flip) if ones > 0 else 0
    return ones_kept + (rng.binomial(zeros, flip) if zeros > 0 else 0)


@compiled
def followers(people: int, policies: Array, rng: Generator) -> Integers:
    """(M,) how many of this many people follow each of the policies (M, H, S, A), one of which every user draws."""
    many = np.zeros(len(policies), dtype=np.int64)
    split(people, np.full(len(policies), 1.0 / len(policies)), rng, many)
    return many


@compiled
def add_batch_of_bits(batches: int, mixer: Mixer, world: World, policies: Array, luck: Luck, cells: Array) -> None:
    """Add batch number `batches`, counted from 1, of people who each follow one of the policies (M, H, S, A), and write the
    estimated cells over every user.

    Bits of whole episodes. In a tree, after t batches, the nodes of the binary digits of t count; else all batches add up.
    """
    level = mixer.levels[batches - 1]
    people, flip = mixer.batch << level, mixer.flips[level]
    fresh = np.zeros(cells.size)
    many = followers(mixer.batch if mixer.tree else people, policies, luck.worlds)
    for m in range(len(policies)):
        draw_counts(world, policies[m], many[m], mixer.layout, luck.worlds, fresh)
    mixer.open[:] += fresh
    if mixer.tree:
        mixer.received[: level + 1] = 0.0
    for i in range(cells.size):
        bit_count, true_ones = (
            people * int(mixer.bits_per_person[i]),
            int(mixer.open[level, i] * mixer.bits_per_count[i]),
        )
        reported_ones = flipped(true_ones, bit_count - true_ones, flip, luck.noises)
        mixer.received[level, i] += (reported_ones - bit_count * flip) / ((1.0 - 2.0 * flip) * mixer.bits_per_count[i])
        cells[i] = mixer.received[:, i].sum()
    mixer.open[: level + 1 if mixer.tree else len(mixer.flips)] = 0.0


@compiled
def add_batch_of_steps(batches: int, mixer: Mixer, world: World, policies: Array, luck: Luck, cells: Array) -> None:
    """Add a batch, where each person reports one sampled step: rewards and transitions from the categories (s, a, s', paid)."""
    _, horizon, states, actions = policies.shape
    rows, kinds = mixer.open.shape
    people = np.zeros((rows, kinds), dtype=np.int64)
    many = followers(mixer.batch, policies, luck.worlds)
    for m in range(len(policies)):
        visits = np.zeros((horizon, states, actions))
        flow_visits(world.transitions, world.initial, policies[m], np.zeros((2, states)), visits)
        draw_sampled(world, visits, many[m], mixer.layout, luck.worlds, people)
    flip, everybody = mixer.flips[0], float(batches * mixer.batch)
    for i in range(cells.size):
        cells[i] = 0.0
    for row in range(rows):
        newcomers = 0
        for c in range(kinds):
            newcomers += people[row, c]
        mixer.open[row, 0] += newcomers  # how many people reported so far
        reports = mixer.open[row, 0]
        scale = (float(horizon) if rows == 1 else everybody / max(reports, 1.0)) / (1.0 - 2.0 * flip)
        for c in range(kinds - 1):
            mixer.received[row, c] += flipped(people[row, c], newcomers - people[row, c], flip, luck.noises)
            estimate = scale * (mixer.received[row, c] - reports * flip)
            move = row * states * actions * states + c // 2
            cells[mixer.layout.transitions + move] += estimate
            if c % 2 == 1:
                cells[mixer.layout.rewards + move // states] += estimate


def batch_adder(design: Design) -> Callable[..., None]:
    """The compiled function that adds a batch, by the design's kind of question."""
    return add_batch_of_bits if design.question.kind == bits.KIND else add_batch_of_steps


def add_batch(batches: int, mixer: Mixer, world: World, policies: Any, luck: Luck, cells: Any) -> None:
    """The place of the function that adds a batch to the estimated cells; see `shuffled.batch_adder`."""
    raise NotImplementedError


def loop(
    world: World,
    mixer: Mixer,
    errors: ErrorTables,
    learning: LearnerArrays,
    luck: Luck,
    estimated: tuple[Array, Counts],
    policy_values: Array,
) -> None:
    """Run full batches. estimated: cells and counts, which are views of them. policy_values: (batches + 1, M), the values of the M
    policies before each batch and after the last, of which every user follows one.
    """
    cells, counts = estimated
    policies = np.zeros((policy_values.shape[1], *learning.policy.shape))
    point = 0
    for t in range(len(policy_values)):  # a plan that stands here once is compiled in half the time
        if t > 0:
            add_batch(t, mixer, world, policies, luck, cells)
        people = mixer.ends[t - 1] if t > 0 else 0
        while errors.points[point] < people:
            point += 1
        derive(mixer.layout, cells, counts)
        estimates = estimates_of(counts, errors.radii[point], noise_at(errors, point, people), float(people))
        for m in range(len(policies)):
            plan(estimates, learning.constants, learning.memory, luck.choices, policies[m], learning.values)
            policy_values[t, m] = world_value(world, policies[m], learning.flow)
    learning.policy[:] = policies[0]


@cache
def _loop(name: str, the_plan: Plan, adder: Callable[..., None]) -> Callable[..., None]:
    return specialise(loop, name, plan=the_plan, add_batch=adder)


def supports(setting: Setting) -> bool:
    """Whether a compiled loop exists: shufflers who add up flipped bits, and a learner with a compiled plan."""
    told = setting.design.trust == SHUFFLE and setting.design.kind.name in (bits.KIND, step.KIND)
    return told and setting.tabular is not None


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """Run one seed, batch by batch."""
    design, model, learner = setting.design, setting.model, setting.tabular
    if design.mixing is None or learner is None:
        raise InvalidInput(
            "shuffle-loop-learner",
            "This loop is for shufflers and learners with a compiled plan. Use the batched engine.",
        )
    adder, errors, learning = batch_adder(design), error_tables(design), learning_of(setting, learner)
    mixer, estimated = mixer_of(design), zero_counts(setting.counts)
    noise, (_, counts) = Noise(*errors.noise[-1]), estimated
    played = int((mixer.ends <= setting.schedule.users).sum())
    policy_values = np.empty((played + 1, learner.models_for(noise, counts.transitions.size)))
    planning = learner.plan_for(noise, setting.context.spec)
    _loop(f"{planning.__name__}_{adder.__name__}", planning, adder)(
        World(model.transitions, model.rewards, model.initial),
        mixer,
        errors,
        learning,
        luck_of(streams(root)),
        estimated,
        policy_values,
    )
    ends = setting.schedule.ends
    values = policy_values.mean(axis=1)
    gaps = (setting.optimal_value - values[: len(ends)]) * np.diff(ends, prepend=0)
    return Outcome(curve(ends, gaps, setting.checkpoints), float(values[-1]), learning.policy)
