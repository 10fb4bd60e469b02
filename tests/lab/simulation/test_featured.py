"""Learners of features in simulations: worlds, engine, learner, and how much is lost."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest

import confide as cf
from confide.analysis.results import Run
from confide.data.statistics.moments import summed_moments
from confide.data.trajectories.observed import ObservedEpisodes
from confide.lab.environments import make
from confide.lab.environments.linear_mdp import features as table_features
from confide.lab.environments.observed_world import ListedWorld, in_states
from confide.lab.simulation.featured import walk
from confide.learning.learners.linear import FeatureContext, Linear
from confide.learning.planning.moments import Cloud, Disturbance, plan, pooled, squares
from confide.mdp.feature_policy import FeaturePolicy
from confide.protocol.kinds.moments import MomentsQuestion
from tests.refusals import refused

JOINT = cf.Joint(epsilon=1, delta=1e-6)
WORLDS = ["linear-bandit/3x2", "linear-bandit/12x3", "covariates/1", "covariates/2", "linear-mdp"]


@pytest.mark.parametrize("address", WORLDS)
def test_a_policy_is_worth_what_people_earn_who_follow_it(address: str) -> None:
    environment = make(address)
    world = environment.world
    assert world is not None
    rng = np.random.default_rng(5)
    shape = (world.horizon, world.features.blocks, world.features.dimension)
    policy = FeaturePolicy(world.features, rng.standard_normal(shape))
    people = 20_000
    earned = walk(world, policy, people, rng).rewards.sum(axis=1)
    error = earned.std() / math.sqrt(people)
    # Four deviations with a fixed seed; values between points of a grid are interpolated.
    assert abs(earned.mean() - world.value(policy)) < 4 * error + (0.01 if address.startswith("covariates") else 0.0)
    assert world.random_value < world.best_value and world.value(policy) <= world.best_value + 1e-9


def test_a_described_linear_process_has_the_features_of_its_table() -> None:
    environment = make("linear-mdp")
    world = environment.world
    assert isinstance(world, ListedWorld)
    table = table_features().phi.reshape(-1, 10)
    described = world.features.all_x(world.features.cloud).reshape(len(table), -1)
    fitted = described @ np.linalg.lstsq(described, table, rcond=None)[0]
    assert np.abs(fitted - table).max() < 1e-9
    assert environment.model is not None
    assert world.best_value == pytest.approx(ListedWorld(environment.model, in_states(2, 100)).best_value)


def test_without_noise_squares_are_least_squares() -> None:
    rng = np.random.default_rng(0)
    x, theta = rng.standard_normal((500, 4)), rng.standard_normal((4, 2))
    gram, vector = x.T @ x, x.T @ (x @ theta)
    wide = Disturbance(np.full(2, 1e-9), 0.0, np.zeros(2))
    beliefs = pooled(gram[None, None], vector[None, None], wide)
    assert np.allclose(beliefs.drawn(rng, 0.0)[0, 0], theta, atol=1e-6)


def test_a_direction_that_noise_hides_keeps_its_prior() -> None:
    gram, centre = np.diag([1e6, 5.0]), np.array([[0.1], [0.2]])
    noise = Disturbance(np.array([0.25]), 100.0, np.array([100.0]))
    found = squares(gram, gram @ np.array([[0.7], [0.7]]), centre, np.array([0.3]), noise)
    mean = found.mean(gram, gram @ np.array([[0.7], [0.7]]), centre)
    assert mean[0, 0] == pytest.approx(0.7, abs=1e-3) and mean[1, 0] == 0.2
    assert found.precision.min() == pytest.approx(1 / 0.09)


def test_blocks_that_agree_share_what_they_know() -> None:
    """Twenty noisy blocks of one truth: each is estimated better than from its own sums."""
    rng = np.random.default_rng(1)
    theta = 0.3 * rng.standard_normal((3, 1))
    gram = np.tile(200 * np.eye(3), (20, 1, 1, 1))
    noise = Disturbance(np.array([0.25]), 1000.0, np.array([1000.0]))
    vector = gram @ theta + math.sqrt(1000.0) * rng.standard_normal((20, 1, 3, 1))
    together, apart = (pooled(gram, vector, noise, each).drawn(rng, 0.0) for each in (True, False))
    assert np.abs(together - theta).mean() < 0.5 * np.abs(apart - theta).mean()


def test_plans_of_the_true_model_are_best() -> None:
    world = make("linear-mdp", horizon=6).world
    assert isinstance(world, ListedWorld)
    features, model = world.features, world.model
    rows = features.all_x(features.cloud).reshape(200, -1)
    psi = features.psi(features.cloud)
    rewards = np.stack([np.linalg.lstsq(rows, paid.ravel() - 0.5, rcond=None)[0] for paid in model.rewards])
    ahead = np.stack(
        [np.linalg.lstsq(rows, (moves @ psi).reshape(200, -1), rcond=None)[0] for moves in model.transitions]
    )
    weights = plan(Cloud.of(features), 6, rewards[:, None], ahead[:, None])
    assert world.value(FeaturePolicy(features, weights)) == pytest.approx(world.best_value, abs=1e-9)


@pytest.mark.parametrize(
    ("address", "people", "share"), [("linear-bandit/6x4?seed=1", 30_000, 0.15), ("covariates/1?seed=1", 30_000, 0.6)]
)
def test_it_learns_under_joint_privacy(address: str, people: int, share: float) -> None:
    run = cf.simulate("linear", address, JOINT, episodes=people, seeds=1)
    assert run.share_of_random is not None and 0 < run.share_of_random < share
    assert run.certificate.guarantee.trust == "joint" and run.engine == "featured"
    assert run.measure == "regret"


def test_without_privacy_it_loses_less() -> None:
    none, joint = (
        cf.simulate("linear", "linear-bandit/5x4?seed=2", privacy, episodes=30_000, seeds=2).share_of_random
        for privacy in (None, JOINT)
    )
    assert none is not None and joint is not None and none < joint


def test_under_local_privacy_it_answers_by_reports() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = cf.simulate("linear", "linear-bandit/2x2", cf.Local(epsilon=8, delta=1e-6), episodes=20_000, seeds=1)
    assert run.share_of_random is not None and run.share_of_random < 0.9
    assert run.certificate.guarantee.trust == "local"


def test_a_table_can_be_learned_by_its_states() -> None:
    run = cf.simulate("linear", "riverswim/3", None, episodes=2_000, seeds=1, horizon=6)
    assert run.share_of_random is not None and run.share_of_random < 0.6


def test_runs_are_saved_with_their_policy(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path)) / "run"
    run = cf.simulate("linear", "linear-bandit/3x2", JOINT, episodes=2_000, seeds=1)
    run.save(folder)
    again = Run.load(folder)
    assert isinstance(run.policy, FeaturePolicy) and isinstance(again.policy, FeaturePolicy)
    assert np.array_equal(again.policy.weights, run.policy.weights)
    assert json.dumps(again.as_json()) == json.dumps(run.as_json())


def test_learning_changes_nothing_before_it_and_is_the_same_again() -> None:
    question = MomentsQuestion.of(in_states(2, 2), 3)
    context = FeatureContext(question.spec, 100, question=question)
    learner = Linear()
    state = learner.begin(context, np.random.default_rng(0))
    before = state.weights.copy()
    episode = ObservedEpisodes.single([[0.0], [1.0], [0.0], [1.0]], [0, 1, 1], [1.0, 0.0, 1.0])
    from confide.privacy import Guarantee
    from confide.protocol.kinds.moments import MomentsRelease

    gram, vector = question.unpack(summed_moments(question, episode))
    release = MomentsRelease(question, 1, gram, vector, (0.0, 0.0), 0.1, Guarantee.none())
    once, again = learner.learn(state, release), learner.learn(state, release)
    assert np.array_equal(once.weights, again.weights) and np.array_equal(state.weights, before)
    assert once.users == 1 and not np.array_equal(once.weights, before)
    other = MomentsQuestion.of(in_states(2, 2), 2)
    with refused("release-of-other-features"):
        learner.learn(state, MomentsRelease(other, 1, gram, vector, (0.0, 0.0), 0.1, Guarantee.none()))


def test_worlds_that_are_only_played_are_refused() -> None:
    from dataclasses import replace

    played = replace(make("covariates/1"), world=None)
    with refused("features-need-world"):
        cf.simulate("linear", played, JOINT, episodes=100, seeds=1)
    with refused("bandit-horizon"):
        make("linear-bandit/3x2", horizon=2)


def test_sums_that_are_drawn_at_once_have_the_law_of_people_who_walk() -> None:
    """Means and variances of every cell over 400 groups of 500 people, within six standard errors."""
    from confide.lab.simulation.featured import summed_by_law

    world = make("linear-bandit/3x2?seed=1").world
    assert world is not None
    question = MomentsQuestion.of(world.features, 1)
    rng = np.random.default_rng(8)
    shape = (1, world.features.blocks, world.features.dimension)
    policy = FeaturePolicy(world.features, rng.standard_normal(shape))
    groups, people = 400, 500
    at_once = np.stack([summed_by_law(question, world, policy, people, rng) for _ in range(groups)])
    walked = np.stack([summed_moments(question, walk(world, policy, people, rng)) for _ in range(groups)])
    spread = np.sqrt((at_once.var(axis=0) + walked.var(axis=0)) / groups)
    assert (np.abs(at_once.mean(axis=0) - walked.mean(axis=0)) <= 6 * spread + 1e-9).all()
    moving = walked.var(axis=0) > 1e-9
    assert moving.any() and (np.abs(np.log(at_once.var(axis=0)[moving] / walked.var(axis=0)[moving])) < 0.6).all()


def test_batches_of_their_own_noise_are_weighed() -> None:
    """Two batches with alike noise, of 10 and of 1,000 people: the second counts for nearly all."""
    from confide.learning.learners.linear import Gathered
    from confide.protocol.kinds.moments import MOMENTS, MomentsRadius, MomentsRelease
    from confide.protocol.releases.release import BATCHES, Noise

    world = make("linear-bandit/3x2?seed=1").world
    assert world is not None
    question = MomentsQuestion.of(world.features, 1)
    signal = MOMENTS.signal(question)[1] / 4

    def release(cells: np.ndarray, users: int, variance: float) -> MomentsRelease:
        sums = question.unpack(cells)
        noise = Noise(BATCHES, variance, variance, 1.0, 0.0)
        return MomentsRelease(question, users, *sums, MomentsRadius(1.0, 1.0), 0.1, cf.Guarantee.none(), noise)

    first, second = np.ones(question.cells), np.full(question.cells, 3.0)
    start = Gathered.nothing(question)
    after = start.having(question, release(first, 10, 50.0), 10).having(question, release(second, 1010, 100.0), 1000)
    weights = [10 * signal / (10 * signal + 50), 1000 * signal / (1000 * signal + 50)]
    assert weights[0] < 0.1 * weights[1]
    assert np.allclose(after.weighed, weights[0] * 1 + weights[1] * 2)
    assert math.isclose(after.noise, 50 * (weights[0] ** 2 + weights[1] ** 2))
