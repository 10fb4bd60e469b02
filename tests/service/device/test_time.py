"""When a device comes back, and when it sends: every call ends in time; clocks may be wrong; the window holds whatever happens."""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from confide.service.device import Device, FileStore, MemoryStore
from confide.service.device import store as stores
from confide.service.device.sending import steady_clock
from confide.service.device.transport import Transport, Unreachable, within
from tests.service.contract.example import contract
from tests.service.intermediary.offices import contract_of, joint_design

from .services import Fake, serving

TIMEOUT, LIMIT = 0.3, 3.0
"""What a device is given, and when a test gives up: others may be busy, but an answer of 3,000 bytes drips for a minute."""
DRIP = 0.02
WINDOW = 1000.0


def seconds(work: Callable[[], Any]) -> float:
    """How long something takes, or `LIMIT` if it has not come back by then."""
    began = time.monotonic()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(LIMIT)
    return time.monotonic() - began


@pytest.fixture
def fake() -> Iterator[Fake]:
    with serving(contract()) as instance:
        instance.open_round(1)
        yield instance


def joined(fake: Fake, store: Any = None, **given: Any) -> Device:
    return Device.join(fake.url, store=store or MemoryStore(), background=False, **{"timeout": TIMEOUT, **given})


def test_joining_a_service_that_drips_ends_in_time(fake: Fake) -> None:
    fake.drip = DRIP
    results: list[Device] = []
    assert seconds(lambda: results.append(joined(fake))) < LIMIT
    assert results[0].contract is None and results[0].begin().act(0) == 0


def test_a_request_that_has_no_time_left_leaves_no_connection_open(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    left_open: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda given: left_open.append(given.object))
    transport = Transport(fake.url, keep=True)
    assert transport.get("/v1/contract").status == 200
    with pytest.raises(Unreachable), within(0.0):
        transport.get("/v1/contract")
    transport.close()
    del transport
    gc.collect()
    assert not left_open


def test_every_call_ends_in_time(fake: Fake) -> None:
    """Refreshing, beginning, finishing and sending, by a service that was quick when it was joined."""
    device = joined(fake)
    fake.drip = DRIP
    fake.open_round(2)
    assert seconds(device.refresh) < LIMIT
    episodes: list[Any] = []
    assert seconds(lambda: episodes.append(device.begin())) < LIMIT
    assert seconds(episodes[0].finish) < LIMIT
    assert seconds(device.flush) < LIMIT
    assert seconds(lambda: joined(fake, device.store)) < LIMIT
    assert len(fake.sent) == 1 and device.store.read()["services"][fake.url]["letter"] is not None


def test_a_witness_that_drips_holds_nobody_up(fake: Fake) -> None:
    with serving(fake.contract) as witness:
        witness.open_round(1)
        witness.drip = DRIP
        results: list[Device] = []
        assert seconds(lambda: results.append(joined(fake, witness=witness.url, timeout=1.5))) < LIMIT
        assert results[0].begin().act(0) == 1  # the policy came all the same


def test_a_ticket_that_drips_is_none(tmp_path: Path) -> None:
    made = contract_of(joint_design())
    with serving(made) as fake, serving(made) as curator:
        fake.open_round(1)
        fake.pages["/v1/intermediary"] = json.dumps({"address": curator.url}).encode()
        curator.ticket_round, curator.drip = 1, DRIP
        store = FileStore(tmp_path)
        device = joined(fake, store)
        assert seconds(device.begin) < LIMIT
        assert store.read()["spent"] == []


def test_several_requests_share_one_deadline(fake: Fake) -> None:
    """Each of four is answered just in time; together they are not."""
    slow = [0]
    plain = fake.pages

    class Slow(dict[str, bytes]):
        def get(self, path: str, default: bytes = b"") -> bytes:  # type: ignore[override]
            slow[0] += 1
            time.sleep(0.7 * TIMEOUT)
            return plain.get(path, default)

    fake.pages = Slow(plain)
    began = time.monotonic()
    device = joined(fake)
    assert slow[0] == 2 and time.monotonic() - began < 4 * TIMEOUT
    assert device.contract is not None and device.store.read()["services"][fake.url]["head"] is None


