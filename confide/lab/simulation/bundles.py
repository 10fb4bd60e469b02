"""The arguments of compiled loops, in bundles: what belongs together travels together, at no cost in compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...learning.learners.learner import Memory, TabularLearner
from ...protocol.design import Design
from ...protocol.kinds.counts import CountQuestion
from ...protocol.releases.release import NO_NOISE, Counts
from .draws import Array, ErrorTables, Integers, Layout, World, zero_counts
from .setting import Setting
from .streams import Streams


class Arrivals(NamedTuple):
    """Who comes, and when the learner plans: after each of `ends`, or after all users if it is empty.

    best: the value of the best policy. burn_in: whether people act at random until the first of `ends`.
    """

    world: World
    layout: Layout
    best: float
    users: int
    ends: Integers
    burn_in: bool


class LearnerArrays(NamedTuple):
    """A learner with a compiled plan: its constants and memory, and room for its policy (H, S, A) and values (H+1, S).

    chances: the policy, flat; followed: room for the last one, so that a policy is evaluated only if it is new; flow: (2, S),
    scratch.
    """

    constants: Array
    memory: Memory
    policy: Array
    values: Array
    chances: Array
    followed: Array
    flow: Array


class CountArrays(NamedTuple):
    """What was counted: flat cells, and counts that are views of them, see `zero_counts`; and the noise of a mechanism: its
    size, the bits behind each cell, and what it remembers."""

    cells: Array
    counts: Counts
    size: float
    bits_per_cell: Array
    nodes: Array


class Luck(NamedTuple):
    """The random streams of a compiled loop: how people fare, how a learner chooses, and how noise falls."""

    worlds: np.random.Generator
    choices: np.random.Generator
    noises: np.random.Generator


class RegretCurve(NamedTuple):
    """Where cumulative regret is noted: at which numbers of people, in rising order, and room for it."""

    checkpoints: Integers
    regret: Array


def luck_of(streams: Streams) -> Luck:
    """The streams of one seed."""
    return Luck(streams.world, streams.policy, streams.noise)


def error_tables(design: Design) -> ErrorTables:
    """The tables of a design, beginning with no users: no error, and no noise."""
    points, radii, noise = design.error_table
    return ErrorTables(
        np.append(0, points), np.concatenate([np.zeros((1, 5)), radii]), np.concatenate([[NO_NOISE], noise])
    )


def learning_of(setting: Setting, learner: TabularLearner) -> LearnerArrays:
    """The learner of a setting, before it has planned."""
    spec = setting.context.spec
    policy = np.zeros((spec.horizon, spec.states, spec.actions))
    return LearnerArrays(
        learner.constants(setting.context),
        learner.memory(setting.context),
        policy,
        np.zeros((spec.horizon + 1, spec.states)),
        policy.reshape(-1),
        np.zeros(policy.size),
        np.zeros((2, spec.states)),
    )


def curve_of(setting: Setting) -> RegretCurve:
    """An empty curve over a setting's checkpoints; one that is never reached comes last, so that no loop needs to look."""
    end = np.iinfo(np.int64).max
    return RegretCurve(np.append(setting.checkpoints, end), np.zeros(len(setting.checkpoints)))


def counting_of(question: CountQuestion, size: float, nodes: NDArray[np.float64]) -> CountArrays:
    """Cells of a question, all zero, and a mechanism's noise of that size."""
    cells, counts = zero_counts(question)
    return CountArrays(cells, counts, size, question.trials.astype(np.float64), nodes)
