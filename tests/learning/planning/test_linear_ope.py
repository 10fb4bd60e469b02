"""What a linear learner's answers say about its policy, held against what is exactly true."""

from __future__ import annotations

import numpy as np
import pytest

import confide as cf
from confide.data.privatizers import open_aggregate
from confide.lab.environments import linear_mdp, make
from confide.learning.learners import Context
from confide.learning.learners.vapvi import pevi, vapvi
from confide.learning.planning import policy_value
from confide.learning.planning.linear_ope import StepUncertainty, gain, practice, shift_of, step_uncertainty, value
from confide.learning.planning.regression import Regression
from confide.mdp.critic import Critic
from confide.mdp.linear import BlockFeatures, LinearFeatures
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Schedule
from confide.protocol.design import Request
from confide.protocol.design import make as design
from confide.protocol.kinds.gram import TARGET_BITS, VALUE, GramForm
from confide.protocol.kinds.values import ValuesRelease

from ..logged_steps import draw_steps

HORIZON, SEEDS = 5, 6
MODEL = make("linear-mdp", HORIZON).model
USUAL, FEATURES = linear_mdp.practice(HORIZON), linear_mdp.features()


def learned(build, people: int, rho: float, seed: int):
    """The policy's true value, and the intervals for it and for its gain."""
    learner = build(FEATURES)
    log = draw_steps(FEATURES, MODEL, USUAL, people, np.random.default_rng(seed))
    state, doubts = learner.begin(Context(MODEL.spec, people)), []
    made = design(Request(state.form, cf.Central(rho=rho), Schedule.every(1)))
    aggregate = open_aggregate(made, ReplayableNoise(seed), simulated=True)
    aggregate.take_sum(log)
    while not state.done:
        answer = aggregate.close(learner.ask(state))
        state = learner.learn(state, answer)
        if answer.question.kind == VALUE:
            critic = state.critics[answer.question.step]
            doubts.append(step_uncertainty(state.form, critic, learner.regression(answer)))
    sums = log.values(state.form, state.critics[0]) * 2.0**-TARGET_BITS
    worth = ValuesRelease(people, *(float(one) for one in sums), 0.0)
    return policy_value(MODEL, state.recommendation), worth, doubts


@pytest.mark.parametrize("build", [vapvi, pevi])
@pytest.mark.parametrize(("people", "rho"), [(1000, 1.0), (1000, 50.0), (30_000, 1.0), (30_000, 50.0)])
def test_intervals_hold(build, people, rho):
    """All seeds of all settings: the construction is on the safe side, also where noise drowns everything."""
    usual = policy_value(MODEL, USUAL)
    for seed in range(SEEDS):
        true, worth, doubts = learned(build, people, rho, seed)
        result, more, now = value(worth, doubts, HORIZON), gain(worth, doubts, HORIZON), practice(worth, HORIZON)
        assert result.low <= true <= result.high
        assert more.low <= true - usual <= more.high
        assert now.low <= usual <= now.high
        if people == 30_000 and rho == 50.0:
            assert more.sure() and result.high - result.low < 1.5 and abs(result.value - true) < 0.2


def test_the_doubt_of_a_step_is_that_of_its_chosen_actions():
    phi = np.zeros((2, 2, 2))
    phi[0, 0], phi[0, 1], phi[1, 0], phi[1, 1] = (1, 0), (0, 1), (0.6, 0), (0, 0.5)
    form = GramForm(LinearFeatures(phi), 3)
    critic = Critic(np.array([[2.0, 1.0]]), np.diag([4.0, 100.0])[None], 0.0, 0.5, 0.1, 2.0)
    result = Regression(critic.weights[None], np.diag([4.0, 100.0])[None], 0.0, np.zeros(1))
    # Both states choose the first action: deviations 2 and 1.2, so Gamma is 1.1 and 0.7; residuals vary by up to 9/4.
    assert step_uncertainty(form, critic, result) == pytest.approx(StepUncertainty(0.7, 1.1, 1.5 * 2))
    shifted = Critic(critic.weights, critic.covariance, 0.25, 0.5, 0.1, 2.0)
    assert shift_of(form.features, critic, shifted) == pytest.approx((0.25, 0.25))


def test_vectors_take_the_worst_of_the_ball():
    features = BlockFeatures(2, 2, 1.0)
    form = GramForm(features, 3)
    forms = np.array([np.diag([4.0, 1.0]), np.diag([9.0, 1.0])])
    critic = Critic(np.zeros((2, 2)), forms, 0.0, 0.5, 0.1, 2.0)
    result = Regression(critic.weights[None], forms, 0.0, np.zeros(1))
    assert step_uncertainty(form, critic, result) == pytest.approx(StepUncertainty(0.1, 1.6, 1.5 * 3))
    rng = np.random.default_rng(0)
    other = Critic(rng.normal(size=(2, 2)), forms, 0.0, 0.2, 0.0, 2.0)
    low, high = shift_of(features, critic, other)
    for x in rng.normal(size=(200, 2)):
        points = features.at(x / np.linalg.norm(x))
        assert low <= other.value(points)[0] - critic.value(points)[0] <= high


def test_confidence_and_noise_widen():
    worth, louder = ValuesRelease(100, 200.0, 250.0, 1.0), ValuesRelease(100, 200.0, 250.0, 100.0)
    assert practice(worth, 4).high < practice(louder, 4).high
    assert practice(worth, 4, 0.5).high < practice(worth, 4, 0.99).high
    assert gain(worth, [StepUncertainty(0.1, 0.2, 0.0)], 4).value == pytest.approx(0.5)
    assert (
        value(worth, [StepUncertainty(0.0, 0.0, 9.0)], 4).low == 0
        and value(worth, [StepUncertainty(0.0, 0.0, 9.0)], 4).high == 4
    )
