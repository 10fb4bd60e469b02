"""The score of a partial adoption: unbiased, exactly, in a world in which history matters and states do not show it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from confide.mdp.adoption import (
    BY_PREVIOUS,
    BY_STATE,
    SIGNS,
    Adoption,
    Episodes,
    Specification,
    contrasts,
    expecting,
    moved_by,
    scores,
)

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
    found, weights = scores(Adoption(alpha, kept, taken, practice, BY_STATE, q, 0.0), episodes)
    chance, adopted = (np.array([one[i] for one in every]) for i in range(2))
    earned = rows[:, 2].reshape(-1, HORIZON).sum(axis=1)
    assert chance @ found == pytest.approx(adopted @ earned - chance @ earned, abs=1e-12)
    np.testing.assert_allclose(weights, adopted / chance)
    # With chances that were not those by which actions were chosen it is something else.
    wrong, _ = scores(
        Adoption(alpha, kept, taken, practice, BY_STATE, q, 0.0), episodes._replace(propensity=np.zeros(0))
    )
    assert alpha == 0 or abs(chance @ wrong - chance @ found) > 1e-3


@pytest.mark.parametrize("gamma", [1.0, 1.3, 3.0])
def test_no_hidden_cause_moves_a_score_further(gamma: float) -> None:
    """Chances at both ends of what it may do, at every step: no score moves by more than is said, and one by all of it."""
    rng, people = np.random.default_rng(2), 500
    kept = rng.random((HORIZON, STATES))
    taken = rng.dirichlet(np.ones(ACTIONS), (HORIZON, STATES)) * (1 - kept)[..., None]
    q = rng.normal(size=(HORIZON, STATES, ACTIONS))
    adoption = Adoption(0.6, kept, taken, np.full((1, STATES, ACTIONS), 0.5), BY_STATE, q, 0.0)
    rows = people * HORIZON
    drawn = (
        rng.integers(STATES, size=rows),
        rng.integers(ACTIONS, size=rows),
        rng.random(rows),
        rng.uniform(0.2, 0.9, rows),
    )
    episodes = Episodes(np.arange(people + 1) * HORIZON, *drawn)
    right, most = scores(adoption, episodes)[0], moved_by(adoption, episodes, gamma)
    reached = np.zeros(people)
    for ends in product((gamma, 1 / gamma), repeat=HORIZON):
        off = episodes._replace(propensity=episodes.propensity / np.tile(ends, people))
        reached = np.maximum(reached, np.abs(scores(adoption, off)[0] - right))
    assert (reached <= most + 1e-12).all() and (gamma == 1.0) == bool((most == 0).all())
    assert gamma == 1.0 or float((reached / most).max()) > 0.999


def test_after_the_end_the_same_is_paid_whatever_was_followed() -> None:
    """One step of three, then an end that pays 1/4 a step: the return is r + 1/2, and so is what follows in the score."""
    kept, taken = np.zeros((HORIZON, STATES)), np.zeros((HORIZON, STATES, ACTIONS))
    taken[..., 1] = 1.0
    practice, q = np.full((1, STATES, ACTIONS), 0.5), np.zeros((HORIZON, STATES, ACTIONS))
    one = Episodes(np.array([0, 1]), np.array([0]), np.array([1]), np.array([1.0]), np.zeros(0))
    found, weights = scores(Adoption(0.5, kept, taken, practice, BY_STATE, q, 0.25), one)
    assert weights[0] == 1.5 and found[0] == pytest.approx(1.5 * 1.5 - 1.5)  # by hand: q = .5 + .5/.5


def test_chances_are_told_by_the_action_before() -> None:
    """One state, "always 1": chances 1/2 at first, 1/4 after 0 and 1/8 after 1. By hand 1, 1 has the weight 2 * 8, 0, 1 none."""
    kept, taken = np.zeros((2, 1)), np.zeros((2, 1, 2))
    taken[..., 1] = 1.0
    practice = np.array([[[0.75, 0.25]], [[0.875, 0.125]], [[0.5, 0.5]]])
    four = Episodes(np.array([0, 2, 4, 6]), np.zeros(6, int), np.array([1, 1, 0, 1, 1, 0]), np.zeros(6), np.zeros(0))
    _, weights = scores(Adoption(1.0, kept, taken, practice, BY_PREVIOUS, np.zeros((2, 1, 2)), 0.0), four)
    assert weights.tolist() == [16.0, 0.0, 0.0]


def test_the_numbers_of_the_test_are_what_the_docstring_says() -> None:
    """Three steps in one state, worked out by hand: actions 1, 1, 0; rewards 1, 0, 1; the policy says 1; values are zero."""
    taken = np.zeros((3, 1, 2))
    taken[..., 1] = 1.0
    one = Episodes(np.array([0, 3]), np.zeros(3, int), np.array([1, 1, 0]), np.array([1.0, 0.0, 1.0]), np.zeros(0))
    signs, before = np.full((SIGNS, 1, 1, 2), 0.25), np.full((SIGNS, 1, 1), 0.5)
    test = Specification(
        np.zeros((4, 1)), np.zeros((3, 1, 2)), taken, np.full((1, 1, 2), 0.5), BY_STATE, 0.0, signs, before
    )
    found = contrasts(test, one)[0]
    # By step: repeats 0, 1, 0; brought before 0, 1/3, 1/3; lower value 0, 0, 0; late 0, 0, 1; two steps ago it was the
    # policy's, which chance does half of the time: 0, 0, 1/2.
    g = np.array([[0, 0, 0, 0, 0], [1, 1 / 3, 0, 0, 0], [0, 1 / 3, 0, 1, 0.5]])
    p = g.copy()
    p[:, 0] = [0, 1, 1]  # the policy would repeat
    residual, follows = np.array([1, 0, 1]) / 3, np.array([1, 1, 0])
    np.testing.assert_allclose(found[:5], residual @ (g - 0.25))
    np.testing.assert_allclose(found[5:10], (residual * follows) @ (g - 0.25))
    np.testing.assert_allclose(found[10:], (follows - 0.5) @ (p - 0.5))
    expected = expecting(test, one)
    np.testing.assert_allclose(expected.signs[:, 0, 0, 1], g[:2].mean(axis=0))
    np.testing.assert_allclose(expected.signs[:, 0, 0, 0], g[2])
    np.testing.assert_allclose(expected.before[:, 0, 0], p.mean(axis=0))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_it_is_unbiased_where_people_are_lost(alpha: float) -> None:
    """Every episode cut wherever its person may be lost, with the chance of that: the mean is what it would be without."""
    rng = np.random.default_rng(4)
    kept = rng.random((HORIZON, STATES))
    taken = rng.dirichlet(np.ones(ACTIONS), (HORIZON, STATES)) * (1 - kept)[..., None]
    q, usual = rng.normal(size=(2, HORIZON, STATES, ACTIONS))
    away = rng.uniform(0.1, 0.5, (STATES, ACTIONS))
    every = outcomes(alpha, kept, taken)
    gain = sum((adopted - p) * sum(step[2] for step in episode) for p, adopted, episode in every)
    chances, rows, lengths, lost = [], [], [], []
    for p, _, episode in every:
        there = p
        for h, (s, a, _, _) in enumerate(episode):
            last = h + 1 == HORIZON
            chances.append(there * (1 if last else away[s, a]))
            rows += episode[: h + 1]
            lengths.append(h + 1)
            lost.append(0 if last else 1)
            there *= 1 - away[s, a]
    columns = np.array(rows)
    episodes = Episodes(
        np.append(0, np.cumsum(lengths)), *(columns[:, i].astype(int) for i in range(2)), columns[:, 2], columns[:, 3]
    )._replace(lost=np.array(lost))
    assert sum(chances) == pytest.approx(1)
    adoption = Adoption(alpha, kept, taken, np.full((1, STATES, ACTIONS), 0.5), BY_STATE, q, 0.0, away, usual)
    found, _ = scores(adoption, episodes)
    assert np.array(chances) @ found == pytest.approx(gain, abs=1e-12)
    ignored, _ = scores(adoption._replace(lost=np.zeros((0, 0)), usual=np.zeros((0, 0, 0))), episodes)
    assert alpha == 0 or abs(np.array(chances) @ ignored - gain) > 1e-3
