"""Whatever is logged and however loud the noise: no number is beyond what rewards allow, or on the wrong side of its bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting.comparing import judged
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.findings import LearningTask, Units, first_states
from confide.analysis.fitting.learning import learn, learning_result
from confide.analysis.fitting.plan import CountPlan
from confide.cli.learner import show_worth
from confide.learning.learners.apvi import Apvi
from confide.mechanisms.noise import SecureNoise

RANGES = ((0.0, 1.0), (-100.0, -1.0), (5.0, 6.0), (-1.0, 20.0))


def drawn(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A log of a handful of people in a world of a handful of states, and how it is declared."""
    rng = np.random.default_rng(seed)
    states, actions, horizon = (int(rng.integers(1, most)) for most in (4, 4, 5))
    low, high = RANGES[seed % len(RANGES)]
    short, people = bool(rng.integers(2)), int(rng.integers(1, 60))
    lengths = rng.integers(1, horizon + 1, size=people) if short else np.full(people, horizon)
    many = int(lengths.sum())
    table = {
        "user": np.repeat(np.arange(people), lengths),
        "step": np.concatenate([np.arange(one) for one in lengths]),
        "state": rng.integers(states, size=many),
        "action": rng.integers(actions, size=many),
        "reward": rng.choice([low, high, (low + high) / 2], size=many),
    }
    declared = {"states": states, "actions": actions, "horizon": horizon, "reward_range": (low, high)}
    return table, {**declared, "fixed_length": not short}


@pytest.mark.parametrize("seed", range(24))
def test_no_number_is_beyond_what_rewards_allow(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    table, declared = drawn(seed)
    data, rho = cf.trajectories.read(table, **declared), (0.001, 0.05, 1.0, 100.0)[seed // 6]
    plan = CountPlan.of(data, cf.Central(rho=rho))
    releases: Any = plan.release(count(data, plan.question, Engine(workers=1)).checked(), SecureNoise())
    units, learner = Units.of(data.describe()), Apvi(data.knowledge)
    findings = learning_result(LearningTask(learner, None, data.knowledge, units), releases).findings
    most = units.most - units.least
    for span in (findings, findings["practice"], findings["alone"]):
        inside(span, units.least, units.most)
    assert findings["lower"] <= findings["value"]
    inside(findings["gain"], -most, most)
    for one in findings["differences"]:
        inside(one["gain"], -most, most)
        assert one["rests"] >= 0 and one["error"] >= 0 and 0 <= one["share"] <= 1
    power = findings["power"]
    possible = units.most - findings["practice"]["value"]
    assert power["largest"] == pytest.approx(possible)
    for stated in (power["gain"], *(row["gain"] for row in power["guarantees"])):
        assert stated is None or 0 <= stated < power["largest"]
    result: Any = learn(learner, None, first_states(data.knowledge, releases), releases)
    alike = np.zeros_like(result.extended)
    alike[..., 1:] = 1 / data.knowledge.spec.actions
    for row in judged(result.evidence, {"learned": result.extended, "alike": alike}, units, 0.95).rows:
        inside(row.value, units.least, units.most)
        inside(row.gain, -most, most)
        assert units.least <= row.model <= units.most
    show_worth(findings)
    assert "nan" not in capsys.readouterr().out


def inside(span: dict[str, float], least: float, most: float) -> None:
    assert least <= span["low"] <= span["value"] <= span["high"] <= most
