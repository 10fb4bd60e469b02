"""People who judge apart: disjoint from those who are counted, at one price, and right where the table is not the world."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting import refit
from confide.analysis.fitting.adopting import (
    BOLDER,
    GAIN,
    SHARES,
    ChosenAdoption,
    Inquiry,
    Judgement,
    JudgePlan,
    _taken,
    chances_of,
    clip_of,
    moved_populations,
    simulated_people,
    table_test,
)
from confide.analysis.fitting.alarms import ANOTHER, BALANCE, PROPENSITY, RESIDUAL
from confide.analysis.fitting.comparing import compare
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.findings import Units, first_states, in_people_units, judgement
from confide.analysis.fitting.fit import check, prepare
from confide.analysis.fitting.learning import learn
from confide.analysis.results.fit import load
from confide.data.privatizers.judged import JudgedAggregate
from confide.data.statistics.counting import Judging
from confide.data.trajectories import Dataset, read
from confide.errors import FormatError, InvalidInput, PrivacyError
from confide.lab.simulation.offline import prepare_offline
from confide.lab.simulation.streams import spawn
from confide.learning.learners.bolder import bolder
from confide.learning.planning.ope import extended, policy_values
from confide.mdp.adoption import Adoption, contrasts
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import compose, rho_of
from confide.protocol.kinds.judged import RESIDUALS, TESTS, JudgedRelease, shortened
from confide.protocol.trusts.central import std
from tests.refusals import refused

HORIZON, STATES = 8, 4
NOWHERE: dict[str, Any] = {"ledger": Path("nowhere.json"), "budget": 100.0}


def doses(people: int, seed: int, avoided: bool) -> dict[str, Any]:
    """A second dose in a row harms, which states do not show. avoided: practice knows, and hardly ever gives one."""
    rng = np.random.default_rng(seed)
    state, before, columns = rng.integers(STATES, size=people), np.zeros(people, dtype=np.int64), []
    for step in range(HORIZON):
        often = np.where(before == 1, 0.15, 0.6) if avoided else np.full(people, 0.5)
        action = (rng.random(people) < often).astype(np.int64)
        harms = (action == 1) & (before == 1)
        pays = 0.35 + 0.1 * (STATES - 1 - state) / STATES + np.where(action == 1, np.where(harms, -0.35, 0.25), 0.0)
        reward = (rng.random(people) < np.clip(pays, 0, 1)).astype(float)
        worse, better = rng.integers(0, 2, people), -rng.integers(0, 2, people)
        moved = np.where(harms, worse, np.where(action == 1, better, rng.integers(-1, 2, people)))
        after = np.clip(state + moved, 0, STATES - 1)
        chance = np.where(action == 1, often, 1 - often)
        columns.append((np.full(people, step), state, action, reward, after, chance))
        before, state = action, after
    names = ("step", "state", "action", "reward", "next_state", "chance")
    drawn = {name: np.stack([one[i] for one in columns], axis=1).ravel() for i, name in enumerate(names)}
    return {"user": np.repeat(np.arange(people), HORIZON), **drawn}


def opened(people: int, seed: int, avoided: bool, logged: bool = False) -> Dataset:
    records = doses(people, seed, avoided)
    more = {"propensity": "chance", "propensity_floor": 0.1} if logged else {}
    if not logged:
        del records["chance"]
    return read(records, states=STATES, actions=2, horizon=HORIZON, fixed_length=True, **more)


def judged(data: Dataset, seed: int, rho: float = 0.5) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the table says, and what those who judge say."""
    order = prepare(data, "apvi", cf.Central(rho=rho), judge=0.3, ledger=Path("nowhere.json"), budget=100.0)
    assert order.judge is not None
    counted = count(data, order.plan.question, Engine(workers=1), None, False, order.judging).checked()
    releases = dict(order.plan.release(counted, ReplayableNoise(seed), simulated=True))
    plan: Any = learn(order.learner, None, first_states(data.knowledge, releases), releases)
    in_units = in_people_units(Units.of(data.describe()), HORIZON)
    assert counted.judging is not None
    inquiry = Inquiry(order.judge, counted.judging, ReplayableNoise(seed + 1000), releases, True)
    plan = inquiry.taken(plan)
    table = judgement(plan.evidence, plan, in_units)
    return table, inquiry(plan, table, in_units)


