"""Optimistic backward induction over value-targeted regressions: lines 5 to 8 of Algorithm 1 of Liao, He and Gu (2021).

`learners.vtr` states the algorithm and its radius; here it is compiled, for learners and for the simulator alike.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...compiled import compiled
from ...protocol.kinds.mixture import CENTRED, UNIT, MixtureForm
from .least_squares import (
    Sparse,
    factor,
    forward,
    log_determinant,
    raise_eigenvalues,
    solve,
    sparse,
    unpack_block,
    weigh,
)

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_SCALINGS = {UNIT: 1, CENTRED: 2}

DERIVED, PRINTED, PUBLISHED = 0, 1, 2
"""Radii of confidence: ours; LDP-UCRL-VTR's, times c; UCRL-VTR's, in which c multiplies the first term only."""


class PublicProblem(NamedTuple):
    """The public problem, as compiled code takes it."""

    features: Sparse
    rewards: Array  # (H, S A) known rewards
    tops: Array  # (H,) the largest value from each step on
    widths: Array  # (H-1,) half the range of scaled values
    scaling: int  # 0 raw, 1 unit, 2 centred
    diagonal: float
    dimension: int
    parameter_norm: float


class Rule(NamedTuple):
    """How optimistic: constants of the learner, as compiled code takes them."""

    exact_scale: float
    noisy_scale: float
    ridge: float
    radius: int  # DERIVED, PRINTED or PUBLISHED
    floored: bool
    log_confidence: float  # 2 log(1/delta)


class Work(NamedTuple):
    """Room to plan in, and the plan: allocated once, overwritten by every plan."""

    factors: Array  # (blocks, m, m) lower Cholesky factors of one step
    theta: Array  # (blocks, m)
    column: Array  # (m,) scratch
    x: Array  # (m, N) phi_V of the pairs of one block
    q: Array  # (S A,)
    scaled: Array  # (H-1, S) scaled values after each step
    values: Array  # (H+1, S)
    actions: Integers  # (H, S)


@compiled
def rescale(values: Array, scaling: int, out: Array) -> tuple[float, float]:
    """Scaled values; returns shift and factor. The compiled form of `MixtureForm.scaled`."""
    low, high = values[0], values[0]
    for s in range(values.size):
        low, high = min(low, values[s]), max(high, values[s])
    shift, size = 0.0, 1.0
    if scaling == 1:
        size = high
    elif scaling == 2:
        shift, size = (low + high) / 2.0, (high - low) / 2.0
    for s in range(values.size):
        out[s] = (values[s] - shift) / size if size > 0.0 else 0.0
    return shift, size


@compiled
def regress_layer(
    problem: PublicProblem, rule: Rule, cells: Array, gram_radius: float, work: Work
) -> tuple[int, float]:
    """Write factors L of Sigma_h = L L' and theta_h = Sigma_h^-1 u_h of the cells (blocks, c) of one layer into `work`.

    Returns -1, or the block that has no Cholesky factor; and log det Sigma_h.
    """
    volume = 0.0
    for b in range(cells.shape[0]):
        lower, theta = work.factors[b], work.theta[b]
        unpack_block(cells[b], problem.diagonal, lower, theta)
        shift = rule.ridge + 2.0 * gram_radius
        if rule.floored and gram_radius > 0.0:
            raise_eigenvalues(lower, rule.ridge, rule.ridge + gram_radius)
            shift = 0.0
        if not factor(lower, shift, work.column):
            return b, volume
        solve(lower, theta)
        volume += log_determinant(lower)
    return -1, volume


@compiled
def confidence_radius(
    problem: PublicProblem, rule: Rule, h: int, gram_radius: float, vector_radius: float, users: float, volume: float
) -> float:
    """beta_h, by the rule's radius; volume: log det Sigma_h."""
    steps_left = float(problem.tops.size - h)
    scale = rule.noisy_scale if gram_radius > 0.0 else rule.exact_scale
    if rule.radius == PUBLISHED:
        return scale * problem.parameter_norm + steps_left * math.sqrt(max(0.0, rule.log_confidence + volume))
    if rule.radius == PRINTED:
        return float(scale * problem.dimension**0.75 * steps_left**1.5 * (users + 1.0) ** 0.25)
    least = rule.ridge + gram_radius
    slack = 3.0 if rule.floored and gram_radius > 0.0 else 1.0
    growth = volume + problem.dimension * math.log(slack / least)
    sampling_error = problem.widths[h] * math.sqrt(slack * max(0.0, rule.log_confidence + growth))
    bias = math.sqrt(rule.ridge + 3.0 * gram_radius)
    if slack > 1.0:
        bias = bias * bias / math.sqrt(least)
    return float(scale * (sampling_error + vector_radius / math.sqrt(least) + problem.parameter_norm * bias))


