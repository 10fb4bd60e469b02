"""The learner of feature targets: what it estimates, what it plans, and how much is lost by it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.lab.environments import Environment
from confide.lab.environments import make as world_of
from confide.lab.simulation.simulate import prepare
from confide.learning.learners.vtr_targets import TargetLearner, TargetState, greedy, on_simplex
from confide.learning.planning.evaluation import optimal_value
from confide.learning.planning.rehearsed import visits, walked
from confide.mdp import MixtureFeatures, Model
from confide.protocol.kinds.targets import TARGETS, TargetsRelease
from tests.refusals import refused

JOINT = cf.Joint(epsilon=1, delta=1e-6)
WORLD = "mixture/8x2x4?seed=21"


def test_the_nearest_point_of_the_simplex() -> None:
    """Against all points of a grid of the triangle."""
    grid = np.array([(i, j, 40 - i - j) for i in range(41) for j in range(41 - i)]) / 40
    for given in np.random.default_rng(0).normal(0.3, 0.7, (50, 3)):
        found = on_simplex(given)
        assert found.min() >= 0 and found.sum() == pytest.approx(1)
        assert np.linalg.norm(found - given) <= np.linalg.norm(grid - given, axis=1).min() + 1e-12
    assert on_simplex(np.array([0.2, 0.8])).tolist() == [0.2, 0.8]


def test_plans_are_best_and_walks_follow_them() -> None:
    model = world_of(WORLD).model
    assert model is not None
    horizon = model.spec.horizon
    policy = greedy(model.transitions, np.repeat(model.rewards, horizon, axis=0))
    expected = visits(model.transitions, model.initial, policy)
    assert (expected * model.rewards[0]).sum() == pytest.approx(optimal_value(model), rel=1e-9)
    states, actions = walked(model.transitions, model.initial, policy, 50_000, np.random.default_rng(1))
    seen = np.bincount(states[:, 5] * 2 + actions[:, 5], minlength=16) / 50_000
    assert np.abs(seen.reshape(8, 2) - expected[5]).max() < 5 * math.sqrt(0.25 / 50_000)


def learned(privacy: Any, address: str = WORLD, episodes: int = 3000) -> TargetState:
    """The state after all batches of one run."""
    setting = prepare("ucrl-vtr", address, privacy, episodes, seeds=1)
    assert isinstance(setting.learner, TargetLearner)
    from confide.data.privatizers import open_aggregate
    from confide.data.privatizers.curator import Total
    from confide.data.statistics.targets import targets_of_each
    from confide.mechanisms.noise import ReplayableNoise

    rng, question = np.random.default_rng(2), TARGETS.question_of(setting.design)
    aggregate = open_aggregate(setting.design, ReplayableNoise(np.random.SeedSequence(3)), simulated=True)
    state: TargetState = setting.learner.begin(setting.context, rng)  # type: ignore[arg-type]
    for people in np.diff(setting.schedule.ends, prepend=0).tolist():
        sent = targets_of_each(
            question, *walked(setting.model.transitions, setting.model.initial, state.policy, people, rng)
        )
        cells = np.rint(sent / setting.design.mechanism.grid).astype(np.int64).sum(axis=0)
        aggregate.take_sum(Total(cells, people))
        state = setting.learner.learn(state, aggregate.close())
    return state


def test_proportions_are_found() -> None:
    """Under joint privacy too, where most people are clipped: each within .15; from 3,000 people without privacy within .05."""
    features, model = world_of(WORLD).features, world_of(WORLD).model
    assert features is not None and model is not None
    truth = features.parameters(model)[0]
    for privacy, most in ((None, 0.05), (JOINT, 0.15)):
        state = learned(privacy)
        assert state.users == 3000 and np.abs(state.theta[0] - truth).max() < most < np.abs(truth - 0.25).max()


def test_it_loses_little_and_less_without_privacy() -> None:
    """In two worlds; planning for the average model alone would lose ten times as much."""
    for seed in (20, 21):
        shares = {
            name: cf.simulate("ucrl-vtr", f"mixture/20x3x8?seed={seed}", privacy, 4000, seeds=2).share_of_random
            for name, privacy in (("none", None), ("joint", JOINT), ("local", cf.Local(4)))
        }
        assert all(share is not None and 0 <= share < 0.06 for share in shares.values())
        world, setting = (
            world_of(f"mixture/20x3x8?seed={seed}"),
            prepare("ucrl-vtr", f"mixture/20x3x8?seed={seed}", None, 100),
        )
        blind = setting.value_of(setting.learner.begin(setting.context, np.random.default_rng(0)).policy)
        lost = (setting.optimal_value - blind) / (setting.optimal_value - setting.random_value)
        assert world.features is not None and 3 * max(shares.values()) < lost  # type: ignore[type-var, operator]
        assert shares["none"] <= min(shares["joint"], shares["local"])  # type: ignore[type-var]


def test_the_plain_engine_has_the_same_law() -> None:
    """Its people walk one by one with real devices: 12 runs of 120 people each, means within four deviations."""
    runs = {
        engine: [
            float(cf.simulate("ucrl-vtr", WORLD, JOINT, 120, seeds=1, seed=seed, engine=engine).regret[0, -1])
            for seed in range(12)
        ]
        for engine in ("targeted", "plain")
    }
    first, second = (np.array(each) for each in runs.values())
    error = math.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 12)
    assert abs(first.mean() - second.mean()) < 4 * error + 1e-9


def test_a_model_of_every_step_has_sums_of_its_own() -> None:
    rng = np.random.default_rng(4)
    kernels = rng.dirichlet(np.full(4, 0.3), size=(2, 4, 2))
    features = MixtureFeatures.from_array(np.moveaxis(kernels, 0, -1))
    truth = features.probabilities(rng.dirichlet(np.ones(2), size=3))
    model = Model(truth, rng.random((3, 4, 2)), np.eye(4)[0], horizon=3)
    state = learned(None, Environment(model.spec, model, features=features), 4000)  # type: ignore[arg-type]
    assert state.theta.shape == (2, 2)
    assert np.abs(state.theta - features.parameters(model)[:2]).max() < 0.25


def test_a_tight_form_is_only_for_models_that_are_mixed() -> None:
    kept = prepare("ucrl-vtr", "hard-mixture/d3h3", JOINT, 100, seeds=1)
    assert not isinstance(kept.learner, TargetLearner) and kept.design.question.kind == "mixture"
    sound = prepare("ucrl-vtr", WORLD, cf.Local(1, 1e-6), 100, seeds=1, calibration="sound")
    assert sound.design.question.kind == "mixture"
    assert prepare("ucrl-vtr", WORLD, cf.Local(1), 100, seeds=1).design.mechanism.name == "privunit"


def test_releases_of_other_questions_and_fewer_people_are_refused() -> None:
    setting = prepare("ucrl-vtr", WORLD, JOINT, 500, seeds=1)
    other = prepare("ucrl-vtr", "mixture/8x2x4?seed=22", JOINT, 500, seeds=1)
    state = setting.learner.begin(setting.context, np.random.default_rng(0))

    def release(question: Any) -> TargetsRelease:
        return TargetsRelease(question, 50, np.zeros((1, 4)), 0.0, 0.1, setting.guarantee)

    with refused("release-of-other-features"):
        setting.learner.learn(state, release(TARGETS.question_of(other.design)))
    after = setting.learner.learn(state, release(TARGETS.question_of(setting.design)))
    with refused("not-a-whole-number"):
        setting.learner.learn(
            after.__class__(after.context, after.theta, after.policy, after.seen, 60, after.rng),
            release(TARGETS.question_of(setting.design)),
        )
