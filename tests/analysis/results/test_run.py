"""A run tells what it measured, is saved whole, and comes back the same."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.analysis.results import Run
from confide.analysis.results.fit import load
from confide.analysis.results.run import FILES
from confide.errors import ConfideError, FormatError, InvalidInput
from tests.analysis.results.example import example_certificate, example_run
from tests.refusals import refused

REPOSITORY = Path(__file__).parents[3]
KEYS = [
    "environment",
    "learner",
    "trust",
    "episodes",
    "seeds",
    "schedule",
    "engine",
    "regret",
    "share_of_random",
    "checkpoints",
    "curve",
    "optimal_value",
    "final_value",
    "seconds",
    "episodes_per_second",
    "certificate",
]


def same(one: Run, two: Run) -> bool:
    for name in (field.name for field in fields(Run)):
        left, right = getattr(one, name), getattr(two, name)
        if name == "policy":
            left, right = left.probabilities, right.probabilities
        equal = np.array_equal(left, right, equal_nan=True) if isinstance(left, np.ndarray | float) else left == right
        if not equal:
            return False
    return True


def test_the_machine_readable_form_has_exactly_its_keys() -> None:
    run = example_run()
    document = run.as_json()
    assert list(document) == KEYS
    assert set(document["regret"]) == {"mean", "low", "high"}
    assert document["curve"] == run.regret.mean(axis=0).tolist() and document["checkpoints"] == run.checkpoints.tolist()
    assert document["regret"]["mean"] == pytest.approx(document["curve"][-1])
    assert document["episodes_per_second"] == 4 * 10_000 / 0.5
    assert document["final_value"] == pytest.approx(run.final_value.mean())
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_it_is_a_table_for_others_and_for_notebooks() -> None:
    run = example_run(label="a < b")
    table = run.to_arrow()
    assert table.column_names == ["seed", "episodes", "regret"] and table.num_rows == run.regret.size
    columns = run.to_dict()
    assert list(columns) == table.column_names and all(len(column) == table.num_rows for column in columns.values())
    assert (
        columns["seed"].tolist() == table["seed"].to_pylist()
        and columns["regret"].tolist() == run.regret.ravel().tolist()
    )
    assert table["regret"].to_numpy().reshape(run.regret.shape).tolist() == run.regret.tolist()
    shown = run._repr_html_()
    assert "a &lt; b" in shown and "final regret" in shown and "2-DP, local" in shown
    assert run.certificate._repr_html_().count("<tr>") == len(run.certificate.rows())


def test_the_loader_of_policies_names_the_loader_of_runs(tmp_path: Path) -> None:
    with refused("result-unreadable", match="simulated run"):
        load(example_run().save(tmp_path / "run"))


def test_returns_are_not_passed_off_as_regret() -> None:
    document = example_run(measure="return", optimal_value=math.nan).as_json()
    assert document["measure"] == "return" and document["optimal_value"] is None
    assert list(document) == [*KEYS, "measure"]


def test_the_interval_is_that_of_the_mean_and_always_the_same() -> None:
    final = np.random.default_rng(1).normal(100, 10, size=(400, 1))
    summary = example_run(400, 1, regret=final).summary()
    assert summary == example_run(400, 1, regret=final).summary()
    assert summary["mean"] == pytest.approx(final.mean())
    # Twice 2.178 standard errors wide, with a prior of six seeds of deviation 0.4; by a little more above than below.
    deviation = math.sqrt((399 * (final / final.mean()).var() + 6 * 0.4**2) / 405) * final.mean()
    assert summary["high"] - summary["low"] == pytest.approx(2 * 2.178 * deviation / 20, rel=0.01)
    assert summary["low"] < summary["mean"] < summary["high"]


def test_one_seed_has_no_interval() -> None:
    one = example_run(1)
    assert one.summary() == {"mean": one.regret[0, -1], "low": None, "high": None}
    assert json.loads(json.dumps(one.as_json()))["regret"]["low"] is None and "(-)" in one._repr_html_()


def test_the_repr_is_short() -> None:
    assert repr(example_run()) == "Run(random/2x2, obi, 2-DP, local, 10,000 episodes, 4 seeds)"
    assert repr(example_run(label="mine")) == "Run(random/2x2, mine, 10,000 episodes, 4 seeds)"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"regret": np.zeros((4, 3))}, "wrong-shape: regret"),
        ({"regret": np.full((4, 29), np.nan)}, "wrong-shape: regret"),
        ({"final_value": np.zeros(3)}, "wrong-shape: final_value"),
        ({"checkpoints": np.array([5, 5]), "regret": np.zeros((4, 2))}, "checkpoints-not-growing"),
        ({"checkpoints": np.array([], dtype=int), "regret": np.zeros((4, 0))}, "checkpoints-not-growing"),
        ({"checkpoints": np.array([20_000]), "regret": np.zeros((4, 1))}, "index-out-of-range: checkpoints"),
        ({"measure": "regrets"}, "unknown-name: measure"),
    ],
)
def test_a_run_that_contradicts_itself_is_refused(changes: dict[str, Any], reason: str) -> None:
    with refused(reason):
        example_run(**changes)


@pytest.mark.parametrize("changes", [{}, {"measure": "return", "optimal_value": math.nan, "label": "x, ö"}])
def test_a_run_comes_back_the_same(tmp_path: Path, changes: dict[str, Any]) -> None:
    run = example_run(**changes)
    assert run.save(tmp_path / "deep" / "run") == tmp_path / "deep" / "run"
    assert sorted(path.name for path in (tmp_path / "deep" / "run").iterdir()) == sorted(FILES)
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["run"]
    assert same(Run.load(tmp_path / "deep" / "run"), run)


def test_curves_are_a_table_that_others_can_read(tmp_path: Path) -> None:
    import duckdb

    run = example_run()
    run.save(tmp_path / "run")
    query = f"select max(regret) from '{tmp_path}/run/curves.parquet' where seed = 2 and episodes = 10000"
    assert duckdb.sql(query).fetchall() == [(run.regret[2, -1],)]


def test_numbers_of_numpy_may_stand_in_a_configuration(tmp_path: Path) -> None:
    run = example_run(config={"scale": np.float64(0.1), "sizes": np.arange(3), "count": np.int64(7)})
    run.save(tmp_path / "run")
    assert Run.load(tmp_path / "run").config == {"scale": 0.1, "sizes": [0, 1, 2], "count": 7}


def test_what_exists_is_not_overwritten_unasked(tmp_path: Path) -> None:
    first, second = example_run(), example_run(label="second")
    first.save(tmp_path / "run")
    with refused("folder-holds-result"):
        second.save(tmp_path / "run")
    with refused("folder-holds-result"):
        Run.check_folder(tmp_path / "run")
    assert same(Run.load(tmp_path / "run"), first)
    second.save(tmp_path / "run", replace=True)
    assert same(Run.load(tmp_path / "run"), second)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_only_results_are_ever_replaced(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    with refused("folder-holds-other-files"):
        example_run().save(tmp_path / "home", replace=True)
    (tmp_path / "file").write_text("a file")
    for place in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(InvalidInput):
            example_run().save(place, replace=True)
    (tmp_path / "link").symlink_to(tmp_path / "home")
    with refused("folder-is-a-file"):
        example_run().save(tmp_path / "link", replace=True)
    assert (tmp_path / "home" / "thesis.tex").read_text() == "years of work"


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    example_run().save(tmp_path / "run")
    assert same(Run.load(tmp_path / "run"), example_run())


def crash_at(monkeypatch: pytest.MonkeyPatch, call: str, turn: int) -> None:
    """Let the given call of the operating system fail at its given turn, counted from 0."""
    real, seen = getattr(os, call), iter(range(10**6))

    def failing(*given: Any, **named: Any) -> Any:
        if next(seen) == turn:
            raise OSError(f"{call} failed")
        return real(*given, **named)

    monkeypatch.setattr(os, call, failing)


@pytest.mark.parametrize("call", ["fsync", "rename"])
@pytest.mark.parametrize("turn", range(6))
def test_a_failure_leaves_the_old_run_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, turn: int
) -> None:
    old, new = example_run(), example_run(label="new")
    for before in (None, old):
        place = tmp_path / f"run{before is None}"
        if before is not None:
            before.save(place)
        with monkeypatch.context() as patched:
            crash_at(patched, call, turn)
            try:
                new.save(place, replace=True)
            except OSError:
                failed = True
            else:
                failed = False
        if place.exists():
            assert same(Run.load(place), new) or (before is not None and same(Run.load(place), before))
        else:
            assert failed and before is None
        assert not list(tmp_path.glob(".*.partial"))


SAVING = """
import sys
from tests.analysis.results.example import example_run
runs = [example_run(label=name) for name in ("even", "odd")]
runs[0].save(sys.argv[1])
print("ready", flush=True)
for turn in range(10**6):
    runs[turn % 2].save(sys.argv[1], replace=True)
