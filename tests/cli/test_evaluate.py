"""`confide evaluate`: exact values where the model is known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from confide.analysis.fitting import fit
from confide.analysis.results.fit import Fit
from confide.cli import run
from confide.data.trajectories import read
from confide.lab.environments import make
from confide.learning.planning import policy_value
from confide.privacy import Central
from tests.analysis.fitting.stub import Frequent


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy for a world of three states, made from nonsense."""
    rng = np.random.default_rng(0)
    arrays = {
        "states": rng.integers(3, size=(50, 5)),
        "actions": rng.integers(2, size=(50, 4)),
        "rewards": np.zeros((50, 4)),
    }
    data = read(arrays, states=3, actions=2, horizon=4)
    fit(
        data,
        Frequent(data.knowledge),
        Central(rho=1.0),
        ledger=tmp_path / "l.json",
        budget=1.0,
        out=tmp_path / "policy",
    )
    return tmp_path / "policy"


def test_the_value_is_exact(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", str(policy), "--env", "riverswim/3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    world = make("riverswim/3", 4)
    assert world.model is not None
    exact = world.scale.to_people(policy_value(world.model, Fit.load(policy).policy), 4)
    assert document["value"] == pytest.approx(exact) and document["value"] <= document["optimal_value"]
    assert run(["evaluate", str(policy), "--env", "riverswim/3"]) == 0
    assert "where the best policy has the value" in capsys.readouterr().out


def test_worlds_that_do_not_fit(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", str(policy), "--env", "riverswim/4"]) == 2
    assert "has 4 states and 2 actions. The policy has 3 and 2" in capsys.readouterr().err
    assert run(["evaluate", str(policy.parent / "none"), "--env", "riverswim/3"]) == 2
    assert "is not a folder that holds a policy" in capsys.readouterr().err
