"""Sums of many simulated people's messages, drawn at once from their exact law. Refused for real people.

Between two releases the policy is fixed, so people are exchangeable, and the sum of their messages depends on their
episodes through exact totals alone: a sum of discrete Laplace noises is the difference of two negative binomials, sums of
flipped bits are binomials. Sums of discrete Gaussians and of bounded noise have no closed form: a rounded normal of the
same variance stands for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UnsafeNoise
from ...privacy.guarantee import CENTRAL, LOCAL, SHUFFLE
from ...protocol.design import Design
from ...protocol.releases.report import limits
from ...protocol.releases.sums import Sum
from .curator import Total

Array = NDArray[np.float64]
Drawer = Callable[[Design, Array, NDArray[np.int64], np.random.Generator, int], list[Any]]


def drawn(design: Design, totals: Array, people: NDArray[np.int64], rng: Any, *, batch: int = 0) -> list[Any]:
    """The sums for `take_sum` of a book. totals: (rows, width) exact sums of answers; people: (rows,) how many gave them.

    rng: a numpy generator, which is seeded, as only simulated people's noise may be. batch: theirs, where shufflers mix.
    """
    if not isinstance(rng, np.random.Generator):
        raise UnsafeNoise(
            "draws-real-people", "Only simulated people are drawn at once. Real ones answer one by one, by respond."
        )
    drawer = _DRAWERS.get(design.trust)
    if drawer is not None:
        return drawer(design, totals, people, rng, batch)
    units = totals[0] / design.mechanism.grid
    return [Total(np.rint(units, out=units).astype(np.int64), int(people.sum()))]


def summed(design: Design, totals: Array, people: NDArray[np.int64], rng: np.random.Generator, level: int = 0) -> Sum:
    """The sum of reports to one server or shuffler."""
    mechanism = design.devices[level]
    low, high = limits(design, level)
    cells = np.empty(totals.shape, dtype=np.int64)
    for row, count in enumerate(people.tolist()):
        multiples = mechanism.sum_of(totals[row], count, design.question.trials, rng) / mechanism.grid
        cells[row] = np.clip(np.rint(multiples), low * count, high * count)
    return Sum(design.digest, cells, people, level)


def _local(design: Design, totals: Array, people: NDArray[np.int64], rng: np.random.Generator, batch: int) -> list[Any]:
    return [summed(design, totals, people, rng, 0)]


def _shuffled(
    design: Design, totals: Array, people: NDArray[np.int64], rng: np.random.Generator, batch: int
) -> list[Any]:
    return [summed(design, totals, people, rng, shuffled.level) for shuffled in design.batches_of(batch)]


def _counted(
    design: Design, totals: Array, people: NDArray[np.int64], rng: np.random.Generator, batch: int
) -> list[Any]:
    return [Total(np.rint(totals[0] * design.question.resolution).astype(np.int64), int(people.sum()))]


_DRAWERS: dict[str, Drawer] = {LOCAL: _local, SHUFFLE: _shuffled, CENTRAL: _counted}


def register(trust: str, drawer: Drawer) -> None:
    """Enter the function that draws sums of messages under a trust model whose messages are reports."""
    _DRAWERS[trust] = drawer
