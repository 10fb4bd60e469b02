"""Fits of logs whose users are lost to follow-up: what they say holds as if no user had been."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting import engines
from confide.analysis.fitting.plan import LOST, RETURNS
from confide.analysis.fitting.refit import refit
from confide.analysis.results.fit import Fit
from confide.data.trajectories import Dataset, read
from confide.mechanisms.noise import ReplayableNoise
from tests.refusals import refused
from tools.coverage_worlds import drop_out, judged_fit

WORLD = drop_out("lost", informative=True)
SIZES: dict[str, Any] = {"states": WORLD.states, "actions": WORLD.actions, "horizon": WORLD.horizon}


def true_practice() -> float:
    """What practice earns if no user is lost."""
    law = WORLD.gain.func.__self__  # type: ignore[attr-defined]
    values = np.zeros(len(law.state))
    for _ in range(WORLD.horizon):
        values = (law.usual * (law.pays + law.moves @ values)).sum(axis=1)
    return float(law.begins @ values)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Fit:
    place = tmp_path_factory.mktemp("lost")
    data = WORLD.read(5000, np.random.default_rng(1))
    return cf.fit(data, privacy=cf.Central(rho=1.0), ledger=place / "l.json", budget=9.0, out=place / "policy")


def replayed_fit(data: Dataset, seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Any]:
    """What a fit says if its noise, and who judges, are drawn from a seed."""
    monkeypatch.setattr(engines, "fresh_key", lambda: int.from_bytes(np.random.default_rng(seed).bytes(24), "little"))
    return judged_fit(data, 2.0, noise=ReplayableNoise(np.random.SeedSequence(seed)))


def test_practice_and_gain_are_those_of_everybody_followed_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """24 fits of which everything is replayed; taken as ended, practice is far below.

    If intervals hold in 95 %, fewer than 18 of 24 do with probability 1.3e-4 for each of the three, and a mean without bias is 4.2
    standard errors off with 3.4e-4: other seeds would give a false alarm in fewer than one run of 1,000.
    """
    truth, held, off = true_practice(), np.zeros(3), []
    for seed in range(24):
        data = WORLD.read(5000, np.random.default_rng(seed))
        said, plan = replayed_fit(data, seed, monkeypatch)
        practice, gain, judged = said["practice"], said["gain"], said["judged"]
        held += [
            practice["low"] <= truth <= practice["high"],
            gain["low"] <= WORLD.gain(plan.extended, 1.0) <= gain["high"],
            judged["low"] <= WORLD.gain(plan.extended, judged["alpha"]) <= judged["high"],
        ]
        off.append(practice["value"] - truth)
    assert (held >= 18).all()
    assert abs(np.mean(off)) < 4.2 * np.std(off, ddof=1) / np.sqrt(24)
    records = WORLD.records(5000, np.random.default_rng(1))
    ended = read({name: records[name] for name in records if name not in ("lost", "chance")}, **SIZES)
    said, _ = replayed_fit(ended, 1, monkeypatch)
    assert said["practice"]["high"] < truth - 0.3


def test_it_says_how_many_were_lost_and_what_that_was_taken_for(fitted: Fit) -> None:
    assert LOST in fitted.releases and RETURNS not in fitted.releases
    (lost,) = (one for one in fitted.findings["assumes"] if "follow-up" in one)
    records = WORLD.records(5000, np.random.default_rng(1))
    number = int(lost.split("about ")[1].split(" ")[0].replace(",", ""))
    assert abs(number / (0.7 * int(records["lost"].sum())) - 1) < 0.15  # three in ten judge
    assert "lost to follow-up" in str(fitted.certificate)


def test_refits_and_comparisons_know_it(fitted: Fit) -> None:
    again = refit(fitted)
    assert again.findings["practice"] == fitted.findings["practice"]
    assert again.findings["judged"] == fitted.findings["judged"]
    assert not any(check["name"] == "practice" for check in fitted.findings["checks"])


def test_papers_and_linear_learners_know_of_no_losses(tmp_path: Path) -> None:
    data = WORLD.read(300, np.random.default_rng(1))
    words: dict[str, Any] = {"privacy": cf.Central(rho=1.0), "ledger": tmp_path / "l.json", "budget": 9.0}
    with refused("paper-knows-no-losses"):
        cf.fit(data, calibration="sound", judge="none", **words)
    with refused("linear-knows-no-losses"):
        cf.fit(data, "vapvi", features=np.eye(8).reshape(4, 2, 8), **words)
