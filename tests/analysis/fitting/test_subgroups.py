"""Who gains and who loses: gains by public groups, in a world in which the advice is good for some and harms others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting.adopting import GROUP_SHARES, SHARES, JudgePlan
from confide.analysis.fitting.alarms import one_step
from confide.analysis.fitting.refit import refit
from confide.analysis.fitting.subgroups import group_gains
from confide.analysis.reporting.group_gains import FEW, GAINS, LOSES, UNCLEAR, UNSTATED
from confide.cli import run
from confide.data.trajectories import read
from confide.data.trajectories.groups import OTHER, PublicGroups
from confide.learning.planning.estimates import Estimate
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import compose, rho_of
from confide.protocol.kinds.judged import GROUPS, JudgedRelease
from tests.refusals import refused

HORIZON = 2
PAYS = {"f": (0.3, 0.8), "m": (0.6, 0.3)}
"""What each action pays, in each group."""


def log(people: int, seed: int = 0) -> dict[str, Any]:
    """Practice is uniform and the same for all; two thirds are in group f, one in fifty in none that is declared."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m", "unknown"], size=people, p=[0.65, 0.33, 0.02])
    action = rng.integers(2, size=(people, HORIZON))
    pays = np.array([PAYS.get(one, (0.4, 0.4)) for one in sex])
    chance = np.take_along_axis(pays, action, axis=1)
    return {
        "user": np.repeat(np.arange(people), HORIZON),
        "step": np.tile(np.arange(HORIZON), people),
        "state": rng.integers(2, size=people * HORIZON),
        "action": action.ravel(),
        "reward": (rng.random((people, HORIZON)) < chance).astype(float).ravel(),
        "sex": np.repeat(sex, HORIZON),
    }


def opened(people: int, groups: Any = "sex=f,m", **more: Any) -> Any:
    return read(log(people), states=2, actions=2, horizon=HORIZON, fixed_length=True, groups=groups, **more)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    place = tmp_path_factory.mktemp("groups")
    words: dict[str, Any] = {"ledger": place / "l.json", "budget": 9.0, "out": place / "policy"}
    return cf.fit(opened(30_000), privacy=cf.Central(rho=1.0), **words), place / "policy"


def test_who_gains_and_who_loses(fitted: tuple[Any, Path]) -> None:
    fit, folder = fitted
    said, rows = fit.as_json(), {row["group"]: row for row in fit.as_json()["groups"]}
    assert list(rows) == ["f", "m", OTHER]
    assert (rows["f"]["verdict"], rows["m"]["verdict"]) == (GAINS, LOSES)
    for group, (first, second) in PAYS.items():
        true = said["judged"]["alpha"] * HORIZON * (second - first) / 2  # practice takes each action half of the time
        half = (rows[group]["high"] - rows[group]["low"]) / 2
        assert abs(rows[group]["gain"] - true) < 2.5 * half  # 6 deviations
        assert half < abs(true)
        assert rows[group]["share_low"] < rows[group]["share"] < rows[group]["share_high"]
    assert abs(rows["f"]["share"] - 0.65) < 0.03 and rows[OTHER]["share"] < 0.1
    report = (folder / "report.html").read_text()
    assert "Who gains and who loses" in report and "Groups that lose by it: m" in report
    assert any(act["release"].startswith("the mean score of every group") for act in fit.certificate.mechanisms)
    assert fit.certificate.guarantee.rho == pytest.approx(1.0)


def test_a_refit_says_the_same_of_groups(fitted: tuple[Any, Path], capsys: pytest.CaptureFixture[str]) -> None:
    fit, folder = fitted
    assert refit(folder).as_json()["groups"] == fit.as_json()["groups"]
    assert cf.load(folder).as_json()["groups"] == fit.as_json()["groups"]


