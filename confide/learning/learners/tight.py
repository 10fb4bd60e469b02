"""Our own plan, for counts that are mostly noise, and for exact ones. UCB-VI and LDP-OBI both offer it, so under `tight`
they are one learner. Nothing in it is to be tuned: how noisy counts are, a release says itself.

**Every user's noise is their own** (local privacy, shufflers). Greedy in values that are drawn from what the noise leaves
possible (`planning.value_sampling`), with a spread of c_k = 0.1 (K/k)^(1/3) standard deviations after k of K people. K is
what the context says. If more come the spread goes on shrinking; if fewer, more was explored than needed. Where batches
of shufflers widen there are few releases, with little noise: two draws a batch, c_k = 0.4 (K/k)^(1/10).
**A curator's noise** (joint privacy). Greedy in a model that is drawn from what the counts leave possible
(`planning.sampling`), eight draws a batch. An unknown pair may lead anywhere (a row is drawn with alpha = 1) or to few states
(alpha = 1/S). Only the second way finds, in a state that is good to be in, an action that is better still; but it sends people
about for longer. So a model is drawn that way with probability max(1/8, min(1, sqrt(30 q/k))) after k people, q of whom would
show the average pair: as many as visit it sigma times.
**A single step** (contextual bandits), under every noise model. Greedy in mean rewards that are drawn from what counts of context,
action and reward leave possible (`planning.arms`), with c_k = 0.6 (K/k)^(1/5) sqrt(1 - k/K): after the last person no user is left
for whom trying would pay, and the policy that stays is the best as far as is known. If more come, K doubles.
**No noise.** Optimism by one standard error, and exploration users (`planning.standard_errors`).
Before the first user people act at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ...compiled import compiled, merged
from ...mdp import Spec
from ...protocol.kinds.counts import CountQuestion
from ...protocol.releases.release import NOBODY, PEOPLES, Array, Estimates, Noise
from ..planning.arms import ArmsMemory, draw_arms, hear, no_arms
from ..planning.induction import (
    GREEDY,
    MAXIMISE,
    ROWS,
    Workspace,
    backward_induction,
    workspace,
)
from ..planning.inlined import inlined
from ..planning.sampling import draw_model
from ..planning.standard_errors import sends_scouts, standard_errors
from ..planning.value_sampling import ValueDraw, know_pairs, one_persons, sample_values
from ..planning.weighing import WeightedCounts, expect, no_weighted_counts, weigh
from .learner import Context, Plan, TabularLearner
from .optimism import constants


class TightMemory(NamedTuple):
    """Room to plan in, weighted counts, what is remembered of exploration users, (3,), how many plans were drawn from the last
    release, (1,), and what is known of the arms of a single step.
    """

    work: Workspace
    weighted: WeightedCounts
    scouts: Array
    drawn: Array
    arms: ArmsMemory


def memory(context: Context) -> TightMemory:
    """The memory before the first user."""
    return TightMemory(
        workspace(context.spec, dispersed=True),
        no_weighted_counts(context.spec),
        np.zeros(3),
        np.zeros(1),
        no_arms(context.spec),
    )


def tight_constants(context: Context, sense: float = MAXIMISE) -> Array:
    """The constants that all plans share, and K."""
    return constants(context, float(context.users), sense=sense)


def expected(memory: TightMemory) -> Array:
    """(L, S, A) the visits expected of a user who follows the policy at hand: where a query gains most."""
    return memory.weighted.expected


@merged
def act_at_random(
    estimates: Estimates, constants: Array, memory: TightMemory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """Before the first user: every action is as likely, and every value may be the highest."""
    horizon, states, actions = policy.shape
    work = memory.work
    for h in range(horizon):
        for s in range(states):
            values[h, s] = float(horizon - h) if constants[0] > 0.0 else 0.0
            for a in range(actions):
                policy[h, s, a] = 1.0 / actions
    for layer in range(work.pairs.shape[1]):
        for i in range(work.pairs.shape[2]):
            work.pairs[ROWS, layer, i] = 0.0
    expect(work, policy, memory.weighted)


@compiled
def plan_own_noise(
    estimates: Estimates, constants: Array, memory: TightMemory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """The plan where every user's noise is their own; own constant: K."""
    _, _, noise, users = estimates
    work, weighted, _, drawn, _ = memory
    horizon, states, _ = policy.shape
    if users == 0.0:
        act_at_random(estimates, constants, memory, rng, policy, values)
    else:
        drawn[0] = drawn[0] % MODELS[int(noise.own)] + 1.0 if users == weighted.users[0] else 1.0
        if drawn[0] == 1.0:  # what further draws of the same release find as it is
            weigh(estimates, states * one_persons(noise.transitions, users) / noise.luck, horizon, weighted)
            know_pairs(weighted, noise, users, work)
        last, power = (SPREAD_LAST, SPREAD_POWER) if noise.own == PEOPLES else (BATCHES_LAST, BATCHES_POWER)
        how = ValueDraw(constants[0], 0.5, last * (constants[3] / users) ** power, 1.0 / drawn[0])
        sample_values(weighted, noise.luck, how, work, rng, (policy, values))


