"""How many people until something exceeds its noise: the average statistic, the average pair, or the best policy's value.

**A statistic**, from a design alone (`people_needed`): the average one is larger than the error that half of all releases exceed.

**A pair** of state and action (`people_for_pair`), which one person visits 1/each times: its visits exceed `STANDS_OUT` standard
deviations of the noise in the row of counts that adds up to them (`row_noise`), or in visits that are asked for by themselves.

**A value** (`people_for_value`), where the world is known. Let d_h be the best policy's visits at step h, W = sum_h d_h (s,a),
U_t = sum_h d_h V_{h+1}(t), and rho the most that people can be at a pair, whatever they follow: in visits, or, where devices are
asked about first visits, in chances. With T and C the variances of one person's noise in a transition count and in a centred
reward, estimating the best value errs by a variance of

    c(s,a) = (T sum_t (U_t + W/2 - P U - W r)^2 + C W^2)/rho^2

over the number of people for every pair, even if all were sent straight there: so by sum c/n, or (sum sqrt(c))^2/n if every user
is asked about one pair and the law of pairs is the best. It exceeds the noise once it is no larger than the squared gap between
the best policy and acting at random. A curator's noise does not grow with n: there it is sqrt(sum c)/gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..mdp import Model
from .design import Array, Design
from .kinds import asked

TYPICAL = 0.5
"""Half of all releases have a larger error than the typical one."""

STANDS_OUT = 2.0
"""A pair exceeds the noise when its visits exceed this many standard deviations of their noise."""

MOST_PEOPLE = 1e18

LEAST_VISITS = 1e-100
"""Pairs that the best policy visits less often are left out: their squares would be zero."""

MOST_WORK = 10**8
"""Multiplications; in larger worlds only the design is asked."""


def typical_error(design: Design, people: ArrayLike) -> Array:
    """The error that half of all releases about this many people exceed, as a share of the average count. At 1 it equals it."""
    which, signal = design.kind.signal(design.question)
    numbers = np.asarray(people, dtype=np.float64)
    return np.asarray(design.radii(numbers, TYPICAL)[..., which] / (signal * numbers))


def people_needed(design: Design, failure: float = TYPICAL) -> float:
    """After about how many people the average statistic exceeds its error; 0 without privacy.

    Where every user adds noise of their own the error grows like sqrt(n), so n >= (error(n)/sqrt(n)/signal)^2; a
    curator's, and that of a tree of shufflers, does not grow, or hardly. Which it is, the noise itself tells.
    """
    users = design.schedule.users
    which, signal = design.kind.signal(design.question)
    count = users if design.mixing is not None else max(users, 10**6)
    error = float(design.radii(count, failure)[which])
    if error == 0:
        return 0.0
    quarter = float(design.law(max(count // 4, 1)).variance())
    grows = quarter > 0 and float(design.law(count).variance()) > 2 * quarter
    return (error / signal) ** 2 / count if grows else error / signal


def row_noise(noise: float, width: float, visits: float | None) -> float:
    """The deviation of the noise in a row's sum over `width` next states; with visits by themselves, that of both together."""
    row = noise * math.sqrt(width)
    return row if visits is None else row * visits / math.hypot(row, visits)


def people_for_pair(noise: float | Callable[[float], float], each: float) -> float:
    """The least number of people whose average pair exceeds the noise; infinite beyond `MOST_PEOPLE`. each: how many people visit
    it once.

    noise: the deviation of a row's sum, or a function of the number of people, which is searched to one part in a thousand.
    """
    if not callable(noise):
        return float(math.ceil(STANDS_OUT * noise * each))
    low, high = 1.0, 1.0
    while high / each < STANDS_OUT * noise(high):
        low, high = high, high * 2
        if high > MOST_PEOPLE:
            return math.inf
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        stands = middle / each >= STANDS_OUT * noise(middle)
        low, high = (low, middle) if stands else (middle, high)
    return math.ceil(high)


def people_for_value(design: Design, model: Model) -> float:
    """After how many people the best policy's value exceeds its noise, by the formula above; 0 where that is too much work."""
    spec, people = model.spec, design.schedule.users
    if (spec.states**3 * spec.actions) * spec.horizon > MOST_WORK:
        return 0.0
    _, noise = design.errors_at(people)
    about_pairs = asked.family_of(design)
    first_visits = about_pairs is not None
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
        if weight > LEAST_VISITS:
            future = visits[steps, s, a] @ values[1:][steps]
            return_ahead = (
                visits[steps, s, a] * ((P[steps, s, a] * values[1:][steps]).sum(axis=-1) + r[steps, s, a])
            ).sum()
            spread = moves * ((future + weight / 2 - return_ahead) ** 2).sum() + centred * weight**2
            costs.append(spread / _most(P, model.initial, steps, s, a, first_visits) ** 2)
    at_random = _visits(P, model.initial, np.full_like(best, 1 / spec.actions))
    gap = float(model.initial @ values[0]) - float((at_random * r).sum())
    if gap <= 0:
        return 0.0
    if noise.own == 0:
        return math.sqrt(sum(costs)) / gap
    if about_pairs is not None:
        return float(sum(map(math.sqrt, costs)) ** 2 / gap**2 / about_pairs.share)
    return float(sum(costs) / gap**2)


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
