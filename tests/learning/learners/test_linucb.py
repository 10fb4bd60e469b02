"""LinUCB from noisy moments: the ellipsoid by hand, what it explores, and where it is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.lab.environments import make
from confide.learning.learners.linear import FeatureContext
from confide.learning.learners.linucb import LinUcb, OptimisticPolicy
from confide.privacy import Guarantee
from confide.protocol.kinds.moments import MomentsQuestion, MomentsRadius, MomentsRelease
from tests.refusals import refused

WORLD = make("linear-bandit/2x3?seed=0").world
assert WORLD is not None
QUESTION = MomentsQuestion.of(WORLD.features, 1)


def context() -> FeatureContext:
    return FeatureContext(QUESTION.spec, 100, 0.1, 1.0, question=QUESTION)


def release_of(gram: np.ndarray, vector: np.ndarray, radius: tuple[float, float] = (0.0, 0.0)) -> MomentsRelease:
    return MomentsRelease(QUESTION, 100, gram, vector, MomentsRadius(*radius), 0.1, Guarantee.none())


def test_the_index_is_that_of_the_formula() -> None:
    gram = np.zeros((1, 3, 2, 2))
    gram[0] = [np.diag([8.0, 3.0]), np.diag([1.0, 1.0]), np.diag([24.0, 0.0])]
    vector = np.zeros((1, 3, 2, 1))
    vector[0, 0, :, 0] = 1.5 * np.array([4.5, 1.0])  # rewards weigh 1.5
    learner = LinUcb(c=2.0)
    state = learner.learn(learner.begin(context(), np.random.default_rng(0)), release_of(gram, vector, (1.0, 3.0)))
    (policy,) = state.policies
    assert isinstance(policy, OptimisticPolicy)
    # ridge 1, Gamma 1: V = diag(8 + 3, 3 + 3), rho 2, xi = 3/1.5.
    assert np.allclose(policy.weights[0, 0], [4.5 / 11, 1 / 6])
    beta = math.sqrt(2 * math.log(10) + math.log(11 / 2 * 6 / 2)) / 2 + 2 / math.sqrt(2) + math.sqrt(1 + 3)
    assert np.allclose(policy.widths[0], np.diag([(2 * beta) ** 2 / 11, (2 * beta) ** 2 / 6]))
    x = np.array([[[0.6, 0.8]]])
    assert policy.chosen(0, x)[0] == 1  # the least known action


def test_what_is_known_is_exploited() -> None:
    gram = np.tile(1e9 * np.eye(2), (1, 3, 1, 1))
    vector = np.zeros((1, 3, 2, 1))
    vector[0, 2, 0, 0] = 1.5e8
    learner = LinUcb()
    state = learner.learn(learner.begin(context(), np.random.default_rng(0)), release_of(gram, vector))
    assert state.policies[0].chosen(0, np.array([[[1.0, 0.0]], [[-1.0, 0.0]]])).tolist() == [2, 0]


@pytest.mark.parametrize("options", [{}, {"c": 0.03}])
def test_it_learns_under_joint_privacy(options: dict[str, Any]) -> None:
    run = cf.simulate("linucb", "linear-bandit/2x3?seed=0", cf.Joint(1.0, 1e-6), 100_000, 1, **options)
    assert run.regret[0, -1] < 0.3 * 100_000 * (run.optimal_value - run.random_value)


def test_it_is_for_one_step() -> None:
    with refused("linucb-one-step"):
        cf.simulate("linucb", "covariates/2?seed=0", cf.Joint(1.0, 1e-6), 1000, 1)
