from __future__ import annotations

import json

import pytest

from confide.cli import run


def said(capsys, *words: str):
    assert run(["simulate", *words, "--offline", "--seeds", "2", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_counts_and_features_are_learned_from(capsys):
    document = said(capsys, "clinic", "--rho", "0.5", "--episodes", "2000")
    assert document["practice_value"] < document["value"]["mean"] <= document["optimal_value"]
    assert document["certificate"]["guarantees"][0]["rho"] == pytest.approx(0.5)
    assert len(document["gain_over_practice"]) == 2
    linear = said(capsys, "linear-mdp", "--learner", "vapvi", "--horizon", "4", "--episodes", "500")
    assert linear["learner"] == "vapvi" and linear["certificate"]["guarantees"][0]["trust"] == "none"


def test_the_table_and_the_refusals(capsys):
    assert run(["simulate", "clinic", "--offline", "--epsilon", "1", "--episodes", "1e6", "--seeds", "1"]) == 0
    assert "current practice" in capsys.readouterr().out
    assert run(["simulate", "clinic", "--offline", "--learner", "obi"]) == 2
    assert "learns online" in capsys.readouterr().err
    assert run(["simulate", "clinic", "--behaviour", "uniform"]) == 2
    assert "--offline" in capsys.readouterr().err


def test_a_learners_own_options_are_reached(capsys):
    words = ("clinic", "--rho", "0.5", "--episodes", "2000", "--judge", "none")
    usual, printed = said(capsys, *words), said(capsys, *words, "--option", "pessimism=hoeffding")
    assert printed["value"]["mean"] < usual["value"]["mean"]


@pytest.mark.parametrize(
    ("words", "counted"),
    [
        ([], "repeats within a budget of 6"),
        (["--visits", "9"], "repeats within a budget of 9"),
        (["--visits", "all"], ""),
        (["--episodes", "1.1e7"], "all visits are counted: a budget of 6 is left out"),
    ],
)
def test_which_visits_are_counted(words, counted, capsys):
    document = said(capsys, "random/8x2", "--horizon", "6", "--rho", "0.5", "--episodes", "300", *words)
    told = " ".join(document["certificate"]["assumptions"])
    assert counted in told and ("visits" in told) == bool(counted)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--schedule", "every"], "--schedule has no effect with --offline"),
        (["--trust", "joint"], "released under central privacy"),
        (["--workers", "2"], "--workers has no effect"),
        (["--compare", "episodes=100,200"], "--compare has no effect"),
        (["--learner", "vapvi", "--no-support"], "--no-support has no effect for vapvi"),
        (["--learner", "ucbvi"], "'ucbvi' learns online"),
        (["--option", "horizon=3"], "See --help for its flag"),
    ],
)
def test_what_would_change_nothing_is_refused(words, reason, capsys):
    assert run(["simulate", "clinic", "--offline", "--rho", "0.5", *words]) == 2
    assert reason in capsys.readouterr().err
