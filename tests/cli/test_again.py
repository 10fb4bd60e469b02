"""`simulate --option` and `simulate --again`: every choice can be said, is kept, and is made again."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

import confide as cf
from confide.analysis.results import Run
from confide.cli import run
from confide.protocol.design import Request

simulate = importlib.import_module("confide.lab.simulation.simulate")  # the package has the function of that name
WORDS = "simulate riverswim/3 --horizon 4 --trust none --option bonus=bernstein --episodes 500 --schedule batches:9 --seeds 2"


def test_a_saved_run_is_run_again_to_the_same_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "run")
    assert run([*WORDS.split(), "--seed", "3", "--out", folder]) == 0
    capsys.readouterr()
    assert run(["simulate", "--again", folder, "--json"]) == 0
    captured = capsys.readouterr()
    assert "to the last digit" in captured.err
    assert json.loads(captured.out)["curve"] == Run.load(folder).as_json()["curve"]


def test_a_run_of_python_is_run_again_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = cf.simulate("ucbvi", "riverswim/3", episodes=200, seeds=1, seed=4, horizon=3, bonus="bernstein")
    made.save(tmp_path / "run")
    assert run(["simulate", "--again", str(tmp_path / "run"), "--out", str(tmp_path / "copy")]) == 0
    assert "to the last digit" in capsys.readouterr().err
    assert Run.load(tmp_path / "copy").config == made.config


def test_what_has_no_name_cannot_be_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = cf.environments.make("riverswim/3", horizon=3)
    cf.simulate("ucbvi", world, episodes=50, seeds=1).save(tmp_path / "run")
    assert run(["simulate", "--again", str(tmp_path / "run")]) == 2
    assert "have names" in capsys.readouterr().err


def test_a_command_completes_its_choices_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a design can take a second or two."""
    made: list[Request] = []
    whole = simulate.make
    monkeypatch.setattr(simulate, "make", lambda request: made.append(request) or whole(request))
    assert run([*WORDS.split(), "--json"]) == 0
    assert len(made) == 1
    assert run([*WORDS.split(), "--compare", "calibration=sound,tight", "--json"]) == 0
    assert len(made) == 3


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
        (["clinic", "--offline", "--option", "alpha=3"], "It takes: pessimism"),
    ],
)
def test_what_is_refused(words: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "run")
    if "RUN" in words:
        assert run([*WORDS.split(), "--out", folder]) == 0
        capsys.readouterr()
    assert run(["simulate", *(folder if word == "RUN" else word for word in words)]) == 2
    assert reason in capsys.readouterr().err


def test_runs_that_do_not_say_what_was_chosen_cannot_be_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    assert run([*WORDS.split(), "--out", str(folder)]) == 0
    config = json.loads((folder / "config.json").read_text())
    del config["config"]["choices"]
    (folder / "config.json").write_text(json.dumps(config))
    assert run(["simulate", "--again", str(folder)]) == 2
    assert "does not say what was chosen" in capsys.readouterr().err
