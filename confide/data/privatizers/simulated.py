"""Sums of many simulated people's messages, drawn at once from their exact law. Refused for real people.

Between two releases the policy is fixed, so people are exchangeable, and the sum of their messages depends on their
episodes through exact totals alone: a sum of discrete Laplace noises is the difference of two negative binomials, sums of
flipped bits are binomials. Sums of discrete Gaussians and of bounded noise have no closed form: a rounded normal of the
same variance stands for them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...errors import UnsafeNoise
from ...protocol.design import Design
from ...protocol.releases.report import limits
from ...protocol.releases.sums import Sum
from ...protocol.trusts.trust import find
from .curator import Total
from .dataset import grid_of

Array = NDArray[np.float64]


def drawn(
    design: Design, totals: Array, people: NDArray[np.int64], rng: np.random.Generator, *, batch: int = 0
) -> list[Sum | Total]:
    """The sums for `take_sum` of an aggregate. totals: (rows, width) exact sums of answers; people: (rows,) how many gave them.

    rng: a numpy generator, which is seeded, as only simulated people's noise may be. batch: theirs, where shufflers mix.
    """
    if not isinstance(rng, np.random.Generator):
        raise UnsafeNoise(
            "draws-real-people", "Only simulated users are drawn at once. Real ones report one by one, by respond."
        )
    trust = find(design.trust)
    if not trust.episodes:
        return [summed(design, totals, people, rng, shuffled.level) for shuffled in design.batches_of(batch)]
    grid = design.mechanism.grid if trust.continual else grid_of(design)
    units = totals[0] / grid
    return [Total(np.rint(units, out=units).astype(np.int64), int(people.sum()))]


def drawn_from(design: Design, groups: Iterable[Array], rng: np.random.Generator) -> Sum:
    """The sum of reports to one server where it matters who has which vector: of groups of answers (n, width)."""
    mechanism, people = design.devices[0], 0
    total, (low, high) = np.zeros(design.question.width), limits(design)
    for vectors in groups:
        total += mechanism.sum_over(vectors, rng)
        people += len(vectors)
    cells = np.clip(np.rint(total / mechanism.grid), low * people, high * people).astype(np.int64)
    return Sum(design.digest, cells[None], np.array([people]))


def summed(design: Design, totals: Array, people: NDArray[np.int64], rng: np.random.Generator, level: int = 0) -> Sum:
    """The sum of reports to one server or shuffler."""
    low, high = limits(design, level)
    cells = np.zeros(totals.shape, dtype=np.int64)
    for rows, mechanism in design.kind.by_rows(design, level):
        size = mechanism.categories or totals.shape[1]
        trials = design.question.trials[:size]
        for row in (rows.start + np.flatnonzero(people[rows])).tolist():  # of no user there is no message
            count = int(people[row])
            multiples = mechanism.sum_of(totals[row, :size], count, trials, rng) / mechanism.grid
            cells[row, :size] = np.clip(np.rint(multiples), low[:size] * count, high[:size] * count)
    return Sum(design.digest, cells, people, level)
