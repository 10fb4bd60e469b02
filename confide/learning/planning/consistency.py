"""Making noisy counts consistent: post-processing that costs no privacy and takes noise away.

A row of transitions sums to the visits of its pair. What flows into a state at one step flows out of it at the next,
and every user is somewhere at the first. Impossible transitions have count zero: every sum below runs over the possible
ones, `support` (S, A, S).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ...protocol.releases.release import Array

Mask = NDArray[np.bool_]

RIDGE = 1e-9
"""Keeps the equations of states that nothing flows into or out of solvable."""


def program(transitions: Array, visits: Array, slack: float, support: Mask) -> Array:
    """The linear program (3) of Qiao and Wang (2023), "Offline Reinforcement Learning with Differential Privacy".

    Row by row: min_x max_t |x_t - n_t| with x >= 0 and |sum_t x_t - n| <= slack, where n_t and n are the noisy counts
    clipped at 0. In closed form: choose the sum in [n - slack, n + slack] that is nearest to that of the n_t, then
    shift all n_t by one tau and clip at 0 again.
    """
    result = np.zeros_like(transitions)
    _program(transitions, visits, slack, support, np.empty(transitions.shape[-1]), result)
    return result


@compiled
def settle(cells: Array, total: float) -> None:
    """Replace cells x >= 0 by max(0, x - tau), with the tau that makes them sum to total >= 0.

    No other cells with that sum, none of them negative, deviate less at worst. Each round drops the cells that tau
    takes below 0, so there are at most as many rounds as cells.
    """
    size = len(cells)
    tau, active = -1.0, size + 1
    while True:
        excess, above = -total, 0
        for i in range(size):
            if cells[i] > tau:
                excess += cells[i]
                above += 1
        if above == 0 or above >= active:
            break
        tau, active = excess / above, above
    for i in range(size):
        cells[i] = max(0.0, cells[i] - tau)


@compiled
def _program(transitions: Array, visits: Array, slack: float, support: Mask, cells: Array, out: Array) -> None:
    layers, states, actions, following = transitions.shape
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                count, clipped = 0, 0.0
                for t in range(following):
                    if support[s, a, t]:
                        cells[count] = max(0.0, transitions[layer, s, a, t])
                        clipped += cells[count]
                        count += 1
                if count == 0:
                    continue
                wanted = max(0.0, visits[layer, s, a])
                settle(cells[:count], max(0.0, min(max(clipped, wanted - slack), wanted + slack)))
                count = 0
                for t in range(following):
                    if support[s, a, t]:
                        out[layer, s, a, t] = cells[count]
                        count += 1


def reconciled(transitions: Array, visits: Array, support: Mask) -> Array:
    """Least squares between rows and separately released visits, which have noise of the same size.

    min sum_t (x_t - n_t)^2 + (sum_t x_t - n)^2 moves each of K cells by (n - sum_t n_t)/(K+1), so that the sum of the
    row, which had K times the noise of one cell, is left with K/(K+1) times.
    """
    possible = np.where(support, transitions, 0.0)
    gap = (visits - possible.sum(axis=-1)) / (support.sum(axis=-1) + 1)
    return np.asarray(np.where(support, possible + gap[..., None], 0.0))


def balanced(transitions: Array, users: int, support: Mask, end: int | None = None) -> Array:
    """The nearest per-step counts (H, S, A, S), by least squares, whose flow is conserved.

    Into t at step h goes sum_{s,a} x_h(s,a,t), out of it at step h+1 goes sum_{a,t'} x_{h+1}(t,a,t'): these are equal
    for every t but `end`, where people stay uncounted; and `users` people leave at the first step. With one multiplier
    l_h(t) for each equation the solution is x_h(s,a,t) = n_h(s,a,t) - l_h(t) + l_{h-1}(s), and the multipliers solve a
    block-tridiagonal system, one block of size S for each step.
    """
    horizon, states = transitions.shape[:2]
    counts = np.where(support, transitions, 0.0)
    inflow, outflow = counts.sum(axis=(1, 2)), counts.sum(axis=(2, 3))
    flowing = np.arange(states) != (-1 if end is None else end)
    between = support.sum(axis=1).astype(np.float64)  # (S, S): through how many actions s leads to t
    into, out = between.sum(axis=0), between.sum(axis=1)
    own = np.diag((into + out)[flowing] + RIDGE)
    step = -between[np.ix_(flowing, flowing)]
    off = inflow[:-1, flowing] - outflow[1:, flowing]
    # The first equation, sum_s out_1(s) = users, is the block of size 1 before the others.
    diagonal = [np.array([[out.sum() + RIDGE]]), *[own] * (horizon - 1)]
    upper = [into[flowing][None, :], *[step] * (horizon - 2)]
    right = [np.array([outflow[0].sum() - users]), *off]
    solved = _block_tridiagonal(diagonal, upper[: horizon - 1], right)
    multipliers = np.zeros((horizon + 1, states))
    multipliers[0] = -solved[0]
    for h in range(1, horizon):
        multipliers[h, flowing] = solved[h]
    shift = multipliers[:-1, :, None, None] - multipliers[1:, None, None, :]
    return np.asarray(np.where(support, counts + shift, 0.0))


def _block_tridiagonal(diagonal: list[Array], upper: list[Array], right: list[Array]) -> list[Array]:
    """Solve a symmetric block-tridiagonal system by elimination and back substitution."""
    factors, carried = [diagonal[0]], [right[0]]
    for block, above, vector in zip(diagonal[1:], upper, right[1:], strict=True):
        eliminated = np.linalg.solve(factors[-1], np.column_stack([above, carried[-1]]))
        factors.append(block - above.T @ eliminated[:, :-1])
        carried.append(vector - above.T @ eliminated[:, -1])
    solution: list[Array] = [np.asarray(np.linalg.solve(factors[-1], carried[-1]), dtype=np.float64)]
    for block, above, vector in zip(factors[-2::-1], upper[::-1], carried[-2::-1], strict=True):
        solution.append(np.asarray(np.linalg.solve(block, vector - above @ solution[-1]), dtype=np.float64))
    return solution[::-1]