@inlined
def narrow_share(estimates: Estimates, horizon: int) -> float:
    """How likely a model is drawn in which unknown pairs lead to few states, by this module's docstring."""
    counts, _, noise, users = estimates
    layers, states, actions = counts.visits.shape
    shown = math.sqrt(noise.transitions) * layers * states * actions / horizon
    return max(LAST_NARROW, min(1.0, math.sqrt(NARROW * shown / users)))


@compiled
def plan_curators_noise(
    estimates: Estimates, constants: Array, memory: TightMemory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """The plan where the noise is a curator's."""
    if estimates.users == 0.0:
        act_at_random(estimates, constants, memory, rng, policy, values)
    else:
        alpha = 1.0
        if rng.random() < narrow_share(estimates, policy.shape[0]):
            alpha = 1.0 / policy.shape[1]
        draw_model(estimates.counts, estimates.noise, NOBODY, alpha, memory.work, rng)
        backward_induction(memory.work, constants[0], constants[1], 1.0, GREEDY, policy, values)


@compiled
def plan_exact(
    estimates: Estimates, constants: Array, memory: TightMemory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """The plan where counts are exact."""
    counts, users = estimates.counts, estimates.users
    work, _, scouts, _, _ = memory
    horizon, states, _ = policy.shape
    if users == 0.0:
        act_at_random(estimates, constants, memory, rng, policy, values)
    else:
        if sends_scouts(users, scouts):
            draw_model(counts, estimates.noise, NOBODY, 1.0 / states, work, rng)
        else:
            standard_errors(counts, horizon, work, rng)
        backward_induction(work, constants[0], constants[1], 1.0, GREEDY, policy, values)


@compiled
def arms_spread(users: float, expected: float) -> float:
    """c_k after `users` people, by this module's docstring; where more came than were expected, twice as many are, and so on."""
    last = expected
    while last < users:
        last *= 2.0
    return ARMS_LAST * math.pow(last / users, ARMS_POWER) * math.sqrt(1.0 - users / last)


@compiled
def plan_arms(
    estimates: Estimates, constants: Array, memory: TightMemory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """The plan for noisy counts of a single step; own constant: K."""
    noise, users = estimates.noise, estimates.users
    if users == 0.0:
        act_at_random(estimates, constants, memory, rng, policy, values)
    else:
        arms, drawn = memory.arms, memory.drawn
        drawn[0] = drawn[0] + 1.0 if users == arms.last[0] else 1.0
        hear(estimates, arms)
        how = (arms_spread(users, constants[3]), 1.0 / drawn[0])
        draw_arms(arms, noise.luck, constants[0], how, rng, policy)
        for s in range(policy.shape[1]):
            values[0, s] = 1.0


def plan_for(noise: Noise, users: float, spec: Spec) -> Plan:
    """The plan for releases that carry this noise and cover this many people: no other is compiled."""
    if users == 0.0:
        return act_at_random
    if spec.horizon == 1 and noise.centred > 0.0:
        return plan_arms
    if noise.own > 0.0:
        return plan_own_noise
    return plan_curators_noise if noise.transitions > 0.0 else plan_exact


SPREAD_LAST, SPREAD_POWER = 0.1, 1 / 3
"""c_k = SPREAD_LAST (K/k)^SPREAD_POWER."""

BATCHES_LAST, BATCHES_POWER = 0.4, 0.1
"""The same where batches of shufflers widen."""

ARMS_LAST, ARMS_POWER = 0.6, 0.2
"""The same for the arms of a single step, times sqrt(1 - k/K)."""

NARROW, LAST_NARROW = 30.0, 1 / 8
"""Of how many times the people who show the average pair all models have narrow rows, and the least share of models that do."""

MODELS = (8, 1, 2)
"""How many plans the people of one batch follow, each at random one of them: with a curator's noise, their own, and a batch's."""


def tight(name: str, question: Callable[[Spec], CountQuestion], sense: float = MAXIMISE) -> TabularLearner:
    """The learner that this plan makes of any that counts: it has no scale, and is named after the one that offers it."""
    return TabularLearner(
        name=name,
        plan=plan_exact,
        question=question,
        constants=partial(tight_constants, sense=sense),
        memory=memory,
        models=MODELS,
        scaled=False,
        scouts=True,
        expected=expected,
        plans=plan_for,
    )
