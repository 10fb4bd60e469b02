"""A device remembers the highest signed head it saw, across restarts: what is shown later must follow from it, or is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from confide.service.contract import SignedHead
from confide.service.device import Device, FileStore, MemoryStore, Notice
from tests.service.contract.example import PRIVATE, contract
from tests.service.intermediary.offices import contract_of, joint_design

from .services import Fake, serving


@pytest.fixture
def service() -> Iterator[Fake]:
    with serving(contract()) as fake:
        fake.open_round(1)
        yield fake


def join(service: Fake, store: FileStore | MemoryStore, notices: list[Notice], witness: str | None = None) -> Device:
    return Device.join(service.url, store=store, listener=notices.append, background=False, witness=witness)


def restored(service: Fake, number: int) -> None:
    """Everything is put back to a round; what comes after is about other people."""
    del service.heads[number:]
    service.pages["/v1/rounds/current"] = service.heads[-1].to_json()
    for later in range(number + 1, 20):
        service.pages.pop(f"/v1/rounds/{later}", None)


def refuses(device: Device, notices: list[Notice], words: str) -> bool:
    return not device.refresh() and notices[-1].kind == "refused" and words in notices[-1].text


def proved(device: Device, service: Fake) -> list[int]:
    """The rounds of the two heads, which anyone can check with the contract's key."""
    heads = [SignedHead.from_json(text.encode(), service.contract.key) for text in device.proof]
    assert len({head.digest for head in heads}) == len(heads)
    return [head.head.round for head in heads]


def test_it_remembers_the_highest_across_restarts(service: Fake, tmp_path: Path) -> None:
    notices: list[Notice] = []
    for number in (2, 3):
        service.open_round(number)
        assert join(service, FileStore(tmp_path), notices).refresh()
    restored(service, 1)
    again = join(service, FileStore(tmp_path), notices)
    assert refuses(again, notices, "went back from round 3 to round 1") and proved(again, service) == [3, 1]
    service.open_round(2, people=7)
    assert refuses(join(service, FileStore(tmp_path), notices), notices, "went back from round 3 to round 2")
    service.open_round(3, people=9)
    assert refuses(again, notices, "two different heads of round 3") and proved(again, service) == [3, 3]
    service.open_round(4)
    assert refuses(again, notices, "does not follow")
    service.open_round(5)  # two beyond: what lies in between is read
    last = join(service, FileStore(tmp_path), notices)
    assert refuses(last, notices, "does not follow") and proved(last, service) == [3, 3]
    assert last.begin().act(0) == 1 and last.begin().followed == 3  # the last policy that was good


def test_rounds_that_were_missed_are_followed_one_by_one(service: Fake) -> None:
    notices: list[Notice] = []
    device = join(service, MemoryStore(), notices)
    for number in (2, 3, 4, 5):
        service.open_round(number)
    assert device.refresh() and device.begin().followed == 5 and device.proof == []
    for number in (6, 7):
        service.open_round(number)
    service.pages["/v1/rounds/6"] = service.pages["/v1/rounds/5"]
    assert refuses(device, notices, "another round than 6")


def test_a_new_contract_has_a_chain_of_its_own_and_the_old_one_is_not_forgotten(service: Fake, tmp_path: Path) -> None:
    notices: list[Notice] = []
    service.open_round(2)
    join(service, FileStore(tmp_path), notices)
    (seen,) = json.loads((tmp_path / "device.json").read_text())["services"].values()
    assert list(seen["seen"]) == [service.contract.pin]
    document = json.loads((tmp_path / "device.json").read_text())
    document["services"][service.url]["head"] = None  # what joining another contract, or a witness, leaves
    (tmp_path / "device.json").write_text(json.dumps(document))
    restored(service, 1)
    assert refuses(join(service, FileStore(tmp_path), notices), notices, "went back from round 2")


def test_a_witness_that_saw_more_is_believed(service: Fake) -> None:
    """A device that is new knows nothing of before; a witness does."""
    notices: list[Notice] = []
    with serving(service.contract) as witness:
        witness.open_round(1)
        witness.open_round(2)
        device = join(service, MemoryStore(), notices, witness.url)
        assert refuses(device, notices, "witness has seen round 2, and the service shows 1")
        assert not device.begin().reports
        service.open_round(2)
        assert device.refresh()


def test_a_ticket_names_no_round_that_the_highest_does_not_follow_from() -> None:
    made = contract_of(joint_design())
    notices: list[Notice] = []
    with serving(made) as service:
        service.pages["/v1/intermediary"] = json.dumps({"address": service.url}).encode()
        for number in (1, 2, 3):
            service.open_round(number)
        device = join(service, MemoryStore(), notices)
        good = service.pages["/v1/rounds/2"]
        other = SignedHead.signed(replace(service.heads[1].head, people=3), PRIVATE)
        service.pages["/v1/rounds/2"] = other.to_json()
        service.ticket_round = 2
        assert not device.begin().reports and "does not follow" in notices[-1].text
        service.pages["/v1/rounds/2"] = good
        assert device.begin().reports
