"""A service whose devices are asked about pairs: it learns from their reports as from any others."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from confide.data.privatizers import respond
from confide.data.trajectories import Trajectory
from confide.errors import ConfideError, FormatError
from confide.learning.learners import state_bytes
from confide.mdp import Spec
from confide.mechanisms.noise import LightNoise
from confide.privacy import Local, Schedule
from confide.protocol.accepted import row_of, rows_in_pages
from confide.protocol.defaults import ONE_IN
from confide.protocol.kinds.question import asked_by
from confide.protocol.releases import Report, Sum, release_bytes
from confide.service.collector import alarms
from confide.service.collector.founding import make_service
from confide.service.collector.learning import RoundLearner
from confide.service.contract.encoding import to_base64
from confide.service.contract.heads import Head
from confide.service.contract.uploads import Upload
from confide.service.device import Device, following
from confide.service.device.messages import message
from confide.service.device.store import MemoryStore
from confide.service.device.transport import HttpAnswer

from .services import Service, running


def test_a_round_of_asked_pairs_is_learned_from(tmp_path: Path) -> None:
    spec, people = Spec(2, 2, 3), 40
    contract = make_service(tmp_path / "tea", spec, Local(epsilon=2.0), people, mechanism="asked-k-ary").contract()
    design, school = contract.design, RoundLearner(contract)
    assert design.question.kind == "asked_return"
    state, total, _, _, asked = school.begin()
    luck, received = np.random.default_rng(0), Sum.empty(design)
    for _ in range(people):
        walk = Trajectory(luck.integers(2, size=4), luck.integers(2, size=3), luck.integers(2, size=3).astype(float))
        received.add(respond(design, None, walk, LightNoise()))
    after, _, _, expected, release, then = school.learn(state, total, [(b"", received.to_bytes())])
    decoded = release_bytes.from_bytes(release)
    assert decoded.returned is not None and not decoded.complete
    assert decoded.counts.people.sum() + decoded.returned.people == people
    assert state_bytes.from_bytes(after, school.learner).users == people
    assert len(expected) == 8 * 4
    first, second = (design.question.from_bytes_of_member(data).law for data in (asked, then))
    assert first.min() > 0 and second.min() > 0 and not np.array_equal(first, second)


def test_by_default_pairs_are_asked_about_where_that_pays(tmp_path: Path) -> None:
    """Devices in browsers know both; pages cannot answer under a budget, which is never chosen for them."""
    contract = make_service(tmp_path / "tea", Spec(6, 2, 20), Local(epsilon=1.0), 100).contract()
    assert contract.design.question.kind == "asked_return" and contract.design.mechanism.encoding == "subset"
    assert contract.document["question"]["one_in"] == contract.design.question.one_in == ONE_IN
    assert row_of(contract.design) in rows_in_pages()


class Showing:
    """Shows the same bytes, whatever is asked for."""

    url = "http://127.0.0.1:1"

    def __init__(self, data: bytes) -> None:
        self.data = data

    def get(self, path: str) -> HttpAnswer:
        return HttpAnswer(200, None, self.data)


def asked_in(service: Service, head: Head) -> np.ndarray:
    """The law that a round carries."""
    assert head.question is not None
    data = service.collector.store.question(head.question)
    return service.collector.contract.design.question.from_bytes_of_member(data).law


def test_rounds_sign_a_law_that_follows_the_policy_and_devices_draw_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarms, "DOUBTS", 1e-9)  # or one round in fifty would wait, by chance
    schedule = Schedule.batches(90, 3)
    folder = make_service(
        tmp_path / "tea", Spec(3, 2, 4), Local(epsilon=8.0), 90, mechanism="asked-k-ary", schedule=schedule
    )
    with running(folder) as service:
        laws = []
        for number in (1, 2):
            service.until_round(number)
            head = service.collector.publisher.current.head
            laws.append(asked_in(service, head))
            for one in range(30):
                device = Device.join(service.url, pin=folder.contract().pin, store=MemoryStore(), background=False)
                episode = device.begin()
                for state in (0, 1, 1, 2):
                    episode.act(state)
                    episode.observe(one % 2, 1)
                episode.finish()
                assert device.flush()
        service.until_round(3)
        assert not np.array_equal(*laws)
        release = release_bytes.from_bytes(service.collector.store.release(2))
        assert release.returned is not None
        asked = np.append(release.counts.people, release.returned.people)
        assert asked.sum() == 60
        chances = [law / law.sum() for law in laws]
        expected = 30 * (chances[0] + chances[1])
        # Bernstein, for each of 6 pairs and the return: a false alarm of 1e-6 in all.
        log = np.log(14e6)
        assert (np.abs(asked - expected) < log / 3 + np.sqrt(2 * expected * log) + log).all()


def test_a_device_draws_its_pair_by_the_law_of_its_round(tmp_path: Path) -> None:
    """Of a law with one pair a device tells of that pair alone, or of the return."""
    contract = make_service(tmp_path / "tea", Spec(6, 2, 20), Local(epsilon=1.0), 100).contract()
    family = contract.design.question
    law = replace(family, weights=family.law_about(np.eye(12, dtype=np.int64)[7])).law_bytes()
    opened = {"token": "00" * 16, "round": 1, "question": to_base64(law)}
    walk = Trajectory(np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros(2))
    for _ in range(8):
        letter = Upload.from_bytes(message(contract, opened, walk, None))
        assert Report.from_bytes(letter.report, contract.design).row in (7, 12)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda good: good[:20] + bytes(len(good) - 20),
        lambda good: good[:20] + b"\xff" * (len(good) - 20),
        lambda good: good[:20] + (-1).to_bytes(8, "little", signed=True) + (9).to_bytes(8, "little") + good[36:],
        lambda good: good[:-8],
        lambda good: good[:-8] + (13).to_bytes(8, "little"),
        lambda good: b"cfa2" + good[4:],
        lambda good: b"",
    ],
)
def test_a_hostile_law_is_refused_by_devices(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    """Signed or not: a law is whole numbers, none negative, not all zero."""
    contract = make_service(tmp_path / "tea", Spec(6, 2, 20), Local(epsilon=1.0), 100).contract()
    family = contract.design.question
    good = family.member_for(family.counts).law_bytes()
    assert asked_by(family, good).law.tolist() == [9] * 12 + [12]
    data = spoil(good)

    signed = Head("00", 1, "00", "00", None, 0, False, None, hashlib.sha256(data).hexdigest())
    with pytest.raises(ConfideError):
        asked_by(family, data)
    with pytest.raises(ConfideError):
        following.asked(Showing(data), contract, signed)


def test_a_law_that_was_not_signed_is_refused(tmp_path: Path) -> None:
    contract = make_service(tmp_path / "tea", Spec(6, 2, 20), Local(epsilon=1.0), 100).contract()
    good = contract.design.question.law_bytes()

    signed = Head("00", 1, "00", "00", None, 0, False, None, hashlib.sha256(good + b"0").hexdigest())
    with pytest.raises(FormatError, match="signed"):
        following.asked(Showing(good), contract, signed)
