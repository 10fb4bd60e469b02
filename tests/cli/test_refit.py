"""`confide refit` and `confide report`: from what was saved, at no cost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import confide
from confide.analysis.fitting import fit
from confide.cli import run
from confide.data.trajectories import read
from confide.privacy import Central, Ledger
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, columns, episodes


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    data = read(columns(episodes(200, full=True)), states=STATES, actions=ACTIONS, horizon=HORIZON)
    choices = {"ledger": tmp_path / "l.json", "budget": 1.0, "out": tmp_path / "policy", "visits": "all"}
    fit(data, "apvi", Central(rho=1.0), **choices)
    return tmp_path / "policy"


def test_first_visits_are_not_read_by_printed_pessimism(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = read(columns(episodes(200, full=True)), states=STATES, actions=ACTIONS, horizon=HORIZON)
    first = tmp_path / "first"
    fit(data, "apvi", Central(rho=1.0), ledger=tmp_path / "l.json", budget=1.0, out=first, visits=HORIZON)
    assert run(["refit", str(first), "--pessimism", "hoeffding", "--out", str(tmp_path / "other")]) == 2
    assert "fit with --visits all" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
    assert run(["refit", str(first), "--out", str(tmp_path / "other")]) == 0


def test_other_pessimism_costs_nothing(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = policy.with_name("other")
    words = ["--learner", "apvi", "--pessimism", "hoeffding", "--out", str(other), "--json"]
    assert run(["refit", str(policy), *words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["users"] == 200
    old, new = confide.load(policy), confide.load(other)
    assert new.config["options"] == {"pessimism": "hoeffding"}
    assert new.releases == old.releases and new.certificate.as_json() == old.certificate.as_json()
    assert new.values[0].sum() < old.values[0].sum()  # the printed bound is far more careful
    assert len(Ledger(policy.with_name("l.json")).balance().charges) == 1
    assert run(["refit", str(policy), "--out", str(other)]) == 2
    assert "holds a result already" in capsys.readouterr().err
    assert run(["refit", str(policy), "--out", str(other), "--replace"]) == 0
    assert confide.load(other).findings["lower"] == pytest.approx(old.findings["lower"])


def test_the_report_is_one_file(
    policy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    assert run(["report", str(policy), "--open", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"report": str(policy / "report.html")}
    assert shown == [(policy / "report.html").as_uri()]
    page = (policy / "report.html").read_text()
    assert page.lower().startswith("<!doctype html>") and "http://" not in page.replace("http://www.w3.org", "")
    again = policy.with_name("again.html")
    assert run(["report", str(policy), "--out", str(again)]) == 0
    assert again.read_text() == page
