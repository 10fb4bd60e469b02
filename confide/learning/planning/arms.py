"""Arms by context: mean rewards drawn from what noisy counts of a single step leave possible.

Nothing follows a single step, so all that is asked is which context (state) a person met, which arm (action) she took, and what it
paid. After every release, for the people who came since the one before, m of them:

1. **The law of contexts** is estimated once, from all arms together: d(s) is the share of visits of s, with variance
   A V/n^2 + 1/(S n) after n people, V that of the noise of a pair's visits; it is shrunk towards 1/S, from which it differs by
   about as much.
2. **Who says something about an arm** are those who were sent to it: a share p of the m, which is public. Where noise is people's
   own their sums get the weight u = x/(C + x/4), with x = m p d and C the variance of the noise in their centred rewards, so that
   those who never were there add nothing; a curator's noise does not grow with people, and all have the weight 1.
3. **Visits** are expected to be d times the sum of u m p. What was counted of them moves that as far as its noise allows.
4. A mean reward is 1/2 + R/N with the error e^2 = (var R + (R/N)^2 var N + L r (1-r) sum u^2 x)/N^2, L being by how much the
  sampling error
   of those who were heard exceeds every user's. With a prior of mean 1/2 and variance t^2 = 1/12 it becomes Gaussian of mean
   w r + (1-w)/2 and variance w e^2, w = t^2/(t^2 + e^2).
5. Each arm draws from that, its spread times c, and the best is taken.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ...mdp import Spec
from ...protocol.releases.release import CURATORS, Array, Estimates

REWARD, COUNTED, SENT, REWARD_NOISE, COUNT_NOISE, HEARD, LAST_REWARD, LAST_COUNTED, SHARE = range(9)
"""The rows of `ArmsMemory.pairs`: weighed sums of centred rewards, of visits and of people sent, the variance of the noise in the
first two, sum u^2 x, the sums of the last release, and the share of the next people who are sent to each arm."""

DOUBT = 1 / 12
"""t^2: what is thought of an untried arm, a reward anywhere between 0 and 1."""


class ArmsMemory(NamedTuple):
    """What is known of arms. pairs: (9, S, A). law: (2, S), the contexts' law and its variance. last: (3,) people, and the noise of
    centred rewards and of visits in the last release.
    """

    pairs: Array
    law: Array
    last: Array


def no_arms(spec: Spec) -> ArmsMemory:
    """The memory before the first user; empty where episodes have more than one step."""
    sizes = (spec.states, spec.actions) if spec.horizon == 1 else (0, 0)
    memory = ArmsMemory(np.zeros((9, *sizes)), np.full((2, sizes[0]), 1.0 / max(1, sizes[0])), np.zeros(3))
    memory.pairs[SHARE] = 1.0 / max(1, sizes[1])
    return memory


@compiled
def learn_contexts(estimates: Estimates, memory: ArmsMemory) -> None:
    """Write the law of contexts and its variance."""
    counts, _, noise, users = estimates
    _, states, actions = counts.visits.shape
    usual = 1.0 / (states * states)
    spread = actions * noise.visits / (users * users) + 1.0 / (states * users)
    believed = usual / (usual + spread)
    total = 0.0
    for s in range(states):
        share = 0.0
        for a in range(actions):
            share += counts.visits[0, s, a]
        memory.law[0, s] = max(0.05 / states, believed * share / users + (1.0 - believed) / states)
        memory.law[1, s] = believed * spread if states > 1 else 0.0
        total += memory.law[0, s]
    for s in range(states):
        memory.law[0, s] /= total


@compiled
def hear(estimates: Estimates, memory: ArmsMemory) -> None:
    """Add what is new in a release to what is known of arms; one that was heard before changes nothing."""
    counts, _, noise, users = estimates
    pairs, law, last = memory
    if users == last[0]:
        return
    _, states, actions = counts.visits.shape
    learn_contexts(estimates, memory)
    newcomers = users - last[0]
    reward_noise, count_noise = max(0.0, noise.centred - last[1]), max(0.0, noise.visits - last[2])
    for s in range(states):
        for a in range(actions):
            counted = counts.visits[0, s, a]
            reward = counts.rewards[0, s, a] - 0.5 * counted
            sent = newcomers * pairs[SHARE, s, a]
            there = sent * law[0, s]
            if noise.own == CURATORS:
                pairs[REWARD, s, a], pairs[COUNTED, s, a] = reward, counted
                pairs[REWARD_NOISE, s, a], pairs[COUNT_NOISE, s, a] = noise.centred, noise.visits
                pairs[SENT, s, a] += sent
                pairs[HEARD, s, a] += there
            else:
                u = there / (reward_noise + 0.25 * there) if there > 0.0 else 0.0
                pairs[REWARD, s, a] += u * (reward - pairs[LAST_REWARD, s, a])
                pairs[COUNTED, s, a] += u * (counted - pairs[LAST_COUNTED, s, a])
                pairs[REWARD_NOISE, s, a] += u * u * reward_noise
                pairs[COUNT_NOISE, s, a] += u * u * count_noise
                pairs[SENT, s, a] += u * sent
                pairs[HEARD, s, a] += u * u * there
            pairs[LAST_REWARD, s, a], pairs[LAST_COUNTED, s, a] = reward, counted
    last[0], last[1], last[2] = users, noise.centred, noise.visits


@compiled
def mean_reward(memory: ArmsMemory, luck: float, s: int, a: int) -> tuple[float, float]:
    """The mean and the standard deviation of what is thought of an arm's reward."""
    pairs, law, _ = memory
    sent, heard = pairs[SENT, s, a], pairs[HEARD, s, a]
    if sent <= 0.0:
        return 0.5, math.sqrt(DOUBT)
    expected = law[0, s] * sent
    doubt = sent * sent * law[1, s] + (heard if law.shape[1] > 1 else 0.0)
    seen = pairs[COUNT_NOISE, s, a]
    gain = doubt / (doubt + seen) if doubt > 0.0 else 0.0
    visits = max(expected + gain * (pairs[COUNTED, s, a] - expected), 0.1 * expected)
    apart = min(0.5, max(-0.5, pairs[REWARD, s, a] / visits))
    enough = visits * visits / heard
    paid = ((0.5 + apart) * enough + 1.0) / (enough + 2.0)
    error = pairs[REWARD_NOISE, s, a] + apart * apart * gain * seen + luck * heard * paid * (1.0 - paid)
    error /= visits * visits
    believed = DOUBT / (DOUBT + error)
    return 0.5 + believed * apart, math.sqrt(believed * error)


@compiled
def draw_arms(
    memory: ArmsMemory, luck: float, sense: float, how: tuple[float, float], rng: np.random.Generator, policy: Array
) -> None:
    """Write into policy (1, S, A), in every context, the arm whose drawn mean is best. how: the factor c on sampling error, and the
    share of the next people who follow this policy."""
    _, states, actions = policy.shape
    spread, share = how
    for s in range(states):
        best, most = 0, -math.inf
        for a in range(actions):
            mean, deviation = mean_reward(memory, luck, s, a)
            drawn = sense * (mean + spread * deviation * rng.standard_normal())
            policy[0, s, a] = 0.0
            memory.pairs[SHARE, s, a] *= 1.0 - share
            if drawn > most:
                best, most = a, drawn
        policy[0, s, best] = 1.0
        memory.pairs[SHARE, s, best] += share
