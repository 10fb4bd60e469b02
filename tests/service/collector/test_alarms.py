"""A round that honest devices cannot have sent: an alarm, and the policy that was sound stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from confide.mdp import Spec, policies
from confide.privacy import Joint, Shuffle
from confide.protocol.design import Design
from confide.protocol.releases import Sum
from confide.service.collector.founding import make_service
from confide.service.collector.sources import IntermediaryClient
from confide.service.collector.store import CollectorStore, Group
from tests.service.collector.services import Service, folder_of, running
from tests.service.contract.example import contract, design, letter

PEOPLE = 600


def count(service: Service, start: int, hostile: bool) -> None:
    """A round of reports: honest ones name any category alike, as whole noise does; hostile ones all the same."""
    intake, made = service.collector.intake, service.contract
    assert intake is not None
    width = made.design.question.width
    arrivals = [intake.read(letter(made, start + one, 0 if hostile else one % width), 1) for one in range(PEOPLE // 3)]
    service.collector.store.count(arrivals)
    service.collector.closer.look()


def policy(service: Service) -> list[np.ndarray]:
    head = service.collector.publisher.current
    assert head is not None
    raw = service.collector.store.policy(head.head.policy)
    assert raw is not None
    return [one.probabilities for one in policies.from_bytes(raw, service.contract.design.question.spec)]


@pytest.mark.parametrize("first", [True, False])
def test_an_alarm_keeps_what_was_learned_before_it(tmp_path: Path, first: bool) -> None:
    made = contract(design(people=PEOPLE, rounds=3))
    with running(folder_of(tmp_path / "tea", made)) as service:
        count(service, 0, hostile=first)
        service.until_round(2)
        after_first = policy(service)
        count(service, PEOPLE, hostile=not first)
        service.until_round(3)
        raised = service.collector.store.alarm()
        assert raised is not None and raised[0] == (1 if first else 2) and "category 0 of row 0" in raised[1]
        assert np.array_equal(policy(service), after_first)
        assert first == bool(np.allclose(after_first[0], 0.5)), "chance, where no round was sound"
        page = service.get("/metrics")[1].decode()
        assert f"confide_alarm {1.0 if first else 2.0}" in page


def test_sound_rounds_raise_none(tmp_path: Path) -> None:
    made = contract(design(people=PEOPLE, rounds=3))
    with running(folder_of(tmp_path / "tea", made)) as service:
        for number in range(2):
            count(service, number * PEOPLE, hostile=False)
            service.until_round(number + 2)
        assert service.collector.store.alarm() is None and "confide_alarm 0.0" in service.get("/metrics")[1].decode()


def extreme(many: int, made: Design) -> bytes:
    """The sum of a batch of which everybody sent ones only, or, if nobody did, what flips of empty reports are on average."""
    total, device = Sum.empty(made), made.devices[0]
    total.people[0] = PEOPLE
    noise = device.flip * made.question.trials
    total.cells[0] = many * made.question.trials + (PEOPLE - many) * noise
    return total.to_bytes()


def test_a_shuffled_batch_is_judged_by_its_sum(tmp_path: Path) -> None:
    folder = make_service(
        tmp_path / "tea", Spec(2, 2, 3), Shuffle(1.0, 1e-6), PEOPLE, batch=PEOPLE, window=2.0, mechanism="shuffled-bits"
    )
    made = folder.contract()
    source = IntermediaryClient(CollectorStore(folder.database, made), "http://127.0.0.1:1", b"")
    assert source.alarm(1, [Group(b"", extreme(0, made.design))]) is None
    raised = source.alarm(2, [Group(b"", extreme(PEOPLE // 2, made.design))])
    assert raised is not None and raised.round == 2 and raised.sound


def test_a_curators_release_is_not_judged(tmp_path: Path) -> None:
    """It was handed episodes, and released noisy sums: whatever is in them could have been lived."""
    folder = make_service(tmp_path / "tea", Spec(2, 2, 3), Joint(1.0, 1e-6), PEOPLE, window=2.0)
    source = IntermediaryClient(CollectorStore(folder.database, folder.contract()), "http://127.0.0.1:1", b"")
    assert source.alarm(1, [Group(b"", b"")]) is None
