"""After how many people anything can be learned at all: when the answers stand out from the noise, in a simulated world.

A design foretells when the average count exceeds its error (`designs.outlook`). Where the world is known more can be said. Let d_h
be the best policy's visits at step h, W = sum_h d_h (s,a), U_t = sum_h d_h V_{h+1}(t), and rho the most that people can be at a
pair, whatever they follow: in visits, or, where devices are asked about first visits, in chances. With T and C the variances of
one person's noise in a transition count and in a centred reward, estimating the best value errs by a variance of

    c(s,a) = (T sum_t (U_t + W/2 - P U - W r)^2 + C W^2)/rho^2

over the number of people for every pair, even if all were sent straight there: so by sum c/n, or (sum sqrt(c))^2/n if everybody
is asked about one pair and the law of pairs is the best. It stands out once it is no larger than the squared gap between the best
policy and acting at random. A curator's noise does not grow with n: there it is sqrt(sum c)/gap.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...learning.planning.evaluation import flow_value
from ...mdp import Model
from ...protocol.kinds import asked
from .setting import Setting

Array = NDArray[np.float64]

# Counts stand out once the average one is larger than the error that half of all runs exceed.
HALF = 0.5

MOST_WORK = 10**8
"""Multiplications; in larger worlds only the design is asked."""


def episodes_needed(setting: Setting) -> float:
    """After about how many episodes something can be learned, at least; 0 without privacy."""
    average = setting.episodes_needed(HALF)
    model = setting.environment.model
    if average == 0 or model is None or not setting.compiled:
        return average
    spec = model.spec
    if (spec.states**3 * spec.actions) * spec.horizon > MOST_WORK:
        return average
    return max(average, _standing_out(setting, model))


def _standing_out(setting: Setting, model: Model) -> float:
    """After how many episodes the best policy's value stands out from the noise, by the formula above."""
    spec, people = model.spec, setting.schedule.users
    _, noise = setting.design.errors_at(people)
    first_visits = setting.design.question.kind == asked.KIND
    share = people if noise.own > 0 else 1
    moves, centred = noise.transitions / share, noise.centred / share
    layers = np.arange(spec.horizon) if model.rewards.shape[0] > 1 else np.zeros(spec.horizon, dtype=np.int64)
    P, r = model.transitions[layers], model.rewards[layers]
    best, values = _best(P, r)
    visits = _visits(P, model.initial, best)
    layer_of_step = layers if spec.layers > 1 else np.zeros(spec.horizon, dtype=np.int64)
    costs = []
    for layer, s, a in np.ndindex(spec.layers, spec.states, spec.actions):
        steps = layer_of_step == layer
        weight = visits[steps, s, a].sum()
        if weight > 0:
            future = visits[steps, s, a] @ values[1:][steps]
            return_ahead = (
                visits[steps, s, a] * ((P[steps, s, a] * values[1:][steps]).sum(axis=-1) + r[steps, s, a])
            ).sum()
            spread = moves * ((future + weight / 2 - return_ahead) ** 2).sum() + centred * weight**2
            costs.append(spread / _most(P, model.initial, steps, s, a, first_visits) ** 2)
    uniform, scratch = np.full_like(best, 1 / spec.actions), np.empty((2, spec.states))
    gap = float(model.initial @ values[0]) - flow_value(
        model.transitions, model.rewards, model.initial, uniform, scratch
    )
    if gap <= 0:
        return 0.0
    if noise.own == 0:
        return math.sqrt(sum(costs)) / gap
    return (sum(map(math.sqrt, costs)) ** 2 if first_visits else sum(costs)) / gap**2


def _best(P: Array, r: Array) -> tuple[Array, Array]:
    """The best policy (H, S, A) and its values (H+1, S)."""
    horizon, states, actions = r.shape
    policy, values = np.zeros(r.shape), np.zeros((horizon + 1, states))
    for h in reversed(range(horizon)):
        q = r[h] + P[h] @ values[h + 1]
        policy[h] = np.eye(actions)[q.argmax(axis=1)]
        values[h] = q.max(axis=1)
    return policy, values


def _visits(P: Array, initial: Array, policy: Array) -> Array:
    """(H, S, A) visits of one who follows a policy."""
    visits, here = np.zeros(policy.shape), initial
    for h in range(len(policy)):
        visits[h] = here[:, None] * policy[h]
        here = np.einsum("sa,sat->t", visits[h], P[h])
    return visits


def _most(P: Array, initial: Array, steps: NDArray[np.bool_], s: int, a: int, first_visits: bool) -> float:
    """The most visits of a pair at some of the steps that any policy makes, or the largest chance of one."""
    most_ahead = np.zeros(len(initial))
    for h in reversed(range(len(P))):
        continuing = P[h] @ most_ahead
        if steps[h]:
            continuing[s, a] = 1.0 if first_visits else continuing[s, a] + 1.0
        most_ahead = continuing.max(axis=1)
    return float(initial @ most_ahead)
