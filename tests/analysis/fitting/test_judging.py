"""A policy of one's own, judged from the release of a fit, held against its exact value."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting.judging import as_policy, judge
from confide.analysis.results.fit import Fit
from confide.cli import run
from confide.lab.environments import clinic
from confide.lab.simulation.offline_log import draw_records
from confide.learning.planning import policy_value
from confide.mdp import Policy
from tests.refusals import refused

PEOPLE, HORIZON = 20_000, 4
WORLD, USUAL = clinic.clinic(HORIZON), clinic.practice(HORIZON)
STATES, ACTIONS = WORLD.rewards.shape[1:]


def records(seed: int = 0) -> dict[str, np.ndarray]:
    return draw_records(WORLD, USUAL, PEOPLE, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Fit, Path]:
    place = tmp_path_factory.mktemp("judging")
    data = cf.trajectories.read(
        records(), states=STATES, actions=ACTIONS, horizon=HORIZON, fixed_length=True, initial=WORLD.initial
    )
    words = {"ledger": place / "ledger.json", "budget": 1.0, "out": place / "policy"}
    return cf.fit(data, privacy=cf.Central(rho=0.5), **words), place / "policy"


@pytest.mark.parametrize("kind", ["uniform", "always-0", "always-1", "always-2", "random"])
def test_the_truth_is_near_the_interval(fitted, kind):
    """How often intervals hold is seen in test_coverage; here none is far off."""
    fit, _ = fitted
    table = np.full((STATES, ACTIONS), 1 / ACTIONS)
    if kind.startswith("always"):
        table = np.eye(ACTIONS)[np.full(STATES, int(kind[-1]))]
    if kind == "random":
        table = np.random.default_rng(1).dirichlet(np.ones(ACTIONS), STATES)
    judgement = judge(fit, table)
    true = policy_value(WORLD, Policy(np.broadcast_to(table, (HORIZON, STATES, ACTIONS))))
    usual = policy_value(WORLD, USUAL)
    assert judgement["high"] - judgement["low"] < 1.5
    for span, truth in ((judgement, true), (judgement["practice"], usual), (judgement["gain"], true - usual)):
        middle, half = (span["low"] + span["high"]) / 2, (span["high"] - span["low"]) / 2
        assert abs(truth - middle) <= 3 * half  # 5.9 standard errors: false alarms 1e-7 in all


def test_shapes_that_mean_the_same(fitted):
    fit, _ = fitted
    chosen = np.arange(STATES) % ACTIONS
    table = np.eye(ACTIONS)[chosen]
    wanted = as_policy(table, fit.knowledge).probabilities
    for given in (
        chosen,
        np.tile(chosen, (HORIZON, 1)),
        np.array([table] * HORIZON),
        Policy(np.array([table] * HORIZON)),
    ):
        np.testing.assert_array_equal(as_policy(given, fit.knowledge).probabilities, wanted)
    for given, says in (
        (np.ones((2, 3)), "policy-form: policy"),
        (np.full(STATES, ACTIONS), "index-out-of-range: actions"),
        (table * 2, "probabilities-not-summing-to-one: policy"),
    ):
        with refused(says):
            as_policy(given, fit.knowledge)


def test_the_command(fitted, tmp_path, capsys):
    _, folder = fitted
    assert run(["evaluate", str(folder), "--json"]) == 0
    own = json.loads(capsys.readouterr().out)
    assert set(own) == {"value", "low", "high", "practice", "gain", "confidence"} and own["low"] < own["high"]
    np.save(tmp_path / "mine.npy", np.zeros(STATES, dtype=np.int64))
    assert run(["evaluate", str(folder), "--policy", str(tmp_path / "mine.npy"), "--json"]) == 0
    other = json.loads(capsys.readouterr().out)
    assert other["practice"] == own["practice"] and other["value"] != own["value"]
    assert run(["evaluate", str(folder)]) == 0
    assert "current practice" in capsys.readouterr().out
    assert run(["evaluate", str(folder), "--policy", str(tmp_path / "mine.npy"), "--env", "clinic"]) == 0
    assert "in clinic" in capsys.readouterr().out
    np.save(tmp_path / "wrong.npy", np.zeros(2))
    assert run(["evaluate", str(folder), "--policy", str(tmp_path / "wrong.npy")]) == 2
    assert run(["evaluate", str(folder), "--policy", str(tmp_path / "none.npy")]) == 2


def test_actions_that_are_not_allowed(tmp_path):
    allowed = np.ones((STATES, ACTIONS), dtype=bool)
    document = records()
    document["action"][:] = 0
    allowed[:, 2] = False
    data = cf.trajectories.read(document, states=STATES, actions=ACTIONS, horizon=HORIZON, allowed=allowed)
    fit = cf.fit(data, privacy=cf.Central(rho=0.5), ledger=tmp_path / "l.json", budget=1.0)
    with refused("policy-action-forbidden", match="step 0"):
        judge(fit, np.full(STATES, 2))
    assert judge(fit, np.zeros(STATES, dtype=np.int64))["value"] > 0  # episodes may end here: the end has no action
