"""Tuning on simulations: what is tried, what is chosen, and that the choice is kept with its command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from confide import cli
from confide.cli.tune import EXAMPLES
from confide.errors import FormatError, InvalidInput
from confide.lab.simulation import Tuning, simulate, tune
from confide.privacy import Joint, NoPrivacy
from tests.refusals import refused


def test_it_chooses_the_value_of_least_regret() -> None:
    result = tune("ucrl-vtr", "riverswim-mixture/3", NoPrivacy(), 2000, 3, grid=(1.0, 0.0, 0.15), constant="c", seed=7)
    assert result.grid == (0.0, 0.15, 1.0) and result.chosen == 0.15
    assert not result.at_edge
    assert Tuning("c", (1.0, 2.0), (3.0, 4.0), (0.0, 0.0), {}).at_edge
    assert not Tuning("c", (0.0, 2.0), (3.0, 4.0), (0.0, 0.0), {}).at_edge
    again = simulate("ucrl-vtr", "riverswim-mixture/3", NoPrivacy(), 2000, 3, seed=7, c=0.15)
    assert again.summary()["mean"] == pytest.approx(result.regret[1])
    assert result.config["learner"] == "ucrl-vtr" and result.config["seed"] == 7


def test_it_serves_tabular_learners_too() -> None:
    choices = {"horizon": 5, "bonus": "private"}
    result = tune("ucbvi", "riverswim/3", Joint(1, 1e-6), 500, 2, grid=(0.1, 1.0), **choices)
    assert result.constant == "bonus_scale" and len(result.regret) == 2
    assert "bonus_scale" not in result.config


def test_it_says_when_seeds_disagree(capsys: pytest.CaptureFixture[str]) -> None:
    words = "--trust shuffle --epsilon 8 --delta 1e-3 --learner obi --calibration sound --batch 200 --horizon 2"
    line = ["tune", "riverswim/3", *words.split(), "--episodes", "4000", "--grid", "0.001,1", "--json"]
    assert cli.run([*line, "--seeds", "1"]) == 0
    captured = capsys.readouterr()
    assert "seeds disagree" in captured.err and len(json.loads(captured.out)["rivals"]) == 1
    clear = tune(
        "obi", "riverswim/3", NoPrivacy(), 2000, 3, grid=(0.01, 1e6), bonus="paper", horizon=4, schedule="growth:1.5"
    )
    assert clear.chosen == 0.01 and clear.rivals == ()


def test_it_says_when_values_do_not_differ(capsys: pytest.CaptureFixture[str]) -> None:
    from confide.cli.tune import warnings

    line = [
        "tune",
        "riverswim/3",
        *["--trust", "none", "--calibration", "sound", "--horizon", "3", "--episodes", "60", "--seeds", "2"],
    ]
    assert cli.run([*line, "--grid", "50,100,200", "--json"]) == 0
    captured = capsys.readouterr()
    assert "the values do not differ: bonus_scale changes nothing here" in captured.err
    assert "edge" not in captured.err and "disagree" not in captured.err
    document = json.loads(captured.out)
    assert (document["chosen"], document["same"], document["rivals"]) == (50.0, [100.0, 200.0], [])
    assert list(warnings(Tuning("c", (1.0, 2.0, 3.0), (5.0, 5.0, 9.0), (0.0,) * 3, {}, same=(2.0,)))) == [
        "2 and 1 do not differ, on any seed; the smallest is chosen.",
        "1 is at the edge of the grid. Try values beyond it.",
    ]
    assert list(warnings(Tuning("c", (1.0,), (5.0,), (0.0,), {}))) == [
        "1 is at the edge of the grid. Try values beyond it."
    ]


def test_the_choice_is_saved_with_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "c.json"
    line = ["tune", "riverswim-mixture/3", "--learner", "ucrl-vtr", "--constant", "c", "--trust", "none"]
    assert cli.run([*line, "--grid", "0.1,0.2", "--episodes", "300", "--seeds", "2", "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    kept = Tuning.load(out)
    assert document == json.loads(out.read_text()) and kept.chosen == document["chosen"]
    assert kept.command.startswith("confide tune riverswim-mixture/3 --learner ucrl-vtr --constant c --grid 0.1,0.2")
    assert cli.run(kept.command.split()[1:]) == 0
    assert "chosen" in capsys.readouterr().out


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with refused("tune-grid-empty"):
        tune("ucrl-vtr", "riverswim-mixture/3", grid=())
    with refused("bonus-scale-unused"):
        tune("ucbvi", "riverswim/3", Joint(1, 1e-6), 500, 2, grid=(0.1, 1.0), horizon=5)
    with pytest.raises(InvalidInput, match="value of bonus_scale"):
        tune("ucrl-vtr", "riverswim-mixture/3", grid=(-1.0,))
    assert cli.run(["tune", "riverswim-mixture/3", "--grid", "a,b"]) == 2
    assert "--grid takes numbers" in capsys.readouterr().err
    broken = tmp_path / "x.json"
    broken.write_text('{"schema": "confide.tuning/1"}')
    with pytest.raises(FormatError):
        Tuning.load(broken)
    Tuning("c", (1.0, 2.0), (3.0, 4.0), (0.0, 0.0), {}).save(broken)
    broken.write_text(broken.read_text().replace('"chosen": 1.0', '"chosen": 2.0'))
    with pytest.raises(FormatError, match="not the best"):
        Tuning.load(broken)


@pytest.mark.parametrize("example", [line.split() for line in EXAMPLES.splitlines() if line.startswith("  confide")])
def test_the_examples_of_the_help_run(example: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run([*example[1:], "--episodes", "1000", "--seeds", "1", "--grid", "0.1"]) == 0
