"""Shufflers in the simulator: the same law as real reports through real shufflers, batches that are held, a burn-in."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from confide import Joint, Local, Shuffle
from confide.cli import run as command
from confide.data.privatizers import open_aggregate, respond
from confide.lab.simulation import batched, prepare, shuffle_loop, simulate
from confide.lab.simulation.bundles import luck_of
from confide.lab.simulation.draws import World
from confide.lab.simulation.play import play, walk
from confide.lab.simulation.shuffle_loop import batch_adder, mixer_of
from confide.lab.simulation.simulate import choose_engine
from confide.lab.simulation.streams import Streams, spawn, streams
from confide.learning.planning.evaluation import occupancy
from confide.mdp import Policy
from confide.protocol.design import Design
from confide.protocol.trusts.mixing import BEYOND
from tests.everyday import first_of
from tests.refusals import refused

# Seeds are fixed. If both sides have one law, a test rejects with this probability.
FALSE_ALARM = 1e-6

CASES: dict[str, dict[str, Any]] = {
    "bits": {"calibration": "sound"},
    "reward bits": {"calibration": "sound", "reward_bits": 3},
    "step": {"mechanism": "shuffled-step"},
    "step by step": {"mechanism": "shuffled-step", "model": "per-step"},
    "tree": {"calibration": "sound", "tree": True},
    "widening": {"calibration": "sound", "widening": True, "batch": 2, "honest": 1.0},
}


def setting_of(epsilon: float = 30.0, **choices: Any) -> Any:
    given = {"episodes": 45, "horizon": 3, "batch": 12, "honest": 1.0, **choices}
    return prepare("obi", "riverswim/3", Shuffle(epsilon, 1e-3), **given)


POLICY = Policy.uniform(3, 3, 2).probabilities
Told = NDArray[np.float64]


def flat(release: Any) -> Told:
    return np.concatenate([part.ravel() for part in release.counts])


def real(setting: Any, luck: Streams) -> Told:
    """What each user's own reports say after each full batch, through real shufflers: (batches, cells)."""
    design, releases = setting.design, []
    groups = np.diff(setting.schedule.ends, prepend=0)  # the last is too short for a batch
    aggregate = open_aggregate(design, luck.replayable, simulated=True)
    for group, many in enumerate(groups.tolist()):
        for _ in range(many):
            person = walk(setting.environment, POLICY, luck.world)
            aggregate.take(respond(design, None, person, luck.replayable, batch=group, simulated=True))
        releases.append(aggregate.close())
    ends = setting.schedule.ends.tolist()
    assert [release.users for release in releases] == [*ends[:-1], ends[-2]]
    assert np.array_equal(flat(releases[-1]), flat(releases[-2]))
    return np.array([flat(release) for release in releases[:-1]])


def drawn(setting: Any, luck: Streams) -> Told:
    """The same of sums that are drawn at once, through the same aggregate."""
    aggregate, releases = open_aggregate(setting.design, luck.replayable, simulated=True), []
    hear = batched.group_drawing(setting, luck.world, luck.noise)
    for group, many in enumerate(np.diff(setting.schedule.ends, prepend=0).tolist()):
        for total in hear(setting.design.question, POLICY[None], many, group):
            aggregate.take_sum(total)
        releases.append(aggregate.close())
    assert np.array_equal(flat(releases[-1]), flat(releases[-2]))
    return np.array([flat(release) for release in releases[:-1]])


def looped(setting: Any, luck: Streams) -> Told:
    """The same as the compiled loop hears it."""
    design, model, result = setting.design, setting.model, []
    world = World(model.transitions, model.rewards, model.initial)
    mixer, hear = mixer_of(design), batch_adder(design)
    for batch, people in enumerate(setting.schedule.ends[:-1].tolist(), start=1):
        cells = np.zeros(setting.question.cells)
        hear(batch, mixer, world, POLICY[None], luck_of(luck), cells)
        result.append(flat(design_release(design, cells, people)))
    return np.array(result)


def design_release(design: Design, cells: Told, users: int) -> Any:
    from confide.protocol.releases.release import release_about

    return release_about(design, cells, users)


