"""`confide simulate` as people and programs call it."""

from __future__ import annotations

import json

import pytest

from confide.cli import run

KEYS = {
    "environment",
    "learner",
    "trust",
    "episodes",
    "seeds",
    "schedule",
    "engine",
    "regret",
    "checkpoints",
    "curve",
    "optimal_value",
    "final_value",
    "seconds",
    "episodes_per_second",
    "certificate",
}
QUICK = ["--episodes", "2e3", "--seeds", "2"]


def test_json_is_one_object(capsys):
    code = run(["simulate", "riverswim/3", "--horizon", "4", "--epsilon", "1", "--delta", "1e-6", *QUICK, "--json"])
    out = json.loads(capsys.readouterr().out)
    assert code == 0
    assert set(out) == KEYS
    assert out["episodes"] == 2000
    assert set(out["regret"]) == {"mean", "low", "high"}
    assert len(out["curve"]) == len(out["checkpoints"])
    assert out["certificate"]["noise"] == "replayable"
    assert out["certificate"]["guarantees"][0]["epsilon"] <= 1


@pytest.mark.parametrize("learner", ["ucbvi", "po", "obi", "psrl", "pucb"])
@pytest.mark.parametrize("promise", [["--trust", "none"], ["--trust", "local", "--epsilon", "2"], ["--epsilon", "1"]])
@pytest.mark.parametrize("calibration", ["sound", "tight"])
def test_every_learner_under_every_trust(learner, promise, calibration, capsys):
    # Loops that plan after everybody are compiled for each pair of learner and noise: once is enough here.
    batches = [] if (learner, calibration) == ("ucbvi", "sound") else ["--schedule", "batches:20"]
    code = run(
        [
            "simulate",
            "random/2x2",
            "--horizon",
            "2",
            "--learner",
            learner,
            "--calibration",
            calibration,
            *promise,
            *batches,
            *QUICK,
            "--json",
        ]
    )
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert json.loads(captured.out)["final_value"] > 0


def test_compare_save_and_plot(tmp_path, capsys):
    picture, folder = tmp_path / "both.png", tmp_path / "runs"
    words = f"riverswim/3 --horizon 4 --epsilon 1 --delta 1e-6 --compare calibration=sound,tight --plot {picture} --out {folder}"
    code = run(["simulate", *words.split(), *QUICK, "--json"])
    out = json.loads(capsys.readouterr().out)
    assert code == 0
    assert len(out["runs"]) == 2
    assert picture.stat().st_size > 5000
    assert run(["plot", *(str(path) for path in sorted(folder.iterdir())), "--out", str(tmp_path / "again.svg")]) == 0


def test_compared_runs_have_one_table_of_promises(capsys):
    words = "riverswim/3 --horizon 4 --epsilon 1 --delta 1e-6 --compare calibration=paper,tight"
    assert run(["simulate", *words.split(), "--learner", "ucbvi", *QUICK]) == 0
    out = capsys.readouterr().out
    assert out.count("what is promised") == 1 and "neighbours" not in out
    promised, claimed = [line for line in out.splitlines() if line.startswith("paper ")][-1].split("-DP, joint")[:2]
    assert "(1, 1e-06)" in claimed and "(1, 1e-06)" not in promised  # what the paper's noise truly gives is another


def test_the_table_shows_regret_and_certificate(capsys):
    assert run(["simulate", "riverswim/3", "--horizon", "4", "--epsilon", "1", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "95 % interval" in out
    assert "1-DP, joint" in out


def test_gymnasium(capsys):
    words = (
        "gymnasium:FrozenLake-v1 --horizon 30 --learner psrl --trust local --epsilon 4 --episodes 1e4 --seeds 1 --json"
    )
    assert run(["simulate", *words.split()]) == 0
    assert json.loads(capsys.readouterr().out)["environment"].startswith("gymnasium:FrozenLake-v1")


def test_a_world_without_a_model_gives_returns(capsys):
    words = "gymnasium:Blackjack-v1?reward_range=-1,1 --horizon 5 --trust none --episodes 20 --seeds 1 --json"
    assert run(["simulate", *words.split()]) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["engine"] == "plain"
    assert out["optimal_value"] is None


@pytest.mark.parametrize(
    "words, says",
    [
        (["riverswimm/6", "--epsilon", "1"], "riverswim"),
        (["riverswim/6", "--epsilon", "1", "--learner", "ucbv"], "ucbvi"),
        (["riverswim/6", "--epsilon", "1", "--horizon", "0"], "horizon"),
        (["riverswim/6", "--epsilon", "1", "--episodes", "1e30"], "episodes"),
        (["riverswim/6", "--epsilon", "-1"], "epsilon"),
        (["riverswim/6", "--epsilon", "nan"], "epsilon"),
        (["riverswim/6", "--epsilon", "inf"], "epsilon"),
        (["riverswim/6", "--epsilon", "1", "--delta", "1"], "delta"),
        (["riverswim/6", "--epsilon", "1", "--rho", "1"], "rho"),
        (["riverswim/6"], "epsilon"),
        (["riverswim/6", "--epsilon", "1", "--mechanism", "laplac"], "mechanism"),
        (["riverswim/6", "--epsilon", "1", "--mechanism", "toeplitz"], "delta"),
        (["riverswim/6", "--epsilon", "1", "--schedule", "sometimes"], "schedule"),
        (["riverswim/6", "--epsilon", "1", "--compare", "color=red"], "--compare"),
        (["gymnasium:CartPole-v1", "--epsilon", "1"], "Box"),
        (["riverswim/6", "--trust", "none", "--epsilon", "1"], "none"),
    ],
)
def test_bad_input_is_one_sentence(words, says, capsys):
    code = run(["simulate", *words])
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert says in captured.err
    assert "Traceback" not in captured.err


def test_hopeless_privacy_is_said(capsys):
    assert run(["simulate", "riverswim/6", "--trust", "local", "--epsilon", "0.01", *QUICK, "--json"]) == 0
    assert "would be needed" in capsys.readouterr().err
