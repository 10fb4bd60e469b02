"""Our own plan, for counts that are mostly noise. UCB-VI and LDP-OBI both offer it, so under `tight` they are one learner.

**A curator's noise** (joint privacy). Greedy in a model that is drawn from what the counts leave possible
(`planning.sampling`), several draws a batch: no bonus, and no scale to choose.

**Noise of people's own, and none.** Optimism, below; `bonus="optimism"` has it under every trust.

A paper's bonus covers the worst case of every cell at once, S E H / n, and then drowns what was learned. Four things
are done differently here; none touches privacy, since all of it is computed from releases.

1. Where everybody's noise is their own (local privacy), a pair whose reward is known to within a fifth listens to those
   only who may have been there: people are weighed by the visits expected of them (`planning.weighing`). Its N, R below
   are these weighed sums, and E_n, E_r, E_p their radii: those of the release times sqrt(sum u^2 m / k). So what is known
   stays known. What is not goes by plain sums: their noise never rests, and sees to it that everything is tried.
2. Transition counts are shrunk by half their error radius (at most n / 5), so that noise in impossible cells vanishes
   and every row is a distribution (`estimate.shrink_pair`).
3. n = max(1, N, E_n/4): where N is no more than its own noise, the reward is shrunk and the bonus stays bounded, so that
   people are not sent to explore again and again what is too noisy to learn.
4. The errors of a row's cells are independent, so their effect on P V is the root of a sum of squares around P V, not
   S H E / n. With l = ln(2 + k) / 4 after k users and c = 0.05,

       b_h = sqrt(2 l (r(1-r)/n + (c E_r/n)^2)) + l/n + (H-h+1) l/n
             + sqrt(2 l (Var_P(V_{h+1})/n + (c E_p/n)^2 sum_s' (V_{h+1}(s') - P V_{h+1})^2)).

Without noise, a pair nobody has visited is worth everything: b = H at least.

The constants were chosen on RiverSwim (6 states, H = 20), random 5x3 and random 2x2 worlds, with seeds of instances and
runs kept apart from those of any published table. A radius is about four standard deviations, so c stands for a fifth
of one: bolder than any theorem. It serves long horizons, where bonuses add up and noise explores by itself; under local
noise even less is better there. In small worlds a bonus scale of 3 is better, because actions may differ by less than a
fifth, and then one that was unlucky may wait for very long.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..compiled import merged
from ..planning.estimate import shrink_pair
from ..planning.induction import (
    GREEDY,
    NOISE,
    REWARD,
    SLOPE,
    SPREAD,
    VISITS,
    WIDTH,
    Workspace,
    backward_induction,
    workspace,
)
from ..planning.sampling import draw_model
from ..planning.weighing import Heard, expect, heard_people, nothing_heard, weigh
from ..releases.release import Array, Estimates
from .learner import Context

THRESHOLD = 0.5
SHARE = 0.2
FLOOR = 0.25
LUCK = 0.25
DOUBT = 0.05
KNOWN = 0.2

DEVIATION = 0.25
"""A radius is about four standard deviations."""


class Memory(NamedTuple):
    """Room to plan in, and what people told so far."""

    work: Workspace
    heard: Heard


def memory(context: Context) -> Memory:
    """Before anybody came."""
    return Memory(workspace(context.spec, dispersed=True), nothing_heard(context.spec))


def expected(memory: Memory) -> Array:
    """(L, S, A) the visits expected of somebody who follows the policy at hand: where it is worth asking."""
    return memory.heard.expected


@merged
def plan_optimism(
    estimates: Estimates, constants: Array, memory: Memory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """See the module."""
    counts, radius, noise, users = estimates
    work, heard = memory
    layers, states, actions = counts.visits.shape
    horizon, scale = policy.shape[0], constants[2]
    deviation = DEVIATION * radius.visits
    weigh(counts, users, noise.own * deviation * deviation / max(1.0, users), horizon, heard)
    luck = LUCK * math.log(2.0 + users)
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                i = s * actions + a
                less = math.sqrt(heard.people[layer, s, a] / users) if users > 0.0 else 1.0
                told = heard.counts
                if DEVIATION * less * radius.rewards > KNOWN * heard.counts.visits[layer, s, a]:
                    told, less = counts, math.sqrt(heard_people(counts, users, layer, s, a) / max(1.0, users))
                cell_radius, floor = less * radius.transitions, FLOOR * less * radius.visits
                shrink_pair(told, layer, s, a, THRESHOLD * cell_radius, SHARE, floor, work)
                n, r = work.pairs[VISITS, layer, i], work.pairs[REWARD, layer, i]
                reward_error, cell_error = DOUBT * less * radius.rewards / n, DOUBT * cell_radius / n
                width = math.sqrt(2.0 * luck * (r * (1.0 - r) / n + reward_error * reward_error)) + luck / n
                if radius.visits == 0.0 and counts.visits[layer, s, a] < 1.0:
                    width = float(horizon)
                work.pairs[WIDTH, layer, i] = scale * width
                work.pairs[SLOPE, layer, i] = scale * luck / n
                work.pairs[SPREAD, layer, i] = scale * scale * 2.0 * luck / n
                work.pairs[NOISE, layer, i] = scale * scale * 2.0 * luck * cell_error * cell_error
    backward_induction(work, constants[0], constants[1], 1.0, GREEDY, policy, values)
    expect(work, policy, heard)


@merged
def plan_tight(
    estimates: Estimates, constants: Array, memory: Memory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """Greedy in a drawn model where the noise is a curator's; optimism elsewhere."""
    noise = estimates.noise
    if noise.own == 0.0 and noise.transitions > 0.0:
        draw_model(estimates.counts, noise, memory.work, rng)
        backward_induction(memory.work, constants[0], constants[1], 1.0, GREEDY, policy, values)
    else:
        plan_optimism(estimates, constants, memory, rng, policy, values)


MODELS = 8
"""How many drawn models the people of one batch follow, each at random one of them."""
