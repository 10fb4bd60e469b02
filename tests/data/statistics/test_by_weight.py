"""People who are drawn by their sampling weights: as often as these say, and one exchanged if one is replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import confide as cf
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.plan import CountPlan
from confide.data.statistics.choosing import Register
from confide.data.statistics.counting import Judging, Partial
from confide.data.trajectories import read
from tests.refusals import refused

SIZES: dict[str, Any] = {"states": 2, "actions": 2, "horizon": 1}


def register(weights: np.ndarray, key: int, names: np.ndarray | None = None) -> Register:
    """A register of people with those weights."""
    none, people = np.empty(0, dtype=np.int64), np.arange(len(weights)) if names is None else names
    marks = np.zeros(len(weights), dtype=np.int64)
    one = Partial(0, none, none, none, none, none, people, marks, none, len(people), len(people), 0, weights=weights)
    return Register.of([one], (key + 1) << 64)  # the lower bits hash names


def test_everybody_is_drawn_as_often_as_their_weight_says() -> None:
    """400 people of four weights, 60 of them 2,000 times: shares within five standard errors, and all in all as many."""
    weights, often = np.tile([0.5, 1.0, 1.5, 2.0], 100), np.zeros(400)
    for key in range(2000):
        often[register(weights, key).by_weight(60).person] += 1
    shares = often.reshape(100, 4).mean(axis=0) / 2000
    assert often.sum() == 60 * 2000
    np.testing.assert_allclose(shares, 60 / 400 * weights[:4] / 1.25, atol=5 * np.sqrt(0.15 / 2000 / 100) + 0.003)


def test_nobody_of_weight_nothing_is_drawn_before_all_others() -> None:
    drawn = register(np.array([0.0, 1.0, 0.0, 2.0]), 5).by_weight(3)
    assert {1, 3} < set(drawn.person.tolist())


def test_one_who_is_replaced_exchanges_one_who_is_drawn() -> None:
    """Whatever weight and name the new one has: the people who are drawn differ in one at most."""
    rng = np.random.default_rng(3)
    for key in range(300):
        weights, names = rng.uniform(0, 4, 12), np.arange(12)
        before = set(register(weights, key).by_weight(5).person.tolist())
        who = rng.integers(12)
        weights[who], names[who] = rng.choice([0.0, 1e-9, 4.0]), rng.choice([who, 99])
        after = set(register(weights, key, names).by_weight(5).person.tolist())
        assert len(before) == len(after) == 5 and len(before - {who} - after) <= 1
        assert len((before ^ after) - {who, 99}) <= 1 or len(before & after) >= 4


def log(people: int, heavy: float) -> dict[str, Any]:
    """Half of the people are in state 1, and stand for this many; the others in state 0, and for the rest."""
    state = np.arange(people) % 2
    return {
        "user": np.arange(people),
        "state": state,
        "action": np.zeros(people, dtype=int),
        "reward": state.astype(float),
        "w": np.where(state == 1, heavy, 2 - heavy),
    }


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_counts_are_those_of_the_population(share: float) -> None:
    people = 4000
    declared: dict[str, Any] = {"weight": "w", "weight_bound": 2.0}
    data = read(pa.table(log(people, 1.5)), **SIZES, fixed_length=True, **declared)
    plan = CountPlan.of(data, cf.Central(rho=1.0))
    found = count(data, plan.question, Engine(workers=1), judging=Judging(share)).checked()
    drawn = people // 2  # by the mean over the bound
    assert found.people == drawn
    assert found.users == drawn - round(share * drawn)
    assert found.starts.sum() == found.users
    assert abs(found.starts[1] / found.users - 0.75) < 5 * np.sqrt(0.75 * 0.25 / found.users)
    assert data.describe()["weights"] == {"bound": 2.0, "mean": 1.0}


def test_weights_are_within_what_is_declared() -> None:
    data = read(pa.table(log(100, 1.5)), **SIZES, weight="w", weight_bound=1.2)
    plan = CountPlan.of(data, cf.Central(rho=1.0))
    with refused("row-weight"):
        count(data, plan.question, Engine(workers=1)).checked()
    unsaid: tuple[dict[str, Any], ...] = ({"weight": "w"}, {"weight_bound": 2.0}, {"weight_mean": 2.0})
    for words in unsaid:
        with refused("weight-unsaid"):
            read(pa.table(log(10, 1.5)), **SIZES, **words)
    with refused("weight-not-here"):
        step = {**log(10, 1.5), "step": np.zeros(10, dtype=int)}
        read(pa.table(step), **SIZES, users="group:2", weight="w", weight_bound=2.0)


@pytest.mark.parametrize("mean", [0.5, 1.0, 1.3])
def test_a_mean_that_is_off_biases_nothing(mean: float) -> None:
    """It says how many are drawn. True is 1; of 1.3 the heaviest are drawn with probability 0.975, which is still below one."""
    people = 4000
    data = read(pa.table(log(people, 1.5)), **SIZES, fixed_length=True, weight="w", weight_bound=2.0, weight_mean=mean)
    plan = CountPlan.of(data, cf.Central(rho=1.0))
    found = count(data, plan.question, Engine(workers=1)).checked()
    assert found.users == int(people * mean / 2.0)
    assert abs(found.starts[1] / found.users - 0.75) < 5 * np.sqrt(0.75 * 0.25 / found.users)
