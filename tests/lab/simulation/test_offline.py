from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidInput
from confide.lab.simulation.offline import prepare_offline, simulate_offline
from confide.lab.simulation.streams import spawn
from confide.learning.planning.evaluation import policy_value
from confide.mdp import Policy
from confide.protocol.trusts.central import std

SEEDS = 40
STATED, MEASURED = 0.95, 0.90
"""Intervals state 95 %; on simulated logs of these worlds at least 90 % of them must hold. Seeds are fixed."""

WORLDS = [
    ("clinic", {}, cf.Central(rho=0.5), 3000),
    ("clinic", {}, cf.Central(epsilon=1), 3000),
    ("clinic", {"support": False}, cf.Central(rho=0.5), 3000),
    ("clinic", {"known_rewards": False}, cf.Central(rho=0.5), 3000),
    ("clinic", {"model": "per-step"}, cf.Central(rho=0.5), 20_000),
    ("riverswim/6", {"horizon": 20}, None, 3000),
    ("riverswim/6", {"horizon": 20}, cf.Central(rho=0.5), 3000),
]


@pytest.mark.parametrize(("world", "choices", "promise", "people"), WORLDS)
def test_intervals_hold_as_often_as_they_say(world, choices, promise, people):
    run = simulate_offline(world, promise, people, SEEDS, confidence=STATED, judge="none", **choices)
    held = [one.low <= value <= one.high for one, value in zip(run.estimates, run.values, strict=True)]
    better = run.values - run.practice_value
    gained = [one.low <= gain <= one.high for one, gain in zip(run.gains, better, strict=True)]
    assert np.mean(held) >= MEASURED and np.mean(gained) >= MEASURED
    # And they say something; RiverSwim's practice changes from step to step, which pooled counts cannot tell.
    widest = 0.6 if world.startswith("riverswim") else 0.4
    assert np.mean([one.high - one.low for one in run.estimates]) < widest * run.optimal_value
    assert not any(one.sure() and gain <= 0 for one, gain in zip(run.gains, better, strict=True))


def test_where_noise_drowns_everything_nothing_is_claimed():
    run = simulate_offline("clinic", cf.Central(epsilon=0.1), 300, 30)
    assert not any(one.sure() for one in run.gains)


def test_a_users_own_policy_is_evaluated_from_the_same_release():
    setting = prepare_offline("clinic", cf.Central(rho=0.5), 30_000)
    spec = setting.model.spec
    rng = np.random.default_rng(0)
    held = 0
    for root in spawn(1, 40):
        own = Policy(rng.dirichlet(np.ones(spec.actions), (spec.horizon, spec.states)))
        plan = setting.learned(root)
        result = plan.evidence.evaluate(own)
        held += result.low <= policy_value(setting.model, own) <= result.high
    assert held >= MEASURED * 40
    with pytest.raises(InvalidInput, match="shape"):
        plan.evidence.evaluate(np.ones((1, 2, 3)))


def test_what_nobody_tried_widens_the_interval_to_what_it_could_bring():
    never = np.zeros((8, 6, 3))
    never[..., 0] = 1.0
    setting = prepare_offline("clinic", cf.Central(rho=0.5), 30_000, behaviour=Policy(never))
    plan = setting.learned(spawn(2, 1)[0])
    untried = Policy(np.roll(never, 1, axis=-1))
    result, more = plan.evidence.evaluate(untried), plan.evidence.compare(untried)
    low, high = (
        setting.knowledge.worths
    )  # rewards are known, so nothing has the value less than the least of them at every step
    assert result.low == pytest.approx(low, abs=0.2) and result.high == pytest.approx(high, abs=0.2) and high - low > 6
    assert more.low < 0 < more.high


def test_learning_improves_with_people_and_with_rho_and_is_exact():
    few, many = (simulate_offline("clinic", cf.Central(rho=0.1), n, 10).values.mean() for n in (300, 30_000))
    assert few < many
    strict, loose = (simulate_offline("clinic", cf.Central(rho=rho), 1000, 10).values.mean() for rho in (0.005, 5.0))
    assert strict < loose
    run = simulate_offline("clinic", None, 10**9, 1)
    assert run.suboptimality.max() < 1e-9


def test_the_same_seed_gives_the_same_run():
    first, again = (simulate_offline("clinic", cf.Central(rho=0.5), 1000, 2, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.values, again.values)
    assert first.as_json()["certificate"]["noise"] == "replayable"
    assert first.certificate.guarantee.rho == pytest.approx(0.5)
    assert math.isclose(first.as_json()["value"]["mean"], float(first.values.mean()))


def test_refusals():
    with pytest.raises(InvalidInput, match="behaviour"):
        prepare_offline("clinic", behaviour="random")
    with pytest.raises(InvalidInput, match="share"):
        prepare_offline("clinic", behaviour="soft")
    with pytest.raises(InvalidInput, match="logged counts"):
        prepare_offline("clinic", learner="ucbvi")
    with pytest.raises(InvalidInput, match=r"[Cc]entral"):
        prepare_offline("clinic", cf.Joint(epsilon=1))


def test_paper_takes_the_error_radius_that_is_printed():
    """E_rho = 4 sqrt(H log(4 H S^2 A/delta)/rho), of which a count is off by half at most; the noise is the same."""
    words = {"privacy": cf.Central(rho=0.5), "episodes": 1000, "model": "per-step"}
    paper, sound = (prepare_offline("clinic", calibration=name, **words) for name in ("paper", "sound"))
    assert std(paper.design) == std(sound.design)
    spec = paper.model.spec
    cells = 4 * spec.horizon * spec.states**2 * spec.actions
    (root,) = spawn(0, 1)
    printed, true = paper.release(root).radius, sound.release(root).radius
    assert std(paper.design) == pytest.approx(math.sqrt(2 * spec.horizon / 0.5), rel=1e-6)
    assert 2 * printed.transitions == pytest.approx(
        4 * math.sqrt(spec.horizon * math.log(cells / 0.05) / 0.5), rel=1e-6
    )
    assert 0.8 < true.transitions / printed.transitions < 1  # the printed one holds, and is a little loose
    assert paper.certificate().calibration == "paper"


def test_current_practice_is_no_better_than_itself():
    setting = prepare_offline("clinic", cf.Central(rho=0.5), 300)
    (root,) = spawn(0, 1)
    plan = setting.learned(root)
    kept = np.zeros_like(plan.extended)
    kept[..., 0] = 1.0
    same = plan.evidence.compare(kept)
    # No gain at all, with the doubt of whatever the release could have shown: never an interval without width.
    assert same.value == 0.0 and same.low < 0 < same.high and not same.sure()
    assert astuple(plan.evidence.evaluate(kept)) == pytest.approx(astuple(plan.evidence.evaluate(None)))
