"""Logged propensities: what they cost, what they mean, and how often what they say holds."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting import engines
from confide.analysis.fitting.adopting import (
    MOST_COMPOUND,
    Habit,
    adoption_of,
    chances_of,
    estimation_doubts,
    people_told_apart,
    simulated_people,
)
from confide.analysis.fitting.alarms import DISAGREEMENT, HABIT
from confide.analysis.fitting.comparing import compare
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.plan import WEIGHED, CountPlan
from confide.cli import run
from confide.learning.planning.propensities import weighed_worth
from confide.mdp.adoption import scores
from confide.mechanisms.noise import ReplayableNoise
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import LEVELS
from tests.refusals import refused
from tools.coverage_worlds import hidden_kinds, indication, judged_fit

STATES, ACTIONS, FLOOR = 3, 2, 0.2
SIZES: dict[str, Any] = {"states": STATES, "actions": ACTIONS, "horizon": 1}
SAID: dict[str, Any] = {"propensity": "p", "propensity_floor": FLOOR}


def log(people: int, seed: int = 0, hidden: float = 0.3) -> dict[str, Any]:
    """Whether a user is lucky, which no column tells, moves what is done and what it pays. Action 1 has the value 0.1 less."""
    rng = np.random.default_rng(seed)
    state, lucky = rng.integers(STATES, size=people), rng.integers(2, size=people)
    chance = np.where(lucky == 1, 0.75, 0.25)  # of action 1
    action = (rng.random(people) < chance).astype(int)
    mean = 0.5 - 0.1 * action + hidden * (lucky - 0.5)
    reward = (rng.random(people) < mean).astype(float)
    return {"state": state, "action": action, "reward": reward, "p": np.where(action == 1, chance, 1 - chance)}


def test_a_row_weighs_no_more_than_one() -> None:
    """The price, by brute force: every two answers of one person lie within what the question is priced at."""
    question = CountQuestion(cf.mdp.Spec(2, 2, 1), ("rewards",), levels=LEVELS)
    answers = set()
    for state, action, reward, p in itertools.product((0, 1), (0, 1), (0.0, 0.3, 1.0), (FLOOR, 0.5, 1.0)):
        table = {"state": [state], "action": [action], "reward": [reward], "p": [p]}
        data = cf.trajectories.read(table, states=2, actions=2, horizon=1, fixed_length=True, **SAID)
        plan = CountPlan.of(data, cf.Central(rho=1.0))
        assert plan.designs[WEIGHED].question == question
        for _ in range(4):  # rounding is at random
            answers.add(tuple(count(data, plan.question, Engine()).weighed.tolist()))
    results = [np.array(answer) / LEVELS for answer in answers]
    price = question.price()
    gaps = [one - other for one in results for other in results]
    assert max(np.abs(gap).sum() for gap in gaps) == price.l1 == 2
    assert max(math.sqrt((gap**2).sum()) for gap in gaps) == pytest.approx(price.l2) == pytest.approx(math.sqrt(2))


def test_the_sums_are_those_of_weighed_rewards() -> None:
    table = log(20_000)
    data = cf.trajectories.read(table, **SIZES, **SAID)
    plan = CountPlan.of(data, cf.Central(rho=1.0))
    sums = count(data, plan.question, Engine()).weighed.reshape(-1, ACTIONS) / LEVELS
    for state, action in np.ndindex(STATES, ACTIONS):
        mine = (table["state"] == state) & (table["action"] == action)
        weighed = FLOOR * (table["reward"] / table["p"])[mine]
        # Each of n rows is off by rounding with variance at most 1/(4 LEVELS^2): six deviations fail once in 1e9.
        assert abs(sums[state, action] - weighed.sum()) < 6 * math.sqrt(mine.sum()) / (2 * LEVELS)
    assert not sums[STATES:].any()
    assert rho_of_all(plan) == pytest.approx(1.0, rel=1e-6)


def test_of_a_person_with_several_rows_one_is_weighed() -> None:
    """Under `limit` a person moves one cell by at most 1, however many rows she has."""
    people, rows = 50, 3
    user = np.repeat(np.arange(people), rows)
    table = {
        "user": user,
        "episode": np.tile(np.arange(rows), people),
        "step": np.zeros_like(user),
        "state": user % STATES,
    }
    table |= {"action": user % ACTIONS, "reward": np.ones(len(user)), "p": np.full(len(user), FLOOR)}
    data = cf.trajectories.read(table, **SIZES, **SAID, users="limit")
    counted = count(data, CountPlan.of(data, cf.Central(rho=1.0)).question, Engine()).checked()
    each = np.bincount(
        (np.arange(people) % STATES) * ACTIONS + np.arange(people) % ACTIONS, minlength=len(counted.weighed)
    )
    assert counted.users == people and np.array_equal(counted.weighed, LEVELS * each)


def rho_of_all(plan: CountPlan) -> float:
    return plan.cost


def test_what_was_hidden_biases_counts_and_not_weights(tmp_path: Path) -> None:
    """Always action 1 has the value 0.4. People who had it were the lucky ones, so counts say more; by propensities it is right."""
    data = cf.trajectories.read(log(60_000), **SIZES, **SAID)
    fit = cf.fit(data, privacy=cf.Central(rho=1.0), ledger=tmp_path / "a.json", budget=1.0, out=tmp_path / "policy")
    result = compare(cf.load(tmp_path / "policy"), {"practice": "practice", "always": "always:1"})
    practice, always = result.rows
    assert practice.weighed is None and always.weighed is not None
    assert always.weighed["low"] < 0.4 < always.weighed["high"] and always.weighed["high"] - always.weighed["low"] < 0.1
    assert always.value["low"] > 0.4  # the state tells not enough
    assert "weighed" in result.as_json()["assumes"] and result.as_json()["policies"][1]["weighed"] == always.weighed
    assert fit.config["propensity_floor"] == FLOOR


@pytest.mark.parametrize("rate", [0.4, 0.02])
def test_how_often_the_interval_holds(rate: float) -> None:
    """95 % is said, of logs whose seed is fixed."""
    rng, people, sigma, logs = np.random.default_rng(int(100 * rate)), 2000, 3.0, 3000
    policy, held = np.array([[0.0, 1.0]]), 0
    p = rng.choice([FLOOR, 0.5, 0.8], size=(logs, people))
    paid = (rng.random((logs, people)) < p) & (rng.random((logs, people)) < rate)
    sums = (FLOOR / p * paid).sum(axis=1) + rng.normal(scale=sigma, size=logs)
    widths = []
    for one in sums:
        result = weighed_worth(np.array([[0.0, one]]), policy, people, FLOOR, sigma**2, 0.95)
        assert 0 <= result.low <= result.value <= result.high <= 1
        held += result.low <= rate <= result.high
        widths.append(result.high - result.low)
    assert held / logs >= 0.94 and np.median(widths) < 0.2


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = log(50)
    for words, says in (
        ({**SAID, "propensity_floor": None}, "propensity-floor-unsaid"),
        ({**SAID, "propensity": None}, "floor-without-propensity"),
        ({**SAID, "propensity": "q"}, "column-missing"),
        ({**SAID, "rewards": np.zeros((STATES, ACTIONS))}, "propensity-not-here"),
        ({**SAID, "propensity_floor": 0.0}, "out-of-range: propensity floor"),
    ):
        with refused(says):
            cf.trajectories.read(table, **SIZES, **words)
    several = cf.trajectories.read({**table, "user": np.arange(50)}, **{**SIZES, "horizon": 2}, **SAID, in_order=True)
    with refused("propensities-need-judge"):  # over several steps they multiply, and are for those who judge
        cf.fit(several, privacy=cf.Central(rho=1.0), judge="none", ledger=tmp_path / "ledger.json", budget=1.0)
    data = cf.trajectories.read(table, **SIZES, **{**SAID, "propensity_floor": 0.3})
    problems = count(data, CountPlan.of(data, cf.Central(rho=1.0)).question, Engine()).problems
    assert "Every propensity must lie between the declared floor 0.3 and 1. Rows" in problems[0].sentence
    rows = zip(*(table[name] for name in table), strict=True)
    Path(tmp_path / "log.csv").write_text("\n".join([",".join(table), *(",".join(map(str, row)) for row in rows)]))
    words = ["check", str(tmp_path / "log.csv"), "--states", "3", "--actions", "2", "--horizon", "1", "--rho", "1"]
    assert run([*words, "--budget", "1", "--propensity", "p", "--propensity-floor", "0.2"]) == 0
    assert run([*words, "--budget", "1", "--propensity", "p"]) == 2
    assert "--propensity-floor F" in capsys.readouterr().err


def test_shares_are_chosen_as_if_practice_saw_more_than_states_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where practice knows hidden kinds, tables foretell weights that are far too even: half of all decisions were judged, and the
    rare large scores clipped. All is replayed, so there is no false alarm; the mean weight is 1 within five standard errors."""
    family = hidden_kinds("kinds", seen=True, logged=True)
    monkeypatch.setattr(engines, "fresh_key", lambda: 2**190 + 5)
    alphas = []
    for seed in range(4):
        data = family.read(5000, np.random.default_rng(seed))
        said, plan = judged_fit(data, 2.0, noise=ReplayableNoise(np.random.SeedSequence(seed)))
        alphas.append(said["judged"]["alpha"])
    assert max(alphas) <= 0.25
    chances = chances_of(plan.model)
    walked = people_told_apart(plan.model, chances, 10_000)
    assert walked.people == 10_000 and set(np.round(walked.propensity, 1)) == {0.2, 0.3, 0.7, 0.8}
    even = simulated_people(plan.model, chances, 10_000, np.random.default_rng(0))
    adoption = adoption_of(plan, chances, 0.35)
    weights, expected = scores(adoption, walked)[1], scores(adoption, even)[1]
    assert abs(weights.mean() - 1) < 5 * weights.std() / 100
    assert weights.var() > 2 * expected.var()
    known, noise = (chances._replace(relative=np.full_like(chances.relative, size)) for size in (0.01, 4.0))
    little, much = (estimation_doubts(one, adoption, even) for one in (known, noise))
    # To first order 20 times as much, to second 400; with a cap of 1, which hid noise, the gain had 21 times as much.
    assert much.gain > 60 * little.gain and much.weight > 60 * little.weight and much.compound > MOST_COMPOUND