def test_a_process_that_hangs_on_the_memory_holds_nobody_up(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be remembered is not spent; and when it lets go a report is."""
    monkeypatch.setattr(stores, "PATIENCE", TIMEOUT)
    device = joined(fake, FileStore(tmp_path))
    with FileStore(tmp_path).changing():
        episodes: list[Any] = []
        assert seconds(lambda: episodes.append(device.begin())) < LIMIT
        assert episodes[0].act(0) in (0, 1) and not episodes[0].reports
        assert seconds(lambda: joined(fake, FileStore(tmp_path))) < LIMIT
    assert fake.sent == [] and device.begin().reports


def test_requests_that_were_given_up_end() -> None:
    """The thread of a request does not read on: its socket is shut."""
    with serving(contract()) as fake:
        fake.drip = DRIP
        joined(fake)
        until = time.monotonic() + LIMIT
        left = lambda: [one for one in threading.enumerate() if one.name == "confide-request"]  # noqa: E731
        while left() and time.monotonic() < until:
            time.sleep(0.01)
        assert left() == []


def timed(fake: Fake, store: Any, now: list[float]) -> Device:
    """A device in a process of its own, by a clock that a test moves."""
    transport = Device.join(fake.url, store=MemoryStore(), background=False).transport
    device = Device(transport, fake.contract, store=store, background=False, clock=lambda: now[0])
    device.refresh()
    return device


@pytest.fixture
def windowed() -> Iterator[Fake]:
    with serving(contract(window=WINDOW)) as instance:
        instance.open_round(1)
        yield instance


def memory(fake: Fake, store: Any) -> dict[str, Any]:
    result: dict[str, Any] = store.read()["services"][fake.url]
    return result


def test_a_report_is_sent_at_the_time_that_was_drawn_before_the_episode(windowed: Fake) -> None:
    """Not when the episode ends, nor at a time drawn then."""
    for _ in range(5):
        store, now = MemoryStore(), [1e9]
        device = timed(windowed, store, now)
        windowed.sent.clear()
        episode = device.begin()
        due = memory(windowed, store)["open"]["due"]
        assert 1e9 <= due < 1e9 + WINDOW
        now[0] = 1e9 + 0.5 * (due - 1e9)
        episode.act(0)
        episode.observe(1.0, 0)
        episode.finish()
        assert memory(windowed, store)["letter"]["due"] == due
        now[0] = due - 1e-3
        assert not device.flush() and windowed.sent == []
        now[0] = due + 1e-3
        assert device.flush() and len(windowed.sent) == 1


@pytest.mark.parametrize("finished", [True, False])
def test_a_clock_that_was_ahead_delays_a_report_by_one_window_at_most(windowed: Fake, finished: bool) -> None:
    """It was a year ahead when the episode began, and is put right before the next visit."""
    store, now = MemoryStore(), [1e9 + 3e7]
    episode = timed(windowed, store, now).begin()
    if finished:
        episode.finish()
    else:
        store._held.clear()  # its process has ended
    now[0] = 1e9
    device = timed(windowed, store, now)
    assert device.flush() is not finished and windowed.sent == []
    waiting = memory(windowed, store)["letter" if finished else "open"]
    assert 1e9 <= waiting["due"] <= 1e9 + WINDOW
    now[0] += WINDOW
    assert device.flush() and len(windowed.sent) == 1


def test_a_clock_that_was_ahead_when_sending_failed_delays_it_by_hours_at_most(fake: Fake) -> None:
    fake.answers = [503]
    store, now = MemoryStore(), [1e9 + 3e7]
    timed(fake, store, now).begin().finish()
    now[0] = 1e9
    assert timed(fake, store, now).flush() and len(fake.sent) == 2


def test_a_devices_own_clock_is_not_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = steady_clock()
    before = clock()
    assert abs(before - time.time()) < 1
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert before <= clock() < before + 60


def test_an_episode_that_goes_on_in_another_process_is_not_replaced_by_an_empty_one(fake: Fake, tmp_path: Path) -> None:
    """Whenever the second comes; but once the first has ended without a report, the second sends the empty one."""
    now = [1e9]
    first, second = (timed(fake, FileStore(tmp_path), now) for _ in range(2))
    episode = first.begin()
    now[0] += 1e6
    assert second.flush() and fake.sent == [] and second._next() == now[0] + 60
    episode.finish()
    assert len(fake.sent) == 1 and second._next() is None
    assert [path.name for path in tmp_path.glob("episode-*")] == []


def test_a_second_process_reports_what_the_first_left_behind(fake: Fake, tmp_path: Path) -> None:
    now = [1e9]
    first, second = (timed(fake, FileStore(tmp_path), now) for _ in range(2))
    first.begin()
    first._held.clear()  # as the end of its process
    assert second.flush() and len(fake.sent) == 1
    assert [path.name for path in tmp_path.glob("episode-*")] == []
