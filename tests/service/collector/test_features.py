"""Services about described features: devices compute them from the contract, and follow weights that are signed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from confide import Local
from confide.cli import run
from confide.lab.environments import make
from confide.lab.environments.observed_world import ObservedWorld
from confide.lab.staging import check_url, visit
from confide.learning.learners.state_bytes import feature_from_bytes, feature_to_bytes
from confide.mdp.feature_policy import FeaturePolicy, published, read_published
from confide.mechanisms.noise import LightNoise
from confide.privacy import Guarantee, Schedule
from confide.service.collector.founding import make_service
from confide.service.collector.learning import RoundLearner
from confide.service.contract import Contract
from confide.service.contract.folder import Folder
from confide.service.dashboard.story import story_of
from confide.service.device import Device, MemoryStore, Notice
from confide.service.device.messages import message
from confide.service.device.observed import NO_REWARD, ObservedEpisode
from confide.service.device.transport import Transport
from tests.refusals import refused

from .services import running

BANDIT, STEPS = "linear-bandit/2x3?seed=0", "covariates/2?seed=0"
PEOPLE, ROUNDS = 60, 3


def world_of(name: str) -> ObservedWorld:
    world = make(name).world
    assert world is not None
    return world


def founded(path: Path, name: str = BANDIT, promise: Guarantee | None = None, **changes: Any) -> Folder:
    features = {"learner": "linear", "described": world_of(name).features}
    options = {**features, "schedule": Schedule.batches(PEOPLE, ROUNDS), **changes}
    return make_service(path / "tea", make(name).spec, promise or Local(4.0), PEOPLE, **options)


class Silent:
    """Enough of a device for an episode: a contract, and what it was given."""

    def __init__(self, contract: Contract) -> None:
        self.contract, self.told = contract, list[Notice]()

    def tell(self, kind: str, text: str) -> None:
        self.told.append(Notice(kind, text))


def episode_of(contract: Contract, policy: FeaturePolicy | None = None) -> ObservedEpisode:
    assert contract.described is not None
    return ObservedEpisode(Silent(contract), policy, "", 0, contract.described)  # type: ignore[arg-type]


@pytest.mark.service
def test_people_are_counted_and_weights_are_published(tmp_path: Path) -> None:
    with running(founded(tmp_path)) as service:
        first = check_url(service.url)
        result = visit(service.url, BANDIT, PEOPLE).as_json()
        assert (result["sent"], result["counted"], result["refused"]) == (PEOPLE, PEOPLE, 0)
        service.until_round(ROUNDS + 1)
        last = check_url(service.url)
        assert (first["heads"], last["heads"], last["people"], last["ended"]) == (1, ROUNDS + 1, PEOPLE, True)
        store, contract = service.collector.store, service.collector.store.contract
        assert contract.described is not None
        story = story_of(contract, store.newest(), store.release)
        assert [row["people"] for row in story["rounds"]] == [20, 40, 60] and story["rounds"][0]["mean_return"] is None
        notices: list[Notice] = []
        device = Device.join(service.url, store=MemoryStore(), listener=notices.append, background=False)
        episode = cast(ObservedEpisode, device.begin())
        assert (
            episode.act(contract.described.decode(contract.described.cloud[0]))
            in contract.document["labels"]["actions"]
        )
        assert not notices


def test_the_contract_says_what_is_observed(tmp_path: Path) -> None:
    contract = founded(tmp_path).contract()
    features = world_of(BANDIT).features
    assert contract.document["question"]["features"] == json.loads(features.to_bytes())
    assert contract.document["labels"]["actions"] == list(features.actions_named)
    for change in ({"labels": {"states": ["s0"], "actions": ["x", "y", "z"]}}, {"question": {"kind": "moments"}}):
        with refused("contract-unreadable"):
            Contract.from_bytes(json.dumps({**contract.document, **change}).encode())


@pytest.mark.parametrize("name", [BANDIT, STEPS])
def test_an_episode_is_what_the_host_says_of_it(tmp_path: Path, name: str) -> None:
    contract, world, rng = founded(tmp_path, name).contract(), world_of(name), np.random.default_rng(3)
    features, horizon = world.features, world.horizon
    weights = rng.standard_normal((horizon, features.blocks, features.dimension))
    policy = FeaturePolicy(features, weights)
    episode, seen = episode_of(contract, policy), world.start(horizon + 1, rng)
    for step in range(horizon):
        chosen = episode.act(features.decode(seen[step]))
        assert chosen == policy.act(step, features.decode(seen[step]))
        episode.observe(0.25, features.decode(seen[step + 1]))
    lived = episode.lived()
    assert np.array_equal(lived.observations[0, :horizon], seen[:horizon])
    assert lived.rewards.tolist() == [[0.25] * horizon] and lived.steps == horizon


def test_what_is_not_described_ends_what_is_reported(tmp_path: Path) -> None:
    contract = founded(tmp_path, STEPS).contract()
    assert contract.described is not None
    some = contract.described.decode(contract.described.cloud[0])
    for wrong in ({**some, "more": 1.0}, {}, {name: "many" for name in some}, 7):
        episode = episode_of(contract)
        assert episode.act(some) in contract.described.actions_named
        episode.observe(1.0, some)
        assert episode.act(wrong) in contract.described.actions_named  # type: ignore[arg-type]
        episode.observe(1.0, some)
        assert episode.lived().steps == 1
        told = episode._device.told  # type: ignore[attr-defined]
        assert len(told) == 1 and "many" not in told[0].text
    episode = episode_of(contract)
    episode.act(some)
    episode.observe(7.0, some, action="nothing of the kind")
    assert episode.lived().steps == 0


@pytest.mark.parametrize("name", [BANDIT, STEPS])
def test_reports_have_one_length_whatever_was_lived(tmp_path: Path, name: str) -> None:
    contract = founded(tmp_path, name).contract()
    assert contract.described is not None
    lengths = set()
    for steps in range(contract.design.question.spec.horizon + 1):
        episode = episode_of(contract)
        for step in range(steps):
            episode.act(contract.described.decode(contract.described.cloud[step]))
            episode.observe(1.0, contract.described.decode(contract.described.cloud[step + 1]))
        assert episode.lived().steps == steps
        lengths.add(len(message(contract, {"token": "00" * 16, "round": 1}, episode.lived(), LightNoise())))
    assert len(lengths) == 1


def test_weights_of_other_features_are_refused() -> None:
    features = world_of(BANDIT).features
    weights = np.random.default_rng(0).standard_normal((4, 1, features.blocks, features.dimension))
    for some in (weights[:1], weights):
        data = published([FeaturePolicy(features, each) for each in some])
        assert np.array_equal([each.weights for each in read_published(data, features, 1)], some)
    whole = published([FeaturePolicy(features, weights[0])])
    unreal = whole[:-8] + np.array([np.nan]).tobytes()
    for wrong, code in ((whole[:-1], "published-weights-unreadable"), (whole + b"\0", "published-weights-unreadable")):
        with refused(code):
            read_published(wrong, features, 1)
    with refused("published-weights-unreadable"):
        read_published(whole, features, 2)
    with refused("not-finite"):
        read_published(unreal, features, 1)


def test_a_learner_goes_on_from_its_bytes(tmp_path: Path) -> None:
    learner = RoundLearner(founded(tmp_path).contract())
    state = learner.adapter.state_from_bytes(learner.begin()[0])
    again = feature_from_bytes(feature_to_bytes(state), learner.context)
    assert np.array_equal(state.weights, again.weights) and state.rng.random() == again.rng.random()
    assert again.users == 0
    for wrong in (b"", feature_to_bytes(state)[:-9], b"\x96" + b"\x01" * 6):
        with refused("learner-state-unreadable"):
            feature_from_bytes(wrong, learner.context)


def test_what_cannot_be_served_is_refused(tmp_path: Path) -> None:
    with refused("service-features-missing"):
        founded(tmp_path, described=None)
    with refused("moments-shares-claimed"):
        founded(tmp_path, promise=Guarantee("shuffle", 1.0, 1e-6), schedule=None)
    with refused("service-learner-compared"):
        founded(tmp_path, learner="linucb")
    with refused("service-features-unused"):
        founded(tmp_path, learner="ucbvi")


def test_a_service_is_made_from_a_file_or_a_world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    described = tmp_path / "people.json"
    described.write_bytes(world_of(BANDIT).features.to_bytes())
    common = ["--learner", "linear", "--epsilon", "4", "--people", "1000", "--open", "--json"]
    for number, where in enumerate((str(described), BANDIT)):
        folder = str(tmp_path / f"tea{number}")
        assert run(["service", "new", folder, "--features", where, "--horizon", "1", *common]) == 0
        capsys.readouterr()
        assert run(["service", "check", folder, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["rounds"] > 1
    for wrong, code in (
        (["--features", "riverswim/6"], "features-of-table"),
        (["--actions", "9"], "service-features-sizes"),
    ):
        assert run(["service", "new", str(tmp_path / "no"), "--features", BANDIT, *wrong, *common]) != 0
        assert code in capsys.readouterr().err


WINDOW = 3600.0


def test_a_choice_is_the_best_of_those_on_offer(tmp_path: Path) -> None:
    contract, features = founded(tmp_path, window=WINDOW).contract(), world_of(BANDIT).features
    rng, some = np.random.default_rng(5), features.decode(features.cloud[0])
    policy = FeaturePolicy(features, rng.standard_normal((1, features.blocks, features.dimension)))
    scores = features.scores(features.all_x(features.cloud[:1]), policy.weights[0])[0]
    best, *_, worst = (features.actions_named[at] for at in np.argsort(-scores))
    assert episode_of(contract, policy).choose(some) == best == policy.act(0, some)
    assert episode_of(contract, policy).choose(some, [worst]) == worst
    offered = [name for name in features.actions_named if name != best]
    episode = episode_of(contract, policy)
    assert episode.choose(some, offered[::-1]) == features.actions_named[int(np.argsort(-scores)[1])]
    assert {episode_of(contract).choose(some, offered) for _ in range(60)} == set(offered)
    assert episode.lived().rewards.tolist() == [[NO_REWARD]]
    episode.reward(0.75)
    episode.reward(0.25)
    assert episode.lived().rewards.tolist() == [[0.75]] and episode.lived().steps == 1


def test_what_cannot_be_chosen_is_not_reported(tmp_path: Path) -> None:
    kept, bare = (founded(tmp_path / name, window=window).contract() for name, window in (("a", WINDOW), ("b", 0.0)))
    steps = founded(tmp_path / "c", STEPS, window=WINDOW).contract()
    for contract, actions in ((bare, None), (steps, None), (kept, ["a walk"])):
        assert contract.described is not None
        episode = episode_of(contract)
        chosen = episode.choose(contract.described.decode(contract.described.cloud[0]), actions)
        assert chosen in (actions or contract.described.actions_named)
        episode.reward(1.0)
        assert episode.lived().steps == 0 and len(episode._device.told) == 1  # type: ignore[attr-defined]


@pytest.mark.service
@pytest.mark.parametrize("rewarded", [True, False])
def test_a_report_leaves_at_the_time_that_was_drawn_whether_a_reward_came_or_not(
    tmp_path: Path, rewarded: bool
) -> None:
    with running(founded(tmp_path, window=WINDOW)) as service:
        contract, store, now = service.collector.store.contract, MemoryStore(), [1e9]
        assert contract.described is not None
        device = Device(Transport(service.url), contract, store=store, background=False, clock=lambda: now[0])
        assert device.refresh()
        episode = cast(ObservedEpisode, device.begin())
        opened = device.memory(store.read())["open"]
        assert opened is not None and 1e9 <= opened["due"] <= 1e9 + WINDOW
        episode.choose(contract.described.decode(contract.described.cloud[0]))
        if rewarded:
            episode.reward(1.0)
        now[0] = opened["due"] - 0.001
        device.flush()
        memory = device.memory(store.read())
        assert memory["open"] == opened and memory.get("letter") is None and "answer" not in memory
        now[0] = opened["due"]
        assert device.flush()
        memory = device.memory(store.read())
        assert memory["open"] is None and memory["letter"] is None and memory["answer"] == 201
        episode.reward(1.0)  # too late: nothing is sent again
        assert device.flush() and device.memory(store.read())["answer"] == 201
