"""A witness is asked for every round that a device follows: the current one, one it holds, and one that a ticket names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from confide.service.device import Device, FileStore, MemoryStore, Notice
from tests.service.intermediary.offices import contract_of, joint_design, shuffle_design

from .services import Fake, serving

COMMON, ALONE = 1, 0
"""What everybody's policy does, and what the one that is shown to one device alone does."""


@pytest.fixture(params=["joint", "shuffle"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Fake, Fake]]:
    """A service that issues tickets, and a witness; both know round 1."""
    made = contract_of(joint_design() if request.param == "joint" else shuffle_design(8, 2))
    with serving(made) as service, serving(made) as witness:
        service.pages["/v1/intermediary"] = json.dumps({"address": service.url}).encode()
        for each in (service, witness):
            each.open_round(1, COMMON)
        service.ticket_round = 1
        yield service, witness


def join(service: Fake, witness: Fake | None, notices: list[Notice], store: FileStore | None = None) -> Device:
    return Device.join(
        service.url,
        store=store or MemoryStore(),
        listener=notices.append,
        witness=witness and witness.url,
        background=False,
    )


@pytest.mark.parametrize("current", [1, 2, 3])
def test_a_ticket_leads_nobody_to_a_policy_of_their_own(pair: tuple[Fake, Fake], current: int) -> None:
    """The ticket names round 2, of which this device alone is shown another; whatever round is said to be the current one."""
    service, witness = pair
    notices: list[Notice] = []
    device = join(service, witness, notices)
    witness.open_round(2, COMMON)
    service.open_round(2, ALONE)
    if current == 1:
        service.pages["/v1/rounds/current"] = service.pages["/v1/rounds/1"]
    if current == 3:
        signed = service.open_round(3, COMMON)
        witness.pages["/v1/rounds/3"] = signed.to_json()
    service.ticket_round = 2
    episode = device.begin()
    assert episode.act(0) == COMMON and not episode.reports
    assert notices[-1].kind == "refused" and "witness knows another head of round 2" in notices[-1].text
    assert device.store.read()["spent"] == []  # nothing was spent, so an honest ticket may be taken another time
    service.ticket_round = 1
    assert device.begin().reports


def test_a_tickets_round_that_the_witness_knows_is_followed(pair: tuple[Fake, Fake]) -> None:
    service, witness = pair
    device = join(service, witness, [])
    signed = service.open_round(2, ALONE)
    witness.pages["/v1/rounds/2"] = signed.to_json()
    service.pages["/v1/rounds/current"] = service.pages["/v1/rounds/1"]
    service.ticket_round = 2
    episode = device.begin()
    assert episode.act(0) == ALONE and episode.reports and episode.followed == 2


def test_a_round_that_is_held_is_compared_again(pair: tuple[Fake, Fake], tmp_path: Path) -> None:
    """It was fetched while the witness did not answer, or there was none; once there is one it is followed no more."""
    service, witness = pair
    service.heads.clear()
    service.open_round(1, ALONE)
    notices: list[Notice] = []
    first = join(service, None, notices, FileStore(tmp_path))
    assert first.refresh() and notices == []
    later = join(service, witness, notices, FileStore(tmp_path))
    episode = later.begin()
    assert not episode.reports and episode.followed == 0 and notices[0].kind == "refused"
