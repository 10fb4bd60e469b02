"""`simulate --option` and `simulate --again`: every choice can be said, is kept, and is made again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from confide.cli import run
from confide.results import Run

WORDS = "simulate riverswim/3 --horizon 4 --trust none --option bonus=bernstein --episodes 500 --schedule batches:9 --seeds 2"


def test_a_saved_run_is_run_again_to_the_same_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "run")
    assert run([*WORDS.split(), "--seed", "3", "--out", folder]) == 0
    capsys.readouterr()
    assert run(["simulate", "--again", folder, "--json"]) == 0
    told = capsys.readouterr()
    assert "to the last digit" in told.err
    assert json.loads(told.out)["curve"] == Run.load(folder).as_json()["curve"]


def test_an_option_has_an_effect(capsys: pytest.CaptureFixture[str]) -> None:
    curves = []
    for bonus in ("tight", "hoeffding"):
        assert run([*WORDS.replace("bernstein", bonus).split(), "--json"]) == 0
        curves.append(json.loads(capsys.readouterr().out)["curve"])
    assert curves[0] != curves[1]


@pytest.mark.parametrize(
    "words, reason",
    [
        (["--again", "RUN", "--seeds", "4"], "Leave seeds out"),
        (["--again", "RUN", "--compare", "trust=none"], "Leave compare out"),
        (["--again", "nowhere"], "nowhere"),
        ([], "needs an ENVIRONMENT"),
        (["riverswim/3", "--trust", "none", "--option", "bonus"], "NAME=VALUE"),
        (["riverswim/3", "--trust", "none", "--option", "epsilon=3"], "See --help for its flag"),
        (["riverswim/3", "--trust", "none", "--option", "no_such=3"], "no_such"),
        (["riverswim/3", "--trust", "none", "--mechanism", "laplace"], "left out without privacy"),
        (["clinic", "--offline", "--option", "alpha=3"], "cf.simulate_offline"),
    ],
)
def test_what_is_refused(words: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "run")
    if "RUN" in words:
        assert run([*WORDS.split(), "--out", folder]) == 0
        capsys.readouterr()
    assert run(["simulate", *(folder if word == "RUN" else word for word in words)]) == 2
    assert reason in capsys.readouterr().err


def test_runs_of_other_versions_cannot_be_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = Path(__file__).parents[1] / "golden" / "0.1.0" / "run-none"
    assert run(["simulate", "--again", str(old)]) == 2
    assert "in which words" in capsys.readouterr().err
