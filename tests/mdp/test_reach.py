"""Bounds on values by public knowledge: by hand, never crossed by any rows and policy, and reached by some."""

from __future__ import annotations

import numpy as np
import pytest

from confide.learning.planning.evaluation import policy_values
from confide.mdp import PER_STEP, Model, Policy, Spec
from confide.mdp.knowledge import Knowledge


def test_two_steps_by_hand() -> None:
    # From 0 action 0 stays, for nothing; action 1 may stay or go to 1, for 0.5. In 1 everything pays 0.25 and stays.
    support = np.array([[[1, 0], [1, 1]], [[0, 1], [0, 1]]], dtype=bool)
    known = Knowledge.declared(Spec(2, 2, 2), support=support, rewards=[[0.0, 0.5], [0.25, 0.25]], ends=False)
    np.testing.assert_allclose(known.reach.low, [[0.0, 0.5], [0.0, 0.25], [0.0, 0.0]])
    np.testing.assert_allclose(known.reach.high, [[1.0, 0.5], [0.5, 0.25], [0.0, 0.0]])
    np.testing.assert_allclose(known.reach.least[0], [[0.0, 0.5], [0.5, 0.5]])
    np.testing.assert_allclose(known.reach.most[0], [[0.5, 1.0], [0.5, 0.5]])
    np.testing.assert_allclose(known.reach.half[0], [[0.25, 0.25], [0.0, 0.0]])
    assert known.worths == (0.0, 1.0)


def test_an_action_that_is_not_allowed_bounds_nothing() -> None:
    known = Knowledge.declared(Spec(1, 2, 3), rewards=[[0.2, 1.0]], allowed=[[True, False]], initial=[1.0], ends=False)
    assert known.worths == pytest.approx((0.6, 0.6))


def test_without_rewards_anything_is_possible_but_after_the_end() -> None:
    known = Knowledge.declared(Spec(2, 1, 3), end_reward=0.25)
    np.testing.assert_allclose(known.reach.high, [[3, 3, 0.75], [2, 2, 0.5], [1, 1, 0.25], [0, 0, 0]])
    np.testing.assert_allclose(known.reach.low, [[0, 0, 0.75], [0, 0, 0.5], [0, 0, 0.25], [0, 0, 0]])


@pytest.mark.parametrize("dynamics", ["stationary", PER_STEP])
def test_no_rows_and_no_policy_leave_the_bounds_and_some_reach_them(dynamics: str) -> None:
    luck = np.random.default_rng(3)
    spec = Spec(4, 2, 3, dynamics)
    for _ in range(20):
        support = luck.random((4, 2, 4)) < 0.6
        support[np.arange(4), :, np.arange(4)] = True
        rewards = luck.random((spec.layers, 4, 2))
        known = Knowledge.declared(
            spec, support=support, rewards=rewards[0] if len(rewards) == 1 else rewards, ends=False
        )
        reach = known.reach
        for _ in range(10):
            rows = np.where(support, luck.random((spec.layers, 4, 2, 4)), 0.0)
            model = Model(rows / rows.sum(axis=-1, keepdims=True), rewards, np.full(4, 0.25), 3)
            values = policy_values(model, Policy(luck.dirichlet(np.ones(2), (3, 4))))
            assert (values >= reach.low[: len(values)] - 1e-12).all()
            assert (values <= reach.high[: len(values)] + 1e-12).all()
        # Nature and the policy as bad as can be, step by step: a per-step model in which both choose.
        worst = np.where(support, reach.low[1:, None, None, :], np.inf).argmin(axis=-1)
        paid = np.broadcast_to(rewards, (3, 4, 2))
        model = Model(np.eye(4)[worst], paid, np.full(4, 0.25), 3)
        values = policy_values(model, Policy.deterministic(reach.least.argmin(axis=-1), 2))
        np.testing.assert_allclose(values[:3], reach.low[:3])
