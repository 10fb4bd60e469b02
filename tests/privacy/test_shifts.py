"""The lemma behind `Sensitivity.shifts`: for log-concave noise, two shifts are no easier to notice than their sum."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.data.statistics import count
from confide.data.trajectories import Trajectory
from confide.mdp import Spec
from confide.mechanisms.bounded import Bounded
from confide.privacy import Sensitivity
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import CENTRED, COUNTED, DROPPED, TRANSITIONS, VISITS
from confide.protocol.kinds.sensitivity import sensitivity

Probabilities = NDArray[np.float64]


def laplace(scale: float) -> Probabilities:
    x = np.arange(-400, 401)
    law = np.exp(-np.abs(x) / scale)
    return np.asarray(law / law.sum())


def gaussian(sigma: float) -> Probabilities:
    x = np.arange(-400, 401)
    law = np.exp(-((x / sigma) ** 2) / 2)
    return np.asarray(law / law.sum())


def bounded(radius: int) -> Probabilities:
    x = np.arange(1 - radius, radius) / radius
    law = np.exp(math.e - np.exp(1 / (1 - x**2)))
    return np.asarray(law / law.sum())


def two_humps() -> Probabilities:
    """Not log-concave, to see that the lemma can fail."""
    x = np.arange(-40, 41)
    law = np.exp(-((np.abs(x) - 20) ** 2) / 8.0)
    return np.asarray(law / law.sum())


LAWS = {"laplace": laplace(7.0), "gaussian": gaussian(6.0), "bounded": bounded(40)}


def delta(law: Probabilities, shifts: tuple[int, ...], epsilon: float) -> float:
    """The largest advantage of any test that tells the shifted noises from the plain ones: summed over all outcomes."""
    here, there = np.ones(1), np.ones(1)
    for shift in shifts:
        plain, moved = np.append(law, np.zeros(shift)), np.append(np.zeros(shift), law)
        here, there = np.outer(here, moved).ravel(), np.outer(there, plain).ravel()
    return float(np.maximum(here - math.exp(epsilon) * there, 0).sum())


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 6), (3, 3), (2, 15), (10, 11)])
def test_two_shifts_are_no_easier_to_notice_than_their_sum(name: str, first: int, second: int) -> None:
    law = LAWS[name]
    for epsilon in (0.0, 0.1, 0.4, 1.0, 2.0, 4.0):
        apart, merged = delta(law, (first, second), epsilon), delta(law, (first + second,), epsilon)
        assert apart <= merged * (1 + 1e-9) + 1e-14
    assert delta(law, (first, second), 0.0) < delta(law, (first + second,), 0.0)  # the test can tell them apart


def test_without_log_concavity_the_lemma_fails() -> None:
    law = two_humps()
    assert delta(law, (20, 20), 0.5) > delta(law, (40,), 0.5)


@pytest.mark.parametrize("last", [COUNTED, DROPPED])
@pytest.mark.parametrize("model", ["stationary", "per-step"])
@pytest.mark.parametrize("parts", [(CENTRED, TRANSITIONS), (VISITS, TRANSITIONS)])
def test_the_shifts_of_a_question_cover_every_pair_of_episodes(last: str, model: str, parts: tuple[str, ...]) -> None:
    """Bounded noise on the difference of any two episodes gives away no more than it does on the shifts."""
    question = CountQuestion(Spec(2, 1, 2, model), parts, last)
    mechanism = Bounded(12.0, 0.5)
    certified = mechanism.loss(sensitivity(question))
    episodes = [
        Trajectory(np.array(states), np.zeros(2, dtype=np.int64), np.array(rewards, dtype=np.float64))
        for states in itertools.product((0, 1), repeat=3)
        for rewards in itertools.product((0, 1), repeat=2)
    ]
    cells = {tuple(count(question, episode, episode.rewards.astype(np.int64))) for episode in episodes}
    changes = {
        tuple(sorted(abs(a - b) for a, b in zip(*pair, strict=True) if a != b))
        for pair in itertools.combinations(cells, 2)
    }
    assert len(changes) >= 2
    for change in changes:
        sizes = [step / question.resolution for step in change]
        loss = mechanism.loss(Sensitivity(sum(sizes), 0.0, tuple((size, 1) for size in sizes), len(sizes)))
        for epsilon in (0.2, 1.0):
            assert loss.delta(epsilon) <= certified.delta(epsilon) * 1.02 + 1e-9