def many_of(way: Callable[[Any, Streams], Told], setting: Any, seed: int, many: int) -> Told:
    return np.array([way(setting, streams(root)) for root in spawn(seed, many)])


@pytest.mark.parametrize("way", [drawn, looped])
@pytest.mark.parametrize("name", first_of(sorted(CASES)))
def test_sums_drawn_at_once_have_the_law_of_real_shufflers(name: str, way: Callable[[Any, Streams], Told]) -> None:
    setting = setting_of(**CASES[name])
    left, right = many_of(way, setting, 1, 500), many_of(real, setting, 2, 25)
    rng = np.random.default_rng(0)
    for _ in range(4):  # random directions see means, variances and whatever cells have to do with each other
        weights = rng.normal(size=left.shape[1:])
        pair = [np.tensordot(side, weights, axes=2) for side in (left, right)]
        assert stats.ks_2samp(*pair).pvalue > FALSE_ALARM
    spread = left.std(axis=0).ravel()
    assert np.abs(left.mean(axis=0) - right.mean(axis=0)).ravel()[spread > 0].max() < 6 * spread.max() / np.sqrt(25)


@pytest.mark.parametrize("way", [drawn, looped])
@pytest.mark.parametrize("name", first_of(["bits", "step", "tree", "widening"]))
def test_half_the_noise_would_be_noticed(name: str, way: Callable[[Any, Streams], Told]) -> None:
    """The comparison above can fail: the loop with half the noise, and the aggregate as it is."""
    setting = setting_of(2.0, **CASES[name])
    design = setting.design
    less = tuple(type(crowd).of(crowd.variance / 4, crowd.people) for crowd in design.mechanism.crowds)
    mutant = replace(design, act=replace(design.act, mechanism=replace(design.mechanism, crowds=less)))
    sides = [many_of(drawn, setting, 3, 400), many_of(way, replace(setting, design=mutant), 3, 400)]
    spread = [np.abs(side[:, -1, -1] - np.median(sides[0][:, -1, -1])) for side in sides]
    assert stats.ks_2samp(*spread).pvalue < FALSE_ALARM


@pytest.mark.parametrize("name", first_of(["step", "tree", "widening"]))
def test_the_compiled_loop_has_the_law_of_the_plain_engine(name: str) -> None:
    choices = {"episodes": 48, "horizon": 3, "batch": 12, **CASES[name]}
    given = ("obi", "riverswim/3", Shuffle(30.0, 1e-3))
    left = simulate(*given, seeds=300, seed=1, engine="batched", **choices).regret[:, -1].round(6)
    right = simulate(*given, seeds=50, seed=2, engine="plain", **choices).regret[:, -1].round(6)
    assert stats.ks_2samp(left, right).pvalue > FALSE_ALARM
    assert abs(left.mean() - right.mean()) < 5 * np.sqrt(left.var() / len(left) + right.var() / len(right)) + 1e-9


