"""The compiled loops of the buffered counter, in a file of their own, so that who only reads a design compiles nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from .buffered import FRACTION_BITS


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
