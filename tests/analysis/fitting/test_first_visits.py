"""Fits that count first visits, and repeats within a budget: when, at which price, and what may be read off them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting import refit
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.findings import first_states
from confide.analysis.fitting.plan import COUNTS, RETURNS, VISITED, CountPlan, rows_of, together_read
from confide.analysis.fitting.refit import releases_of
from confide.data.statistics.tabular import counted_steps
from confide.data.trajectories import Dataset, Trajectory, read
from confide.errors import InvalidInput
from confide.lab.simulation.offline import prepare_offline
from confide.lab.simulation.offline_log import SimulatedLog, draw_records
from confide.learning.learners.apvi import Apvi
from confide.learning.planning import policy_value
from confide.learning.planning.counted import counted_share
from confide.learning.planning.logged import logged_model
from confide.learning.planning.ope import worth
from confide.learning.planning.rows import TransitionRows
from confide.mdp import Model, Policy
from confide.mechanisms.noise import ReplayableNoise
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.budgeted import BudgetedQuestion
from confide.protocol.kinds.counts import TRANSITIONS
from confide.protocol.releases.release_bytes import from_bytes
from confide.protocol.trusts.central import RETURNS_SHARE, std
from tests.refusals import refused

STATES, ACTIONS, HORIZON = 9, 2, 8


def sticky(seed: int = 0) -> tuple[Model, Policy]:
    """A world in which people come back to where they were, and a practice that differs from state to state."""
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.full(STATES, 0.4), (1, STATES, ACTIONS))
    moves = 0.5 * moves + 0.5 * np.eye(STATES)[:, None]
    usual = rng.dirichlet(np.ones(ACTIONS), STATES)
    model = Model(moves, rng.random((1, STATES, ACTIONS)), rng.dirichlet(np.ones(STATES)), HORIZON)
    return model, Policy(np.broadcast_to(usual, (HORIZON, STATES, ACTIONS)))


def logged(people: int = 4000, seed: int = 0, **declared: Any) -> Dataset:
    records = draw_records(*sticky(seed), people, np.random.default_rng(seed + 1))
    if declared.pop("unknown_next", False):
        del records["next_state"]
    sizes = {"states": STATES, "actions": ACTIONS, "horizon": HORIZON, "fixed_length": True}
    return read(records, **{**sizes, **declared})


def test_a_budget_is_taken_where_sizes_say_that_it_pays() -> None:
    promise = cf.Central(rho=0.5)
    plan = CountPlan.of(logged(10), promise)
    assert plan.question.budget == HORIZON and list(plan.designs)[-1] == RETURNS
    # By hand: transitions and centred rewards 3B, visits 2B; shares of rho, sigma^2 = l2^2 / (2 rho share).
    share = 1 - 0.1 - 0.05 - RETURNS_SHARE
    assert std(plan.designs[COUNTS]) == pytest.approx(math.sqrt(3 * HORIZON / (2 * 0.5 * share)))
    assert std(plan.designs[VISITED]) == pytest.approx(math.sqrt(2 * HORIZON / (2 * 0.5 * 0.1)))
    assert plan.guarantee.rho == pytest.approx(0.5) and plan.guarantee.rho <= 0.5
    text = str(plan.certificate("opendp"))
    assert "budget of 8" in text and "how often each pair was counted" in text
    assert CountPlan.of(logged(10), promise, visits=20).question.budget == 20
    whole = [
        CountPlan.of(logged(10), promise, visits="all"),
        CountPlan.of(logged(10), cf.Central(1.0)),  # Laplace noise gains nothing
        CountPlan.of(logged(10, model="per-step"), promise),
        CountPlan.of(logged(10, unknown_next=True), promise),
        CountPlan.of(logged(10, horizon=STATES + 1, fixed_length=False), promise, visits="all"),
    ]
    assert all(not plan.question.budget and VISITED not in plan.designs for plan in whole)
    few = draw_records(*sticky(), 10, np.random.default_rng(0))
    longer = read(few, states=STATES, actions=ACTIONS, horizon=20)
    assert not CountPlan.of(longer, promise).question.budget  # fewer states than steps


def test_budgets_that_cannot_be_are_refused() -> None:
    for visits, promise, declared in (
        ("some", cf.Central(rho=1.0), {}),
        (12, cf.Central(1.0), {}),
        (12, cf.Central(rho=1.0), {"unknown_next": True}),
        (2, cf.Central(rho=1.0), {}),
    ):
        with pytest.raises(InvalidInput):
            CountPlan.of(logged(10, **declared), promise, visits=visits)


def test_a_learner_of_ones_own_gets_all_visits(tmp_path: Path) -> None:
    class Own:
        name = "own"

        def plan(self, release: Any, scale: Any = None, initial: Any = None) -> Any:
            assert release.complete
            return Apvi(data.knowledge).plan(release, scale, initial)

    data = logged(50)
    fit = cf.fit(data, Own(), cf.Central(rho=1.0), budget=1.0, ledger=tmp_path / "ledger.json")
    assert VISITED not in fit.releases and "visits" not in fit.config


def test_visits_by_themselves_are_the_sums_of_what_is_counted() -> None:
    data = logged(500)
    plan = CountPlan.of(data, cf.Central(rho=1e8))
    counted = count(data, plan.question, Engine(workers=1)).checked()
    releases = plan.release(counted, ReplayableNoise(0), simulated=True)
    exact = rows_of(plan.question, counted.cells).reshape(STATES, ACTIONS)
    np.testing.assert_allclose(releases[VISITED].counts.visits[0], exact, atol=0.1)
    merged = together_read(releases)[COUNTS]
    assert merged.budget == HORIZON and merged.visited.variance == pytest.approx(std(plan.designs[VISITED]) ** 2)
    # The sum of a row has the noise of as many cells as there are next states.
    again = from_bytes(releases[COUNTS].to_bytes())
    assert again.budget == HORIZON and not again.complete and again.visited is None
    with pytest.raises(InvalidInput, match="budget"):
        logged_model(again, data.knowledge)


def test_the_share_that_is_counted_is_that_of_real_walks() -> None:
    """10,000 people, walked here: shares are 0.6 to 0.9, each of 500 visits and more, so off by 0.025 at most."""
    (model, usual), people = sticky(), 10_000
    records = draw_records(model, usual, people, np.random.default_rng(3))
    question = BudgetedQuestion(CountQuestion(model.spec, (TRANSITIONS,)), HORIZON)
    both = np.zeros((2, STATES, ACTIONS))
    states, actions = (records[name].reshape(people, HORIZON) for name in ("state", "action"))
    for one, acts in zip(states, actions, strict=True):
        taken = counted_steps(question, Trajectory(np.append(one, 0), acts, np.zeros(HORIZON)))
        np.add.at(both[0], (one, acts), 1)
        np.add.at(both[1], (one, acts), taken)
    knowledge = logged(10).knowledge
    rows = TransitionRows(np.zeros((1, 1, 1)), knowledge.ways, knowledge.ways.picked(model.transitions))
    share = counted_share(rows, usual.probabilities[0], model.initial, knowledge, HORIZON)
    often = both[0] > 500
    assert often.all() and share.max() - share.min() > 0.2
    np.testing.assert_allclose(share[often], (both[1] / both[0])[often], atol=0.05)


def test_current_practice_is_read_off_what_is_counted() -> None:
    """Many people and hardly any noise: the model's practice has the value what people earn, and would not be if all visits were
    taken for counted."""
    model, usual = sticky()
    data = logged(60_000)
    plan = CountPlan.of(data, cf.Central(rho=1e4))
    releases = plan.release(count(data, plan.question, Engine(workers=1)).checked(), ReplayableNoise(0), simulated=True)
    release = together_read(releases)[COUNTS]
    learned = logged_model(release, data.knowledge, first_states(data.knowledge, releases))
    true = policy_value(model, usual)
    assert worth(learned, None) == pytest.approx(true, abs=0.03)
    np.testing.assert_allclose(learned.behaviour[0], usual.probabilities[0], atol=0.03)
    naive = learned.visits[0] / learned.visits[0].sum(axis=1, keepdims=True)
    assert np.abs(naive - usual.probabilities[0]).max() > 0.05


def test_a_fit_and_what_is_made_of_its_release_agree(tmp_path: Path) -> None:
    data, folder = logged(20_000), tmp_path / "policy"
    words = {"budget": 5.0, "ledger": tmp_path / "ledger.json", "out": folder}
    fit = cf.fit(data, privacy=cf.Central(rho=1.0), **words)
    model, usual = sticky()
    assert fit.config["visits"] == HORIZON and set(fit.releases) >= {COUNTS, VISITED, RETURNS}
    again = refit(folder)
    for key in ("value", "low", "high", "gain", "differences"):
        assert again.findings[key] == fit.findings[key]
    # Six deviations and more: how often intervals hold is measured by ./run coverage.
    practice, half = fit.findings["practice"], fit.findings["practice"]["high"] - fit.findings["practice"]["low"]
    assert abs(practice["value"] - policy_value(model, usual)) < 3 * half
    assert releases_of(fit)[COUNTS].visited is not None
    with refused("pessimism-needs-all-visits"):
        refit(folder, pessimism="bernstein")


def test_simulated_logs_are_counted_as_a_fit_counts() -> None:
    setting = prepare_offline("random/9x2?seed=100", cf.Central(rho=1.0), 3000, horizon=8)
    assert setting.plan.question.budget == 8 and "budget of 8" in str(setting.certificate())
    assert setting.certificate().guarantee.rho == pytest.approx(1.0)
    assert (
        prepare_offline("random/9x2?seed=100", cf.Central(rho=1.0), 3000, horizon=8, visits="all").plan.question.budget
        == 0
    )
    assert prepare_offline("random/9x2?seed=100", None, 3000, horizon=8).plan.question.budget == 0
    many = prepare_offline("random/9x2?seed=100", cf.Central(rho=1.0), 10**8, horizon=8)
    assert many.plan.question.budget == 0 and "left out beyond 10,000,000 people" in str(many.certificate())


def test_walked_logs_have_the_counts_and_returns_of_their_world() -> None:
    """Worlds without chance: every user walks the same, so sums are exact multiples."""
    model, people = (
        Model(np.eye(3)[[[[1, 2], [1, 0], [0, 0]]]], np.array([[[1.0, 0], [0, 1], [1, 1]]]), np.eye(3)[0], 5),
        7,
    )
    chosen = np.array([[1, 0, 0], [0, 0, 1], [1, 1, 1], [0, 1, 1], [1, 1, 1]])
    policy = Policy.deterministic(chosen, 2)
    states, actions, rewards = [0], [], []
    for h in range(5):
        actions.append(int(chosen[h, states[-1]]))
        rewards.append(float(model.rewards[0, states[-1], actions[-1]]))
        states.append(int(model.transitions[0, states[-1], actions[-1]].argmax()))
    question = BudgetedQuestion(CountQuestion(model.spec, (TRANSITIONS,)), 5)
    walked = Trajectory(np.array(states), np.array(actions), np.array(rewards))
    from confide.data.statistics import count as cells_of

    expected = cells_of(question.counts, walked, np.array(rewards, dtype=np.int64), counted_steps(question, walked))
    for known in (True, False):
        cells, earned = SimulatedLog(model, policy, known).drawn(question, people, np.random.default_rng(0))
        np.testing.assert_array_equal(cells, people * expected)
        assert earned.tolist() == [sum(rewards)] * people
