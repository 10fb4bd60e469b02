"""Rows of transitions borrow strength from each other: the next states of all actions of a state, and of all states.

A child row (the next states after (s, a)) is drawn around its parent (the next states after s): its squared distance
to the parent is kappa (1 - sum_t P(t)^2) on average, as under a Dirichlet prior of concentration 1/kappa - 1. Observed
in N visits, with noise of total variance v in its counts, it is off by (1 - sum_t P(t)^2)/N + v/N^2. The best mixture
of the two gives the observation the weight

    w = kappa (1 - sum P^2) / (kappa (1 - sum P^2) + (1 - sum P^2)/N + v/N^2),

and kappa is read off all rows at once, by moments (James and Stein 1961; Efron and Morris 1973). A row that was never
visited becomes its parent's; one that was visited often keeps what it has, privacy or not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ...mdp.possible_cells import Indices, PossibleCells
from ...protocol.releases.release import Array
from .consistency import settle

SMALLEST, LARGEST, USUAL = 1e-3, 1.0, 0.1
"""Bounds on kappa, and what it is taken for where no row is seen well enough to tell."""

CLEAR = 3.0
"""Rows take part in estimating kappa if their variance is less than this multiple of that of a single visit."""

ROUNDS = 10


class Shrunken(NamedTuple):
    """Rows that are distributions, as (cells,) of their ways, and the weight (R, C) of each one's own counts.

    doubt: (R, C), the variance that is left of the estimate of P V, in units of Var_P(V): w^2 of the row's own error
    and (1 - w)^2 of what parents and children may differ by, for which `most`, one standard error above kappa, stands.
    """

    rows: Array
    weights: Array
    doubt: Array
    most: float


def shrink(counts: Array, ways: PossibleCells, noise: Array, parents: Array, along: Array | None = None) -> Shrunken:
    """Children (R, C, T), of which the possible cells are known, mixed with their parents (R, T). noise: (R, C), the variance of
    noise in one cell of a child.

    `along` (T,) is a value function: rows are then compared by what they make of it alone. That is where they must be
    right, and there they differ more than in other directions, while noise does not know directions.
    Children are mixed before they are clipped, so that noise in empty cells averages out first.
    """
    shape = ways.shape[:2]
    visits = ways.summed(counts[None])[0]
    cells = RowCells(ways.starts, ways.following)
    compared = np.empty((3, *shape))
    value = np.zeros(0) if along is None else np.ascontiguousarray(along)
    _compare(counts, cells, visits, parents, value, compared)
    distance, variance, reach = compared
    total = noise * reach
    kappa, most = _dispersion(visits, total, distance, variance)
    seen = np.maximum(visits, 1.0)
    error = variance / seen + total / seen**2
    weights = np.where(error > 0, kappa * variance / np.maximum(kappa * variance + error, 1e-300), 1.0)
    weights = np.where(visits >= 1, weights, 0.0)
    doubt = weights**2 * error / np.maximum(variance, 1e-300) + (1 - weights) ** 2 * most
    doubt = np.where(variance > 0, doubt, most)
    rows = np.empty_like(counts)
    _mix(counts, cells, visits, parents, weights, rows)
    return Shrunken(rows, weights, doubt, most)


def _dispersion(visits: Array, noise: Array, distance: Array, variance: Array) -> tuple[float, float]:
    """kappa by weighted moments, and one standard error more.

    The parent contains the child, which makes them more alike than two strangers. Squared distances have a standard
    deviation of sqrt 2 times their mean, if they are squares of normal numbers.
    """
    clear = (visits > 1) & (
        variance / np.maximum(visits, 1.0) + noise / np.maximum(visits, 1.0) ** 2 < CLEAR * variance
    )
    if not clear.any():
        return USUAL, LARGEST
    present = np.maximum(visits, 0.0)
    total = np.maximum(present.sum(axis=1, keepdims=True), 1.0)
    share = present / total
    signal = variance * ((1 - share) ** 2 + (share**2).sum(axis=1, keepdims=True) - share**2)
    n = np.maximum(visits, 1.0)
    expected = variance * (1 / n - 1 / total) + noise * (1 / n**2 - 2 / (n * total))
    expected = expected + noise.sum(axis=1, keepdims=True) / total**2
    kappa = USUAL
    for _ in range(ROUNDS):
        weight = np.where(clear, signal / np.maximum(kappa * signal + expected, 1e-100) ** 2, 0.0)
        below = float((weight * signal).sum())
        if below <= 0:
            return USUAL, LARGEST
        kappa = float(np.clip((weight * (distance - expected)).sum() / below, SMALLEST, LARGEST))
    return kappa, min(kappa + math.sqrt(2 / below), LARGEST)


class RowCells(NamedTuple):
    """Where each row's cells begin, and the next state of each cell."""

    starts: Indices
    following: Indices


@compiled
def _compare(counts: Array, cells: RowCells, visits: Array, parents: Array, value: Array, compared: Array) -> None:
    """How far each child's empirical row is from its parent where it may lead, and how far one visit would be: (3, R, C).

    Without a value: sum_t (P^ - P)^2, 1 - sum_t P^2 and the number of cells. With one: the squares of its means'
    difference, its variance under P, and the sum of (V - P V)^2 over the cells.
    """
    starts, following = cells
    groups, children = visits.shape
    for r in range(groups):
        for c in range(children):
            first, last = starts[r * children + c], starts[r * children + c + 1]
            mass, mean = 0.0, 0.0
            for i in range(first, last):
                mass += parents[r, following[i]]
            if len(value) > 0:
                for i in range(first, last):
                    p = parents[r, following[i]] / mass if mass > 0.0 else 1.0 / (last - first)
                    mean += p * value[following[i]]
            n = max(1.0, visits[r, c])
            apart, spread, reach = 0.0, 0.0, 0.0
            for i in range(first, last):
                p = parents[r, following[i]] / mass if mass > 0.0 else 1.0 / (last - first)
                gap = counts[i] / n - p
                if len(value) > 0:
                    off = value[following[i]] - mean
                    apart += gap * off
                    spread += p * off * off
                    reach += off * off
                else:
                    apart += gap * gap
                    spread += p * (1.0 - p)
                    reach += 1.0
            compared[0, r, c] = apart * apart if len(value) > 0 else apart
            compared[1, r, c] = spread
            compared[2, r, c] = reach


@compiled
def _mix(counts: Array, cells: RowCells, visits: Array, parents: Array, weights: Array, rows: Array) -> None:
    """parent + weight (child - parent), made a distribution by `settle`."""
    starts, following = cells
    groups, children = visits.shape
    for r in range(groups):
        for c in range(children):
            first, last = starts[r * children + c], starts[r * children + c + 1]
            if first == last:
                continue
            mass = 0.0
            for i in range(first, last):
                mass += parents[r, following[i]]
            n, w = max(1.0, visits[r, c]), weights[r, c]
            for i in range(first, last):
                p = parents[r, following[i]] / mass if mass > 0.0 else 1.0 / (last - first)
                rows[i] = max(0.0, p + w * (counts[i] / n - p))
            settle(rows[first:last], 1.0)
