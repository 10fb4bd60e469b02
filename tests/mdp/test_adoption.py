"""The score of a partial adoption: unbiased, exactly, in a world in which history matters and states do not show it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from confide.mdp.adoption import Adoption, Episodes, scores

HORIZON, STATES, ACTIONS = 3, 2, 2


def world(history: list[tuple[int, int, int]], state: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The law of actions (A,), of being paid (A,), and of the next state (A, S), by everything that happened before."""
    again = sum((s + 1) * (2 * a + 1) + 3 * r for s, a, r in history) + 7 * state + len(history)
    rng = np.random.default_rng(again)
    return rng.dirichlet(np.full(ACTIONS, 3.0)), rng.random(ACTIONS), rng.dirichlet(np.ones(STATES), ACTIONS)


def outcomes(
    alpha: float, kept: np.ndarray, taken: np.ndarray
) -> list[tuple[float, float, list[tuple[int, int, int, float]]]]:
    """Every episode with its chance under practice and under the adoption, and the chances of its actions."""
    found: list[tuple[float, float, list[tuple[int, int, int, float]]]] = []

    def walk(history: list[tuple[int, int, int]], chances: list[float], state: int, p: float, q: float) -> None:
        h = len(history)
        if h == HORIZON:
            found.append((p, q, [(*step, chance) for step, chance in zip(history, chances, strict=True)]))
            return
        acts, pays, moves = world(history, state)
        for a, r, t in product(range(ACTIONS), range(2), range(STATES)):
            rest = (pays[a] if r else 1 - pays[a]) * moves[a, t]
            adopted = (1 - alpha) * acts[a] + alpha * (kept[h, state] * acts[a] + taken[h, state, a])
            walk([*history, (state, a, r)], [*chances, acts[a]], t, p * acts[a] * rest, q * adopted * rest)

    for first in range(STATES):
        walk([], [], first, 0.5, 0.5)
    return found


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_it_is_unbiased_where_history_matters(alpha: float) -> None:
    rng = np.random.default_rng(1)
    kept = rng.random((HORIZON, STATES))
    taken = rng.dirichlet(np.ones(ACTIONS), (HORIZON, STATES)) * (1 - kept)[..., None]
    q = rng.normal(size=(HORIZON, STATES, ACTIONS))
    every = outcomes(alpha, kept, taken)
    assert sum(p for p, _, _ in every) == pytest.approx(1) and sum(q for _, q, _ in every) == pytest.approx(1)
    rows = np.array([step for _, _, episode in every for step in episode])
    columns = rows[:, 0].astype(int), rows[:, 1].astype(int), rows[:, 2], rows[:, 3]
    episodes = Episodes(np.arange(len(every) + 1) * HORIZON, *columns)
    practice = np.full((1, STATES, ACTIONS), 0.5)
    found, weights = scores(Adoption(alpha, kept, taken, practice, q, 0.0), episodes)
    chance, adopted = (np.array([one[i] for one in every]) for i in range(2))
    earned = rows[:, 2].reshape(-1, HORIZON).sum(axis=1)
    assert chance @ found == pytest.approx(adopted @ earned - chance @ earned, abs=1e-12)
    np.testing.assert_allclose(weights, adopted / chance)
    # With chances that were not those by which actions were chosen it is something else.
    wrong, _ = scores(Adoption(alpha, kept, taken, practice, q, 0.0), episodes._replace(propensity=np.zeros(0)))
    assert alpha == 0 or abs(chance @ wrong - chance @ found) > 1e-3


def test_after_the_end_the_same_is_paid_whatever_was_followed() -> None:
    """One step of three, then an end that pays 1/4 a step: the return is r + 1/2, and so is what follows in the score."""
    kept, taken = np.zeros((HORIZON, STATES)), np.zeros((HORIZON, STATES, ACTIONS))
    taken[..., 1] = 1.0
    practice, q = np.full((1, STATES, ACTIONS), 0.5), np.zeros((HORIZON, STATES, ACTIONS))
    one = Episodes(np.array([0, 1]), np.array([0]), np.array([1]), np.array([1.0]), np.zeros(0))
    found, weights = scores(Adoption(0.5, kept, taken, practice, q, 0.25), one)
    assert weights[0] == 1.5 and found[0] == pytest.approx(1.5 * 1.5 - 1.5)  # by hand: q = .5 + .5/.5
