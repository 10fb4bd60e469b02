"""What may be said of a policy that others judged: the four rules, one by one, and that of a single step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting.alarms import (
    ALARMS,
    BALANCE,
    CONFOUNDING,
    DISAGREEMENT,
    HABIT,
    LEFT_OUT,
    MEANING,
    PROPENSITY,
    RESIDUAL,
    SEEN_MORE,
    UNTOLD,
    one_step,
    ruling,
)
from confide.analysis.fitting.refit import refit
from confide.analysis.reporting.offline_report import _table_tells
from confide.data.trajectories import read

GOOD = {"alpha": 0.7, "gain": 0.39, "low": 0.34, "high": 0.44, "sure": True, "people": 1500}
UNSURE = {**GOOD, "gain": 0.1, "low": -0.1, "high": 0.3, "sure": False}
BAD = {**GOOD, "gain": -0.1, "low": -0.2, "high": 0.01, "sure": False}


@pytest.mark.parametrize("alarm", [PROPENSITY, BALANCE, DISAGREEMENT])
def test_nothing_is_stated_where_those_who_decided_saw_more(alarm: str) -> None:
    blind = ruling(GOOD, [alarm], logged=False, table_sure=True)
    assert not blind["recommended"] and not blind["judged"]["sure"] and blind["alarms"] == [alarm]
    assert "0.39" not in blind["judged_said"] and alarm in blind["judged_said"]
    logged = ruling(GOOD, [alarm], logged=True, table_sure=True)
    assert logged["judged"]["sure"] and not logged["recommended"]


def test_a_cause_is_named_only_as_far_as_it_is_known() -> None:
    """Where histories matter judge and table disagree although practice saw no more than is recorded."""
    for alarms in ([DISAGREEMENT], [RESIDUAL, DISAGREEMENT]):
        said = ruling(GOOD, alarms, logged=False, table_sure=True)["judged_said"]
        assert LEFT_OUT in said and SEEN_MORE not in said
    for alarms in ([PROPENSITY], [BALANCE, DISAGREEMENT], [RESIDUAL, PROPENSITY, DISAGREEMENT]):
        said = ruling(GOOD, alarms, logged=False, table_sure=True)["judged_said"]
        assert SEEN_MORE in said and LEFT_OUT not in said
    assert LEFT_OUT not in ruling(GOOD, [DISAGREEMENT], logged=True, table_sure=True)["judged_said"]


def test_of_a_linear_learner_s_single_step_nothing_is_better_unless_it_is_declared(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    people = 20_000
    x, action = rng.random((people, 2)), rng.integers(2, size=people)
    log = {"x1": x[:, 0], "x2": x[:, 1], "action": action, "reward": (rng.random(people) < 0.2 + 0.6 * action) * 1.0}
    data = read(log, state_columns="x*", norm=1.5, intercept=True, actions=2, horizon=1)
    words: dict[str, Any] = {"ledger": tmp_path / "l.json", "budget": 99.0, "privacy": cf.Central(rho=20.0)}
    plain, declared = cf.fit(data, "pevi", **words), cf.fit(data, "pevi", **words, unconfounded=True)
    assert plain.findings["gain"]["sure"] and plain.findings["recommended"] is False
    assert declared.findings["gain"]["sure"] and declared.findings["recommended"] is True
    checks = [
        [one["passed"] for one in fit.findings["checks"] if one["name"] == CONFOUNDING] for fit in (plain, declared)
    ]
    assert checks == [[False], [True]] and "--unconfounded" in declared._page()
    again = refit(declared)
    assert again.findings["recommended"] is True and refit(plain).findings["recommended"] is False


def test_whatever_the_table_says_an_adoption_that_is_not_better_is_not() -> None:
    assert not ruling(BAD, [], logged=True, table_sure=True)["recommended"]


def test_where_those_who_judge_cannot_tell_nothing_is_better_and_that_is_said() -> None:
    said = ruling(UNSURE, [], logged=False, table_sure=True)
    assert not said["recommended"] and not said["judged"]["sure"] and UNTOLD in said["judged_said"]
    assert UNTOLD not in ruling(UNSURE, [], logged=False, table_sure=False)["judged_said"]
    assert UNTOLD not in ruling(GOOD, [], logged=False, table_sure=True)["judged_said"]


def test_a_doubt_about_what_practice_did_states_no_gain_without_any_alarm() -> None:
    said = ruling(GOOD, [], logged=False, table_sure=True, doubtful=HABIT)
    assert not said["recommended"] and not said["judged"]["sure"] and said["alarms"] == []
    assert said["judged_said"] == HABIT and said["judged"]["undone_by"] is None


def test_the_table_must_be_sure() -> None:
    assert ruling(GOOD, [], logged=False, table_sure=True)["recommended"]
    unsure = ruling(GOOD, [], logged=False, table_sure=False)
    assert not unsure["recommended"] and unsure["judged"]["sure"] and "7 of 10 decisions" in unsure["judged_said"]
    assert ruling(None, [], logged=False, table_sure=True)["recommended"] is False


def test_where_more_than_the_state_matters_the_adoption_alone_is_spoken_of() -> None:
    said = ruling(GOOD, [RESIDUAL], logged=False, table_sure=True)
    assert said["judged"]["sure"] and not said["recommended"] and "7 of 10" in said["judged_said"]
    assert set(MEANING) == set(ALARMS)


def test_of_a_single_step_nothing_is_better_unless_it_is_logged_or_declared() -> None:
    sure = {"recommended": True, "checks": []}
    assert one_step(sure, 1, logged=False, unconfounded=False)["recommended"] is False
    declared = one_step(sure, 1, logged=False, unconfounded=True)
    assert declared["recommended"] and declared["checks"][0]["passed"]
    assert one_step(sure, 1, logged=True, unconfounded=False) == {}
    assert one_step(sure, 2, logged=False, unconfounded=False) == {}


def test_a_fit_of_one_step_prints_what_was_declared(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    action = rng.integers(2, size=4000)
    log = {"state": np.zeros(4000, int), "action": action, "reward": (rng.random(4000) < 0.2 + 0.5 * action) * 1.0}
    data = read(log, states=1, actions=2, horizon=1)
    words: dict[str, Any] = {"ledger": tmp_path / "l.json", "budget": 9.0, "privacy": cf.Central(rho=1.0)}
    plain, declared = cf.fit(data, **words), cf.fit(data, **words, unconfounded=True)
    assert plain.as_json()["gain"]["sure"] and not plain.as_json()["recommended"]
    assert declared.as_json()["recommended"] and declared.config["unconfounded"]
    assert [check["passed"] for check in plain.as_json()["checks"] if check["name"] == "confounding"] == [False]


def test_the_report_shows_judge_and_table_side_by_side() -> None:
    foretold = {"value": 0.5, "low": 0.45, "high": 0.55}
    findings = {**ruling(GOOD, [RESIDUAL], False, True), "foretold": foretold, "tested": [0.5, -4.2]}
    section = _table_tells(findings, "person")
    assert "<svg" in section and "1,500 people" in section and "4.2 standard deviations" in section
    assert "residual" in section and _table_tells({}, "person") == ""
