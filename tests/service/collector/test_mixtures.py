"""Services about linear mixtures: every round carries the value function that it asks about, signed, and priced by devices."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from confide.cli import run
from confide.data.privatizers import respond
from confide.data.trajectories import Trajectory
from confide.errors import ConfideError, FormatError, InvalidInput, PrivacyError
from confide.lab.environments import make
from confide.lab.staging import check_url, visit
from confide.mdp import Policy, Spec
from confide.mechanisms.noise import LightNoise
from confide.privacy import Guarantee, Local, Schedule
from confide.protocol.kinds.mixture import MixtureQuestion
from confide.protocol.kinds.question import asked_by
from confide.protocol.releases import Report, Sum
from confide.protocol.releases.release import read_release, release_of
from confide.service.collector.founding import make_service
from confide.service.collector.learning import RoundLearner
from confide.service.contract import Contract, SignedHead, Upload
from confide.service.contract.folder import Folder
from confide.service.dashboard.story import story_of
from confide.service.device import Device, MemoryStore, Notice
from tests.service.contract.example import PRIVATE
from tests.service.contract.example import contract as counting
from tests.service.device.services import serving

from .services import Service, running

WORLD, HORIZON, PEOPLE, ROUNDS = "riverswim-mixture/3", 4, 60, 3


def founded(path: Path, promise: Guarantee | None = None, **changes: Any) -> Folder:
    world = make(WORLD, HORIZON)
    rewards = np.repeat(world.model.rewards, HORIZON // len(world.model.rewards), axis=0)
    options = {"learner": "ucrl-vtr", "rewards": rewards, "schedule": Schedule.batches(PEOPLE, ROUNDS), **changes}
    return make_service(path / "tea", world.spec, promise or Local(8.0, delta=1e-5), PEOPLE, **options)


def question_of(contract: Contract, data: bytes) -> MixtureQuestion:
    return asked_by(contract.design.question, data)


def first_asked(contract: Contract) -> bytes:
    """A question such as a round carries, about values that are known to be nothing."""
    form = contract.design.question
    return MixtureQuestion(form, np.zeros((HORIZON + 1, form.spec.states))).to_bytes()


def walks(many: int, seed: int = 0) -> list[Trajectory]:
    luck = np.random.default_rng(seed)
    return [
        Trajectory(luck.integers(3, size=HORIZON + 1), luck.integers(2, size=HORIZON), np.zeros(HORIZON))
        for _ in range(many)
    ]


def letter(contract: Contract, asked: bytes, followed: int = 1, seed: int = 0) -> bytes:
    """One person's, about a question."""
    (walk,) = walks(1, seed)
    report: Report = respond(contract.design, question_of(contract, asked), walk, LightNoise())
    return Upload(os.urandom(16), contract.digest, followed, report.to_bytes(contract.design)).to_bytes()


@pytest.mark.service
def test_a_round_is_learned_from_and_the_next_one_asks_about_its_own_values(tmp_path: Path) -> None:
    contract = founded(tmp_path).contract()
    design, school = contract.design, RoundLearner(contract)
    state, nobody, policy, expected, asked = school.begin()
    question = question_of(contract, asked)
    shards = [Sum.empty(design), Sum.empty(design)]  # of two collectors
    for number, walk in enumerate(walks(20)):
        shards[number % 2].add(respond(design, question, walk, LightNoise()))
    both = shards[0].copy()
    both.merge(Sum.from_bytes(shards[1].to_bytes(), design))
    late = [(b"", shards[0].to_bytes()), (b"", shards[1].to_bytes())]
    apart, together = (school.learn(state, nobody, groups) for groups in (late, [(b"", both.to_bytes())]))
    assert apart == together and expected == b""
    _, total, following, _, release, next_asked = together
    decoded = read_release(design, release)
    assert decoded.users == 20 and decoded.to_bytes() == release and Sum.from_bytes(total, design).users == 20
    after = school.learner.learn(school.adapter.state_from_bytes(state), decoded)
    assert following == Policy(after.policy).to_bytes() and policy != b""
    assert np.array_equal(question_of(contract, next_asked).values, after.values)
    assert next_asked != asked