"""


def test_a_killed_process_leaves_a_whole_run(tmp_path: Path) -> None:
    for turn in range(3):
        place = tmp_path / f"run{turn}"
        command = [sys.executable, "-c", SAVING, str(place)]
        with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None and child.stdout.readline() == b"ready\n"
            time.sleep(0.11 + 0.013 * turn)
            child.send_signal(signal.SIGKILL)
        assert Run.load(place).label in ("even", "odd")


def damage(path: Path, name: str, content: bytes | None) -> None:
    if content is None:
        (path / name).unlink()
    else:
        (path / name).write_bytes(content)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [None, b"", b"{}", b"[1, 2]", b"\xff\xfe garbage", b"null", b"PK\x03\x04 no zip"])
def test_damaged_files_are_refused_in_one_sentence(tmp_path: Path, name: str, content: bytes | None) -> None:
    place = example_run().save(tmp_path / "run")
    damage(place, name, content)
    with pytest.raises(FormatError) as refused:
        Run.load(place)
    assert str(place) in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["curves.parquet", "policy.npz"])
def test_a_file_cut_short_is_refused(tmp_path: Path, name: str) -> None:
    place = example_run().save(tmp_path / "run")
    whole = (place / name).read_bytes()
    for size in range(0, len(whole) - 1, max(1, len(whole) // 25)):
        damage(place, name, whole[:size])
        with pytest.raises(FormatError):
            Run.load(place)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "confide.run/2"},
        {"seeds": 3},
        {"seeds": "4"},
        {"seeds": 0},
        {"episodes": 5},
        {"measure": "seed"},
        {"surprise": 1},
        {"final_value": [1.0]},
        {"final_value": [1.0, 2.0, 3.0, float("nan")]},
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    place = example_run().save(tmp_path / "run")
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(FormatError):
        Run.load(place)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with refused("run-folder-missing"):
        Run.load(tmp_path / "nothing")


def test_a_certificate_that_cannot_be_vouched_for_is_refused(tmp_path: Path) -> None:
    place = example_run().save(tmp_path / "run")
    document = {**example_certificate().as_json(), "schema": "confide.certificate/99"}
    (place / "certificate.json").write_text(json.dumps(document))
    with pytest.raises(ConfideError, match="its schema is"):
        Run.load(place)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_run_draws_itself(tmp_path: Path, suffix: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = example_run().plot(tmp_path / f"regret.{suffix}", log=True)
    data = path.read_bytes()
    if suffix == "png":
        assert len(data) > 5_000
    else:  # a band, a line, and its name at its end
        assert data.count(b"#0072b2") == 3 and all(text in data for text in (b"cumulative regret", b"obi, 2-DP, local"))


def keys_in(document: str, heading: str) -> list[str]:
    """The first column of the table under a heading, without its marks."""
    section = document.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)


def test_the_documentation_lists_the_same_keys() -> None:
    document = (REPOSITORY / "docs" / "json.md").read_text(encoding="utf-8")
    assert keys_in(document, "Simulate") == KEYS
    assert keys_in(document, "Certificate") == list(example_certificate().as_json())
