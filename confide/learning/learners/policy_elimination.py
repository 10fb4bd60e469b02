"""Policy elimination in stages: SDP-PE of Bai, Talebi, Zhao, Cheng and Chen (2024), "Near-Optimal Reinforcement Learning with
Shuffle Differential Privacy" (arXiv 2411.11647), as far as its public text goes.

From that text: policies are eliminated in stages that grow exponentially; a stage forgets the data of those before it; policies
change O(H log K) times; counts are sums of bits that a shuffler gives out. What it does not say in the parts that could be
read is filled in here, and is ours:

1. A stage explores the steps one after another: at step h users follow, in equal shares, for each pair (s, a) the policy
   that visits it most often then, among the policies that are left, until at least 1/H as many have come as there were before the
   stage. (Where counts are pooled over steps a stage has one part, of as many as came before, and visits at all steps count.)
2. The model has the counts of this stage: r = R/N, P a distribution within what noise allows (`estimate.settle`); steps that this
   stage has not explored yet have the model of the stage before.
3. After the last part of a stage, b(h, s, a) = min(H-h+1, scale ((H-h+1) sqrt(L/(2 N)) + (1 + (H-h+1) sqrt(S)) sigma sqrt(2 L)/N)),
   L = ln(S A H K/failure), sigma^2 the variance that noise gave a count of this stage; W = max E sum_h b(h, s_h, a_h) over the
   policies that are left. A policy is left if its value in the model is at least that of the best minus 2 W.

Policies are not listed: the best for a linear goal among those left is a linear program over visits with a single constraint, so
for some multiplier u it is a mixture of two policies that are greedy for goal + u reward, found by bisection. The law of
first states is read off the counts too: visits minus arrivals.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ...mdp import Spec
from ...protocol.kinds.counts import DROPPED, CountQuestion
from ...protocol.releases.release import CURATORS, Array, Counts, Estimates
from ..planning.estimate import settle
from .learner import Context, TabularLearner

PARTS, STAGES, VARIANCE, WIDTH, BEGAN, SINCE = range(6)
"""What `clock` holds: parts of this stage that are over, stages that are, the noise variance when it began, W, and how many
users there were when the stage and its present part began."""

FIRST, SECOND, MIXED, HELD = range(4)
"""Rows of `visits`: of the two policies of a mixture, of all mixtures so far, and a sum that is being made."""

HALVINGS = 24
STEEPEST = 1e9


class StageMemory(NamedTuple):
    """The model, what its stage began with, and room to compute in.

    transitions (L, N, S), rewards (L, N) and widths (L, N): the model, and b; pairs (s, a) lie at s A + a. before: the counts when
    the stage began. initial: (S,) the law of first states. clock: (6,). goal: (H, N), what a policy is to visit. visits: (4, H, N).
    chosen: (H, S), the actions of a policy. ahead: (2, S). cells: (1, S).
    """

    transitions: Array
    rewards: Array
    widths: Array
    before: Counts
    initial: Array
    clock: Array
    goal: Array
    visits: Array
    chosen: Array
    ahead: Array
    cells: Array


@compiled
def greedy_for(memory: StageMemory, slope: float, weight: float, values: Array) -> None:
    """Write the policy that maximises weight goal + slope reward into `chosen`, and its values (H+1, S) of that."""
    layers, pairs = memory.rewards.shape
    horizon, states = memory.chosen.shape
    actions = pairs // states
    values[horizon, :] = 0.0
    for h in range(horizon - 1, -1, -1):
        layer = h if layers > 1 else 0
        for s in range(states):
            best = -math.inf
            for a in range(actions):
                i = s * actions + a
                value = weight * memory.goal[h, i] + slope * memory.rewards[layer, i]
                for t in range(states):
                    value += memory.transitions[layer, i, t] * values[h + 1, t]
                if value > best:
                    best, memory.chosen[h, s] = value, a
            values[h, s] = best


@compiled
def visit(memory: StageMemory, row: int) -> tuple[float, float]:
    """Write the visits of the policy in `chosen` into a row; what it reaches of the goal, and its value, in the model."""
    layers, pairs = memory.rewards.shape
    horizon, states = memory.chosen.shape
    actions = pairs // states
    reached, value = 0.0, 0.0
    memory.visits[row] = 0.0
    for s in range(states):
        memory.ahead[0, s] = memory.initial[s]
    for h in range(horizon):
        layer = h if layers > 1 else 0
        now, after = h % 2, 1 - h % 2
        for t in range(states):
            memory.ahead[after, t] = 0.0
        for s in range(states):
            mass = memory.ahead[now, s]
            if mass > 0.0:
                i = s * actions + int(memory.chosen[h, s])
                memory.visits[row, h, i] = mass
                reached += mass * memory.goal[h, i]
                value += mass * memory.rewards[layer, i]
                for t in range(states):
                    memory.ahead[after, t] += mass * memory.transitions[layer, i, t]
    return reached, value


@compiled
def reach(memory: StageMemory, floor: float, values: Array) -> float:
    """The most of the goal that a mixture of policies of value at least `floor` reaches; its visits are added to MIXED."""
    greedy_for(memory, 1e-9, 1.0, values)
    reached, value = visit(memory, FIRST)
    share = 0.0  # of the second policy
    if value < floor:
        low, high = 0.0, 1.0
        greedy_for(memory, high, 1.0, values)
        better, above = visit(memory, SECOND)
        while above < floor and high < STEEPEST:
            reached, value, low = better, above, high
            memory.visits[FIRST] = memory.visits[SECOND]
            high *= 8.0
            greedy_for(memory, high, 1.0, values)
            better, above = visit(memory, SECOND)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            greedy_for(memory, middle, 1.0, values)
            found, worth = visit(memory, HELD)
            if worth >= floor:
                high, better, above = middle, found, worth
                memory.visits[SECOND] = memory.visits[HELD]
            else:
                low, reached, value = middle, found, worth
                memory.visits[FIRST] = memory.visits[HELD]
        share = min(1.0, (floor - value) / (above - value)) if above > value else 1.0
    memory.visits[MIXED] += (1.0 - share) * memory.visits[FIRST] + share * memory.visits[SECOND]
    return (1.0 - share) * reached + share * better if share > 0.0 else reached


@compiled
def model_of(counts: Counts, layer: int, later: float, constants: Array, deviation: float, memory: StageMemory) -> None:
    """Put the counts of this stage at a layer, with `later` steps to come at most, into the model and its widths."""
    _, states, actions = counts.visits.shape
    scale, log = constants[0], constants[1]
    for s in range(states):
        for a in range(actions):
            i = s * actions + a
            seen = max(0.0, counts.visits[layer, s, a] - memory.before.visits[layer, s, a])
            many = max(1.0, seen)
            for t in range(states):
                memory.cells[0, t] = counts.transitions[layer, s, a, t] - memory.before.transitions[layer, s, a, t]
            settle(memory.cells, seen)
            total = memory.cells[0].sum()
            for t in range(states):
                memory.transitions[layer, i, t] = memory.cells[0, t] / total if total > 0.0 else 1.0 / states
            earned = counts.rewards[layer, s, a] - memory.before.rewards[layer, s, a]
            memory.rewards[layer, i] = min(1.0, max(0.0, earned / many))
            sampled = later * math.sqrt(log / (2.0 * many))
            noise = (1.0 + later * math.sqrt(states)) * deviation * math.sqrt(2.0 * log) / many
            memory.widths[layer, i] = min(later, scale * (sampled + noise))


@compiled
def first_states(counts: Counts, memory: StageMemory) -> None:
    """The law of first states: visits of the first step, or pooled over steps, visits minus arrivals; clipped at 0."""
    layers, states, actions = counts.visits.shape
    total = 0.0
    for s in range(states):
        here = 0.0
        for a in range(actions):
            here += counts.visits[0, s, a]
        if layers == 1:
            for t in range(states):
                for a in range(actions):
                    here -= counts.transitions[0, t, a, s]
        memory.initial[s] = max(0.0, here)
        total += memory.initial[s]
    for s in range(states):
        memory.initial[s] = memory.initial[s] / total if total > 0.0 else 1.0 / states


@compiled
def best_value(memory: StageMemory, values: Array) -> float:
    """The value of the best policy in the model."""
    greedy_for(memory, 1.0, 0.0, values)
    return visit(memory, HELD)[1]


@compiled
def begin_stage(estimates: Estimates, memory: StageMemory) -> None:
    """Forget: what is counted from here on is the next stage's."""
    counts, before = estimates.counts, memory.before
    before.visits[:], before.rewards[:] = counts.visits, counts.rewards
    before.transitions[:] = counts.transitions
    memory.clock[VARIANCE] = estimates.noise.transitions
    memory.clock[BEGAN] = estimates.users
    memory.clock[PARTS] = 0.0
    memory.clock[STAGES] += 1.0


