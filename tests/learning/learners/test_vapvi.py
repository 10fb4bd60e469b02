from __future__ import annotations

import math

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting.linear import ask_all
from confide.data.privatizers import open_aggregate
from confide.errors import InvalidInput
from confide.lab.environments import linear_mdp, make
from confide.lab.simulation.offline_linear import simulate_linear
from confide.learning.learners import Context
from confide.learning.learners.vapvi import pevi, vapvi
from confide.mdp import Spec
from confide.privacy import NoPrivacy, Schedule
from confide.protocol.design import Request
from confide.protocol.design import make as design
from confide.protocol.kinds.gram import TARGET_BITS

from ..logged_steps import draw_steps

PEOPLE, HORIZON = 300, 6
CONTEXT = Context(Spec(2, 100, HORIZON), PEOPLE)


def log():
    world = make("linear-mdp", HORIZON)
    steps = draw_steps(
        linear_mdp.features(), world.model, linear_mdp.practice(HORIZON), PEOPLE, np.random.default_rng(0)
    )
    rows = [[] for _ in range(HORIZON)]
    for h, s, a, t in np.ndindex(steps.moves.shape[1:]):
        rows[h] += [(s, a, t)] * int(steps.moves[0, h, s, a, t])
    return world, steps, rows, steps.rewards[0] / (1 << TARGET_BITS)


def reference(phi, rows, paid, weighted, gamma):
    """VAPVI and PEVI in loops over people, without noise; gamma(inverse, vector) is the penalty."""
    states, actions, size = phi.shape
    value = np.zeros(states)
    policy, values = np.zeros((HORIZON, states), dtype=int), [value]
    for h in reversed(range(HORIZON)):
        left = HORIZON - h
        variance = np.ones((states, actions))
        if weighted and h < HORIZON - 1:
            sigma, beta, theta = np.eye(size), np.zeros(size), np.zeros(size)
            for s, a, t in rows[h]:
                sigma += np.outer(phi[s, a], phi[s, a])
                beta += phi[s, a] * value[t] ** 2
                theta += phi[s, a] * value[t]
            square, mean = phi @ np.linalg.solve(sigma, beta), phi @ np.linalg.solve(sigma, theta)
            variance = np.maximum(1, np.clip(square, 0, left**2) - np.clip(mean, 0, left) ** 2)
        matrix, vector = np.eye(size), np.zeros(size)
        for s, a, t in rows[h]:
            matrix += np.outer(phi[s, a], phi[s, a]) / variance[s, a]
            vector += phi[s, a] * value[t] / variance[s, a]
        for s, a in np.ndindex(states, actions):
            vector += phi[s, a] * paid[h, s, a] / variance[s, a]
        inverse = np.linalg.inv(matrix)
        weight = inverse @ vector
        q = np.array([[phi[s, a] @ weight - gamma(inverse, phi[s, a]) for a in range(actions)] for s in range(states)])
        policy[h] = q.argmax(axis=1)
        value = np.clip(q.max(axis=1), 0, left)
        values.append(value)
    return policy, np.array(values[::-1])


def answered(learner, steps):
    """The learner's last state, after all of its questions were answered as they are."""
    state = learner.begin(CONTEXT)
    aggregate = open_aggregate(design(Request(state.form, NoPrivacy(), Schedule.every(1))), None, simulated=True)
    aggregate.take_sum(steps)
    return ask_all(learner, state, aggregate)[0]


@pytest.mark.parametrize("weighted", [True, False])
def test_without_noise_they_are_vapvi_and_pevi(weighted):
    _, steps, rows, paid = log()
    features = linear_mdp.features()
    build, constant = (vapvi, 0.1) if weighted else (pevi, 0.001)
    learner = build(
        features, calibration="sound", constant=constant, ridge=1.0, **({"split": False} if weighted else {})
    )
    result = answered(learner, steps)
    size = features.dimension
    much = math.sqrt(size) if weighted else size * HORIZON * math.sqrt(math.log(2 * size * HORIZON * PEOPLE / 0.1))

    def gamma(inverse, vector):
        return constant * much * math.sqrt(vector @ inverse @ vector)

    policy, values = reference(features.phi, rows, paid, weighted, gamma)
    np.testing.assert_allclose(result.values, values, atol=0.05)  # what cutting to whole numbers changes
    assert np.mean(result.policy.argmax(axis=-1) == policy) > 0.9


def test_five_statistics_a_step_are_asked_in_turn_and_then_no_more():
    learner = vapvi(linear_mdp.features())
    state = learner.begin(CONTEXT)
    assert len(state.form.questions) == 2 * HORIZON - 1  # after the last step nothing has a variance
    _, steps, _, _ = log()
    done = answered(learner, steps)
    assert done.done and done.recommendation.probabilities.shape == (HORIZON, 2, 100)
    with pytest.raises(InvalidInput, match="Every statistic"):
        learner.ask(done)


def test_learning_gets_better_with_people_and_with_rho():
    exact = simulate_linear(episodes=20_000, seeds=3, horizon=HORIZON).suboptimality.mean()
    loose = simulate_linear(privacy=cf.Central(rho=25), episodes=20_000, seeds=3, horizon=HORIZON)
    strict = simulate_linear(privacy=cf.Central(rho=0.01), episodes=20_000, seeds=3, horizon=HORIZON)
    assert exact < 0.1 and exact <= loose.suboptimality.mean() + 0.05 < strict.suboptimality.mean()
    assert loose.certificate.guarantee.rho == pytest.approx(25)


def test_tight_is_better_than_sound_at_the_same_promise():
    promise = cf.Central(rho=5)
    tight, sound = (
        simulate_linear(privacy=promise, episodes=5000, seeds=5, calibration=name).suboptimality.mean()
        for name in ("tight", "sound")
    )
    assert tight < sound


def test_the_features_and_rewards_of_the_paper():
    features = linear_mdp.features()
    assert features.bound == pytest.approx(math.sqrt(7)) and features.constant
    assert np.linalg.norm(features.phi, axis=-1).max() == pytest.approx(1)
    model = make("linear-mdp").model
    assert model.transitions.shape == (20, 2, 100, 2)
    np.testing.assert_allclose(model.rewards[0], np.clip(linear_mdp.rewards(), 0, 1))
    # linear: every table of probabilities is a combination of features
    rows = features.phi.reshape(-1, features.dimension)
    wanted = model.transitions[3].reshape(-1, 2)
    best = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    np.testing.assert_allclose(rows @ best, wanted, atol=1e-9)


def test_refusals():
    with pytest.raises(InvalidInput, match="no linear features"):
        simulate_linear("clinic")
    with pytest.raises(InvalidInput, match="pessimism"):
        vapvi(linear_mdp.features(), pessimism="gloom")
    with pytest.raises(InvalidInput, match="shape"):
        vapvi(np.ones((2, 3)))
