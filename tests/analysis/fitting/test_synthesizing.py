"""Synthetic trajectories: drawn from the release alone, with the law that its model has, and marked as what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from confide.analysis.fitting import fit
from confide.analysis.fitting.findings import first_states
from confide.analysis.fitting.plan import COUNTS
from confide.analysis.fitting.refit import releases_of
from confide.analysis.fitting.synthesizing import synthesize
from confide.cli import run
from confide.data.trajectories import read
from confide.errors import InvalidInput
from confide.learning.planning.logged import logged_model
from confide.privacy import Central
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, columns, episodes

PEOPLE = 40_000
SIGMAS = 5.5
"""Seeds are fixed, so a test that passes passes always; by how many deviations a frequency may be off."""


def fitted(tmp_path: Path, full: bool, **more: Any) -> Any:
    data = read(columns(episodes(300, full=full)), states=STATES, actions=ACTIONS, horizon=HORIZON)
    choices = {"ledger": tmp_path / "l.json", "budget": 9.0, "out": tmp_path / "policy", "visits": "all"}
    return fit(data, "apvi", Central(rho=2.0), **{**choices, **more})


def off(seen: np.ndarray, expected: np.ndarray, many: float) -> float:
    """By how many deviations a frequency is off, the worst of them."""
    return float(np.abs((seen - expected) / np.sqrt(np.maximum(expected * (1 - expected), 1 / many) / many)).max())


@pytest.mark.parametrize("full", [True, False])
def test_they_have_the_law_of_the_model(tmp_path: Path, full: bool) -> None:
    """First states, actions, rewards and next states; and a law that is a fifth off would be noticed."""
    made = fitted(tmp_path, full)
    log = synthesize(made, PEOPLE, seed=3)
    releases = releases_of(made)
    model = logged_model(releases[COUNTS], made.knowledge, first_states(made.knowledge, releases))
    walk = log.walk
    first = walk.state[walk.step == 0]
    assert (
        len(first) == PEOPLE
        and off(np.bincount(first, minlength=STATES) / PEOPLE, model.initial[:STATES], PEOPLE) < SIGMAS
    )
    tables = made.knowledge.ways.tables(model.rows.chances)
    shifted = []
    for state in range(STATES):
        for action in range(ACTIONS):
            here = (walk.state == state) & (walk.action == action)
            many = here.sum()
            chosen = many / (walk.state == state).sum()
            assert off(chosen, model.behaviour[0, state, action], (walk.state == state).sum()) < SIGMAS
            assert off(walk.reward[here].mean(), model.rewards[0, state, 1 + action], many) < SIGMAS
            after = np.bincount(walk.following[here], minlength=made.knowledge.spec.states) / many
            assert off(after, tables[0, state, action], many) < SIGMAS
            shifted.append(off(after, np.roll(tables[0, state, action], 1), many))
    assert max(shifted) > SIGMAS  # of some pairs all next states may be nearly as likely


def test_each_episode_is_whole_and_ends_where_it_should(tmp_path: Path) -> None:
    made = fitted(tmp_path, full=False)
    walk = synthesize(made, 500).walk
    same = np.diff(walk.person) == 0
    assert (np.diff(walk.step)[same] == 1).all() and (walk.state[1:][same] == walk.following[:-1][same]).all()
    last = np.append(~same, True)
    assert ((walk.following == made.knowledge.end) | (walk.step == HORIZON - 1))[last].all()
    assert (walk.following != made.knowledge.end)[~last].all() and len(set(walk.person.tolist())) == 500


def test_the_policy_can_be_followed(tmp_path: Path) -> None:
    made = fitted(tmp_path, full=True, alone=True)
    walk = synthesize(made, 2000, follow="policy").walk
    best = made.table().actions[walk.step, walk.state]
    assert (walk.action == best)[best >= 0].all()


def test_the_same_seed_draws_the_same_people_and_a_fit_can_read_them(tmp_path: Path) -> None:
    made = fitted(tmp_path, full=True)
    one, again, other = (synthesize(made, 200, seed=seed) for seed in (1, 1, 2))
    assert all((one.columns[name] == again.columns[name]).all() for name in one.columns)
    assert not np.array_equal(one.walk.state, other.walk.state)
    assert one.columns["synthetic"].all()
    data = read(one.table(), states=STATES, actions=ACTIONS, horizon=HORIZON)
    again_fitted = fit(data, "apvi", Central(rho=1.0), ledger=tmp_path / "m.json", budget=1.0)
    assert again_fitted.users == 200


def test_the_command_writes_marked_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fitted(tmp_path, full=False)
    words = ["synthesize", str(tmp_path / "policy"), "--people", "50"]
    for name in ("s.parquet", "s.csv"):
        assert run([*words, "--out", str(tmp_path / name), "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert said["people"] == 50 and "zCDP" in said["guarantee"] and "synthetic" in said["is"]
    table, text = parquet.read_table(tmp_path / "s.parquet"), csv.read_csv(tmp_path / "s.csv")
    assert table.num_rows == text.num_rows == said["rows"] and table.column_names == text.column_names
    assert b"synthetic" in (table.schema.metadata or {})[b"confide"]
    assert pa.compute.all(table["synthetic"]).as_py()
    for bad, code in (("s.parquet", "synthetic-file-there"), ("s.xlsx", "synthetic-form-unknown")):
        assert run([*words, "--out", str(tmp_path / bad), "--json"]) == 2
        assert code in "".join(capsys.readouterr())
    assert sorted(path.name for path in tmp_path.glob("*s.*")) == ["s.csv", "s.parquet"]


def test_too_many_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, check=lambda error: error.code == "too-many-synthetic-people"):
        synthesize(fitted(tmp_path, full=True), 10**9)


def test_as_a_minari_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    fitted(tmp_path, full=False)
    words = ["synthesize", str(tmp_path / "policy"), "--people", "20", "--out", "minari:clinic/synthetic-v0"]
    assert run(words) == 0
    found = minari.load_dataset("clinic/synthetic-v0")
    assert found.total_episodes == 20 and "synthetic" in found.storage.metadata["description"]
    first = next(iter(found.iterate_episodes()))
    assert first.terminations[-1] or first.truncations[-1]