@compiled
def hear_batch(estimates: Estimates, constants: Array, memory: StageMemory, values: Array) -> None:
    """Renew the model by this stage's counts; after its last part eliminate, and begin the next stage."""
    counts, noise, clock = estimates.counts, estimates.noise, memory.clock
    layers, horizon = memory.rewards.shape[0], memory.chosen.shape[0]
    sign = (
        1.0 if noise.own == CURATORS else -1.0
    )  # sums of batches have noise of their own, a curator's running counts have not
    deviation = math.sqrt(max(0.0, noise.transitions + sign * clock[VARIANCE]))
    if estimates.users - clock[SINCE] >= clock[BEGAN] / layers:
        clock[PARTS] += 1.0
        clock[SINCE] = estimates.users
    explored = int(clock[PARTS])
    for layer in range(explored):
        model_of(counts, layer, float(horizon - layer if layers > 1 else horizon), constants, deviation, memory)
    first_states(counts, memory)
    if explored >= layers:
        for h in range(horizon):
            left = float(horizon - h)
            for i in range(memory.goal.shape[1]):
                memory.goal[h, i] = min(left, memory.widths[h if layers > 1 else 0, i])
        floor = best_value(memory, values) - 2.0 * clock[WIDTH]
        clock[WIDTH] = min(float(horizon), reach(memory, floor, values))
        begin_stage(estimates, memory)


