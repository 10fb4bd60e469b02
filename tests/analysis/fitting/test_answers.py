"""Several looks for one price: policies compared, the learned one explained, and given out in other tools' forms."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import confide as cf
from confide.analysis.fitting.comparing import compare, read_policy
from confide.analysis.fitting.explaining import explain, tree
from confide.analysis.results import exports
from confide.analysis.results.fit import Fit
from confide.cli import run
from confide.errors import ConfideError

STATES, ACTIONS, PEOPLE = ("calm", "busy", "late"), ("wait", "call", "visit"), 6000
TRUE = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.2], [0.1, 0.2, 0.8]])
"""What each action pays on average in each state."""


def log(seed: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    states = rng.choice(3, PEOPLE)
    actions = np.array([rng.choice(3, p=[0.7, 0.2, 0.1]) for _ in range(PEOPLE)])
    paid = (rng.random(PEOPLE) < TRUE[states, actions]).astype(float)
    return {"state": np.array(STATES)[states], "action": np.array(ACTIONS)[actions], "reward": paid}


@pytest.fixture(scope="module")
def fit(tmp_path_factory: pytest.TempPathFactory) -> Fit:
    """One shop, one step, no names: noise that hides no one much, so that what is learned is the same every time."""
    folder = tmp_path_factory.mktemp("shop")
    data = cf.trajectories.read(log(), labels={"states": STATES, "actions": ACTIONS}, horizon=1)
    words: dict[str, Any] = {"budget": 100.0, "ledger": folder / "shop.ledger.json", "out": folder / "policy"}
    return cf.fit(data, privacy=cf.Central(rho=50.0), judge="none", unconfounded=True, **words)


def test_all_are_judged_from_one_release_and_hold_the_truth(fit: Fit, tmp_path: Path) -> None:
    (tmp_path / "rule.csv").write_text("state,action\nlate,visit\n")
    words = {"practice": "practice", "learned": "learned", "rule": str(tmp_path / "rule.csv"), "always": "always:call"}
    options = {row.name: row for row in compare(fit, words).rows}
    usual = TRUE @ [0.7, 0.2, 0.1]
    truth = {"practice": usual.mean(), "rule": (usual[0] + usual[1] + TRUE[2, 2]) / 3, "always": TRUE[:, 1].mean()}
    for name, value in truth.items():
        row = options[name]
        # Intervals that hold together with 95 %, of data that is drawn once: the seed is fixed.
        assert row.value["low"] <= value <= row.value["high"], name
        assert row.value["low"] <= row.value["value"] <= row.value["high"]
        assert row.model == pytest.approx(value, abs=0.05)
    assert options["practice"].gain["value"] == 0 and options["practice"].changed == 0
    assert options["rule"].gain["sure"] and options["rule"].changed == pytest.approx(1 / 3)
    assert options["learned"].gain["value"] >= options["rule"].gain["value"] - 0.02


def test_more_policies_make_wider_intervals(fit: Fit) -> None:
    one, three = (compare(fit, {str(i): "always:visit" for i in range(many)}).rows[0].value for many in (1, 3))
    assert three["low"] < one["low"] and three["high"] > one["high"] and three["value"] == one["value"]


def test_what_a_file_does_not_list_goes_on_as_now(fit: Fit, tmp_path: Path) -> None:
    path = tmp_path / "policy.csv"
    path.write_text("state,action,probability\nlate,visit,0.5\nlate,call,0.5\ncalm,current practice,\n")
    policy = read_policy(path, fit)
    assert policy.unchanged is not None and policy.unchanged.tolist() == [[True, True, False]]
    for text in ("state,action\nlate,fly\n", "state,action\nlate,visit\nlate,call\n", "who\n1\n"):
        path.write_text(text)
        with pytest.raises(ConfideError):
            read_policy(path, fit)


def test_the_greatest_differences_come_first_in_labels(fit: Fit) -> None:
    result = explain(fit)
    assert (result[0].state, result[0].action) == ("late", "visit")
    assert result[0].instead == "wait" and result[0].share == pytest.approx(0.7, abs=0.05)
    assert result[0].gain is not None and result[0].gain["low"] > 0.1
    assert all(one.gain is not None and one.gain["low"] <= one.gain["value"] <= one.gain["high"] for one in result)
    table = log()
    seen = int(((table["state"] == "late") & (table["action"] == "visit")).sum())
    # 95 % error, of noise drawn anew every time; six deviations fail once in 1e9.
    assert abs(result[0].rests - seen) < 3 * result[0].error + 1


def test_unless_it_is_declared_nothing_of_a_single_step_is_sure(fit: Fit) -> None:
    check = {"name": "confounding", "passed": False, "said": ""}
    doubted = compare(replace(fit, findings={**fit.findings, "checks": [check]}))
    assert doubted.alarms == ("confounding",) and not any(row.gain["sure"] for row in doubted.rows)
    assert compare(fit).alarms == () and compare(fit).rows[1].gain["sure"]


def test_a_tree_of_more_leaves_comes_closer_to_the_policy(fit: Fit) -> None:
    """Three states with an action each: three leaves are the policy itself, one is the best single choice."""
    grown = [tree(fit, leaves) for leaves in (1, 2, 3, 9)]
    assert [len(one.leaves) for one in grown] == [1, 2, 3, 3]
    assert grown[0].loss > grown[1].loss > grown[2].loss == pytest.approx(0.0, abs=1e-9) and grown[2].agrees == 1.0
    for leaf in grown[2].leaves:
        (states,) = np.nonzero(leaf.where[0])
        assert {fit.act(0, STATES[s]) for s in states} == {grown[2].actions[leaf.action]}
    assert sum(leaf.share for leaf in grown[1].leaves) == pytest.approx(1.0)
    # What one action everywhere would bring, by the release's own model.
    always = {
        name: row.model
        for name, row in zip(ACTIONS, compare(fit, {a: f"always:{a}" for a in ACTIONS}).rows, strict=True)
    }
    learned, practice = (row.model for row in compare(fit, {"learned": "learned", "practice": "practice"}).rows)
    assert grown[0].loss == pytest.approx(learned - max(*always.values(), practice), abs=1e-6)


def test_the_same_policy_in_every_form(fit: Fit, tmp_path: Path) -> None:
    table = log()
    expected = fit.predict(table)
    assert set(expected) <= {*ACTIONS, "current practice"} and expected.shape == (PEOPLE,)
    assert (fit.predict(table["state"]) == expected).all()
    assert (fit.predict(np.array([STATES.index(one) for one in table["state"]])) == expected).all()
    assert (fit.predict(pa.table(table)) == expected).all()
    assert [fit.act(0, one) for one in table["state"][:5]] == list(expected[:5])
    connection = duckdb.connect()
    connection.register("log", pa.table(table))
    answers = connection.sql(f"SELECT {exports.as_sql(fit)} AS action FROM log").fetchnumpy()["action"]
    assert (np.asarray(answers) == expected).all()
    document = json.loads(exports.as_json(fit))
    assert [document["policy"][0][one] for one in table["state"][:20]] == list(expected[:20])
    arrays = exports.as_arrays(fit)
    assert arrays["action"].shape == (1, 3) and arrays["probability"].shape == (1, 3, 3)
    with pytest.raises(ConfideError):
        fit.predict(["nowhere"])
    with pytest.raises(ConfideError):
        fit.predict(["late"], step=5)


def test_sql_over_edges_and_steps() -> None:
    from confide.analysis.results.exports import _condition

    assert _condition("60 <= pulse < 90, fever >= 38") == '60 <= "pulse" AND "pulse" < 90 AND "fever" >= 38'
    assert _condition("pulse < 60") == '"pulse" < 60'


def test_the_commands(fit: Fit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = fit.save(tmp_path / "policy")
    assert run(["compare", str(folder), "--policies", "always:visit", "practice", "learned"]) == 0
    printed = capsys.readouterr().out
    assert "always:visit" in printed and "doubly robust" in printed and "fitted Q" in printed and "e+" not in printed
    assert run(["compare", str(folder), "--plot", str(tmp_path / "all.svg"), "--json"]) == 0
    assert [row["policy"] for row in json.loads(capsys.readouterr().out)["policies"]] == ["practice", "learned"]
    assert (tmp_path / "all.svg").read_text().startswith("<svg")
    assert run(["explain", str(folder), "--tree", "2"]) == 0
    printed = capsys.readouterr().out
    assert "late" in printed and "this tree loses" in printed
    assert run(["explain", str(folder), "--tree", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tree"]["leaves"]) == 2
    assert run(["explain", str(folder), "--tree", "0"]) == 2
    capsys.readouterr()
    for form in ("csv", "json", "sql"):
        assert run(["export", str(folder), "--to", form]) == 0
        assert "late" in capsys.readouterr().out
    assert run(["export", str(folder), "--out", str(tmp_path / "policy.npz")]) == 0
    assert run(["export", str(folder), "--to", "npz"]) == 2
    assert run(["compare", str(folder), "--policies", "magic"]) == 2
    assert run(["compare", str(folder), "--plot", "x.png"]) == 2