def test_release_bytes_that_are_none_are_refused(tmp_path: Path) -> None:
    design = founded(tmp_path).contract().design
    release = release_of(design, Sum.empty(design).cells, np.array([3]))
    good = release.to_bytes()
    assert read_release(design, good).radius == release.radius
    for bad in (b"", good[:-8], good + b"x", good.replace(b"release/1", b"release/9"), b"\x93\x01\x02\x03"):
        with pytest.raises(FormatError):
            read_release(design, bad)


def test_a_dashboard_tells_of_a_mixture_what_its_releases_do(tmp_path: Path) -> None:
    contract = founded(tmp_path).contract()
    release = release_of(contract.design, Sum.empty(contract.design).cells, np.array([20]))
    head = SimpleNamespace(head=SimpleNamespace(round=2, people=20, ended=False), digest="0" * 64)
    (row,) = story_of(contract, head, lambda number: release.to_bytes())["rounds"]
    assert (row["round"], row["people"], row["mean_return"]) == (1, 20, None) and row["error"] > 0


def current(service: Service) -> tuple[SignedHead, bytes]:
    signed = SignedHead.from_json(service.get("/v1/rounds/current")[1], service.contract.key)
    return signed, service.get(f"/v1/questions/{signed.head.question}")[1]


@pytest.mark.service
def test_people_teach_a_service_about_a_mixture(tmp_path: Path) -> None:
    folder = founded(tmp_path)
    with running(folder) as service:
        contract = service.contract
        first, asked = current(service)
        came = visit(service.url, WORLD, PEOPLE // ROUNDS, seed=1, workers=4).as_json()
        assert came["counted"] == came["sent"] == PEOPLE // ROUNDS
        service.until_round(2)
        second, now = current(service)
        assert first.head.question != second.head.question and asked != now
        # Who followed the first round was asked its question; a device that names the wrong one is refused, and changes nothing.
        people = service.collector.store.tally().people
        for body in (letter(contract, now, 1), letter(contract, asked, 2)):
            status, _, problem = service.raw("POST", "/v1/reports", body, Content_Type="application/vnd.confide.report")
            assert status == 422 and "another statistic" in json.loads(problem)["detail"]
        assert service.collector.store.tally().people == people
        assert service.send(letter(contract, asked, 1)) == 201 and service.send(letter(contract, now, 2)) == 201
    with running(folder) as service:  # a restart knows what every round asked
        assert service.send(letter(contract, asked, 1)) == 201 and service.send(letter(contract, now, 2)) == 201
        assert service.send(letter(contract, now, 1)) == 422
        visit(service.url, WORLD, PEOPLE - PEOPLE // ROUNDS - 4, seed=2, workers=4)
        service.until_round(ROUNDS + 1)
        checked = check_url(service.url)
        assert checked["heads"] == ROUNDS + 1 and checked["ended"] and checked["people"] == PEOPLE
        assert checked["guarantee"] == str(contract.design.guarantee)


def test_one_hostile_report_moves_no_cell_further_than_an_honest_one(tmp_path: Path) -> None:
    contract = founded(tmp_path).contract()
    question = question_of(contract, first_asked(contract))
    from confide.protocol.releases.report import limits

    low, high = limits(contract.design)
    most = Report(contract.design.digest, question.digest, high)
    assert Report.from_bytes(most.to_bytes(contract.design), contract.design).cells.max() == high.max()
    for cells in (high + 1, low - 1):
        with pytest.raises(FormatError):
            Report.from_bytes(
                Report(contract.design.digest, question.digest, cells).to_bytes(contract.design), contract.design
            )


class Asking:
    """A service as devices see it, that asks whatever a test wants."""

    def __init__(self, contract: Contract, private: bytes = PRIVATE) -> None:
        self.contract, self.private, self.told = contract, private, list[Notice]()

    def device(self, asked: bytes | None, named: str | None = None, shown: bytes | None = None) -> tuple[Device, Any]:
        """A device that came to a round with this question. named: its hash, if a lie. shown: what is served under it."""
        import hashlib

        with serving(self.contract) as fake:
            digest = named or (None if asked is None else hashlib.sha256(asked).hexdigest())
            fake.open_round(1, private=self.private, question=digest)
            if asked is not None:
                fake.pages[f"/v1/questions/{digest}"] = shown or asked
            device = Device.join(fake.url, store=MemoryStore(), listener=self.told.append, background=False)
            episode = device.begin()
            for state in (0, 1, 2, 1):
                episode.act(state)
                episode.observe(0.0, (state + 1) % 3)
            episode.finish()
            return device, fake


def test_a_device_answers_the_signed_question_and_refuses_one_out_of_range(tmp_path: Path) -> None:
    folder = founded(tmp_path)
    contract = folder.contract()
    private = folder.key(contract)
    asked = first_asked(contract)
    service = Asking(contract, private)
    _, fake = service.device(asked)
    (sent,) = fake.sent
    report = Report.from_bytes(Upload.from_bytes(sent).report, contract.design)
    assert report.question == question_of(contract, asked).digest and not service.told

    question = question_of(contract, asked)
    larger = MixtureQuestion(question.form, question.values)
    object.__setattr__(larger, "values", question.values + 1)
    for given, named, shown, why in (
        (larger.to_bytes(), None, None, "must lie in"),
        (asked, "0" * 64, None, "another statistic"),
        (None, None, None, "another form"),
        (b"garbage", None, None, "not a statistic"),
    ):
        service = Asking(contract, private)
        device, fake = service.device(given, named, shown)
        assert not fake.sent and not device.begin().reports, why
        assert service.told[0].kind == "refused" and why in service.told[0].text


def test_a_round_of_counts_carries_no_question() -> None:
    made = counting()
    service = Asking(made)
    _, fake = service.device(b"anything")
    assert not fake.sent and "carries none" in service.told[0].text


def test_what_cannot_be_served_is_refused(tmp_path: Path) -> None:
    rewards = np.zeros((HORIZON, 3, 2))
    for promise, changes, why in (
        (Local(1.0), {}, "delta"),
        (Guarantee("joint", 1.0, 1e-6), {}, "trust local"),
        (None, {"rewards": None}, "--known"),
        (None, {"rewards": rewards + 2}, "in [0, 1]"),
        (None, {"rewards": rewards[:2]}, "shape"),
        (None, {"learner": "ucbvi"}, "--known"),
    ):
        with pytest.raises(InvalidInput, match=why.replace("[", r"\[")):
            founded(tmp_path, promise, **changes)
    with pytest.raises((FormatError, PrivacyError, ConfideError)):
        other = founded(tmp_path).contract()
        lying = {**other.document, "learner": {**other.document["learner"], "name": "ucbvi"}}
        RoundLearner(Contract.from_bytes(json.dumps(lying).encode()))
    assert Spec(3, 2, HORIZON) == other.design.question.spec


def test_what_is_known_comes_from_a_file_or_a_world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = tmp_path / "known.npz"
    phi = np.zeros((2, 2, 2, 2))  # two mixtures of two laws: stay, or change
    phi[0, :, 0, 0] = phi[1, :, 1, 0] = phi[0, :, 1, 1] = phi[1, :, 0, 1] = 1.0
    np.savez(known, rewards=np.full((3, 2, 2), 0.5), features=phi)
    words = [
        "--learner",
        "ucrl-vtr",
        "--trust",
        "local",
        "--epsilon",
        "4",
        "--delta",
        "1e-5",
        "--people",
        "40",
        "--json",
    ]
    assert run(["service", "new", str(tmp_path / "a"), "--known", str(known), *words]) == 0
    assert run(["service", "new", str(tmp_path / "b"), "--known", WORLD, "--horizon", "4", *words]) == 0
    first, second = (Folder(tmp_path / name).contract().design.question for name in "ab")
    assert (first.features.dimension, first.spec) == (2, Spec(2, 2, 3)) and second.spec == Spec(3, 2, 4)
    capsys.readouterr()
    np.savez(tmp_path / "other.npz", costs=np.zeros((3, 2, 2)))
    (tmp_path / "no.npz").write_bytes(b"nothing")
    for name, why in (("other.npz", "must hold rewards"), ("no.npz", "not an .npz"), ("riverswim/x", "riverswim")):
        where = name if "/" in name else str(tmp_path / name)
        assert run(["service", "new", str(tmp_path / "c"), "--known", where, *words]) == 2
        assert why in capsys.readouterr().err and not (tmp_path / "c").exists()
