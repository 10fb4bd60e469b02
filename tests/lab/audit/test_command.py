"""`confide audit`: one object, one table, and an exit code that says whether a guarantee was broken."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from confide.cli import run
from confide.lab.audit import AuditEntry, Finding, Target
from confide.lab.audit.alone import ALONE
from confide.lab.audit.browsers import missing
from confide.mechanisms.noise import NoiseSource

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "audit.md"
QUICK = ["--samples", "2e3", "--confidence", "0.999999"]
KEYS = [
    "name",
    "trust",
    "calibration",
    "certified_epsilon",
    "delta",
    "lower_bound",
    "ideal_bound",
    "confidence",
    "samples",
    "pairs",
    "whole_runs",
    "drawn_by",
    "event",
    "seconds",
    "ok",
]


def told(arguments: Sequence[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> list[dict[str, object]]:
    assert run(["audit", *arguments, "--json"]) == code
    captured = capsys.readouterr()
    rows: list[dict[str, object]] = json.loads(captured.out)["rows"]
    return rows


def test_the_mechanism_alone_and_the_privatizer(capsys: pytest.CaptureFixture[str]) -> None:
    rows = told(["--trust", "local", "--mechanism", "laplace", "--epsilon", "1", *QUICK], capsys)
    assert {tuple(row) for row in rows} == {tuple(KEYS)}
    settings = ["", "/h3", "/h2-per-step", "/twice"]
    settings += [] if missing() else ["/browser"]
    named = [("laplace", "none"), *((f"local/laplace{setting}", "tight") for setting in settings)]
    ours = [row for row in rows if "/arms/" not in row["name"]]  # which another test may have entered
    assert [(row["name"], row["calibration"]) for row in ours] == named
    for row in rows:
        assert row["certified_epsilon"] == 1 and row["delta"] == 0 and row["ok"] is True
        assert row["samples"] == 2000 and row["confidence"] == 0.999999


def test_all_calibrations(capsys: pytest.CaptureFixture[str]) -> None:
    rows = told(["--all", "--trust", "local", "--mechanism", "laplace", *QUICK], capsys)
    papers = ["local/laplace/private-ucb", "local/laplace/ldp-obi", "local/laplace/ldp-psrl"]
    names = [row["name"] for row in rows]
    assert {"laplace", "local/laplace", "local/laplace/h3", *papers} <= set(names)
    printed = {row["name"]: row["certified_epsilon"] for row in rows if row["calibration"] == "paper"}
    assert printed["local/laplace/private-ucb"] == pytest.approx(2)


def test_the_same_seed_gives_the_same_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--mechanism", "randomised-response", "--calibration", "none", "--samples", "5e3"]
    first, again, other = (told([*arguments, "--seed", seed], capsys)[0]["lower_bound"] for seed in ("3", "3", "4"))
    assert first == again != other


def test_without_a_seed_noise_is_what_is_really_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--mechanism", "k-ary", "--calibration", "none", *QUICK]
    (row,), (replayed,) = told(arguments, capsys), told([*arguments, "--seed", "1"], capsys)
    assert (row["drawn_by"], replayed["drawn_by"]) == ("plain", "replayable")
    assert row["ok"] is replayed["ok"] is True


def test_what_is_skipped_is_said_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["audit", "--trust", "local", "--mechanism", "k-ary", "--calibration", "tight", *QUICK, "--seed", "1"]
    assert run([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["skipped"]) == ["local/k-ary/browser", "local/k-ary/h3/browser"] and document["seed"] == 1
    assert run(arguments) == 0
    captured = capsys.readouterr()
    assert "replayed from seed 1" in " ".join(captured.out.split())
    assert captured.err.startswith("Not audited: local/k-ary/browser, local/k-ary/h3/browser. JavaScript draws")


def test_delta_is_chosen_where_it_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--mechanism", "gaussian", "--calibration", "none", *QUICK]
    assert told(arguments, capsys)[0]["delta"] == 0.01
    row = told([*arguments, "--delta", "1e-3"], capsys)[0]
    assert row["delta"] == 1e-3 and row["certified_epsilon"] == pytest.approx(1)


def test_a_table_for_people(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    arguments = ["--mechanism", "laplace", "--calibration", "paper", "--samples", "1e4", "--seed", "0"]
    assert run(["audit", *arguments]) == 0
    captured = capsys.readouterr()
    assert "local/laplace/private-ucb" in captured.out and "certified" in captured.out
    assert captured.err == "local/laplace/private-ucb, as printed, claims 1 and truly gives 2.\n"


def naked(promise: object) -> list[Target]:
    """Laplace noise that is claimed and not drawn."""

    def sample(world: int, count: int, noise: NoiseSource) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.full((count, 3), float(world))

    return [replace(AuditEntry("laplace", "local").targets(1.0)[0], sample=sample)]


def test_a_broken_promise_is_exit_code_one(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    honest = naked(None)
    monkeypatch.setitem(ALONE["local"], "laplace", lambda promise: honest)
    arguments = ["--mechanism", "laplace", "--calibration", "none", *QUICK]
    rows = told(arguments, capsys, code=1)
    assert rows[0]["ok"] is False and isinstance(rows[0]["lower_bound"], float) and rows[0]["lower_bound"] > 3
    assert run(["audit", *arguments]) == 1
    assert capsys.readouterr().err.startswith("laplace gives away more than is certified.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Give --mechanism or --trust, or ask for --all."),
        (["--mechanism", "laplac"], "mechanism 'laplac' is not known. Did you mean 'laplace'?"),
        (["--trust", "nobody"], "trust 'nobody' is not known."),
        (["--all", "--calibration", "tigth"], "calibration 'tigth' is not known. Did you mean 'tight'?"),
        (["--trust", "joint", "--mechanism", "laplace"], "There is nothing to audit under joint, laplace"),
        (["--mechanism", "laplace", "--epsilon", "-1"], "epsilon must be positive. Got -1.0."),
        (["--mechanism", "laplace", "--epsilon", "nan"], "epsilon must be a positive finite number."),
        (["--mechanism", "gaussian", "--delta", "0"], "gaussian needs a delta above 0."),
        (["--mechanism", "laplace", "--delta", "1"], "delta must be at least 0 and below 1."),
        (["--mechanism", "laplace", "--samples", "10"], "samples must be a whole number of at least 1000."),
        (["--mechanism", "laplace", "--confidence", "1"], "confidence must be above 0 and below 1."),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err and "Traceback" not in captured.err


def test_the_document_lists_the_keys() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert listed == KEYS


def test_the_document_names_every_mechanism() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for makers in ALONE.values() for name in makers)


def test_the_example_in_the_document_runs() -> None:
    example = re.search(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert example is not None
    exec(example.group(1), {})


def test_json_of_a_finding() -> None:
    result = Finding("mine", "local", "none", 1.0, 0.0, 1.1, 0.9, 0.999, 1000, 0.1, "cell 0")
    assert list(result.as_json()) == KEYS
    assert result.as_json()["ok"] is False
    assert replace(result, lower_bound=1.0).ok
