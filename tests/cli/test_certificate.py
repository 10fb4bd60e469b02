"""`confide certificate` shows a guarantee, or refuses to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from confide.cli import run
from tests.analysis.results.example import example_certificate, example_run


def test_a_folder_or_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = example_run().save(tmp_path / "run")
    for path in (place, place / "certificate.json"):
        assert run(["certificate", str(path)]) == 0
        assert capsys.readouterr().out == f"{example_certificate()}\n"


def test_with_json_the_certificate_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example_certificate().save(tmp_path / "c.json")
    assert run(["certificate", str(tmp_path / "c.json"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == example_certificate().as_json()
    assert document["guarantees"][0]["epsilon"] == 2.0


ROW = example_certificate().as_json()["guarantees"][0]


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "confide.certificate/2"},
        {"schema": None},
        {"guarantees": []},
        {"guarantees": [{**ROW, "trust": "blind"}]},
        {"guarantees": [{**ROW, "epsilon": -1}]},
        {"guarantees": [{**ROW, "epsilon": float("inf")}]},
        {"guarantees": [{**ROW, "epsilon": None}]},
        {"guarantees": [{**ROW, "delta": 1.5}]},
        {"guarantees": [{**ROW, "rho": 1.0}]},
        {"guarantees": [{"trust": "local"}]},
        {"guarantees": [7]},
        {"neighbours": "cousins"},
        {"noise": "random"},
        {"calibration": "loose"},
        {"surprise": 1},
        {"mechanisms": [7]},
        {"mechanisms": [{"scale": 3.0}]},
        {"mechanisms": [{"name": "laplace", "schedule": {}}]},
        {"mechanisms": [{"name": "laplace", "sensitivity": 7}]},
        {"mechanisms": 7},
        {"assumptions": 7},
        {"audit": 7},
        {"audit": {}},
        {"versions": [1]},
    ],
    ids=str,
)
def test_what_cannot_be_vouched_for_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any]
) -> None:
    (tmp_path / "c.json").write_text(json.dumps({**example_certificate().as_json(), **change}))
    assert run(["certificate", str(tmp_path / "c.json")]) == 2
    printed = capsys.readouterr()
    assert not printed.out and printed.err.count("\n") == 1 and "vouch" in printed.err


@pytest.mark.parametrize("content", [b"", b"not json", b"[]", b"\xff", b"7"])
def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    (tmp_path / "c.json").write_bytes(content)
    assert run(["certificate", str(tmp_path / "c.json")]) == 2
    printed = capsys.readouterr()
    assert not printed.out and printed.err.count("\n") == 1


def test_nothing_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path / "missing", tmp_path):
        assert run(["certificate", str(path), "--json"]) == 2
        assert json.loads(capsys.readouterr().err)["code"] == "certificate-missing"