@compiled
def plan_policy_elimination(
    estimates: Estimates, constants: Array, memory: StageMemory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """The next users' policy: for each pair of its step, in equal shares, the policy left that visits it most often."""
    horizon, states, actions = policy.shape
    layers, pairs = memory.rewards.shape
    if estimates.users > 0.0:
        hear_batch(estimates, constants, memory, values)
    else:
        memory.clock[WIDTH] = float(horizon)
    step, unknown = int(memory.clock[PARTS]), memory.clock[STAGES] == 0.0
    floor = best_value(memory, values) - 2.0 * memory.clock[WIDTH]
    memory.visits[MIXED] = 0.0
    for i in range(pairs):
        memory.goal[:] = 0.0
        if layers > 1:
            memory.goal[step, i] = 1.0
        else:
            memory.goal[:, i] = 1.0
        reach(memory, floor, values)
    best_value(memory, values)  # `chosen` is greedy where no mixture leads, and the values are the model's
    for h in range(horizon):
        blind = unknown and (layers == 1 or h >= step)
        for s in range(states):
            here = memory.visits[MIXED, h, s * actions : (s + 1) * actions].sum()
            for a in range(actions):
                greedy = 1.0 if memory.chosen[h, s] == a else 0.0
                share = memory.visits[MIXED, h, s * actions + a] / here if here > 0.0 else greedy
                policy[h, s, a] = 1.0 / actions if blind else share


def _constants(context: Context) -> Array:
    spec = context.spec
    statements = spec.states * spec.actions * spec.horizon * context.users / context.failure
    return np.array([context.bonus_scale, math.log(statements)])


def _memory(context: Context) -> StageMemory:
    spec = context.spec
    layers, states, pairs, horizon = spec.layers, spec.states, spec.states * spec.actions, spec.horizon
    shape = (layers, states, spec.actions)
    return StageMemory(
        np.full((layers, pairs, states), 1.0 / states),
        np.zeros((layers, pairs)),
        np.full((layers, pairs), float(horizon)),
        Counts(np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros((*shape, states))),
        np.full(states, 1.0 / states),
        np.zeros(6),
        np.zeros((horizon, pairs)),
        np.zeros((4, horizon, pairs)),
        np.zeros((horizon, states)),
        np.zeros((2, states)),
        np.zeros((1, states)),
    )


def _question(spec: Spec) -> CountQuestion:
    return CountQuestion(spec, last=DROPPED)


def policy_elimination() -> TabularLearner:
    """Policy elimination in stages that forget the data of those before them."""
    return TabularLearner("policy-elimination", plan_policy_elimination, _question, _constants, _memory, draws=False)