def test_the_excess_of_repeats_is_that_of_the_law_and_noise_is_known() -> None:
    """Exact counts of practice that repeats in three of five: a tenth more than its even chances say. Of even practice, with noise,
    it is off by less than four deviations in each of 50 draws: all of them with a chance of 99.7 %, and all is replayed."""
    again = np.where(np.eye(2)[:, None, :] > 0, 0.6, 0.4) * np.ones((2, 3, 2)) * 1000
    habit = Habit.of(again, 0.0)
    assert habit.excess == pytest.approx(0.1) and habit.clear > 10
    np.testing.assert_allclose(habit.table, 0.5)
    rng = np.random.default_rng(0)
    clear = [
        Habit.of(rng.multinomial(500, [0.3, 0.7], (2, 3)) + rng.normal(0, 20, (2, 3, 2)), 400.0).clear
        for _ in range(50)
    ]
    assert max(map(abs, clear)) < 4 and 0.7 < np.std(clear) < 1.4


def test_with_two_steps_habit_and_a_hidden_cause_are_not_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ill are treated: with two steps harm was called surely better. All is replayed."""
    monkeypatch.setattr(engines, "fresh_key", lambda: 2**190 + 5)
    family, reasons = indication("ill", 0.9, horizon=2), []
    for seed in range(6):
        data = family.read(5000, np.random.default_rng([5, seed]))
        said, _ = judged_fit(data, 2.0, noise=ReplayableNoise(np.random.SeedSequence(seed)))
        assert not said["judged"]["sure"] and not said["recommended"]
        reasons.append(said["judged_said"])
    assert HABIT in reasons


def test_habit_over_many_steps_is_no_reason_for_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Practice that repeats an action twice as often as not, and sees nothing that is hidden: eight steps tell. (Judge and table
    disagree: where advice is followed once, habit follows it again, which tables do not know.) All is replayed."""
    monkeypatch.setattr(engines, "fresh_key", lambda: 2**190 + 5)
    rng = np.random.default_rng(2)
    columns, before = [], rng.integers(2, size=8000)
    for step in range(8):
        action = np.where(rng.random(8000) < 0.67, before, 1 - before)
        state, reward = rng.integers(3, size=8000), (rng.random(8000) < 0.3 + 0.3 * action) * 1.0
        columns.append((np.arange(8000), np.full(8000, step), state, action, reward))
        before = action
    names = ("user", "step", "state", "action", "reward")
    log = {name: np.stack([one[i] for one in columns], axis=1).ravel() for i, name in enumerate(names)}
    data = cf.trajectories.read(log, states=3, actions=2, horizon=8, fixed_length=True)
    said, _ = judged_fit(data, 2.0, noise=ReplayableNoise(np.random.SeedSequence(0)))
    assert HABIT not in said["judged_said"] and set(said["alarms"]) <= {DISAGREEMENT} and said["judged"]["gain"] > 0
