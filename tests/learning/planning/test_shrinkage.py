from __future__ import annotations

import numpy as np
import pytest

from confide.learning.planning import shrinkage
from confide.mdp.possible_cells import PossibleCells


def shrink(counts, support, noise, parents, along=None):
    """Of whole tables, where cells that cannot be are left out."""
    ways = PossibleCells.of(support)
    result = shrinkage.shrink(ways.picked(counts[None])[0], ways, noise, parents, along)
    return result._replace(rows=ways.tables(result.rows[None])[0])


def rows_around(rng, parent, kappa, children):
    return rng.dirichlet(parent * (1 / kappa - 1), children)


@pytest.mark.parametrize("noise", [0.0, 5.0])
@pytest.mark.parametrize("along", [False, True])
def test_shrinking_beats_the_counts_and_the_parent(noise, along):
    rng = np.random.default_rng(0)
    size, children, kappa = 6, 400, 0.1
    parent = rng.dirichlet(np.ones(size))
    truth = rows_around(rng, parent, kappa, children)
    visits = rng.integers(5, 60, children)
    counts = np.array([rng.multinomial(n, p) for n, p in zip(visits, truth, strict=True)], dtype=float)
    counts += noise * rng.standard_normal(counts.shape)
    value = rng.random(size) if along else None
    support = np.ones((1, children, size), dtype=bool)
    result = shrink(counts[None], support, np.full((1, children), noise**2), counts.sum(axis=0)[None].clip(0), value)
    np.testing.assert_allclose(result.rows.sum(axis=-1), 1.0)
    assert result.rows.min() >= 0

    def off(rows):
        gap = rows - truth
        return float(((gap @ value) ** 2 if along else (gap**2).sum(axis=-1)).mean())

    own = off(counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1))
    assert off(result.rows[0]) < 0.9 * min(own, off(np.broadcast_to(parent, truth.shape)))
    assert 0.5 * kappa < result.most < 3 * kappa


def test_the_ends_in_closed_form():
    rng = np.random.default_rng(1)
    parent = np.array([[0.7, 0.2, 0.1]])
    support = np.ones((1, 3, 3), dtype=bool)
    counts = np.array([[[0.0, 0, 0], [1e9, 1e9, 2e9], [3.0, 1, 0]]])
    result = shrink(counts, support, np.zeros((1, 3)), parent)
    np.testing.assert_allclose(result.rows[0, 0], parent[0])  # never visited: the parent's
    np.testing.assert_allclose(result.rows[0, 1], [0.25, 0.25, 0.5], atol=1e-6)  # often visited: its own
    assert result.weights[0, 0] == 0 and result.weights[0, 1] > 0.999 > result.weights[0, 2] > 0
    drowned = shrink(counts + rng.normal(0, 1, counts.shape), support, np.full((1, 3), 1e30), parent)
    assert drowned.weights.max() < 1e-6
    assert result.doubt[0, 1] < 1e-8 < result.doubt[0, 2] < result.doubt[0, 0]


def test_impossible_cells_stay_empty():
    support = np.array([[[True, False, True]]])
    result = shrink(np.array([[[3.0, 100.0, 1.0]]]), support, np.ones((1, 1)), np.array([[0.2, 0.6, 0.2]]))
    assert result.rows[0, 0, 1] == 0 and result.rows.sum() == pytest.approx(1)
