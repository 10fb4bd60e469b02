"""docs/json.md lists the keys that offline commands really print, no more and no fewer, in their order."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.cli import run
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, episodes, write

DOCUMENT = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
SIZES = ["--states", str(STATES), "--actions", str(ACTIONS), "--horizon", str(HORIZON)]


def section(heading: str) -> str:
    return DOCUMENT.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]


def documented(heading: str) -> list[str]:
    """The keys in the first column of the table under a heading."""
    rows = re.findall(r"^\| (`[^|]*`) \|", section(heading), re.MULTILINE)
    return [key for row in rows for key in re.findall(r"`([a-z_]+)`", row)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "log.parquet", episodes(300, seed=1))


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    def printed(*words: object, code: int = 0) -> dict[str, Any]:
        assert run([*map(str, words), "--json"]) == code
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    return printed


def test_budget_check_fit_refit_evaluate(log: Path, said: Any) -> None:
    policy = log.with_name("policy")
    assert list(said("budget", log, "--rho", 1)) == [*documented("Budget")]
    checked = said("fit", log, *SIZES, "--rho", 0.5, "--check")
    assert list(checked) == documented("Check")
    assert checked["guarantee"].keys() == said("forecast", *SIZES, "--rho", 1)["guarantee"].keys()
    for result in (
        said("fit", log, *SIZES, "--rho", 0.5, "--out", policy),
        said("refit", policy, "--out", f"{policy}2"),
    ):
        assert list(result) == documented("Fit and refit")
        assert list(result["practice"]) == ["value", "low", "high"]
        assert list(result["gain"]) == ["value", "low", "high", "sure"]
        assert list(result["alone"]) == ["value", "low", "high", "vacuous"]
        assert list(result["coverage"]) == ["pairs", "practice", "kept"]
    document = said("evaluate", policy)
    assert list(document) == ["value", "low", "high", "practice", "gain", "confidence"]
    said("refit", policy, "--alone", "--out", f"{policy}3")  # no one's practice is known in this world
    exact = said("evaluate", f"{policy}3", "--env", "riverswim/3")
    for keys in (document, exact):
        assert all(f"`{key}`" in section("Evaluate") for key in keys)
    config = json.loads((policy / "config.json").read_text())
    assert config["schema"] == "confide.fit/1" and {"findings", "names"} <= set(config)


def test_what_is_wrong_is_a_list_of_sentences(tmp_path: Path, said: Any) -> None:
    broken = write(tmp_path / "log.parquet", episodes(5), state=[9] * sum(len(one.actions) for one in episodes(5)))
    checked = said("fit", broken, *SIZES, "--rho", 0.5, "--check", code=2)
    assert not checked["ok"] and checked["left"] is None
    assert all(list(problem) == ["code", "sentence", "rows"] for problem in checked["problems"])


def test_linear_learners_print_the_same_keys(log: Path, said: Any) -> None:
    np.save(log.with_name("phi.npy"), np.random.default_rng(0).random((STATES, ACTIONS, 2)))
    words = ["--learner", "vapvi", "--features", log.with_name("phi.npy"), "--budget", 1, "--out", log.with_name("p")]
    document = said("fit", log, *SIZES, "--epsilon", 1, "--delta", 1e-6, *words)
    assert list(document) == documented("Fit and refit")
    assert [name for name, value in document.items() if value is None] == [
        "coverage",
        "needed",
        "power",
        "ended",
        "judged",
        "alarms",
        "groups",
        "needed_to_be_sure",
    ]


def test_forecast_and_simulated_logs(said: Any) -> None:
    document = said("forecast", "--states", 20, "--actions", 3, "--horizon", 5, "--rho", 0.5)
    text = section("Forecast")
    assert all(f"`{key}`" in text for key in document) and all(f"`{key}`" in text for key in document["rows"][0])
    assert set(documented("Forecast")) <= set(document)
    simulated = said("simulate", "clinic", "--offline", "--rho", 0.5, "--episodes", 500, "--seeds", 1)
    assert list(simulated) == documented("Simulate from logged people")
