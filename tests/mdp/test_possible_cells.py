"""Possible cells of a table say what the whole table says."""

from __future__ import annotations

import numpy as np
import pytest

from confide.mdp.possible_cells import PossibleCells


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_cells_are_those_of_the_table(share: float) -> None:
    rng = np.random.default_rng(int(10 * share))
    possible = rng.random((4, 3, 5)) < share
    possible[1, 2] = False  # a row that leads nowhere
    ways, tables = PossibleCells.of(possible), np.where(possible, rng.random((2, 4, 3, 5)), 0.0)
    cells = ways.picked(tables)
    assert cells.shape == (2, possible.sum())
    np.testing.assert_array_equal(ways.tables(cells), tables)
    np.testing.assert_allclose(ways.summed(cells), tables.sum(axis=-1))
    np.testing.assert_allclose(ways.arriving(cells), tables.sum(axis=(1, 2)))
    numbers = rng.random((2, 4, 3))
    np.testing.assert_array_equal(ways.tables(ways.each(numbers)), np.where(possible, numbers[..., None], 0.0))
