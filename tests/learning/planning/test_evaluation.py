"""Exact evaluation against walking, against the induction, and against counting paths."""

from __future__ import annotations

import numpy as np
import pytest

from confide.learning.planning import occupancy, optimal, optimal_value, policy_value, policy_values
from confide.mdp import PER_STEP, STATIONARY, Model, Policy
from tests.refusals import refused

from .test_induction import random_model

WIDE = 5.0
"""Standard errors allowed: one false alarm in a million, and the seed is fixed."""


def random_policy(rng: np.random.Generator, model: Model) -> Policy:
    spec = model.spec
    return Policy(rng.dirichlet(np.ones(spec.actions), size=(spec.horizon, spec.states)))


def walk(model: Model, policy: Policy, rng: np.random.Generator, people: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns of many people, and how often each pair was visited at each step."""
    spec = model.spec
    visits = np.zeros((spec.horizon, spec.states, spec.actions))
    returns = np.zeros(people)
    states = rng.choice(spec.states, size=people, p=model.initial)
    for h in range(spec.horizon):
        layer = h if spec.layers > 1 else 0
        actions = (policy.probabilities[h][states].cumsum(axis=1) < rng.random((people, 1))).sum(axis=1)
        np.add.at(visits[h], (states, actions), 1)
        returns += rng.random(people) < model.rewards[layer, states, actions]
        states = (model.transitions[layer, states, actions].cumsum(axis=1) < rng.random((people, 1))).sum(axis=1)
    return returns, visits


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
def test_walking_agrees(kind: str) -> None:
    rng = np.random.default_rng(10)
    model = random_model(rng, 4, 3, 6, kind)
    policy = random_policy(rng, model)
    people = 200_000
    returns, visits = walk(model, policy, rng, people)
    error = returns.std() / np.sqrt(people)
    assert abs(returns.mean() - policy_value(model, policy)) < WIDE * error
    law = occupancy(model, policy)
    assert np.abs(visits / people - law).max() < WIDE * np.sqrt(0.25 / people)
    assert optimal_value(model) - returns.mean() > WIDE * error, "the comparison must be able to tell policies apart"


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
def test_forwards_and_backwards_agree(kind: str) -> None:
    rng = np.random.default_rng(11)
    for states, actions, horizon in ((1, 1, 1), (2, 2, 2), (5, 2, 10), (7, 3, 4)):
        model = random_model(rng, states, actions, horizon, kind)
        for policy in (random_policy(rng, model), optimal(model)[0]):
            values = policy_values(model, policy)
            assert values.shape == (horizon + 1, states) and not values[-1].any()
            assert model.initial @ values[0] == pytest.approx(policy_value(model, policy), abs=1e-12)
            law = occupancy(model, policy)
            assert np.allclose(law.sum(axis=(1, 2)), 1)
            rewards = np.broadcast_to(model.rewards, law.shape)
            assert (law * rewards).sum() == pytest.approx(policy_value(model, policy), abs=1e-12)


def test_nobody_beats_the_optimum() -> None:
    rng = np.random.default_rng(12)
    model = random_model(rng, 5, 3, 6, PER_STEP)
    best = optimal_value(model)
    assert policy_value(model, optimal(model)[0]) == pytest.approx(best, abs=1e-12)
    assert all(policy_value(model, random_policy(rng, model)) < best for _ in range(50))


def test_a_policy_of_other_sizes_is_refused() -> None:
    model = random_model(np.random.default_rng(13), 3, 2, 4, STATIONARY)
    for function in (policy_value, policy_values, occupancy):
        with refused("wrong-shape: policy"):
            function(model, Policy.uniform(4, 3, 5))