@pytest.mark.parametrize(
    ("engine", "options"), [("batched", {"batch": 4}), ("stepwise", {"schedule": "every", "mechanism": "laplace"})]
)
def test_tables_with_few_points_give_the_noise_of_every_release(
    engine: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights of people go by how much noise is new in a release: it must not come in jumps."""
    promise = Shuffle(30.0, 1e-3) if engine == "batched" else Local(1.0)
    told = []
    for points in (4096, 16):
        monkeypatch.setattr("confide.protocol.design.RADIUS_POINTS", points)
        setting = prepare("obi", "riverswim/3", promise, 400, horizon=3, **options)
        assert (len(setting.design.error_table[0]) < setting.schedule.releases) == (points == 16)
        given = ("obi", "riverswim/3", promise, 400)
        told.append(simulate(*given, seeds=4, horizon=3, engine=engine, **options).regret)
    np.testing.assert_allclose(*told, rtol=1e-9)


@pytest.mark.parametrize(("options", "policies"), [({}, 1), ({"widening": True, "batch": 5}, 2)])
def test_a_learner_of_ones_own_is_served_too(options: dict[str, Any], policies: int) -> None:
    """With one policy a batch, and with several where batches widen."""
    setting = setting_of(episodes=120, **options)
    assert setting.learner.models_for(setting.design.errors_at(120)[1]) == policies
    plain = replace(setting, learner=_Slow(setting.learner))
    assert shuffle_loop.supports(setting) and not shuffle_loop.supports(plain)
    left = [batched.run(setting, root).regret[-1] for root in spawn(4, 300)]
    right = [batched.run(plain, root).regret[-1] for root in spawn(5, 300)]
    assert stats.ks_2samp(np.round(left, 6), np.round(right, 6)).pvalue > FALSE_ALARM
    assert abs(np.mean(left) - np.mean(right)) < 5 * np.sqrt((np.var(left) + np.var(right)) / 300)


class _Slow:
    """A learner whose plan no one can see."""

    def __init__(self, inner: Any) -> None:
        self.name = inner.name
        self.begin, self.ask, self.learn = inner.begin, inner.ask, inner.learn


@pytest.mark.parametrize("users", [33, 47, 48, 50])
def test_a_short_batch_that_would_be_the_first_of_its_size_is_served(users: int) -> None:
    """16 batches of 2, then 8 of 4 and so on: no one learns the sum of one that does not fill, by whichever engine."""
    setting = setting_of(episodes=users, batch=2, honest=1.0, widening=True, calibration="sound")
    own = replace(setting, learner=_Slow(setting.learner))
    assert setting.schedule.users == users
    for run, each in ((batched.run, setting), (batched.run, own), (play, setting)):
        assert np.isfinite(run(each, spawn(6, 1)[0]).regret).all()


def test_people_of_a_short_last_batch_are_served_but_not_learned_from() -> None:
    long, short = setting_of(episodes=36), setting_of(episodes=47)
    assert short.schedule.ends.tolist() == [12, 24, 36, 47]
    root = spawn(5, 1)[0]
    first, second = batched.run(long, root), batched.run(short, root)
    np.testing.assert_array_equal(first.policy, second.policy)
    gap = short.optimal_value - first.final_value
    assert second.regret[-1] == pytest.approx(first.regret[-1] + 11 * gap)


def test_a_burn_in_acts_at_random_first() -> None:
    choices = {"calibration": "paper", "local_epsilon": 40.0, "burn_in": 10, "episodes": 20, "horizon": 3}
    setting = prepare("obi", "riverswim/3", Shuffle(1.0, 1e-6), **choices)
    assert setting.schedule.ends.tolist() == [10, *range(11, 21)]
    assert choose_engine(setting, None) == "stepwise"
    random = setting.optimal_value - setting.value_of(np.full((3, 3, 2), 0.5))
    for engine in ("stepwise", "batched", "plain"):
        run = simulate("obi", "riverswim/3", Shuffle(1.0, 1e-6), seeds=2, engine=engine, **choices)
        first = run.checkpoints <= 10
        assert run.regret[:, first] == pytest.approx(np.tile(random * run.checkpoints[first], (2, 1)))


def test_defaults_and_words() -> None:
    setting = prepare("obi", "random/2x2", Shuffle(1.0, 1e-6), 10**6, horizon=2)
    assert setting.schedule.kind == "doubling" and setting.design.mechanism.apart
    # 244 people show the average pair; a service issues a quarter more tickets than a batch has places
    assert setting.schedule.parameter == int(244 / (1 + BEYOND)) == 195
    for chosen in ({"calibration": "sound"}, {"mechanism": "shuffled-step"}):
        equal = prepare("obi", "random/2x2", Shuffle(1.0, 1e-6), 10**6, horizon=2, **chosen)
        assert equal.schedule.kind == "size" and equal.schedule.parameter == 10**6 // 160
    run = simulate("obi", "random/2x2", Shuffle(1.0, 1e-6), 1e5, seeds=1, horizon=2, batch=5000)
    assert run.trust == "shuffle" and run.engine == "batched" and run.schedule["parameter"] == 5000.0
    assert [promise.true.trust for promise in run.certificate.promises] == ["shuffle", "local"]


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"batch": 10_001}, "mixing-above-episodes"),
        ({"calibration": "paper", "burn_in": 10_001}, "mixing-above-episodes"),
        ({"batch": 100, "schedule": "every"}, "shuffle-schedule"),
        ({"privacy": Joint(1.0), "batch": 100}, "shuffle-options-without-shuffle"),
    ],
)
def test_what_is_refused(choices: dict[str, Any], reason: str) -> None:
    with refused(reason):
        prepare("obi", "random/2x2", **{"privacy": Shuffle(1.0, 1e-6), "horizon": 2, **choices})


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = "simulate random/2x2 --horizon 2 --learner obi --trust shuffle --epsilon 1 --delta 1e-6 --episodes 3e4 --seeds 2"
    assert command([*words.split(), "--batch", "5000", "--json"]) == 0
    printed = capsys.readouterr().out
    assert '"trust": "shuffle"' in printed and '"trust": "local"' in printed
    assert command([*words.split(), "--batch", "5000", "--local-epsilon", "0.5"]) == 2
    assert "shuffling adds nothing" in capsys.readouterr().err
    assert command([*words.split(), "--batch", "300", "--local-epsilon", "30"]) == 2
    assert "The smallest that works is" in capsys.readouterr().err


def test_a_hundred_million_people_take_no_longer_than_twenty_thousand_batches() -> None:
    setting = prepare("obi", "random/2x2", Shuffle(1.0, 1e-6), 1e8, horizon=2, batch=5000)
    root = spawn(0, 1)[0]
    batched.run(prepare("obi", "random/2x2", Shuffle(1.0, 1e-6), 1e5, horizon=2, batch=5000), root)
    started = time.process_time()
    outcome = batched.run(setting, root)
    assert time.process_time() - started < 2.0
    assert outcome.final_value > 0.99 * setting.optimal_value


def test_several_reward_bits_as_printed_are_read_without_bias() -> None:
    """Algorithm 3 with m = 3: sums drawn at once and real reports both estimate expected rewards; within 6 deviations."""
    people, local = 400, 60.0
    policy = Policy.uniform(3, 2, 2).probabilities
    choices: dict[str, Any] = {"calibration": "paper", "local_epsilon": local, "reward_bits": 3, "honest": 1.0}
    setting = prepare("obi", "random/2x2", Shuffle(1.0, 1e-6), people, horizon=3, schedule="every", **choices)
    expected = people * (occupancy(setting.model, Policy(policy)) * setting.model.rewards).sum(axis=0)
    flip = setting.design.mechanism.flip
    noise = np.sqrt(people * 3 * flip * (1 - flip) / 3) / (1 - 2 * flip)  # of m = 3 bits a step and person, over m
    luck = streams(next(iter(spawn(5, 1))))
    told = open_aggregate(setting.design, luck.replayable, simulated=True)
    for total in batched.group_drawing(setting, luck.world, luck.noise)(
        setting.design.question, policy[None], people, 0
    ):
        told.take_sum(total)
    sent = open_aggregate(setting.design, luck.replayable, simulated=True)
    for _ in range(people):
        person = walk(setting.environment, policy, luck.world)
        sent.take(respond(setting.design, None, person, luck.replayable, simulated=True))
    spread = np.hypot(
        noise, np.sqrt(3 * expected + 1)
    )  # a person's reward sum is at most H: its variance, H times its mean
    for aggregate in (told, sent):
        assert (np.abs(aggregate.close().counts.rewards[0] - expected) < 6 * spread).all()
    assert (2 * expected / 3 > 6 * spread).any()  # a factor of m too many or too few would show


def test_a_burn_in_is_kept_with_a_schedule_of_ones_own() -> None:
    """People of the burn-in act at random whatever the schedule is: a longer one is another run, and plans come after it."""
    printed = {"calibration": "paper", "local_epsilon": 20.0, "honest": 1.0, "horizon": 2, "schedule": "growth:1.5"}
    short, long = (
        prepare("obi", "random/2x2", Shuffle(1.0, 1e-6), 1000, burn_in=burn, **printed) for burn in (10, 500)
    )
    assert (short.schedule.burn_in, long.schedule.burn_in) == (10, 500)
    assert min(long.schedule.ends) >= 500 > min(short.schedule.ends)
