"""What a stated value rests on: said on every page, with how many episodes ended and which checks were made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting.assumed import DEVIATIONS, PRACTICE, STATES_TELL, checks, ended_early
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.findings import first_states
from confide.analysis.fitting.learning import learn
from confide.analysis.fitting.plan import COUNTS, CountPlan, together_read
from confide.analysis.results.fit import load
from confide.cli import run
from confide.data.trajectories import Dataset, read
from confide.learning.learners.apvi import Apvi
from confide.learning.planning.logged import logged_model
from confide.mechanisms.noise import ReplayableNoise

PEOPLE, HORIZON = 600, 4


def records(shorter: int, seed: int = 0) -> dict[str, Any]:
    """PEOPLE of four steps, of whom this many have two."""
    rng = np.random.default_rng(seed)
    lengths = np.where(np.arange(PEOPLE) < shorter, 2, HORIZON)
    rows = int(lengths.sum())
    user, step = np.repeat(np.arange(PEOPLE), lengths), np.concatenate([np.arange(length) for length in lengths])
    drawn = {"state": rng.integers(3, size=rows), "action": rng.integers(2, size=rows)}
    return {"user": user, "step": step, **drawn, "reward": rng.integers(2, size=rows).astype(float)}


def opened(shorter: int, seed: int = 0, **declared: Any) -> Dataset:
    return read(records(shorter, seed), states=3, actions=2, horizon=HORIZON, **declared)


@pytest.mark.parametrize("model", ["stationary", "per-step"])
def test_how_many_ended_early_is_counted_with_its_noise(model: str) -> None:
    """Two hundred noises: 95 % intervals hold in at least 170 (of a binomial of mean 190, a chance below 1e-15)."""
    data = opened(137, model=model)
    plan = CountPlan.of(data, cf.Central(rho=1.0), visits="all")
    counted = count(data, plan.question, Engine(workers=1)).checked()
    held, found = 0, []
    for seed in range(200):
        releases = plan.release(counted, ReplayableNoise(seed), simulated=True)
        release = together_read(releases)[COUNTS]
        ended = ended_early(release, logged_model(release, data.knowledge, np.array([0.4, 0.3, 0.3, 0.0])))
        assert ended is not None and ended["before_last"]
        held += ended["low"] <= 137 <= ended["high"]
        found.append(ended["value"])
    assert held >= 170
    stated = (ended["high"] - ended["low"]) / 2 / DEVIATIONS
    assert 2 / 3 < np.std(found) / stated < 3 / 2 and abs(np.mean(found) - 137) < 5 * stated / np.sqrt(200)


def test_where_none_can_end_none_is_counted() -> None:
    data = opened(0, fixed_length=True)
    plan = CountPlan.of(data, cf.Central(rho=1.0), visits="all")
    releases = plan.release(count(data, plan.question, Engine(workers=1)).checked(), ReplayableNoise(0), simulated=True)
    release = together_read(releases)[COUNTS]
    assert ended_early(release, logged_model(release, data.knowledge, np.full(3, 1 / 3))) is None


def test_every_page_says_what_a_value_rests_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(records(100)), tmp_path / "log.parquet")
    words = f"fit {tmp_path}/log.parquet --states 3 --actions 2 --horizon 4 --rho 1 --budget 2 --out {tmp_path}/policy"
    assert run(words.split()) == 0
    screen = capsys.readouterr().out.splitlines()
    assert any(STATES_TELL in line for line in screen[:4]) and any("came to their end" in line for line in screen[:5])
    page = (tmp_path / "policy" / "report.html").read_text(encoding="utf-8")
    first = page[page.index("<h1>") : page.index("</header>")]
    assert STATES_TELL[1:] in first and "came to their end" in first
    card = json.loads((tmp_path / "policy" / "card.json").read_text(encoding="utf-8"))
    assert STATES_TELL in card["assumes"] and card["checks"][0]["name"] == PRACTICE
    assert "the recorded state tells all" in str(load(tmp_path / "policy").certificate)


def test_a_table_that_is_wrong_about_what_people_earned_is_told() -> None:
    """Practice turns round half-way, and the two states it is turned in pay differently: counts of all steps mix both."""
    people, horizon = 4000, 6
    states, wrong = np.zeros((2, people, horizon), dtype=np.int64), []
    rng = np.random.default_rng(0)
    for turning in (True, False):
        actions = np.zeros((people, horizon), dtype=np.int64)
        for step in range(horizon):
            often = (0.05 if step < horizon // 2 else 0.95) if turning else 0.5
            actions[:, step] = rng.random(people) < often
            if step + 1 < horizon:  # action 0 stays, action 1 leads to a state that is never left and pays
                states[0, :, step + 1] = np.where(states[0, :, step] == 1, 1, actions[:, step])
        following = np.where(states[0] == 1, 1, actions)
        records = {
            "user": np.repeat(np.arange(people), horizon),
            "step": np.tile(np.arange(horizon), people),
            "state": states[0].ravel(),
            "action": actions.ravel(),
            "reward": states[0].ravel().astype(float),
            "next_state": following.ravel(),
        }
        data = read(records, states=2, actions=2, horizon=horizon, fixed_length=True)
        plan = CountPlan.of(data, cf.Central(rho=50.0), visits="all")
        releases = plan.release(
            count(data, plan.question, Engine(workers=1)).checked(), ReplayableNoise(0), simulated=True
        )
        initial = first_states(data.knowledge, releases)  # type: ignore[arg-type]
        learned: Any = learn(Apvi(data.knowledge), None, initial, dict(releases))  # type: ignore[arg-type]
        never = np.zeros_like(learned.extended)
        never[..., 1] = 1.0
        (check,) = checks(learned.evidence, never)
        wrong.append(not check["passed"])
    assert wrong == [True, False]
