from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from confide.learning.planning.consistency import balanced, program, reconciled


def solved_by_linprog(row, total, slack):
    """min t: |x - n| <= t, |sum x - total| <= slack, x >= 0, for counts clipped at 0."""
    size = len(row)
    eye, one = np.eye(size), np.ones((size, 1))
    bound = np.vstack([np.hstack([eye, -one]), np.hstack([-eye, -one]), [*np.ones(size), 0], [*-np.ones(size), 0]])
    limits = np.concatenate([row, -row, [total + slack, slack - total]])
    result = linprog([*np.zeros(size), 1], A_ub=bound, b_ub=limits, bounds=[(0, None)] * (size + 1))
    assert result.success
    return result.fun


@pytest.mark.parametrize("seed", range(60))
def test_the_closed_form_solves_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    states = int(rng.integers(1, 7))
    transitions = rng.normal(2, 4, (1, 1, 1, states))
    visits, slack = rng.normal(2 * states, 8, (1, 1, 1)), float(rng.choice([0.0, 0.5, 3.0]))
    support = np.ones((1, 1, states), dtype=bool)
    if states > 2:
        support[0, 0, 0] = False
    result = program(transitions, visits, slack, support)[0, 0, 0]
    inside = support[0, 0]
    row, total = np.maximum(transitions[0, 0, 0, inside], 0), max(float(visits[0, 0, 0]), 0.0)
    assert (result[~inside] == 0).all() and (result >= 0).all()
    assert abs(result.sum() - total) <= slack + 1e-9
    assert np.abs(result[inside] - row).max() == pytest.approx(solved_by_linprog(row, total, slack), abs=1e-7)


def test_rows_and_visits_are_reconciled_by_least_squares():
    rng = np.random.default_rng(0)
    transitions, visits = rng.normal(5, 3, (2, 3, 2, 3)), rng.normal(15, 3, (2, 3, 2))
    support = rng.random((3, 2, 3)) < 0.8
    support[..., 0] = True
    result = reconciled(transitions, visits, support)
    for layer, s, a in np.ndindex(visits.shape):
        inside = support[s, a]
        matrix = np.vstack([np.eye(inside.sum()), np.ones(inside.sum())])
        best = np.linalg.lstsq(matrix, [*transitions[layer, s, a, inside], visits[layer, s, a]], rcond=None)[0]
        np.testing.assert_allclose(result[layer, s, a, inside], best)
        assert (result[layer, s, a, ~inside] == 0).all()


@pytest.mark.parametrize("end", [None, 2])
def test_balanced_counts_are_the_nearest_ones_that_flow(end):
    rng = np.random.default_rng(1)
    horizon, states, actions, users = 4, 3, 2, 50
    support = rng.random((states, actions, states)) < 0.8
    support[..., 1] = True
    if end is not None:
        support[end] = False
    counts = rng.normal(5, 4, (horizon, states, actions, states))
    result = balanced(counts, users, support, end)
    rows, targets = [], []
    for h in range(horizon - 1):
        for t in range(states):
            if t != end:
                row = np.zeros(counts.shape)
                row[h, :, :, t] += 1
                row[h + 1, t] -= 1
                rows.append((row * support).ravel())
                targets.append(0.0)
    first = np.zeros(counts.shape)
    first[0] = 1
    rows.append((first * support).ravel())
    targets.append(float(users))
    equations, start = np.array(rows), (counts * support).ravel()
    nearest = start - np.linalg.pinv(equations) @ (equations @ start - np.array(targets))
    np.testing.assert_allclose(result.ravel(), nearest, atol=1e-5)


def test_balancing_takes_noise_away():
    rng = np.random.default_rng(2)
    horizon, states, actions, users = 6, 4, 2, 1000
    truth = np.zeros((horizon, states, actions, states))
    here = rng.multinomial(users, np.full(states, 1 / states))
    for h in range(horizon):
        for s in range(states):
            moved = rng.multinomial(here[s], np.full(actions * states, 1 / (actions * states)))
            truth[h, s] = moved.reshape(actions, states)
        here = truth[h].sum(axis=(0, 1)).astype(int)
    everything = np.ones(truth.shape[1:], dtype=bool)
    before, after = 0.0, 0.0
    for _ in range(50):
        noisy = truth + rng.normal(0, 10, truth.shape)
        before += float(((noisy - truth).sum(axis=(2, 3)) ** 2).mean())
        after += float(((balanced(noisy, users, everything) - truth).sum(axis=(2, 3)) ** 2).mean())
    assert after < 0.65 * before
    np.testing.assert_allclose(balanced(truth, users, everything), truth, atol=1e-6)
