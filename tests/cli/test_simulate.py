"""`confide simulate` as people and programs call it."""

from __future__ import annotations

import json
import shutil

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
    "share_of_random",
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
    # Loops that plan after every user are compiled for each pair of learner and noise: once is enough here.
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


def test_a_grid_resumes_and_folds_its_promises_into_one_table(tmp_path, capsys):
    folder = tmp_path / "grid"
    words = f"riverswim/3 --seeds 2 --compare guarantee=joint:1:1e-6,local:2 --compare horizon=3,4 --episodes 500 --out {folder}"
    assert run(["simulate", *words.split()]) == 0
    first = capsys.readouterr()
    assert first.err.count("saved in") == 4 and "was saved" not in first.err and "not the same" not in first.err
    kept = {path.name: (path / "curves.parquet").read_bytes() for path in folder.iterdir()}
    assert set(kept) == {f"guarantee-{promise}-horizon-{h}" for promise in ("joint-1-1e-6", "local-2") for h in (3, 4)}
    assert first.out.count("true guarantee") == 1 and "(1, 1e-06)-DP, joint" in first.out and "2-DP, local" in first.out
    shutil.rmtree(folder / "guarantee-local-2-horizon-4")
    assert run(["simulate", *words.split(), "--workers", "2"]) == 0
    again = capsys.readouterr()
    assert again.err.count("was saved in") == 3
    assert again.out.splitlines()[2].split()[:5] == first.out.splitlines()[2].split()[:5]
    assert {path.name: (path / "curves.parquet").read_bytes() for path in folder.iterdir()} == kept
    other = words.replace("--seeds 2", "--seeds 1")
    assert run(["simulate", *other.split()]) == 2
    assert "replace" in capsys.readouterr().err


def test_a_grid_over_worlds_learners_and_printings(capsys):
    words = "riverswim/3 --trust none --seeds 1 --episodes 50 --compare world=chain/4,riverswim/3 --compare learner=ucbvi,obi"
    assert run(["simulate", *words.split(), "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [(one["environment"], one["learner"]) for one in runs] == [
        (world, learner) for world in ("chain/4", "riverswim/3") for learner in ("ucbvi", "obi")
    ]
    words = "chain/3 --horizon 3 --trust none --seeds 1 --episodes 50 --compare learner=ucbvi,ucbvi?bonus=hoeffding"
    assert run(["simulate", *words.split(), "--json"]) == 0
    own = [(one["learner"], one["regret"]["mean"]) for one in json.loads(capsys.readouterr().out)["runs"]]
    assert [learner for learner, _ in own] == ["ucbvi", "ucbvi?bonus=hoeffding"] and own[0][1] != own[1][1]
    words = "random/2x2 --horizon 2 --learner obi --trust local --epsilon 1 --delta 0.1 --calibration paper --seeds 1"
    results = {}
    for more in ("", "--printing proof"):
        line = f"{words} --mechanism gaussian --episodes 10 --json {more}"
        assert run(["simulate", *line.split()]) == 0
        results[more] = json.loads(capsys.readouterr().out)["certificate"]["mechanisms"][0]["sigma"]
    assert results[""] == pytest.approx(43.845, rel=1e-3) and results["--printing proof"] == pytest.approx(
        9.364, rel=1e-3
    )


def test_compared_runs_have_one_table_of_promises(capsys):
    words = "riverswim/3 --horizon 4 --epsilon 1 --delta 1e-6 --compare calibration=paper,tight"
    assert run(["simulate", *words.split(), "--learner", "ucbvi", *QUICK]) == 0
    out = capsys.readouterr().out
    assert out.count("true guarantee") == 1 and "neighbours" not in out
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
        (["riverswim/6", "--epsilon", "1", "--compare", "promise=joint:a"], "joint:1:1e-6"),
        (["riverswim/6", "--epsilon", "1", "--compare", "episodes=1.5"], "whole number"),
        (["riverswim/6", "--epsilon", "1", "--learner", "apvi"], "--offline"),
        (["riverswim/6", "--learner", "apvi"], "--offline"),
        (["riverswim/6", "--epsilon", "1", "--calibration", "paper", "--printing", "proof"], "It has natural-log"),
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
    words = "riverswim/3 --horizon 4 --trust local --epsilon 0.01 --episodes 20 --seeds 1 --json"
    assert run(["simulate", *words.split()]) == 0
    assert "would be needed" in capsys.readouterr().err
