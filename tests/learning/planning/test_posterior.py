"""Posterior draws have the right moments, come from the generator they are given, and survive impossible parameters."""

from __future__ import annotations

import numpy as np
import pytest

from confide.compiled import compiled
from confide.learning.planning import workspace
from confide.learning.planning.induction import Workspace
from confide.learning.planning.sampling import draw_dirichlet, draw_mean
from confide.mdp import Spec

DRAWS = 200_000
WIDE = 5.0
"""Standard errors allowed: a false alarm less than once in a million draws of a seed, and the seed is fixed."""


@compiled
def dirichlets(work: Workspace, alpha: np.ndarray, rng: np.random.Generator, out: np.ndarray) -> None:
    for n in range(len(out)):
        for t in range(len(alpha)):
            work.transitions[0, t, 0] = alpha[t]
        draw_dirichlet(work, 0, 0, rng)
        for t in range(len(alpha)):
            out[n, t] = work.transitions[0, t, 0]


@compiled
def means(parameters: np.ndarray, rng: np.random.Generator, out: np.ndarray) -> None:
    for n in range(len(out)):
        out[n] = draw_mean(parameters[0], parameters[1], parameters[2], parameters[3], rng)


def drawn(alpha: list[float], seed: int = 0, draws: int = DRAWS) -> np.ndarray:
    out = np.empty((draws, len(alpha)))
    dirichlets(workspace(Spec(len(alpha), 1, 1)), np.array(alpha), np.random.default_rng(seed), out)
    return out


def test_dirichlet_moments() -> None:
    alpha = np.array([0.5, 2.0, 7.0])
    rows, total = drawn(alpha.tolist()), alpha.sum()
    mean = alpha / total
    spread = mean * (1 - mean) / (total + 1)
    assert np.allclose(rows.sum(axis=1), 1)
    assert (np.abs(rows.mean(axis=0) - mean) < WIDE * np.sqrt(spread / DRAWS)).all()
    assert rows.var(axis=0) == pytest.approx(spread, rel=0.03)
    for wrong in (2 / 3, 3 / 2):
        off = mean * (1 - mean) / (wrong * total + 1)
        assert rows.var(axis=0) != pytest.approx(off, rel=0.03)


def test_mean_moments() -> None:
    """A Normal-Gamma's mean has variance rate / (pseudo_count (shape - 1))."""
    out = np.empty(DRAWS)
    means(np.array([0.3, 5.0, 8.0, 4.0]), np.random.default_rng(1), out)
    spread = 4.0 / (5.0 * 7.0)
    assert abs(out.mean() - 0.3) < WIDE * np.sqrt(spread / DRAWS)
    assert out.var() == pytest.approx(spread, rel=0.03)
    for wrong in (2 / 3, 3 / 2):
        assert out.var() != pytest.approx(wrong * spread, rel=0.03)


def test_draws_are_those_of_the_generator() -> None:
    rng = np.random.default_rng(2)
    gammas = np.array([rng.standard_gamma(a) for a in (0.5, 2.0)])
    assert np.array_equal(drawn([0.5, 2.0], seed=2, draws=1)[0], gammas / gammas.sum())
    assert np.array_equal(drawn([1.0, 1.0], seed=3, draws=5), drawn([1.0, 1.0], seed=3, draws=5))
    assert not np.array_equal(drawn([1.0, 1.0], seed=3, draws=5), drawn([1.0, 1.0], seed=4, draws=5))


def test_impossible_parameters_are_clamped() -> None:
    rows = drawn([-100.0, -1e9, 0.0], draws=1000)
    assert np.isfinite(rows).all() and np.allclose(rows.sum(axis=1), 1)
    out = np.empty(1000)
    means(np.array([0.5, -3.0, -2.0, -1.0]), np.random.default_rng(5), out)
    assert np.isfinite(out).all()
