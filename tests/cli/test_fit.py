"""`confide fit` as people and programs call it; and every kind of bad input: one sentence, exit 2, nothing spent."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide
from confide.cli import run
from confide.learning.learners import catalogue
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, Episode, columns, episodes, write
from tests.analysis.fitting.stub import Frequent

SIZES = ["--states", str(STATES), "--actions", str(ACTIONS), "--horizon", str(HORIZON)]
RHO = ["--rho", "0.5"]


@pytest.fixture(autouse=True)
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    """A learner that is quick and does as it is set to."""
    monkeypatch.setitem(catalogue._LISTINGS, "frequent", catalogue.LearnerListing("frequent", "for tests", Frequent))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "log.parquet", episodes(300, seed=1))


def fit(path: object, out: Path | None, *words: str) -> int:
    where = [] if out is None else ["--out", str(out)]
    return run(["fit", str(path), *SIZES, "--learner", "frequent", *where, *words])


def test_budget_then_fit_then_certificate(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["budget", str(log), "--rho", "1"]) == 0
    assert fit(log, tmp_path / "policy", *RHO) == 0
    captured = capsys.readouterr()
    rows = sum(len(one.actions) for one in episodes(300, seed=1))
    assert f"{rows:,}" not in captured.out + captured.err
    assert "learned from 300 people" in captured.out and "0.5-zCDP, central" in captured.out
    assert run(["certificate", str(tmp_path / "policy"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["guarantees"][0]["rho"] == pytest.approx(0.5)
    assert run(["budget", str(log), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["spent"] == pytest.approx(0.5) and document["left"] == pytest.approx(0.5)
    assert run(["report", str(tmp_path / "policy")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "policy" / "report.html")


def test_json_is_one_object(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit(log, tmp_path / "policy", "--epsilon", "1", "--delta", "1e-6", "--budget", "1", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    worth = {
        "value",
        "low",
        "high",
        "lower",
        "alone",
        "practice",
        "gain",
        "recommended",
        "coverage",
        "needed",
        "needed_to_be_sure",
        "assumes",
        "checks",
        "ended",
        "judged",
        "alarms",
        "groups",
        "power",
    }
    assert set(document) == worth | {"users", "certificate"}
    assert document["users"] == 300 and document["lower"] == pytest.approx(0.5 * HORIZON)
    assert document["certificate"]["guarantees"][0]["epsilon"] == pytest.approx(1.0)


def test_check_says_what_would_happen(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit(log, None, *RHO, "--budget", "1", "--check", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (
        document["ok"]
        and document["cost"] == pytest.approx(0.5)
        and document["users"] == 300
        and document["problems"] == []
    )
    assert fit(log, None, *RHO, "--check") == 2
    printed = capsys.readouterr().out
    assert (
        "no budget is set" in printed
        and "would be refused" in printed
        and "hides one person's whole trajectory" in printed
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet"]


def test_public_tables_and_options_reach_the_learner(log: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "possible.npz", np.ones((STATES, ACTIONS, STATES), dtype=bool))
    np.save(tmp_path / "allowed.npy", np.ones((STATES, ACTIONS), dtype=bool))
    np.save(tmp_path / "rewards.npy", np.full((STATES, ACTIONS), 0.5))
    words = ["--support", "possible.npz", "--allowed", "allowed.npy", "--rewards", "rewards.npy"]
    words = [str(tmp_path / word) if word.endswith(("npz", "npy")) else word for word in words]
    extra = ["--option", "worth=0.25", "--bonus-scale", "2", "--pessimism", "hoeffding"]
    assert fit(log, tmp_path / "policy", *RHO, "--budget", "1", *words, *extra) == 0
    result = confide.load(tmp_path / "policy")
    assert result.config["options"] == {"worth": 0.25, "pessimism": "hoeffding"} and result.config["scale"] == 2
    assert result.config["rewards"] == "known"
    assert result.findings["lower"] == pytest.approx(0.25 * 2 * HORIZON)


def spoil(folder: Path, name: str) -> tuple[Path, list[str]]:
    """A log with one thing wrong, and words that go with it."""
    log, path = [Episode([0, 1, 2], [0, 1], [0.0, 1.0]) for _ in range(4)], folder / f"{name}.parquet"
    table = columns(log)
    changes: dict[str, tuple[str, int, Any]] = {
        "state": ("state", 3, 17),
        "nan": ("reward", 3, math.nan),
        "range": ("reward", 3, 1.5),
        "gap": ("step", 3, 2),
        "chain": ("next_state", 2, 0),
    }
    if name in changes:
        column, row, entry = changes[name]
        table[column][row] = entry
    if name == "duplicate":
        log = [Episode([0, 1, 1, 2], [0, 1, 1], [0.0] * 3) for _ in range(4)]
        table = columns(log)
        table["step"] = [0, 1, 1] * 4
    if name == "nobody":
        table = {column: [] for column in table}
    write(path, [], **table)
    if name == "columns":
        write(path, log, action=None, reward=None)
    if name == "truncated":
        path.write_bytes(path.read_bytes()[:-40])
    if name == "empty":
        path.write_bytes(b"")
    if name == "mixed":
        (folder / "mixed").mkdir()
        write(folder / "mixed" / "a.parquet", log)
        write(folder / "mixed" / "b.parquet", log, reward=None)
        path = folder / "mixed"
    words = {"both": ["--epsilon", "1"], "horizon": ["--horizon", "1"], "learner": ["--learner", "ucbvi"]}
    return path, words.get(name, [])


SAYS = {
    "columns": "no column for action, reward. Found: user, step, state, next_state.",
    "state": "Every state must be one of the 3 declared. Row 4",
    "nan": "none may be missing. Row 4",
    "range": "--clip",
    "gap": "must go up by one from 0. Row 4",
    "duplicate": "must come once. Rows 3, 6, 9, 12",
    "chain": "begin in the next state of the row before it. Row 4",
    "nobody": "holds 0 users",
    "truncated": "cannot be read as Parquet",
    "empty": "cannot be read as Parquet",
    "mixed": "b.parquet has no column 'reward'",
    "both": "in epsilon or in rho, not both",
    "horizon": "at most 1 steps, the horizon. Rows 2, 4, 6, 8",
    "learner": "learns online",
}


@pytest.mark.parametrize("name", SAYS)
def test_bad_input(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, words = spoil(tmp_path, name)
    before = sorted(str(result) for result in tmp_path.rglob("*"))
    assert fit(path, tmp_path / "policy", *RHO, "--budget", "1", *words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if "rows read" not in line]
    assert len(lines) == 1 and lines[0].startswith("confide: ") and SAYS[name] in lines[0]
    assert sorted(str(result) for result in tmp_path.rglob("*")) == before


def test_more_bad_words(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "policy"
    for words, says in (
        ([], "A fit needs a guarantee. Give --rho"),
        (["--rho", "2", "--budget", "1"], "costs rho = 2, but only 1 of 1 is left"),
        ([*RHO], "There is no budget"),
        ([*RHO, "--budget", "1", "--option", "worth"], "--option takes NAME=VALUE"),
        ([*RHO, "--budget", "1", "--option", "nonsense=1"], "does not take these options"),
        ([*RHO, "--budget", "1", "--support", str(log)], "must be a table of numpy for support"),
        ([*RHO, "--budget", "1", "--engine", "dask"], "go together"),
        ([*RHO, "--budget", "1", "--learner", "apvy"], "Did you mean 'apvi'"),
        ([*RHO, "--budget", "1", "--states", "nine"], "states must be a whole number"),
    ):
        assert fit(log, out, *words) == 2
        assert says in capsys.readouterr().err
    assert fit(log, None, *RHO, "--budget", "1") == 2
    assert "Give --out" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet"]


def test_a_full_disk(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    assert fit(log, tmp_path / "policy", *RHO, "--budget", "1") == 2
    assert "No space left on device" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


def test_clipped_rewards_are_told_by_a_check_to_the_curator_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = spoil(tmp_path, "range")
    assert fit(path, None, *RHO, "--budget", "1", "--clip", "--json", "--check") == 0
    captured = capsys.readouterr()
    assert "1 reward clipped; for your eyes only" in captured.err and "clipped" not in captured.out
    assert fit(path, tmp_path / "policy", *RHO, "--budget", "1", "--clip", "--json") == 0
    captured = capsys.readouterr()
    assert "clipped" not in captured.err + captured.out


def test_the_real_learner_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two states, of which the second pays; one action leads there. With little noise the fit must find it."""
    rng = np.random.default_rng(0)
    log = []
    for _ in range(3000):
        states, actions, rewards = [int(rng.integers(2))], [], []
        for _ in range(3):
            action = int(rng.integers(2))
            actions.append(action)
            rewards.append(float(states[-1]))
            states.append(action)
        log.append(Episode(states, actions, rewards))
    path = write(tmp_path / "log.parquet", log)
    words = ["--states", "2", "--actions", "2", "--horizon", "3", "--fixed-length", "--rho", "2", "--budget", "2"]
    assert run(["fit", str(path), *words, "--out", str(tmp_path / "policy"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert 2.2 < document["lower"] <= document["value"] < 2.7  # the best has the value 0.5 + 1 + 1
    assert (confide.load(tmp_path / "policy").policy.actions[:2] == 1).all()
