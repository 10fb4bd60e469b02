"""`confide plot` overlays saved runs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from confide.cli import run
from tests.analysis.results.example import example_certificate, example_run


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    example_run().save(tmp_path / "tight")
    example_run(certificate=example_certificate(0.5)).save(tmp_path / "strict")
    return tmp_path


def test_two_runs_in_one_picture(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = saved / "regret.svg"
    assert run(["plot", str(saved / "tight"), str(saved / "strict"), "--out", str(picture)]) == 0
    printed = capsys.readouterr()
    assert "obi, 0.5-DP, local" in printed.out and str(picture) in printed.err
    drawn = picture.read_text(encoding="utf-8")
    assert "obi, 0.5-DP, local" in drawn and "obi, 2-DP, local" in drawn and "random/2x2" in drawn


def test_with_json_one_object_goes_to_stdout(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plot", str(saved / "tight"), "--out", str(saved / "a.png"), "--log", "--per-episode", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"picture", "runs"} and document["picture"] == str(saved / "a.png")
    assert document["runs"] == [
        {"name": "obi, 2-DP, local", "episodes": 10_000, "seeds": 4, "regret": example_run().summary()}
    ]


def test_runs_of_one_name_are_told_apart_by_their_folders(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example_run().save(saved / "again")
    folders = [str(saved / "tight"), str(saved / "again")]
    assert run(["plot", *folders, "--out", str(saved / "a.png"), "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["runs"]] == folders


def test_runs_in_two_worlds_say_in_which(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example_run(environment="riverswim/6").save(saved / "river")
    assert run(["plot", str(saved / "tight"), str(saved / "river"), "--out", str(saved / "a.png"), "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)["runs"]]
    assert names == ["random/2x2: obi, 2-DP, local", "riverswim/6: obi, 2-DP, local"]


def test_a_name_that_has_its_world_is_not_given_it_twice(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for world in ("random/2x2", "riverswim/6"):
        example_run(environment=world, label=f"obi, {world}").save(saved / world[-1])
    assert run(["plot", str(saved / "2"), str(saved / "6"), "--out", str(saved / "a.png"), "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)["runs"]]
    assert names == ["obi, random/2x2", "obi, riverswim/6"]


def test_curves_of_others_come_from_a_file(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = saved / "theirs.csv"
    theirs.write_text(
        "name,seed,episodes,regret\nrival,0,100,8\nrival,0,10,4\nrival,1,10,6\nrival,1,100,12\nother,0,5,1\n"
    )
    out = saved / "both.pdf"
    assert run(["plot", str(saved / "tight"), str(theirs), "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["runs"]
    assert [(row["name"], row["episodes"], row["seeds"]) for row in document[1:]] == [
        ("rival", 100, 2),
        ("other", 5, 1),
    ]
    assert document[1]["regret"]["mean"] == 10.0
    drawn = out.read_bytes()
    assert drawn.startswith(b"%PDF") and b"CreationDate" not in drawn and b"Type3" not in drawn
    for text in ("episodes\n1\n", "episodes,regret\n1,nan\n", "episodes,regret\n0,1\n", "episodes,regret\n", ""):
        theirs.write_text(text)
        assert run(["plot", str(theirs), "--out", str(out)]) == 2
        assert "needs the columns episodes and regret" in capsys.readouterr().err


def test_regret_and_returns_do_not_mix(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example_run(measure="return", optimal_value=math.nan).save(saved / "unknown")
    assert run(["plot", str(saved / "tight"), str(saved / "unknown"), "--out", str(saved / "a.png")]) == 2
    assert "must measure the same" in capsys.readouterr().err
    assert not (saved / "a.png").exists()
