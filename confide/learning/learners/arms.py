"""Bandits' own algorithms, for a single step with contexts: what ours is compared with there.

`thompson`: private Thompson sampling. Mishra and Thakurta (2015), "(Nearly) Optimal Differentially Private Stochastic Multi-Arm
Bandits"; Hu and Hegde (2022), "Near-Optimal Thompson Sampling-based Algorithms for Differentially Private Stochastic
Bandits". After every release each arm's mean is drawn once from its posterior, whose variance has that of the noise added, and the
best is taken.
`elimination`: private successive elimination. Sajed and Sheffet (2019), "An Optimal Private Stochastic-MAB Algorithm Based on an
Optimal Private Stopping Rule"; under local privacy Ren, Zhou, Liu and Shroff (2020), "Multi-Armed Bandits with Local Differential
Privacy"; under shuffling, where the noise is a binomial blanket, Tenenbaum, Kaplan, Mansour and Stemmer (2021), "Differentially
Private Multi-Armed Bandits in the Shuffle Model". In every context all arms that are left are taken alike, and one is dropped for
good once its upper confidence bound is below another's lower one. A bound is `bonus_scale` standard deviations wide, whose default
is that of a union bound over contexts, arms and doublings of the number of people.

Contexts are bandits of their own, which share people's noise and the law of contexts (`planning.arms`). The noise is that of
the design, as for any learner: the least that we know, whatever the paper has.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ...errors import InvalidInput
from ...mdp import Spec
from ...protocol.kinds.counts import CountQuestion
from ...protocol.releases.release import Array, Estimates
from ..planning.arms import SHARE, ArmsMemory, draw_arms, hear, mean_reward, no_arms
from ..planning.induction import MAXIMISE
from .learner import Context, TabularLearner

FAILURE = 0.05
"""The chance that elimination's bounds may fail, all arms and doublings together."""


class RivalMemory(NamedTuple):
    """What is known of arms, and (S, A) which of them are left: 1 or 0."""

    arms: ArmsMemory
    left: Array


@compiled
def plan_thompson(
    estimates: Estimates, constants: Array, memory: RivalMemory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """One draw from every arm's posterior."""
    if estimates.users == 0.0:
        policy[:] = 1.0 / policy.shape[2]
    else:
        hear(estimates, memory.arms)
        draw_arms(memory.arms, estimates.noise.luck, constants[0], (1.0, 1.0), rng, policy)
    values[0] = 1.0


@compiled
def plan_elimination(
    estimates: Estimates, constants: Array, memory: RivalMemory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """All arms alike that are left. constants: sense, and how many standard deviations wide a bound is."""
    _, states, actions = policy.shape
    arms, left = memory
    sense, width = constants[0], constants[1]
    if estimates.users > 0.0:
        hear(estimates, arms)
    for s in range(states):
        surely = -math.inf
        for a in range(actions):
            mean, deviation = mean_reward(arms, estimates.noise.luck, s, a)
            if left[s, a] > 0.0:
                surely = max(surely, sense * mean - width * deviation)
        many = 0.0
        for a in range(actions):
            mean, deviation = mean_reward(arms, estimates.noise.luck, s, a)
            if left[s, a] > 0.0 and sense * mean + width * deviation < surely:
                left[s, a] = 0.0
            many += left[s, a]
        for a in range(actions):
            policy[0, s, a] = arms.pairs[SHARE, s, a] = left[s, a] / many
        values[0, s] = 1.0


def _memory(context: Context) -> RivalMemory:
    spec = context.spec
    return RivalMemory(no_arms(spec), np.ones((spec.states, spec.actions)))


def _constants(context: Context) -> Array:
    spec = context.spec
    bounds = spec.states * spec.actions * max(1.0, math.log2(context.users))
    return np.array([MAXIMISE, context.bonus_scale * math.sqrt(2 * math.log(bounds / FAILURE))])


def _question(spec: Spec) -> CountQuestion:
    if spec.horizon != 1:
        raise InvalidInput(
            "bandit-one-step",
            f"This learner is for episodes of one step. Got {spec.horizon}. Take ucbvi, or a horizon of 1.",
        )
    return CountQuestion(spec)


def thompson() -> TabularLearner:
    """Private Thompson sampling for a single step."""
    return TabularLearner("thompson", plan_thompson, _question, _constants, _memory, scaled=False)


def elimination() -> TabularLearner:
    """Private successive elimination for a single step."""
    return TabularLearner("elimination", plan_elimination, _question, _constants, _memory, draws=False)
