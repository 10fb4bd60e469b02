"""Returns: what is paid after an end is exact, and where a public range is declared no return, and no number, is beyond it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import confide as cf
from confide.analysis.fitting.comparing import compare
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.findings import LearningTask, Units
from confide.analysis.fitting.judging import judge
from confide.analysis.fitting.learning import learning_result
from confide.analysis.fitting.plan import RETURNS, CountPlan
from confide.cli import run
from confide.cli.learner import show_worth
from confide.errors import InvalidInput
from confide.lab.simulation.offline import prepare_offline, simulate_offline
from confide.learning.learners.apvi import Apvi
from confide.learning.planning.practice import practice_of
from confide.mdp import Spec
from confide.mdp.knowledge import Knowledge
from confide.mechanisms.noise import SecureNoise
from confide.protocol.kinds.returns import ReturnsRelease
from tests.analysis.fitting.logs import Episode, columns
from tests.analysis.fitting.test_first_screen import drawn, inside

LOW, HIGH, STEPS = -13.0, 30.0, 20
"""Of which 0 is no sixteenth: 13/43 of the way."""


def ended(people: int) -> dict[str, Any]:
    """People whose episodes end after one step, which pays the least there is."""
    return columns([Episode([0, 0], [0], [LOW]) for _ in range(people)])


def released(data: cf.trajectories.Dataset, rho: float = 1e10) -> tuple[CountPlan, dict[str, Any]]:
    plan = CountPlan.of(data, cf.Central(rho=rho))
    return plan, dict(plan.release(count(data, plan.question, Engine(workers=1)).checked(), SecureNoise()))


@pytest.mark.parametrize("people", [50, 5000])
def test_what_is_paid_after_an_end_is_exact(people: int) -> None:
    """Every user earns -13.0, and nothing in the 19 steps after it. The noise is next to none, so that is what must be said."""
    data = cf.trajectories.read(ended(people), states=2, actions=2, horizon=STEPS, reward_range=(LOW, HIGH))
    _, releases = released(data)
    task = LearningTask(Apvi(data.knowledge), None, data.knowledge, Units.of(data.describe()))
    practice = learning_result(task, releases).findings["practice"]
    reach = 6 * STEPS * (HIGH - LOW) / people  # what happens to fewer than one person in n is not seen
    assert practice["value"] == pytest.approx(LOW, abs=0.02)
    assert practice["high"] - practice["low"] < reach and practice["low"] <= LOW <= practice["high"]


def test_a_known_table_and_its_ends_are_summed_as_they_are() -> None:
    log = {name: values for name, values in ended(50).items() if name != "reward"}
    declared = {"states": 2, "actions": 2, "horizon": STEPS, "reward_range": (LOW, HIGH)}
    data = cf.trajectories.read(log, **declared, rewards=np.array([[-7.0 / 3, 1.0], [2.0, 3.0]]))
    returned = practice_of(released(data)[1][RETURNS])
    assert STEPS * LOW + (HIGH - LOW) * returned.mean == pytest.approx(-7 / 3, abs=0.02)


def test_returns_beyond_the_declared_range_are_clipped() -> None:
    """Returns 0 to 4 of four steps, in [1, 2]: each counts as 0 or 1 of that range, and 3 and 4 no more than 2."""
    log = columns([Episode([0] * 5, [0] * 4, [1.0] * many + [0.0] * (4 - many)) for many in range(5)])
    data = cf.trajectories.read(log, states=1, actions=1, horizon=4, return_range=(1, 2), fixed_length=True)
    plan, _ = released(data)
    half = plan.designs[RETURNS].question.points // 2
    counted = count(data, plan.question, Engine(workers=1)).checked()
    np.testing.assert_array_equal(counted.returns, [half, 5 * half**2, 5])  # two at the least, three at the most
    assert practice_of(released(data)[1][RETURNS]).mean == pytest.approx(1.6, abs=1e-3)


def test_the_range_lowers_the_noise_of_returns_and_of_nothing_else() -> None:
    wide, narrow = (
        released(
            cf.trajectories.read(ended(50), states=2, actions=2, horizon=STEPS, return_range=within, clip=True), 0.5
        )[0]
        for within in (None, (0, 1))
    )
    deviation = {
        name: [practice_of(plan.release(count(plan.data, plan.question, Engine(workers=1)), SecureNoise())[RETURNS])]  # type: ignore[arg-type]
        for name, plan in (("wide", wide), ("narrow", narrow))
    }
    assert deviation["wide"][0].noise == pytest.approx(STEPS**2 * deviation["narrow"][0].noise)
    assert wide.guarantee == narrow.guarantee and wide.noise_stated == narrow.noise_stated
    assert any("returns clipped to [0, 1]" in line for line in narrow.certificate("opendp").assumptions)
    assert not any("returns clipped" in line for line in wide.certificate("opendp").assumptions)


def test_current_practice_is_within_the_range_whatever_the_noise() -> None:
    for centred, mean in ((-1e6, 2.0), (0.0, 2.5), (1e6, 3.0)):
        release = ReturnsRelease(10, 1, 2.0, 3.0, centred, 1.0, 10.0, (1e6, 1e6, 1.0))
        assert practice_of(release).mean == mean and practice_of(release).spread <= 1


def test_what_can_follow_keeps_to_the_range() -> None:
    """Worked out by hand: three steps pay 0 or 1 each, and all of them together 1 at least and 2 at most."""
    knowledge = Knowledge.declared(Spec(1, 1, 3), ends=False, returns=(1.0, 2.0))
    bounds = knowledge.reach
    np.testing.assert_array_equal(bounds.low.ravel(), [1, 0, 0, 0])  # a return of 0 may still grow, one of 1 need not
    np.testing.assert_array_equal(bounds.high.ravel(), [2, 2, 1, 0])
    np.testing.assert_array_equal(bounds.half.ravel(), [0.5, 1, 0.5])
    assert knowledge.worths == (1.0, 2.0) and Knowledge.declared(Spec(1, 1, 3), ends=False).worths == (0.0, 3.0)


@pytest.mark.parametrize("seed", range(24))
def test_no_number_is_beyond_the_declared_range(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    table, declared = drawn(seed)
    (low, high), steps = declared["reward_range"], declared["horizon"]
    lengths = (steps,) if declared["fixed_length"] else (1, steps)
    first, last = (extreme(bound * many for many in lengths) for extreme, bound in ((min, low), (max, high)))
    least, most = first + 0.3 * (last - first), first + 0.55 * (last - first)
    data, rho = (
        cf.trajectories.read(table, **declared, return_range=(least, most)),
        (0.001, 0.05, 1.0, 100.0)[seed // 6],
    )
    _, releases = released(data, rho)
    units, learner = Units.of(data.describe()), Apvi(data.knowledge)
    assert least - 1e-9 <= units.least < units.most <= most + 1e-9
    result = learning_result(LearningTask(learner, None, data.knowledge, units), releases)
    findings, width = result.findings, most - least
    for span in (findings, findings["practice"], findings["alone"]):
        inside(span, least - 1e-9, most + 1e-9)
    inside(findings["gain"], -width - 1e-9, width + 1e-9)
    for one in findings["differences"]:
        inside(one["gain"], -width - 1e-9, width + 1e-9)
    show_worth(findings)
    assert "nan" not in capsys.readouterr().out


def test_a_fit_keeps_the_range_in_all_that_it_writes(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    people = [(rng.integers(2, size=19).tolist(), float(rng.integers(2))) for _ in range(80)]
    log = columns([Episode([0, 1] * 10, actions, [0.0] * 18 + [lived]) for actions, lived in people])
    parquet.write_table(pa.table(log), tmp_path / "stays.parquet")
    (tmp_path / "fit.toml").write_text(
        '[data]\nfiles = ["stays.parquet"]\n[problem]\nstates = 2\nactions = 2\nhorizon = 20\nreturn_range = [0, 1]\n'
        '[guarantee]\nrho = 0.2\nbudget = 1.0\n[output]\nfolder = "policy"\n'
    )
    assert run(["fit", str(tmp_path / "fit.toml"), "--json"]) == 0
    folder = tmp_path / "policy"
    config, card = (json.loads((folder / name).read_text()) for name in ("config.json", "card.json"))
    assert config["return_range"] == [0, 1] and card["data"]["returns"] == [0, 1]
    assert "return_range = [0, 1]" in (folder / "fit.toml").read_text().replace("0.0", "0").replace("1.0", "1")
    assert "returns clipped to [0, 1]" in (folder / "certificate.json").read_text()
    assert ">Returns</th><td>0 to 1 a person" in (folder / "card.html").read_text()
    fit = cf.load(folder)
    assert fit.knowledge.returns == (0.0, 1.0) and fit.values is not None
    assert fit.values.min() >= 0 and fit.values.max() <= 1  # of every state and step
    for row in compare(fit, {"practice": "practice", "learned": "learned", "alike": "uniform"}).rows:
        inside(row.value, 0, 1)
        inside(row.gain, -1, 1)
        assert 0 <= row.model <= 1
    inside(judge(fit, np.zeros(2, dtype=np.int64)), 0, 1)
    again = cf.analysis.fitting.refit(folder, out=tmp_path / "again")
    inside(again.findings, 0, 1)


@pytest.mark.parametrize("bounds", [(1, 0), (1, 1), (21, 30), (-5, -1), (0, float("nan"))])
def test_a_range_that_no_return_can_have_is_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput, match="return range"):
        cf.trajectories.read(ended(3), states=2, actions=2, horizon=STEPS, return_range=bounds)


def test_linear_learners_refuse_a_range_of_returns() -> None:
    data = cf.trajectories.read(ended(3), states=2, actions=2, horizon=STEPS, return_range=(0, 1))
    features = np.eye(4).reshape(2, 2, 4)
    with pytest.raises(InvalidInput, match="Leave --return-range out"):
        cf.analysis.fitting.check(data, "pevi", cf.Central(rho=1), features=cf.mdp.linear.LinearFeatures(features, 1.0))


def test_simulated_logs_have_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    wide, narrow = (
        prepare_offline("clinic", cf.Central(rho=0.5), 2000, horizon=8, return_range=within, visits=12)
        for within in (None, (0, 2))
    )
    questions = [one.plan.designs[RETURNS].question for one in (wide, narrow)]
    assert [(one.low, one.high) for one in questions] == [(0.0, 8.0), (0.0, 2.0)]
    found = simulate_offline("clinic", cf.Central(rho=0.5), 2000, 2, horizon=8, return_range=(0, 2))
    for estimate in found.estimates:
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 2
    command = "simulate clinic --offline --horizon 8 --episodes 500 --seeds 1 --rho 0.5 --return-range 0 2 --json"
    assert run(command.split()) == 0
    assert json.loads(capsys.readouterr().out)["estimated"][0][2] <= 2
    assert run(["simulate", "clinic", "--return-range", "0", "2", "--episodes", "10"]) == 2