@compiled
def action_values(problem: PublicProblem, h: int, beta: float, work: Work) -> None:
    """Write Q_h = r_h + <theta_h, phi_V> + beta_h ||L^-1 phi_V|| into work.q, with V = V_{h+1} of `work`."""
    blocks, size = work.theta.shape
    q, x, features = work.q, work.x, problem.features
    shift, scale = rescale(work.values[h + 1], problem.scaling, work.scaled[h])
    for b in range(blocks):
        first, last = features.bounds[b], features.bounds[b + 1]
        count = last - first
        for c in range(count):
            pair = features.order[first + c]
            weigh(features, pair, work.scaled[h], x, c)
            mean = 0.0
            for i in range(size):
                mean += work.theta[b, i] * x[i, c]
            q[pair] = mean
        forward(work.factors[b], x, count)
        for c in range(count):
            pair = features.order[first + c]
            width = 0.0
            for i in range(size):
                width += x[i, c] * x[i, c]
            q[pair] = problem.rewards[h, pair] + shift + scale * (q[pair] + beta * math.sqrt(width))


@compiled
def plan(
    problem: PublicProblem, rule: Rule, cells: Array, gram_radius: float, vector_radius: float, users: float, work: Work
) -> int:
    """Plan from released cells (L, blocks, c); writes work.values and work.actions.

    Returns -1, or the number of the block that has no Cholesky factor.
    """
    horizon, states = work.actions.shape
    layers, q, actions = cells.shape[0], work.q, problem.rewards.shape[1] // states
    volume = 0.0
    for s in range(states):
        work.values[horizon, s] = 0.0
    for h in range(horizon - 1, -1, -1):
        if h == horizon - 1:
            for i in range(q.size):
                q[i] = problem.rewards[h, i]
        else:
            if layers > 1 or h == horizon - 2:
                layer = h if layers > 1 else 0
                failed, volume = regress_layer(problem, rule, cells[layer], gram_radius, work)
                if failed >= 0:
                    block: int = layer * cells.shape[1] + failed
                    return block
            beta = confidence_radius(problem, rule, h, gram_radius, vector_radius, users, volume)
            action_values(problem, h, beta, work)
        # V_h = max_a Q_h. The best action is chosen before clipping, which keeps the order.
        for s in range(states):
            best = 0
            for a in range(1, actions):
                if q[s * actions + a] > q[s * actions + best]:
                    best = a
            work.actions[h, s] = best
            work.values[h, s] = min(max(q[s * actions + best], 0.0), problem.tops[h])
    return -1


def problem(form: MixtureForm, rewards: Array) -> PublicProblem:
    """The public problem, for compiled code: the form of all questions, and known rewards (H, S, A)."""
    rewards = validation.array("rewards", rewards, (form.spec.horizon, form.spec.states, form.spec.actions))
    tops = value_tops(rewards)
    if (tops[1:] > form.ranges[:-1] * (1 + 1e-12)).any():
        raise validation.refusal(
            "ranges-too-small", "ranges", "at least what rewards can add up to", form.ranges.tolist()
        )
    widths = np.array([(high - low) / 2 for low, high in map(form.reference, range(form.steps))])
    if form.layers == 1:
        widths[:] = widths.max()  # one regression, whose targets are those of all steps
    flat = np.ascontiguousarray(rewards.reshape(form.spec.horizon, -1))
    return PublicProblem(
        sparse(form.features),
        flat,
        tops,
        widths,
        _SCALINGS.get(form.scaling, 0),
        form.diagonal,
        form.features.dimension,
        form.features.parameter_norm,
    )


def value_tops(rewards: Array) -> Array:
    """(H,) the most that rewards (H, S, A) can add up to from each step on."""
    most: Array = rewards.max(axis=(1, 2))[::-1]
    return np.ascontiguousarray(np.cumsum(most)[::-1])


def value_ranges(rewards: Array) -> Array:
    """(H,) the most that rewards (H, S, A) can add up to after each step; after the last, nothing."""
    return np.append(value_tops(rewards)[1:], 0.0)


def workspace(form: MixtureForm) -> Work:
    """Room for problems of this form."""
    features, spec = form.features, form.spec
    pairs = spec.states * spec.actions
    widest = int(np.bincount(features.block.ravel()).max())
    return Work(
        factors=np.zeros((features.blocks, features.size, features.size)),
        theta=np.zeros((features.blocks, features.size)),
        column=np.zeros(features.size),
        x=np.zeros((features.size, widest)),
        q=np.zeros(pairs),
        scaled=np.zeros((form.steps, spec.states)),
        values=np.zeros((spec.horizon + 1, spec.states)),
        actions=np.zeros((spec.horizon, spec.states), dtype=np.int64),
    )
