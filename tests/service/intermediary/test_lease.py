"""One of several processes on a database serves: it renews a lease, and another takes over when it does not."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from confide.lab.staging.processes import Process
from confide.mdp import Spec
from confide.privacy import Guarantee, Schedule
from confide.service.collector.founding import make_service
from confide.service.contract.exchange import PeerHeads
from confide.service.device import Device, MemoryStore, Transport
from confide.service.device.transport import Unreachable
from confide.service.intermediary.leasing import LEASE, LeaseKeeper
from confide.service.intermediary.store import BatchStore, NotYet, Superseded
from tests.service.intermediary.test_curator_child import children
from tools.postgres import new_database

from .offices import (
    DEADLINE,
    PATIENCE,
    SetClock,
    confirm,
    contract_of,
    episode,
    hand_over,
    joint_design,
    office_of,
    tickets,
)


class Two:
    """Two intermediaries on one database, and the clock by which each waits for the other."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(BatchStore, "alone", False)
        made, self.clock, self.waited = contract_of(joint_design()), SetClock(), SetClock(0.0)
        self.offices = [office_of(path, made, self.clock, begin=False) for _ in range(2)]
        for number, office in enumerate(self.offices):
            office.address = f"http://127.0.0.1:{number}"
        self.keepers = [LeaseKeeper(office, self.waited) for office in self.offices]

    def holders(self) -> list[bool]:
        return [office.holds for office in self.offices]


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Two:
    return Two(tmp_path, monkeypatch)


def test_one_holds_it_as_long_as_it_is_renewed(two: Two) -> None:
    first, second = two.keepers
    first.step()
    for _ in range(10):
        second.step()
        two.waited.now += LEASE / 2
        first.step()
    assert two.holders() == [True, False] and two.offices[0].epoch == 1
    waiting = two.offices[1]
    assert waiting.exchange(PeerHeads()) == PeerHeads(holder="http://127.0.0.1:0")
    with pytest.raises(NotYet):
        waiting.issue([None])


def test_one_that_is_not_renewed_is_taken_over_and_the_frozen_one_does_no_harm(two: Two) -> None:
    first, second = two.keepers
    first.step()
    confirm(two.offices[0])
    for ticket in tickets(two.offices[0], 5):
        hand_over(two.offices[0], ticket, episode(ticket.place))
    second.step()
    two.waited.now += LEASE - 0.01
    second.step()
    assert two.holders() == [True, False]
    two.waited.now += 0.02
    second.step()
    assert two.holders() == [True, True] and [office.epoch for office in two.offices] == [1, 2]
    two.clock.now += DEADLINE + PATIENCE
    with pytest.raises(Superseded):  # it wakes up, and finds out before it changes anything
        two.offices[0].step()
    assert two.holders() == [False, True] and two.offices[0].store.newest() is None
    assert not two.offices[0].confirmed and not two.offices[0]._seen and not two.offices[0].open_batches._sums


def test_a_process_that_was_taken_over_can_serve_again(two: Two) -> None:
    first, second = two.keepers
    first.step()
    second.step()
    two.waited.now += LEASE + 1
    second.step()
    with pytest.raises(Superseded):
        first.step()
    first.step()
    assert two.holders() == [False, True]
    second._manager.store.renew("")  # it lets go
    first.step()
    assert two.offices[0].holds and two.offices[0].epoch == 3


def test_whoever_renews_in_time_keeps_it_though_another_was_about_to_take_it(two: Two) -> None:
    """What was seen of the lease is compared when it is taken."""
    first, second = two.keepers
    first.step()
    seen = two.offices[1].store.lease()
    first.step()
    assert not two.offices[1].begin(seen) and two.holders() == [True, False]
    second.step()


def test_while_the_store_does_not_answer_no_time_passes(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = two.keepers
    first.step()
    second.step()
    second._seen = None  # what a failed look leaves
    two.waited.now += LEASE + 1
    second.step()
    assert two.holders() == [True, False]


def soon(what: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.1)


def ready(url: str) -> bool:
    try:
        return Transport(url, 5.0).get("/readyz").status == 200
    except Unreachable:
        return False


def curator_of(url: str) -> str:
    return str(json.loads(Transport(url, 5.0).get("/v1/intermediary").body)["address"])


def issues(url: str) -> bool:
    try:
        return Transport(url, 5.0).post("/v1/tickets", b"", "text/plain").status == 201
    except Unreachable:
        return False


@pytest.mark.service
@pytest.mark.postgres
def test_two_collectors_of_a_joint_contract_have_one_curator(tmp_path: Path, postgres: str) -> None:
    """Both are ready and name the same curator, which issues tickets; when it is frozen or killed the other takes over."""
    between: dict[str, Any] = {"deadline": 1.0, "publication": 0.1, "patience": 1.0}
    promise, schedule, database = Guarantee("joint", 1.0, 1e-6), Schedule.batches(40, 2), new_database(postgres)
    folder = make_service(tmp_path / "0", Spec(3, 2, 4), promise, 40, schedule=schedule, window=0.5, between=between)
    shutil.copytree(folder.path, tmp_path / "1")
    services = [Process(tmp_path / name, database=database) for name in ("0", "1")]
    stopped: list[int] = []
    try:
        for service in services:
            service.start(120)
        first = curator_of(services[0].url)
        assert curator_of(services[1].url) == first and issues(first)
        device = Device.join(services[1].url, store=MemoryStore(), background=False)
        assert device.begin().reports
        (child,) = children(services[0].pid)
        os.kill(child, signal.SIGSTOP)
        stopped.append(child)
        soon(lambda: not ready(services[0].url))  # it says so, while its curator does not answer
        soon(lambda: ready(services[1].url) and curator_of(services[1].url) != first)
        second = curator_of(services[1].url)
        soon(lambda: issues(second))
        device = Device.join(services[1].url, store=MemoryStore(), background=False)
        assert device.begin().reports
        os.kill(child, signal.SIGCONT)
        stopped.clear()
        soon(lambda: ready(services[0].url) and curator_of(services[0].url) == second)
        assert not issues(first)
        os.kill(children(services[1].pid)[0], signal.SIGKILL)
        soon(lambda: issues(curator_of(services[0].url)))
        soon(lambda: all(ready(service.url) for service in services))
        assert len({curator_of(service.url) for service in services}) == 1
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        for service in services:
            service.stop()
