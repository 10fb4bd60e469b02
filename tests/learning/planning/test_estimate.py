"""From noisy counts to models: formulas written again, and the closed form against a linear program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from confide.learning.planning import workspace
from confide.learning.planning.estimate import distributions, ratios, settle, shrink_pair
from confide.learning.planning.induction import REWARD, ROWS, VISITS, Workspace
from confide.mdp import Spec
from confide.protocol.releases.release import Counts

SPEC = Spec(4, 2, 3, "per-step")


def noisy_counts(seed: int, size: float = 5.0) -> Counts:
    rng = np.random.default_rng(seed)
    pairs = (SPEC.layers, SPEC.states, SPEC.actions)
    visits = rng.integers(0, 40, pairs).astype(float)
    moved = visits[..., None] * rng.dirichlet(np.ones(SPEC.states), size=pairs)
    parts = (visits, visits * rng.random(pairs), visits * rng.random(pairs), moved)
    return Counts(*(part + size * rng.standard_normal(part.shape) for part in parts))


@pytest.mark.parametrize("own_rows", [True, False])
def test_ratios(own_rows: bool) -> None:
    counts, work = noisy_counts(0), workspace(SPEC)
    ratios(counts, 3.0, 7.0, own_rows, work)
    for layer in range(SPEC.layers):
        for s in range(SPEC.states):
            for a in range(SPEC.actions):
                i, cells = s * SPEC.actions + a, counts.transitions[layer, s, a]
                n = max(1.0, counts.visits[layer, s, a] + 3)
                m = max(1.0, (cells.sum() if own_rows else counts.visits[layer, s, a]) + 7)
                assert work.pairs[VISITS, layer, i] == pytest.approx(n)
                assert work.pairs[ROWS, layer, i] == pytest.approx(m)
                assert work.pairs[REWARD, layer, i] == pytest.approx(counts.rewards[layer, s, a] / n)
                assert np.allclose(work.transitions[layer, :, i], cells / m)


numbers = st.floats(-50, 50, allow_nan=False)


@given(st.lists(numbers, min_size=1, max_size=6), st.floats(0, 80))
def test_settling_is_the_linear_program(row: list[float], total: float) -> None:
    """min t subject to |x_i - clip(row_i)| <= t, x >= 0, sum x = total; unclipped rows have one minimiser among many."""
    cells = np.array([row])
    settle(cells, total)
    result, wanted = cells[0], np.maximum(row, 0)
    size = len(row)
    assert (result >= 0).all() and result.sum() == pytest.approx(total, abs=1e-9)
    bounds = np.hstack([np.vstack([np.eye(size), -np.eye(size)]), -np.ones((2 * size, 1))])
    program = linprog(
        np.eye(size + 1)[-1],
        A_ub=bounds,
        b_ub=np.concatenate([wanted, -wanted]),
        A_eq=np.append(np.ones(size), 0)[None],
        b_eq=[total],
    )
    assert np.abs(result - wanted).max() == pytest.approx(program.fun, abs=1e-7)


def test_settling_what_is_settled_changes_nothing() -> None:
    cells = np.array([[3.0, 0.0, 4.0]])
    settle(cells, 7.0)
    assert cells.tolist() == [[3.0, 0.0, 4.0]]


def test_distributions() -> None:
    counts, work = noisy_counts(1), workspace(SPEC)
    distributions(counts, 2.0, 0.5, work)
    for layer in range(SPEC.layers):
        for s in range(SPEC.states):
            for a in range(SPEC.actions):
                i, n = s * SPEC.actions + a, counts.visits[layer, s, a]
                cells = np.maximum(counts.transitions[layer, s, a], 0)[None]
                total = max(0.0, min(max(cells.sum(), n - 2), n + 2))
                settle(cells, total)
                assert work.pairs[VISITS, layer, i] == pytest.approx(max(1.0, total + 2))
                assert np.allclose(work.transitions[layer, :, i], (cells[0] + 0.5) / (total + 2))
                assert work.pairs[REWARD, layer, i] == pytest.approx(counts.rewards[layer, s, a] / max(1.0, total + 2))


def shrunken(counts: Counts, threshold: float, share: float, floor: float, work: Workspace) -> None:
    for pair in np.ndindex(*counts.visits.shape):
        shrink_pair(counts, pair, threshold, share, floor, work)


def test_empty_rows_become_uniform() -> None:
    counts = Counts(*(np.zeros_like(part) for part in noisy_counts(0)))
    for prepare in (lambda w: distributions(counts, 0.0, 0.0, w), lambda w: shrunken(counts, 0.0, 0.2, 0.0, w)):
        work = workspace(SPEC)
        prepare(work)
        assert np.allclose(work.transitions, 1 / SPEC.states)


def test_shrunken_counts() -> None:
    counts, work = noisy_counts(2), workspace(SPEC)
    shrunken(counts, 3.0, 0.2, 6.0, work)
    for layer in range(SPEC.layers):
        for s in range(SPEC.states):
            for a in range(SPEC.actions):
                i, n = s * SPEC.actions + a, max(6.0, counts.visits[layer, s, a])
                cells = np.maximum(counts.transitions[layer, s, a] - min(3.0, 0.2 * n), 0)
                assert work.pairs[VISITS, layer, i] == pytest.approx(n)
                assert np.allclose(work.transitions[layer, :, i], cells / cells.sum() if cells.any() else 1 / 4)
                assert work.pairs[REWARD, layer, i] == pytest.approx(np.clip(counts.rewards[layer, s, a] / n, 0, 1))


def test_without_noise_every_estimate_is_the_empirical_one() -> None:
    counts = noisy_counts(3, size=0.0)
    counts.visits[counts.visits == 0] = 1
    counts.transitions[:] = counts.visits[..., None] / SPEC.states
    works = [workspace(SPEC) for _ in range(4)]
    ratios(counts, 0.0, 0.0, False, works[0])
    ratios(counts, 0.0, 0.0, True, works[1])
    distributions(counts, 0.0, 0.0, works[2])
    shrunken(counts, 0.0, 0.2, 0.0, works[3])
    for work in works[1:]:
        assert np.allclose(work.pairs, works[0].pairs)
        assert np.allclose(work.transitions, works[0].transitions)
