"""`simulate --offline` is `fit`'s own plan on drawn counts: the same counts give the same bytes, policies and certificates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.findings import LearningTask, Units
from confide.analysis.fitting.fit import Order, prepare
from confide.analysis.fitting.learning import learning_result
from confide.data.statistics.counting import DatasetCounts
from confide.data.trajectories import read
from confide.errors import InvalidInput
from confide.lab.environments import linear_mdp, make
from confide.lab.simulation.offline import known_model, practice_of, prepare_offline, simulate_offline
from confide.lab.simulation.offline_linear import simulate_linear
from confide.lab.simulation.offline_log import SimulatedLog, draw_records
from confide.lab.simulation.streams import spawn, streams
from confide.learning.planning.evaluation import policy_value
from confide.mechanisms.noise import ReplayableNoise
from confide.protocol.kinds.returns import ReturnsQuestion

PEOPLE, WORLD, HORIZON = 400, "random/9x2?seed=100", 8
PROMISE = cf.Central(rho=1.0)
CASES: list[dict[str, Any]] = [
    {},
    {"visits": "all"},
    {"privacy": cf.Central(epsilon=1.0)},
    {"known_rewards": False},
    {"known_rewards": False, "reward_centre": 0.1},
    {"known_rewards": False, "horizon": 1},
    {"model": "per-step"},
    {"return_range": (0.0, 3.0)},
    {"calibration": "paper"},
    {"calibration": "sound"},
    {"calibration": "sound", "known_rewards": False},
    {"calibration": "sound", "model": "stationary"},
    {"calibration": "sound", "privacy": cf.Central(epsilon=1.0)},
]


def both(case: dict[str, Any]) -> tuple[Any, Order, DatasetCounts]:
    """A simulated setting, the order of a fit of the same people's records, and what that counts."""
    words = {"privacy": PROMISE, "horizon": HORIZON, "judge": "none", **case}
    privacy, horizon = words.pop("privacy"), words["horizon"]
    setting = prepare_offline(WORLD, privacy, PEOPLE, **words)
    world = make(WORLD, horizon)
    model = known_model(world)
    records = draw_records(model, practice_of(world, None), PEOPLE, np.random.default_rng(1))
    declared: dict[str, Any] = {"states": 9, "actions": 2, "horizon": horizon, "fixed_length": True}
    declared |= {"initial": model.initial}
    if words.get("calibration") != "paper":
        declared["support"] = (model.transitions > 0).any(axis=0)
    if words.get("known_rewards", True):
        declared["rewards"] = model.rewards[0]
        del records["reward"]
    declared |= {name: words[name] for name in ("model", "return_range") if name in words}
    chosen = {name: words[name] for name in ("visits", "reward_centre", "calibration", "judge") if name in words}
    order = prepare(read(records, **declared), "apvi", privacy, ledger="nowhere.json", budget=100.0, **chosen)
    return setting, order, count(order.data, order.plan.question, Engine(workers=1)).checked()


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: " ".join(f"{key}={value}" for key, value in case.items()) or "as it is"
)
def test_the_same_counts_give_the_same_bytes(
    case: dict[str, Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    setting, order, counted = both(case)
    simulated = setting.released(counted, ReplayableNoise(3))
    fitted = order.plan.release(counted, ReplayableNoise(3), simulated=True)
    assert list(simulated) == list(fitted)
    for name, release in fitted.items():
        assert simulated[name].to_bytes() == release.to_bytes()
    assert setting.certificate().as_json() == order.plan.certificate("replayable").as_json()
    # What a fit makes of its releases, and what the simulation does.
    task = LearningTask(order.learner, None, order.data.knowledge, Units.of(order.data.describe()))
    plan = setting.learn(simulated)
    np.testing.assert_array_equal(plan.policy, learning_result(task, dict(fitted), alone=True).policy.probabilities)
    # And other counts would not do.
    others = setting.released(setting.counted(np.random.default_rng(5)), ReplayableNoise(3))
    assert others["counts"].to_bytes() != fitted["counts"].to_bytes()


@pytest.mark.parametrize("calibration", ["paper", "sound", "tight"])
@pytest.mark.parametrize("learner", ["vapvi", "pevi"])
def test_linear_learners_too(learner: str, calibration: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are drawn as the simulation draws them, written down as records, and fitted: the values are equal to the last bit."""
    monkeypatch.chdir(tmp_path)
    horizon, people, promise = 3, 60, cf.Central(rho=25.0)
    run = simulate_linear(
        episodes=people, seeds=1, privacy=promise, horizon=horizon, learner=learner, calibration=calibration
    )
    world = make("linear-mdp", horizon)
    model, usual = known_model(world), linear_mdp.practice(horizon)
    records = draw_records(model, usual, people, np.random.default_rng(0))
    data = read(records, states=2, actions=100, horizon=horizon, fixed_length=True, initial=model.initial)
    words = {"features": linear_mdp.features(), "calibration": calibration, "ledger": "nowhere.json", "budget": 1e4}
    order = prepare(data, learner, promise, **words)
    luck = streams(spawn(0, 1)[0])
    log = SimulatedLog(model, usual, rewards_known=False)
    counted = log.counted(order.plan.question, None, people, luck.world, order.plan.split)
    releases = dict(order.plan.release(counted, luck.replayable, simulated=True))
    learned = order._learn(releases, None)
    assert policy_value(model, learned.policy) == run.values[0]  # type: ignore[arg-type]
    assert order.plan.certificate("replayable").as_json() == run.certificate.as_json()
    assert run.certificate.calibration == calibration


def test_walked_counts_and_returns_are_those_of_records() -> None:
    """The same world twice: returns of walked people have the mean and spread of recorded ones, by five standard errors."""
    world = make(WORLD, HORIZON)
    model, usual, people = known_model(world), practice_of(world, None), 20_000
    question = ReturnsQuestion.of(HORIZON)
    setting = prepare_offline(WORLD, PROMISE, people, horizon=HORIZON, known_rewards=False, judge="none")
    counted = setting.counted(np.random.default_rng(0))
    records = draw_records(model, usual, people, np.random.default_rng(1))
    earned = records["reward"].reshape(people, HORIZON).sum(axis=1)
    u = question.points * (earned / HORIZON - 0.5)
    mean, square = counted.returns[:2] / people
    assert counted.returns[2] == people
    assert abs(mean - u.mean()) < 5 * u.std() * np.sqrt(2 / people)
    assert abs(square - (u**2).mean()) < 5 * (u**2).std() * np.sqrt(2 / people)


def test_returns_of_more_people_than_are_walked_follow_from_their_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    from confide.lab.simulation import offline_log

    walked = prepare_offline("clinic", PROMISE, 50_000, known_rewards=False, visits="all", judge="none")
    exact = walked.counted(np.random.default_rng(0))
    monkeypatch.setattr(offline_log, "MOST_WALKED", 1000)
    monkeypatch.setattr(offline_log, "WALKED_FOR_SPREAD", 50_000)
    drawn = walked.counted(np.random.default_rng(0))
    spread = np.sqrt(exact.returns[1] / 50_000 - (exact.returns[0] / 50_000) ** 2)
    assert abs(exact.returns[0] - drawn.returns[0]) / 50_000 < 5 * spread * np.sqrt(2 / 50_000)
    assert exact.returns[1] == pytest.approx(drawn.returns[1], rel=0.03)
    # By hand: the mean return of those who were drawn is what their counts paid.
    question = walked.question
    paid = drawn.cells[question.slices["centred"]].sum() / question.resolution + 50_000 * question.spec.horizon / 2
    u = ReturnsQuestion.of(question.spec.horizon).points * (paid / 50_000 / question.spec.horizon - 0.5)
    assert drawn.returns[0] == pytest.approx(50_000 * u, abs=1.0)


def test_papers_guarantees_are_stated_as_they_are(tmp_path: Any) -> None:
    """DP-APVI keeps rho for known rewards, 1.5 rho where they are asked for; DP-VAPVI what its noise keeps, not its claim."""
    known, unknown = (
        prepare_offline(WORLD, PROMISE, 100, horizon=4, calibration="paper", known_rewards=known).certificate()
        for known in (True, False)
    )
    assert known.guarantee.rho == pytest.approx(1.0) and unknown.guarantee.rho == pytest.approx(1.5)
    assert [one.promises[0].nominal.rho for one in (known, unknown)] == [1.0, 1.0]  # type: ignore[union-attr]
    linear = simulate_linear(episodes=20, seeds=1, privacy=PROMISE, horizon=4, calibration="paper").certificate
    assert linear.guarantee.rho != pytest.approx(1.0) and linear.promises[0].nominal.rho == 1.0  # type: ignore[union-attr]
    sound = simulate_linear(episodes=20, seeds=1, privacy=PROMISE, horizon=4, calibration="sound").certificate
    assert sound.guarantee.rho <= 1.0  # type: ignore[operator]


def test_what_papers_do_not_ask_is_refused(tmp_path: Any) -> None:
    with pytest.raises(InvalidInput):
        prepare_offline(WORLD, PROMISE, 100, calibration="sound", visits=12)
    with pytest.raises(InvalidInput):
        prepare_offline(WORLD, PROMISE, 100, calibration="sound", known_rewards=False, reward_centre=0.1)


def test_people_who_judge_are_walked_and_replayed() -> None:
    """The same seed says the same; the certificate is that of a fit with as many who judge, and their releases cost no more."""
    runs = [simulate_offline("clinic", PROMISE, 3000, 1, judge=0.3).as_json() for _ in range(2)]
    assert runs[0]["judged"] == runs[1]["judged"] and runs[0]["value"] == runs[1]["value"]
    (said,) = runs[0]["judged"]  # type: ignore[misc]
    assert said["judged"]["sure"] and said["judged"]["people"] == 900 and said["alarms"] == []
    setting = prepare_offline("clinic", PROMISE, 3000, judge=0.3)
    rho = setting.certificate().guarantee.rho
    assert rho is not None and rho <= 1.0 + 1e-12 and "judge instead" in str(setting.certificate())
    exact = simulate_offline("clinic", None, 3000, 1, judge=0.3).as_json()
    assert exact["judged"][0]["judged"]["sure"]  # type: ignore[index,call-overload]
    with pytest.raises(InvalidInput):
        prepare_offline("clinic", PROMISE, 10**8, judge=0.3)
