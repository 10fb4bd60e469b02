"""The possible cells of a large table of transitions: most next states of most pairs cannot be, so only the others are kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PossibleCells:
    """The possible cells of a table (R, C, T), row after row. starts: (R C + 1,), where a row's cells begin; following:
    (cells,), which column each cell is in.
    """

    shape: tuple[int, int, int]
    starts: Indices
    following: Indices

    @classmethod
    def of(cls, possible: NDArray[np.bool_]) -> PossibleCells:
        """The cells that are True in a table (R, C, T)."""
        groups, children, size = possible.shape
        ends = np.cumsum(np.count_nonzero(possible, axis=-1).ravel())
        following = np.flatnonzero(possible) % size
        return cls((groups, children, size), np.append(0, ends).astype(np.int32), following.astype(np.int32))

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(cells,) the row of each cell, all rows on one axis."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """(cells,) where each lies in the table, all of it on one axis."""
        return self.rows * self.shape[-1] + self.following

    def picked(self, tables: Array) -> Array:
        """(L, cells) the possible cells of tables (L, R, C, T)."""
        return np.asarray(tables.reshape(len(tables), -1).take(self.places, axis=1))

    def tables(self, cells: Array) -> Array:
        """(L, R, C, T) the tables with these cells (L, cells), zero where nothing can be."""
        filled = np.zeros((len(cells), int(np.prod(self.shape))))
        filled[:, self.places] = cells
        return filled.reshape(len(cells), *self.shape)

    def each(self, numbers: Array) -> Array:
        """(L, cells) of numbers (L, R, C), one for each row: that of the cell's row."""
        return np.asarray(numbers.reshape(len(numbers), -1).take(self.rows, axis=1))

    def summed(self, cells: Array) -> Array:
        """(L, R, C) the sums of cells (L, cells), row by row."""
        rows = len(self.starts) - 1
        sums = [np.bincount(self.rows, layer, rows).reshape(self.shape[:2]) for layer in cells]
        return np.asarray(sums)

    def arriving(self, cells: Array) -> Array:
        """(L, T) the sums of cells (L, cells), column by column."""
        return np.asarray([np.bincount(self.following, layer, self.shape[-1]) for layer in cells])
