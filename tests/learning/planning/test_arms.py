"""What is thought of arms: sums of those who were sent there, the law of contexts, and the error that noise leaves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from confide.learning.planning.arms import DOUBT, HEARD, SENT, SHARE, draw_arms, hear, mean_reward, no_arms
from confide.mdp import Spec
from confide.protocol.releases.release import CURATORS, PEOPLES, Counts, Estimates, Noise, Radius


def told(
    visits: np.ndarray, rewards: np.ndarray, users: float, own: float, centred: float, counted: float
) -> Estimates:
    """A release about one step, with so much noise in centred rewards and in visits."""
    counts = Counts(visits[None], rewards[None], rewards[None], np.zeros((1, *visits.shape, len(visits))))
    return Estimates(counts, Radius.zero(), Noise(own, 0.0, centred, 1.0, counted), users)


def test_nothing_is_known_of_an_arm_that_nobody_was_sent_to() -> None:
    memory = no_arms(Spec(1, 2, 1))
    memory.pairs[SHARE] = [[1.0, 0.0]]
    hear(told(np.array([[100.0, 3.0]]), np.array([[80.0, 3.0]]), 100.0, PEOPLES, 50.0, 200.0), memory)
    mean, deviation = mean_reward(memory, 1.0, 0, 1)
    assert (mean, deviation) == (0.5, math.sqrt(DOUBT))


def test_by_hand_with_one_context() -> None:
    """100 people sent to one arm, 80 paid: R = 30, N = 100 for sure, whatever the noise of visits."""
    memory = no_arms(Spec(1, 2, 1))
    memory.pairs[SHARE] = [[1.0, 0.0]]
    hear(told(np.array([[140.0, 0.0]]), np.array([[100.0, 0.0]]), 100.0, CURATORS, 50.0, 200.0), memory)
    mean, deviation = mean_reward(memory, 1.0, 0, 0)
    paid = (0.8 * 100 + 1) / 102
    error = (50 + 100 * paid * (1 - paid)) / 100**2
    believed = DOUBT / (DOUBT + error)
    assert mean == pytest.approx(0.5 + believed * 0.3) and deviation == pytest.approx(math.sqrt(believed * error))


@pytest.mark.parametrize("own", [CURATORS, PEOPLES])
def test_people_who_were_not_sent_add_nothing(own: float) -> None:
    """After 100 people at the first arm and 100 at the second, noise that is people's own is that of 100 at each."""
    memory = no_arms(Spec(1, 2, 1))
    memory.pairs[SHARE] = [[1.0, 0.0]]
    hear(told(np.array([[100.0, 0.0]]), np.array([[70.0, 0.0]]), 100.0, own, 400.0, 1600.0), memory)
    first = mean_reward(memory, 1.0, 0, 0)
    memory.pairs[SHARE] = [[0.0, 1.0]]
    hear(told(np.array([[130.0, 100.0]]), np.array([[100.0, 20.0]]), 200.0, own, 800.0, 3200.0), memory)
    again = mean_reward(memory, 1.0, 0, 0)
    if own == PEOPLES:
        assert again == first
    else:
        assert again[1] > first[1]  # a curator's totals carry all the noise there is
    assert memory.pairs[SENT, 0, 1] > 0 and memory.pairs[HEARD, 0, 1] > 0


def test_a_release_that_was_heard_changes_nothing() -> None:
    memory = no_arms(Spec(2, 2, 1))
    release = told(np.full((2, 2), 25.0), np.full((2, 2), 20.0), 100.0, PEOPLES, 50.0, 200.0)
    hear(release, memory)
    before = memory.pairs.copy()
    hear(release, memory)
    np.testing.assert_array_equal(memory.pairs, before)


def test_the_law_of_contexts_is_read_off_all_arms_together() -> None:
    memory = no_arms(Spec(2, 2, 1))
    hear(told(np.array([[600.0, 200.0], [150.0, 50.0]]), np.zeros((2, 2)), 1000.0, CURATORS, 1.0, 4.0), memory)
    assert memory.law[0].sum() == pytest.approx(1.0) and memory.law[0, 0] == pytest.approx(0.8, abs=0.01)
    drowned = no_arms(Spec(2, 2, 1))
    hear(told(np.array([[600.0, 200.0], [150.0, 50.0]]), np.zeros((2, 2)), 1000.0, CURATORS, 1e9, 1e9), drowned)
    np.testing.assert_allclose(drowned.law[0], 0.5, atol=0.01)


def test_without_spread_the_best_arm_is_taken_and_costs_turn_it_round() -> None:
    memory = no_arms(Spec(1, 3, 1))
    hear(told(np.full((1, 3), 100.0), np.array([[50.0, 80.0, 20.0]]), 300.0, CURATORS, 1.0, 4.0), memory)
    policy = np.zeros((1, 1, 3))
    for sense, best in ((1.0, 1), (-1.0, 2)):
        draw_arms(memory, 1.0, sense, (0.0, 1.0), np.random.default_rng(0), policy)
        assert policy[0, 0].argmax() == best and memory.pairs[SHARE, 0].tolist() == policy[0, 0].tolist()