def test_everybody_is_counted_or_judges() -> None:
    data = opened(1000, 0, avoided=False)
    plan = prepare(data, "apvi", cf.Central(rho=1.0), visits="all", judge="none", **NOWHERE).plan
    whole = count(data, plan.question, Engine(workers=1)).checked()
    apart = count(data, plan.question, Engine(workers=1), None, False, Judging(0.3, True)).checked()
    assert apart.judging is not None and apart.users + apart.judging.people == 1000
    assert abs(apart.judging.people - 300) < 6 * np.sqrt(1000 * 0.3 * 0.7)  # a number of words below a bound: 2e-9
    assert (np.diff(apart.judging.starts) == HORIZON).all()
    # Rewards are 0 or 1 here, so nothing is rounded: what is counted and what is kept add up to everything.
    kept = np.zeros((STATES, 2), dtype=np.int64)
    np.add.at(kept, (apart.judging.states, apart.judging.actions), 1)
    counts, visits = plan.question.counts, []
    for one in (whole, apart):
        rows = one.cells[counts.slices["transitions"]].reshape(STATES, 2, STATES).sum(axis=-1)
        visits.append(rows // counts.resolution)
    np.testing.assert_array_equal(visits[0], visits[1] + kept)
    np.testing.assert_array_equal(apart.previous.reshape(3, STATES, 2).sum(axis=0), visits[1])
    assert apart.previous.reshape(3, STATES, 2)[2].sum() == apart.users  # before the first there was none
    # Who judges is drawn anew by every fit, by a secret.
    again = count(data, plan.question, Engine(workers=1), None, False, Judging(0.3, True)).checked()
    assert again.judging is not None and not np.array_equal(again.judging.rewards, apart.judging.rewards)


def test_the_price_is_that_of_either_and_not_of_both(tmp_path: Path) -> None:
    data, promise = opened(2000, 0, avoided=False), cf.Central(rho=1.0)
    order = prepare(data, "apvi", promise, judge=0.3, ledger=tmp_path / "l.json", budget=1.0)
    assert order.judge is not None and order.cost == pytest.approx(1.0) and order.cost <= 1.0
    assert rho_of(compose([act.loss for act in order.judge.acts])) == pytest.approx(1.0)
    # By hand: l2 = 2, so sigma^2 = 4/(2 rho share).
    assert std(order.judge.designs[GAIN]) == pytest.approx(np.sqrt(4 / (2 * SHARES[GAIN])), rel=1e-6)
    fit = cf.fit(data, privacy=promise, judge=0.3, ledger=tmp_path / "l.json", budget=1.0, out=tmp_path / "policy")
    assert fit.certificate.guarantee.rho == pytest.approx(1.0) and "judge instead" in str(fit.certificate)
    assert 1200 < fit.users < 1600 and set(fit.as_json()["judged"] or {}) <= {
        "alpha",
        "gain",
        "low",
        "high",
        "sure",
        "undone_by",
        "people",
    }
    assert load(tmp_path / "policy").as_json()["judged"] == fit.as_json()["judged"]


def test_what_was_judged_is_kept_by_a_refit_and_says_nothing_of_another_policy(tmp_path: Path) -> None:
    words: dict[str, Any] = {"ledger": tmp_path / "l.json", "budget": 9.0, "out": tmp_path / "policy"}
    fit = cf.fit(opened(6000, 0, avoided=True), privacy=cf.Central(rho=1.0), **words)
    said = fit.as_json()
    assert said["judged"] is not None and RESIDUAL in said["alarms"] and not said["recommended"]
    again = refit(tmp_path / "policy")
    assert {name: again.as_json()[name] for name in ("judged", "alarms", "gain")} == {
        name: said[name] for name in ("judged", "alarms", "gain")
    }
    np.testing.assert_array_equal(again.policy.probabilities, fit.policy.probabilities)
    other = refit(tmp_path / "policy", pessimism="hoeffding")
    assert other.as_json()["judged"] is None and other.as_json()["alarms"] == said["alarms"]
    assert not other.as_json()["recommended"] and other.findings["judged_said"] == ANOTHER
    comparison = compare(fit)
    assert comparison.alarms == tuple(said["alarms"]) and not any(row.gain["sure"] for row in comparison.rows)
    kept = np.zeros(1) if fit.policy.unchanged is None else fit.policy.unchanged
    assert comparison.rows[1].changed == pytest.approx(1 - kept.mean())  # what was taken, be it bolder


def test_noise_is_as_large_as_it_says_and_what_is_closed_stays_closed() -> None:
    """A thousand closings with replayable noise: the deviation is the stated one, and not two thirds or three halves of it."""
    judge = JudgePlan.of(0.3, cf.Central(rho=0.5))
    for part, design in judge.designs.items():
        sums = []
        for seed in range(1000):
            aggregate = JudgedAggregate(design, ReplayableNoise(seed), simulated=True)
            numbers = np.full((2, TESTS), 0.1) if part == RESIDUALS else np.array([0.5, 1.0])
            aggregate.take_numbers(numbers, np.zeros(numbers.shape))
            release = aggregate.close(scale=2.0)
            sums.append(release.sums)
        measured = np.array(sums).std(axis=0)
        assert (np.abs(measured / release.noise - 1) < 0.15).all(), part
        with pytest.raises(PrivacyError):
            aggregate.close()
        assert JudgedRelease.from_bytes(release.to_bytes()) == release
        with pytest.raises(FormatError):
            JudgedRelease.from_bytes(release.to_bytes()[:-1])


def test_the_clip_is_set_by_octaves_that_exceed_the_noise() -> None:
    sums, noise = [0.0] * 15, (1.0,) * 15
    sums[2], sums[5], sums[9] = 50.0, 4.5, 3.5
    assert clip_of(JudgedRelease("sizes", 100, tuple(sums), noise, 1.0), 0.25) == 0.25 * 2**6


@pytest.mark.parametrize("logged", [False, True])
def test_a_table_that_is_not_the_world_is_found_out(logged: bool) -> None:
    """All three tables are sure of a gain that is a loss; no one who judges agrees. Without judging all were called better."""
    for seed in range(3):
        table, said = judged(opened(5000, seed, avoided=True, logged=logged), seed)
        assert table["gain"]["sure"] and not said["recommended"] and not said["judged"]["sure"]
        assert said["judged"]["low"] < -0.05  # by half a million simulated people the adoptions lose between .2 and .5
        assert RESIDUAL in said["alarms"] and not {BALANCE, PROPENSITY} & set(said["alarms"])


def test_what_cannot_be_judged_is_refused(tmp_path: Path) -> None:
    words: dict[str, Any] = {"ledger": tmp_path / "l.json", "budget": 9.0}
    data, promise = opened(100, 0, avoided=False), cf.Central(rho=1.0)
    for wrong in ({"judge": 0.9}, {"judge": -0.1}, {"judge": 0.3, "calibration": "sound"}):
        with pytest.raises(InvalidInput):
            prepare(data, "apvi", promise, **words, **wrong)
    with pytest.raises(InvalidInput):  # over several steps propensities are for those who judge
        prepare(opened(100, 0, avoided=False, logged=True), "apvi", promise, judge="none", **words)


def bare(gain: float, alpha: float, name: str, people: int = 1000) -> Judgement:
    """A judgement whose scores all have this mean, and a deviation of a tenth."""
    adoption = Adoption(alpha, np.zeros((1, 1)), np.zeros((1, 1, 1)), np.ones((1, 1, 1)), 0, np.zeros((1, 1, 1)), 0.0)
    release = JudgedRelease(GAIN, people, (people * gain, people * (gain**2 + 0.01)), (0.0, 0.0), 1.0)
    rest = (1.0, 1.0, 1.0, 0.1, 0.0, 0.0, gain, 0.01)
    return Judgement(ChosenAdoption(None, adoption, *rest), {name: release}, (name,), 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("own", "bold", "alpha", "taken"),
    [
        (0.05, 0.1, 1.0, BOLDER),  # both are sure, and it is larger
        (0.1, 0.05, 1.0, GAIN),
        (0.1, 0.06, 0.5, BOLDER),  # for the share of decisions in which it is followed
        (0.1, 0.001, 0.001, GAIN),  # not sure
        (-0.1, 0.05, 1.0, BOLDER),
        (-0.1, -0.05, 1.0, GAIN),
    ],
)
def test_a_bolder_policy_is_taken_if_that_is_sure(own: float, bold: float, alpha: float, taken: str) -> None:
    both = {GAIN: bare(own, 1.0, GAIN), BOLDER: bare(bold, alpha, BOLDER)}
    releases = {name: one.releases[name] for name, one in both.items()}
    assert _taken({name: one.chosen for name, one in both.items()}, releases).names == (taken,)


def test_one_policy_that_is_asked_about_twice_has_the_mean_of_both_answers() -> None:
    """With half the variance of the noise, and an interval of its own."""
    one = bare(0.1, 1.0, GAIN)
    first = one.releases[GAIN]
    answers = {
        name: replace(first, sums=(first.sums[0] + off, first.sums[1]), noise=(50.0, 0.0))
        for name, off in ((GAIN, 30.0), (BOLDER, -10.0))
    }
    said, alone = _taken(dict.fromkeys((GAIN, BOLDER), one.chosen), answers), one._replace(releases=answers, together=1)
    assert said.names == (GAIN, BOLDER) and said.together == 1
    assert said.gain().value == pytest.approx(0.1 + 0.01)
    luck = 0.1**2 / 1000
    assert alone.gain().deviation ** 2 == pytest.approx(0.05**2 + luck, rel=0.1)
    assert said.gain().deviation ** 2 == pytest.approx(0.05**2 / 2 + luck, rel=0.1)


def test_intervals_of_both_hold_together() -> None:
    both, alone = bare(0.1, 1.0, GAIN).gain(), bare(0.1, 1.0, GAIN)._replace(together=1).gain()
    assert both.high - both.low > alone.high - alone.low and both.confidence == alone.confidence == 0.95


def test_the_family_is_bolder() -> None:
    data = opened(2000, 0, avoided=False)
    order = prepare(data, "apvi", cf.Central(rho=0.5), judge="none", **NOWHERE)
    releases = dict(
        order.plan.release(
            count(data, order.plan.question, Engine(workers=1)).checked(), ReplayableNoise(1), simulated=True
        )
    )
    plan: Any = learn(order.learner, None, first_states(data.knowledge, releases), releases)
    family = bolder(plan)
    assert family and all(not np.array_equal(one.extended, plan.extended) for one in family)
    assert max(one.kept.mean() for one in family) <= 1.0 and min(one.kept.mean() for one in family) < 1.0
    worth = [float(plan.model.initial @ one.values[0]) for one in family]
    usual, _ = policy_values(plan.model, extended(plan.model, None))
    assert max(worth) > float(plan.model.initial @ usual[0])  # in the model that made them


def test_of_long_episodes_shortening_raises_no_alarm() -> None:
    """The number about what is hidden and lasts is skewed. Of people from the very model it is off by three deviations if that is
    forgotten; the seeds are fixed."""
    plan = prepare_offline("random/6x3?seed=3", None, 3000, horizon=80).learned(spawn(0, 1)[0])
    chances = chances_of(plan.model)
    walked, others = (simulated_people(plan.model, chances, n, np.random.default_rng(n)) for n in (10_000, 30_000))
    test = table_test(plan, chances, walked, moved_populations(plan.model, chances))
    numbers = shortened(contrasts(test.specification, others) / (test.length * test.deviations)) * test.length
    off = (numbers.mean(axis=0) - test.shifts) * np.sqrt(others.people / (1 + others.people / walked.people))
    assert np.abs(off).max() < 3.4 and test.shifts[-1] * np.sqrt(others.people) < -3


@pytest.mark.parametrize(("people", "judge"), [(2000, True), (1999, False)])
def test_by_default_three_in_ten_judge_where_there_are_enough(tmp_path: Path, people: int, judge: bool) -> None:
    """An audit attacks what is asked of both, and a check says it; of too few people no one judges, and nothing is spent on it."""
    words: dict[str, Any] = {"ledger": tmp_path / "l.json", "budget": 3.0, "privacy": cf.Central(rho=1.0)}
    data, asked = opened(people, 0, avoided=False), []

    def attacked(plan: Any, judges: Any) -> dict[str, Any]:
        asked.append(judges)
        return {"lower_bound": 0.1, "delta": 0.0}

    assert check(data, **words).judge == (0.3 if judge else 0.0)
    fit = cf.fit(data, audit=attacked, **words)
    assert ("judge" in fit.config) is judge and (fit.users < people) is judge and (asked[0] is not None) is judge
    assert (fit.as_json()["alarms"] is not None) is judge and fit.certificate.audit is not None
    assert ("previous" in fit.releases) is judge
    none = prepare(data, judge="none", **words)
    assert none.judge is None and "previous" not in none.plan.designs  # type: ignore[union-attr]


def test_steps_of_those_who_judge_never_travel(tmp_path: Path) -> None:
    words: dict[str, Any] = {"ledger": tmp_path / "l.json", "budget": 1.0, "privacy": cf.Central(rho=1.0)}
    with refused("judge-needs-threads"):
        cf.fit(opened(100, 0, avoided=False), judge=0.3, engine=Engine("dask", "tcp://127.0.0.1:1"), **words)
