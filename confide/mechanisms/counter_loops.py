"""The compiled loops of continual counters, in a file of their own, so that who only reads a design compiles nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from .buffered import FRACTION_BITS

BLOCK = 1024
"""This many cells are summed over the whole history before the next ones: their sums stay in the processor's cache."""


@compiled
def report(
    start: int,
    increment: NDArray[np.int64],
    noise: NDArray[np.int64],
    buffers: NDArray[np.int64],
    weights: NDArray[np.float64],
    decays: NDArray[np.float64],
) -> None:
    """Turn the noise of the cells from `start` on into their reports, in grids, and let their buffers remember."""
    cells = noise.size
    past = np.zeros(cells)
    for i in range(weights.size):
        for cell in range(cells):
            buffer = buffers[i, start + cell]
            past[cell] += weights[i] * buffer
            decayed = buffer - np.int64(np.rint(decays[i] * buffer))
            buffers[i, start + cell] = decayed + (increment[start + cell] << FRACTION_BITS)
    for cell in range(cells):
        noise[cell] += increment[start + cell] + np.int64(np.rint(past[cell] / (1 << FRACTION_BITS)))


@compiled
def release(
    start: int,
    report: NDArray[np.int64],
    buffers: NDArray[np.float64],
    weights: NDArray[np.float64],
    decays: NDArray[np.float64],
    released: NDArray[np.float64],
) -> None:
    """The release of the cells from `start` on, in grids: a function of reports alone."""
    for cell in range(report.size):
        released[start + cell] = 0.0
    for m in range(weights.size):
        for cell in range(report.size):
            buffer = buffers[m, start + cell]
            buffer += report[cell] - decays[m] * buffer
            buffers[m, start + cell] = buffer
            released[start + cell] += weights[m] * buffer


@compiled
def convolved(history: NDArray[np.int64], rows: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over k of weights[k] history[rows-1-k], by Kahan's compensated summation, cell by cell."""
    cells = history.shape[1]
    total = np.zeros(cells)
    lost = np.zeros(cells)
    for start in range(0, cells, BLOCK):
        end = min(start + BLOCK, cells)
        for k in range(rows):
            for cell in range(start, end):
                term = weights[k] * history[rows - 1 - k, cell] - lost[cell]
                larger = total[cell] + term
                lost[cell] = (larger - total[cell]) - term
                total[cell] = larger
    return total
