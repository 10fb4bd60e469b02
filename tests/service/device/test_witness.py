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
"""What every user's policy does, and what the one that is shown to one device alone does."""


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


def test_a_witness_that_does_not_know_a_round_has_not_consented(pair: tuple[Fake, Fake], tmp_path: Path) -> None:
    """The service is ahead of the witness: the latest round that both know is followed, and no ticket is wasted."""
    service, witness = pair
    notices: list[Notice] = []
    service.open_round(2, ALONE)
    device = join(service, witness, notices, FileStore(tmp_path))
    service.ticket_round = 2
    episode = device.begin()
    assert (episode.act(0), episode.followed, episode.reports) == (COMMON, 1, False)
    assert notices[-1].kind == "offline" and "no ticket" in notices[-1].text
    witness.pages["/v1/rounds/2"] = witness.pages["/v1/rounds/current"] = service.pages["/v1/rounds/2"]
    again = join(service, witness, notices, FileStore(tmp_path)).begin()
    assert (again.act(0), again.followed, again.reports) == (ALONE, 2, True)


def test_a_witness_that_knows_nothing_has_not_consented(pair: tuple[Fake, Fake]) -> None:
    service, witness = pair
    for page in ("/v1/rounds/1", "/v1/rounds/current"):
        del witness.pages[page]
    notices: list[Notice] = []
    episode = join(service, witness, notices).begin()
    assert episode.followed == 0 and not episode.reports
    assert notices[0].kind == "refused" and "does not know round 1" in notices[0].text


def test_a_ticket_leads_nobody_to_a_round_that_the_witness_does_not_know(pair: tuple[Fake, Fake]) -> None:
    service, witness = pair
    notices: list[Notice] = []
    device = join(service, witness, notices)
    service.open_round(2, ALONE)
    service.pages["/v1/rounds/current"] = service.pages["/v1/rounds/1"]
    service.ticket_round = 2
    episode = device.begin()
    assert episode.act(0) == COMMON and not episode.reports and device.store.read()["spent"] == []
    assert notices[-1].kind == "refused" and "does not know round 2" in notices[-1].text


def test_a_witness_that_cannot_be_reached_is_asked_again(pair: tuple[Fake, Fake], tmp_path: Path) -> None:
    """Meanwhile the service is followed; what the witness does not know once it answers is followed no more."""
    service, witness = pair
    service.open_round(2, ALONE)
    notices: list[Notice] = []
    witness.status, service.ticket_round = 503, None
    device = join(service, witness, notices, FileStore(tmp_path))
    assert device.begin().followed == 2 and all(notice.kind == "offline" for notice in notices)
    witness.status = 200
    assert device.refresh()
    assert device.begin().followed == 1 and device.proof == []
    del witness.pages["/v1/rounds/current"]
    witness.pages.pop("/v1/rounds/1")
    assert not device.refresh() and notices[-1].kind == "refused"


def test_a_round_followed_while_the_witness_was_silent_is_dropped_if_it_knows_nothing_of_it(
    pair: tuple[Fake, Fake], tmp_path: Path
) -> None:
    service, witness = pair
    service.open_round(2, ALONE)
    witness.status, service.ticket_round = 503, None
    device = join(service, witness, [], FileStore(tmp_path))
    assert device.begin().followed == 2
    witness.status = 200
    witness.pages.clear()
    assert not device.refresh()
    assert device.begin().followed == 0 and device.proof == []


def test_a_witness_without_the_round_shows_two_stories_before_it(pair: tuple[Fake, Fake]) -> None:
    service, witness = pair
    service.heads.clear()
    service.open_round(1, ALONE)
    service.open_round(2, ALONE)
    notices: list[Notice] = []
    device = join(service, witness, notices)
    assert "witness knows another head of round 1" in notices[0].text and len(device.proof) == 2
    assert device.begin().followed == 0
