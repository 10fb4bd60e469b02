"""The compiled loop of the Toeplitz counter, in a file of its own, so that who only reads a design compiles nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

BLOCK = 1024
"""This many cells are summed over the whole history before the next ones: their sums stay in the processor's cache."""


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
