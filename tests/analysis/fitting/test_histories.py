"""`--users all:K` through a fit: prices, noise, what is said, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import confide as cf
from confide.analysis.fitting import Engine, check, fit, prepare, refit
from confide.analysis.fitting.comparing import compare
from confide.analysis.fitting.engines import count
from confide.analysis.fitting.plan import CAME, COUNTS, RETURNS, STARTS, VISITED, CountPlan, law_of, ranges_of
from confide.analysis.fitting.refit import releases_of
from confide.analysis.results.fit import Fit
from confide.data.privatizers import Total, open_aggregate
from confide.data.trajectories import Dataset, read
from confide.lab.audit import audit
from confide.lab.audit.fits import count_plan, fit_targets
from confide.lab.audit.replicas import audit_fit
from confide.lab.audit.settings import LONGER
from confide.learning.planning.logged import logged_model
from confide.learning.planning.practice import Practice
from confide.mechanisms.gaussian import Gaussian
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.privacy import Central, compose
from confide.protocol.kinds.counts import TRANSITIONS
from confide.protocol.trusts.central import std
from tests.refusals import refused
from tools.coverage_logs import RETURNING, Variant, drawn_log, drawn_world

FALSE_ALARM = 1e-6
"""Of every test of a size of noise."""

ALL, LIMIT, GROUP = RETURNING[:3]


def log(variant: Variant = ALL, people: int = 300, world: int = -1) -> tuple[dict[str, Any], Dataset]:
    """Records of people with 1 to 20 episodes each, and the same read."""
    model, usual = drawn_world(world, variant)
    return drawn_log(model, usual, people, variant, np.random.default_rng(7))


def declared(data: Dataset, **words: Any) -> dict[str, Any]:
    spec = data.knowledge.spec
    return {"states": spec.states, "actions": spec.actions, "horizon": spec.horizon, "fixed_length": True, **words}


def test_noise_grows_like_the_root_of_the_episodes_and_the_rest_costs_what_one_does() -> None:
    records, data = log()
    plans = {
        users: CountPlan.of(read(records, **declared(data), users=users), Central(rho=0.5), visits=visits)
        for users, visits in (("limit", "all"), ("all:5", "auto"), ("all:20", "auto"), ("group:20", "all"))
    }
    noise = {users: std(plan.designs[COUNTS]) for users, plan in plans.items()}
    assert noise["all:20"] == pytest.approx(2 * noise["all:5"])
    assert noise["all:20"] < noise["group:20"] / 3
    for name in (STARTS, RETURNS):
        one, many, group = (std(plans[users].designs[name]) for users in ("limit", "all:20", "group:20"))
        assert many == pytest.approx(one) and group == pytest.approx(20 * one)
    horizon, plan = data.knowledge.spec.horizon, plans["all:20"]
    assert plan.question.budget == 20 * horizon and plan.designs[COUNTS].act.sensitivity.l2 ** 2 == pytest.approx(
        3 * 20 * horizon
    )
    assert plan.designs[VISITED].act.sensitivity.l2 ** 2 == pytest.approx(2 * 20 * horizon)
    assert plan.cost == pytest.approx(0.5) and CAME in plan.designs and CAME not in plans["limit"].designs


def test_the_noise_that_is_drawn_is_the_noise_that_is_priced() -> None:
    """Of all transition cells of 40 releases: the true scale is accepted, two thirds and three halves of it are rejected."""
    _, data = log()
    design = CountPlan.of(data, Central(rho=0.5)).designs[COUNTS]
    drawn = []
    for _ in range(40):
        aggregate = open_aggregate(design, SecureNoise())
        aggregate.take_sum(Total(np.zeros(design.question.width, dtype=np.int64), 9))
        drawn.append(aggregate.close().counts.transitions.ravel())
    cells = np.concatenate(drawn)

    def accepted(scale: float) -> bool:
        total = float((cells**2).sum()) / scale**2
        return chi2.ppf(FALSE_ALARM / 2, cells.size) < total < chi2.isf(FALSE_ALARM / 2, cells.size)

    sigma = math.sqrt(3 * design.question.budget / (2 * 0.5 * share_of_counts(data)))
    assert std(design) == pytest.approx(sigma) and accepted(sigma)
    assert not accepted(sigma * 2 / 3) and not accepted(sigma * 3 / 2)


def share_of_counts(data: Dataset) -> float:
    """What is left of the guarantee for counts: all but 5 % first states, 3 % returns, 10 % visits, 3 % how often people came."""
    return 1 - 0.05 - 0.03 - 0.1 - 0.03


def fitted(tmp_path: Path, data: Dataset, rho: float = 0.5, **words: Any) -> Fit:
    return fit(data, "apvi", Central(rho=rho), budget=10.0, ledger=tmp_path / "ledger.json", **words)


def test_a_fit_says_what_is_hidden_and_how_people_weigh(tmp_path: Path) -> None:
    _, data = log(people=400)
    made = fitted(tmp_path, data, out=tmp_path / "policy")
    assert (
        made.users == 400 and made.config["users"] == "all:20" and made.config["visits"] == made.config["horizon"] * 20
    )
    assert made.certificate.guarantee.unit == "one person's whole history, of which up to 20 trajectories are used"
    assert "as one history; returns are the mean" in made.certificate.assumptions[0]
    said = " ".join(made.certificate.assumptions)
    assert "history of up to 20 episodes first visits and repeats within a budget of" in said
    assert [row["release"] for row in made.certificate.mechanisms].count("how many episodes people have") == 1
    # From the folder alone the same is learned again, and compared.
    loaded = cf.load(tmp_path / "policy")
    assert releases_of(loaded)[COUNTS].episodes == 20 and releases_of(loaded)[COUNTS].came is not None
    assert np.array_equal(refit(loaded).policy.probabilities, made.policy.probabilities)
    rows = {row.name: row for row in compare(loaded).rows}
    assert rows["learned"].gain["value"] == pytest.approx(made.findings["gain"]["value"])
    assert made.findings["practice"]["value"] == rows["practice"].value["value"]


def test_an_audit_of_the_fit_finds_no_more_than_is_certified(tmp_path: Path) -> None:
    _, data = log(people=200)
    made = fitted(tmp_path, data, rho=2.0)
    found = audit_fit(made, samples=3000, noise=ReplayableNoise(1))
    assert 0 < found["lower_bound"] <= found["certified_epsilon"]


def test_an_attack_on_a_history_passes_and_notices_half_the_noise() -> None:
    """Two people of whom each comes twice; replayable noise, so that the outcome is the same for everyone."""
    promise, delta = Central(2.0, 0.01), 0.01
    plan = count_plan(LONGER, promise, "gaussian", "all:2", 6)
    assert audit(fit_targets("history", plan, LONGER)[:1], 20_000, delta=delta, noise=ReplayableNoise(3)).ok
    design = plan.designs[COUNTS]
    noise = design.mechanism
    assert isinstance(noise, Gaussian)
    half = replace(design, act=replace(design.act, mechanism=Gaussian(noise.sigma / 2, noise.grid)))
    quiet = replace(plan, designs={**plan.designs, COUNTS: half})
    (target,) = fit_targets("half the noise", quiet, LONGER)[:1]
    claimed = replace(target, loss=compose([act.loss for act in plan.acts]))
    assert not audit([claimed], 20_000, delta=delta, noise=ReplayableNoise(3)).ok


def test_judging_people_are_others_and_keep_the_promise(tmp_path: Path) -> None:
    _, data = log(people=2500)
    made = fitted(tmp_path, data, rho=2.0)
    assert made.config["judge"] == 0.3 and made.users == 1750
    assert made.findings["judged"]["people"] == 750
    checked = check(data, "apvi", Central(rho=2.0), budget=10.0, ledger=tmp_path / "ledger.json")
    assert checked.problems == () and checked.users == 2500 and checked.judge == 0.3


REFUSED: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "Laplace": ({}, Central(1.0), {}),
    "all visits": ({}, Central(rho=0.5), {"visits": "all"}),
    "per step": ({"model": "per-step"}, Central(rho=0.5), {}),
    "next state not told": ({"columns": "next_state="}, Central(rho=0.5), {}),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_has_no_budget_has_no_history(why: str) -> None:
    records, data = log(people=20)
    words, promise, choices = REFUSED[why]
    with refused("history-needs"):
        prepare(read(records, **declared(data), **words, users="all:20"), "apvi", promise, budget=1.0, **choices)


def test_papers_and_linear_learners_know_no_histories() -> None:
    _, data = log(people=20)
    with refused("paper-knows-no-histories"):
        prepare(data.with_dynamics("per-step"), "apvi", Central(rho=0.5), budget=1.0, calibration="sound")
    features = np.eye(data.knowledge.states * data.knowledge.spec.actions)
    shape = (data.knowledge.states, data.knowledge.spec.actions, -1)
    with refused("linear-several-episodes"):
        prepare(data, "vapvi", Central(rho=0.5), budget=1.0, features=features.reshape(shape))


def test_how_often_people_came_is_read_off_ranges() -> None:
    assert ranges_of(20).tolist() == [0, 1, 2, 2, 3, 3, 3, 3, *[4] * 8, *[5] * 4]
    _, data = log(people=5000)
    plan = CountPlan.of(data, Central(rho=500.0))
    counted = count(data, plan.question, Engine(workers=1)).checked()
    law = law_of(plan.release(counted, SecureNoise())[CAME], 20)  # type: ignore[arg-type]
    assert law.sum() == pytest.approx(1.0) and law @ np.arange(1, 21) == pytest.approx(10.5, abs=0.3)
    np.testing.assert_allclose(law, 0.05, atol=0.01)


def test_shares_of_histories_are_those_of_people_who_are_counted() -> None:
    """The model's shares, from walkers, beside the shares of the very people who were counted: a few per cent apart."""
    records, data = log(people=4000)
    plan = CountPlan.of(data, Central(rho=5e3))
    counted = count(data, plan.question, Engine(workers=1)).checked()
    releases = plan.release(counted, SecureNoise())
    release = releases[COUNTS].with_visits(releases[VISITED])  # type: ignore[union-attr, arg-type]
    release = replace(release, came=law_of(releases[CAME], 20))  # type: ignore[arg-type]
    model = logged_model(release, data.knowledge, np.asarray(drawn_world(-1, ALL)[0].initial))
    spec = data.knowledge.spec
    pairs = np.asarray(records["state"]) * spec.actions + np.asarray(records["action"])
    visits = np.bincount(pairs, minlength=spec.states * spec.actions)
    cells = counted.cells[plan.question.counts.slices[TRANSITIONS]].reshape(-1, spec.states).sum(axis=1)
    share = (cells / plan.question.resolution / visits).reshape(spec.states, spec.actions)
    often = visits.reshape(share.shape) > 2000
    assert share[often].max() < 0.95 and often.sum() >= 4  # the budget leaves something out
    np.testing.assert_allclose(model.counted[often], share[often], rtol=0.08)


def test_a_spread_of_means_is_taken_for_that_of_returns_that_have_nothing_in_common() -> None:
    usual = Practice(1.0, 0.01, 0.02, 0.5, 100.0)
    law = np.array([0.5, 0.0, 0.0, 0.5])
    several = usual.of_histories(law)
    assert several.episodes == 250 and several.people == 100 and several.times == 2.5
    assert several.spread == pytest.approx(0.5 * math.sqrt(2.5)) and several.luck == usual.luck
    assert several.alike == pytest.approx((0.5 + 8) / 2.5)


def test_rows_of_a_person_in_several_files_are_sorted_together(tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    records, data = log(people=50)
    table = pa.table(records)
    first = np.asarray(records["episode"]) % 2 == 0
    for name, mask in (("a", first), ("b", ~first)):
        parquet.write_table(table.filter(pa.array(mask)), tmp_path / f"{name}.parquet")
    words = {**declared(data), "users": "all:20"}
    made = check(read(str(tmp_path), **words), "apvi", Central(rho=0.5), budget=1.0, ledger=tmp_path / "ledger.json")
    assert [problem.code for problem in made.problems] == ["history-scattered"]
    assert fitted(tmp_path, read(str(tmp_path), **words, sort=True)).users == 50
