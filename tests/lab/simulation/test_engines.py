"""Three engines, one law; exact regret; seeds that do not depend on workers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from confide import Joint, Local, NoPrivacy
from confide.lab.environments import Environment, make
from confide.lab.simulation import prepare, simulate
from confide.lab.simulation.setting import parse_schedule
from confide.lab.simulation.simulate import ENGINES, choose_engine
from confide.lab.simulation.streams import spawn, streams
from confide.learning.planning.evaluation import optimal_value, policy_value
from confide.mdp import Policy
from tests.everyday import first_of

# Seeds are fixed. If both engines have one law, a Kolmogorov-Smirnov test rejects with this probability.
FALSE_ALARM = 1e-6

CASES = {
    "none": {},
    "laplace": {"privacy": Local(2.0), "mechanism": "laplace"},
    "gaussian": {"privacy": Local(2.0, 1e-3), "mechanism": "gaussian"},
    "randomised-response": {"privacy": Local(4.0), "mechanism": "randomised-response"},
    "sampled": {"privacy": Local(3.0), "mechanism": "unary"},
    "tree": {"privacy": Joint(5.0), "mechanism": "tree-laplace"},
    "toeplitz": {"privacy": Joint(5.0, 1e-3), "mechanism": "toeplitz"},
}


def regrets(engine, seeds, root, **choices):
    run = simulate("psrl", "riverswim/3", episodes=12, horizon=3, seeds=seeds, seed=root, engine=engine, **choices)
    return run.regret[:, -1]


@pytest.mark.parametrize("name", first_of(sorted(CASES)))
def test_engines_agree_in_law(name):
    choices = CASES[name]
    # The compiled loop knows whole-episode reports and trees; where it does not, the plain engine walks people.
    setting = prepare("psrl", "riverswim/3", episodes=12, horizon=3, schedule="every", **choices)
    walking = choose_engine(setting, None)
    walking = walking if walking == "stepwise" else "plain"
    left = regrets("batched", 200, 1, schedule="every", **choices)
    right = regrets(walking, 80 if walking == "plain" else 1000, 2, schedule="every", **choices)
    assert stats.ks_2samp(left, right).pvalue > FALSE_ALARM
    assert abs(left.mean() - right.mean()) < 5 * np.sqrt(left.var() / len(left) + right.var() / len(right))


@pytest.mark.parametrize("name", first_of(["laplace", "none"]))
def test_plain_and_stepwise_agree_in_law(name):
    left = regrets("stepwise", 1000, 1, schedule="every", **CASES[name])
    right = regrets("plain", 80, 2, schedule="every", **CASES[name])
    assert stats.ks_2samp(left, right).pvalue > FALSE_ALARM


def test_a_tilted_law_would_be_noticed():
    """The comparison can fail: other noise gives another law."""
    left = regrets("stepwise", 1000, 1, schedule="every", privacy=Local(0.05), mechanism="laplace")
    right = regrets("stepwise", 1000, 2, schedule="every")
    assert stats.ks_2samp(left, right).pvalue < FALSE_ALARM


def test_regret_is_exact():
    environment = make("riverswim/4", 6)
    run = simulate("ucbvi", environment, episodes=500, seeds=1, schedule="batches:5")
    # Within the first batch the first policy is played: the curve is a straight line whose slope is its exact gap.
    first = run.checkpoints <= 100
    gaps = run.regret[0][first] / run.checkpoints[first]
    assert gaps == pytest.approx(np.full(first.sum(), gaps[0]), rel=1e-12)
    assert run.optimal_value == pytest.approx(optimal_value(environment.model), rel=1e-12)
    assert run.final_value[0] == pytest.approx(policy_value(environment.model, run.policy), rel=1e-12)
    assert (np.diff(run.regret[0]) >= -1e-9).all()


def test_a_run_in_a_world_without_an_address_has_a_name():
    world = Environment.known(make("riverswim/3", 4).model)
    run = simulate("ucbvi", world, NoPrivacy(), episodes=5, seeds=1)
    assert run.environment == "a world of 3 states and 2 actions" and run.environment in repr(run)


def test_the_best_policy_has_no_regret():
    environment = make("grid/3x3", 6)
    run = simulate("ucbvi", environment, episodes=3000, seeds=1, bonus="private", bonus_scale=0.0)
    assert run.final_value[0] <= run.optimal_value + 1e-12


def test_results_do_not_depend_on_workers():
    one = simulate("obi", "random/2x2", Local(2.0), 2000, 4, horizon=2, workers=1)
    two = simulate("obi", "random/2x2", Local(2.0), 2000, 4, horizon=2, workers=2)
    assert np.array_equal(one.regret, two.regret)
    assert not np.array_equal(one.regret[0], one.regret[1])


def test_streams_are_independent_and_replayable():
    first, again = (streams(spawn(7, 2)[0]) for _ in range(2))
    other = streams(spawn(7, 2)[1])
    draws = [s.random(4) for s in (first.world, first.policy, first.noise, other.world)]
    assert np.array_equal(draws[0], again.world.random(4))
    assert all(not np.array_equal(draws[0], later) for later in draws[1:])


@pytest.mark.parametrize("text, releases", [("every", 100), ("batches:7", 7), ("growth:2", 8)])
def test_schedules_in_words(text, releases):
    schedule = parse_schedule(text, 100)
    assert schedule.releases == releases
    assert schedule.ends[-1] == 100


def test_a_trillion_people():
    run = simulate("obi", "random/2x2", Local(1.0), 1e12, 1, horizon=2)
    assert run.engine == "batched"
    assert np.isfinite(run.regret).all()
    # With this many people the policy is as good as the best.
    assert run.final_value[0] == pytest.approx(run.optimal_value, abs=1e-3)


def test_an_interrupted_run_keeps_finished_seeds(monkeypatch):
    engine, calls = ENGINES["batched"], []

    def stops(setting, root):
        calls.append(root)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return engine(setting, root)

    monkeypatch.setitem(ENGINES, "batched", stops)
    run = simulate("obi", "random/2x2", Local(1.0), 1000, 5, horizon=2)
    assert run.seeds == 2
    assert run.regret.shape[0] == 2


def test_policies_are_policies():
    run = simulate("po", "riverswim/3", Joint(1.0, 1e-6), 1000, 1, horizon=4)
    assert isinstance(run.policy, Policy)
