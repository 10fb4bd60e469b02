"""UCRL-VTR in a table: ours, with noise and without. There features are one-hot, and X X' and X Y are functions of counts:

    sum X X' = N(s,a) V V',    sum X Y = V sum_t N(s,a,t) V(t).

So people are asked for N(s,a,t) alone (rewards are known), which takes far less noise than S (S + 3)/2 sums for each pair, and
serves every later V too. With T the variance of the noise in one count, L the factor on the sampling error of those who were heard,
and a pair's N visits, people weighed as in `planning.weighing` where the noise is their own:

1. rows P are what is left of counts when min(2 sqrt(T), n^/5) is taken off each, n^ = max(1, N, sqrt(S T)), clipped and divided by
   their sum; what is known of a pair equals n = sqrt(max(0, N^2 - S T)) visits, 0 if N <= 0;
2. last step first, with V = V_{h+1}: as long as nothing is known the next value has mean m = mean_t V and variance t^2 = Var_t V;
   an observed one has the error e^2 = T sum_t (V_t - P V)^2/n^2 + L (n Var_P V + L t^2)/((n + L) n); with w = t^2/(t^2 + e^2),

       Q = r + w P V + (1 - w) m + c z sqrt(w) e,   c = 0.1 (K/k)^(1/4) after k of K people,

   with one z ~ N(0, 1) a pair, the same for all steps (in a model per step, one a pair and step);
3. the policy is greedy in Q. Rows are believed as far as n^2/(n^2 + S T + L n) when the visits of the next people are computed.

It is `planning.value_sampling` with known rewards. Nothing is to be tuned.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ...mdp import Spec
from ...protocol.kinds.counts import TRANSITIONS, CountQuestion
from ...protocol.releases.release import Array, Estimates
from ..planning.induction import ROWS, SPREAD, VISITS, WIDTH, Workspace, workspace
from ..planning.standard_errors import TIE
from ..planning.value_sampling import know_pairs, one_persons
from ..planning.weighing import WeightedCounts, expect, no_weighted_counts, weigh
from .learner import Context, TabularLearner
from .optimism import constants
from .tight import MODELS

SPREAD_LAST, SPREAD_POWER = 0.1, 0.25
"""c = SPREAD_LAST (K/k)^SPREAD_POWER."""

FIRST = 4
"""Where the known rewards (H, S A) begin among the constants, after K."""


class TableMemory(NamedTuple):
    """Room to plan in, and weighted counts."""

    work: Workspace
    weighted: WeightedCounts


@compiled
def plan_table(
    estimates: Estimates, constants: Array, memory: TableMemory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """Greedy in drawn values; own constants: K, and the known rewards."""
    _, _, noise, users = estimates
    work, weighted = memory
    horizon, states, actions = policy.shape
    if users == 0.0:
        policy[:] = 1.0 / actions
        values[:] = 0.0
        work.pairs[ROWS] = 0.0
    else:
        own = min(1.0, noise.own) * states
        weigh(estimates, own * one_persons(noise.transitions, users) / noise.luck, horizon, weighted)
        know_pairs(weighted, noise, users, work)
        spread = SPREAD_LAST * (constants[3] / users) ** SPREAD_POWER
        for layer in range(work.pairs.shape[1]):
            for i in range(states * actions):
                work.pairs[WIDTH, layer, i] = spread * rng.standard_normal()
        solve_table(work, noise.luck, constants[FIRST:].reshape(horizon, states * actions), rng, policy, values)
    expect(work, policy, weighted)


@compiled
def solve_table(
    work: Workspace, luck: float, rewards: Array, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """Backward induction on drawn values, with known rewards (H, S A)."""
    horizon, states, actions = policy.shape
    layers = work.pairs.shape[1]
    values[horizon, :] = 0.0
    for h in range(horizon - 1, -1, -1):
        layer = h if layers > 1 else 0
        total, power = values[h + 1].sum(), (values[h + 1] * values[h + 1]).sum()
        mean = total / states
        doubt = max(0.0, power / states - mean * mean)
        for i in range(states * actions):
            first, second = 0.0, 0.0
            for t in range(states):
                ahead = work.transitions[layer, t, i] * values[h + 1, t]
                first += ahead
                second += ahead * values[h + 1, t]
            n = work.pairs[VISITS, layer, i]
            w, error = 0.0, doubt
            if n > 0.0 and doubt > 0.0:
                apart = max(0.0, power - first * (2.0 * total - states * first))
                lucky = max(0.0, second - first * first)
                error = work.pairs[SPREAD, layer, i] * apart / (n * n)
                error += luck * (n * lucky + luck * doubt) / ((n + luck) * n)
                w = doubt / (doubt + error)
                error *= w
            drawn = work.pairs[WIDTH, layer, i] * math.sqrt(error) + TIE * rng.random()
            work.q[h, i] = rewards[h, i] + w * first + (1.0 - w) * mean + drawn
        for s in range(states):
            best = s * actions
            for i in range(s * actions, (s + 1) * actions):
                policy[h, s, i - s * actions] = 0.0
                if work.q[h, i] > work.q[h, best]:
                    best = i
            policy[h, s, best - s * actions] = 1.0
            values[h, s] = min(max(work.q[h, best], 0.0), float(horizon - h))


def in_table(name: str, rewards: Array) -> TabularLearner:
    """The learner of a table whose rewards (H, S, A) are known, under the name of the one whose form it is."""
    return TabularLearner(
        name=name,
        plan=plan_table,
        question=_question,
        constants=partial(_constants, rewards=rewards),
        memory=_memory,
        models=MODELS,
        scaled=False,
        expected=_expected,
    )


def _question(spec: Spec) -> CountQuestion:
    return CountQuestion(spec, (TRANSITIONS,))


def _constants(context: Context, rewards: Array) -> Array:
    return constants(context, float(context.users), *rewards.ravel())


def _memory(context: Context) -> TableMemory:
    return TableMemory(workspace(context.spec, dispersed=True), no_weighted_counts(context.spec))


def _expected(memory: TableMemory) -> Array:
    return memory.weighted.expected