def test_the_command_and_the_file_know_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(log(6000)), tmp_path / "log.parquet")
    common = ["--states", "2", "--actions", "2", "--horizon", "2", "--fixed-length", "--rho", "1", "--budget", "9"]
    given = ["fit", str(tmp_path / "log.parquet"), *common, "--groups", "sex=f,m"]
    assert run([*given, "--out", str(tmp_path / "one")]) == 0
    assert "group f (about 6" in capsys.readouterr().out
    assert run([*given, "--out", str(tmp_path / "two"), "--json"]) == 0
    assert {row["group"] for row in json.loads(capsys.readouterr().out)["groups"]} == {"f", "m", OTHER}
    (tmp_path / "fit.toml").write_text(
        f'[data]\nfiles = ["{tmp_path / "log.parquet"}"]\n'
        '[problem]\nstates = 2\nactions = 2\nhorizon = 2\nfixed_length = true\ngroups = "sex=f,m"\n'
        "[guarantee]\nrho = 1.0\n"
    )
    code = run(["fit", str(tmp_path / "fit.toml"), "--budget", "9", "--out", str(tmp_path / "three"), "--json"])
    told = capsys.readouterr()
    assert code == 0, told.err
    assert [row["group"] for row in json.loads(told.out)["groups"]] == ["f", "m", OTHER]


def test_groups_share_what_judging_people_were_promised() -> None:
    assert sum(GROUP_SHARES.values()) <= 1 and sum(SHARES.values()) <= 1
    judge = JudgePlan.of(0.3, cf.Central(rho=0.7), groups=("a", "b"))
    assert rho_of(compose([act.loss for act in judge.acts])) == pytest.approx(0.7)
    assert judge.designs is not None and set(judge.designs) - set(SHARES) == {GROUPS}


def plain(estimate: Estimate, difference: bool = False) -> dict[str, Any]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


FITS = 400


def test_intervals_of_groups_hold_together() -> None:
    """Of fits whose truth is known all three hold in at least 93 %, with the noise of rho .5 and 3,000 judges."""
    rng = np.random.default_rng(5)
    judge = JudgePlan.of(0.3, cf.Central(rho=0.5), groups=("a", "b", "c"))
    sizes, means, held, noise = (1900, 800, 300), (0.2, -0.1, 0.0), 0, ReplayableNoise(3)
    for _ in range(FITS):
        y = np.concatenate([rng.uniform(mean - 0.7, mean + 0.7, size) for mean, size in zip(means, sizes, strict=True)])
        numbers = np.column_stack([y, np.repeat([0, 1, 2], sizes)])
        rows = group_gains(judge.released(GROUPS, numbers, 2.0, noise, True), ("a", "b", "c"), 0.0, plain, True)
        spans = [(row["low"], row["high"], mean) for row, mean in zip(rows, means, strict=True)]
        held += all(low is not None and high is not None and low <= 2 * mean <= high for low, high, mean in spans)
    assert held >= 0.93 * FITS


def test_nothing_is_said_of_few_or_where_nothing_may_be() -> None:
    sums = (20.0, 30.0, 100.0, 1.0, 5.0, 30.0, 0.0, 40.0, 100.0)
    release = JudgedRelease(GROUPS, 230, sums, (0.5, 0.5, 1.0) * 3, 1.0)
    rows = group_gains(release, ("a", "b", "c"), 0.0, plain, True)
    assert [row["verdict"] for row in rows] == [GAINS, FEW, UNCLEAR] and rows[1]["gain"] is None
    hidden = group_gains(release, ("a", "b", "c"), 0.0, plain, False)
    assert all(row["verdict"] == UNSTATED and row["gain"] is None for row in hidden)
    findings: dict[str, Any] = {"recommended": True, "checks": [], "groups": rows}
    assert one_step(findings, 1, False, False)["groups"][0]["gain"] is None
    assert "groups" not in one_step(findings, 1, False, True)


def test_groups_are_declared_and_never_read_off_the_data(tmp_path: Path) -> None:
    assert PublicGroups.declared({"sex": ["f", "m"]}) == PublicGroups("sex", ("f", "m"))
    assert PublicGroups.declared(" sex = f, m, other") == PublicGroups("sex", ("f", "m"))
    for bad in ("sex", "sex=", {"sex": ["f"], "age": ["old"]}):
        with refused("groups-form"):
            PublicGroups.declared(bad)
    with refused("groups-column-missing"):
        opened(10, "gender=f,m")
    with refused("groups-need-judge"):
        cf.fit(opened(100), privacy=cf.Central(rho=1.0), judge="none", ledger=tmp_path / "l.json", budget=2.0)
