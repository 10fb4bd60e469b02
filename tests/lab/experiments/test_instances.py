"""Runs in worlds of their own: which worlds, and when a run is stuck."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from confide.lab.experiments import vtr_theorem
from confide.lab.experiments.curve import Curve, rescheduled
from confide.lab.experiments.instances import FIRST, LEAST_LOSS, InstanceRegret, Instances, worlds
from confide.lab.experiments.ldp_obi_bounds import ProofBound, UpperBound
from confide.lab.experiments.part import PAPER, PartResult
from confide.lab.experiments.world_view import random_loss
from confide.lab.experiments.worlds import EVALUATION, TUNING
from confide.lab.simulation import prepare
from confide.learning.planning.value_targeted import confidence_radius, problem
from confide.privacy import Local


def test_worlds_are_new_and_have_something_to_learn() -> None:
    result = worlds("random/2x2", 2, 20)
    assert len(set(result)) == 20 and result[0] == f"random/2x2?seed={FIRST}"
    assert not set(result) & {*EVALUATION, *(world for world, _ in TUNING)}
    assert all(random_loss(world, 2) > LEAST_LOSS for world in result)


def test_a_run_is_stuck_if_its_last_people_lose_much() -> None:
    losses = [random_loss(world, 2) for world in worlds("random/2x2", 2, 3)]
    last = np.array([[100.0, 100.0 + share * loss * 100] for share, loss in zip((0.05, 0.2, 1.0), losses, strict=True)])
    result = PartResult("a", np.array([100.0, 200.0]), last, "g")
    assert InstanceRegret.stuck(result) == "2 of 3"
    rows = InstanceRegret("t").table([result])
    assert rows[1][-1] == "2 of 3" and len(rows[0]) == len(rows[1])


def test_every_seed_has_its_own_world() -> None:
    one = Instances.of(Curve("a", "obi", "random/2x2", Local(2.0), 1000, {"horizon": 2, "schedule": "growth:2"}))
    result = one.compute(PAPER, 2)
    assert result.rows.shape[0] == 2 and result.guarantee == "2-DP, local" == one.promise()
    assert one.changed(partial(rescheduled, schedule="growth:3")).curve.choices["schedule"] == "growth:3"
    assert np.ptp(result.final) > 0


def test_theorem_5_2_is_the_printed_bound_and_the_side_as_printed_has_its_radius() -> None:
    """K = 100, d = 4, H = 3, epsilon 10: 4^(5/4) 3^(7/4) 300^(3/4) ln(120,000) ln(30)^(1/4)/sqrt(10) = 14,005; its radius before
    the first person, at the first step: ln(120,000) ln(30)^(1/4)/sqrt(10) times 4^(3/4) 3^(3/2) = 73.80."""
    assert vtr_theorem.bound(100) == pytest.approx(14005, rel=1e-3)
    side = vtr_theorem.radius_side(1.0, 100).curve
    setting = prepare(side.learner, f"{side.world}?seed=0", side.privacy, 100, **side.choices)
    rule, context = setting.learner.rule(setting.context), setting.context
    found = confidence_radius(problem(context.form, context.rewards), rule, 0, 1.0, 1.0, 0.0, 0.0)
    assert found == pytest.approx(73.80, rel=1e-3)


def test_bounds_are_the_printed_ones() -> None:
    """(29) at K = 10^4: H = ceil(2 log2(7) + 2) = 8, d = 3, L = 4: 5 sqrt(10^4 * 8)/(64 (e^.02 - 1)) = 1093.8.

    Theorem 5 at K = 101, epsilon 1, S = A = H = 2 (see test_papers for c_1 = c_2 = 2294.5, c_3 = 2439.7, c_4 = 1725.2):
    4 sqrt(2 * 202) + 16 * 2439.7 + 32 * 1725.2 + 8 * 2 * 2294.5 = 80.4 + 39035 + 55206 + 36712.
    """
    bound = 5 * np.sqrt(8e4) / (64 * np.expm1(0.02))  # H - d = 5, L A = 8, and epsilon 0.02 is below ln(3/2)
    assert ProofBound("p", (1e4,), (1.0,)).compute(PAPER, 1).final[0] == pytest.approx(bound)
    result = UpperBound("u", "random/2x2", 1.0, (101.0,)).compute(PAPER, 1).final[0]
    np.testing.assert_allclose(result, 131034, rtol=1e-3)
