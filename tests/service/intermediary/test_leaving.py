"""An application that ends before its report is due: what it hands over, and what its next run sends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from confide.service.contract import sealed
from confide.service.contract.encoding import from_base64
from confide.service.device import Device, FileStore, MemoryStore, Transport
from confide.service.device.store import DeviceStore
from tests.service.collector.services import wait_for

from .offices import BETWEEN, contract_of, joint_design, shuffle_design
from .services import Pair, serving

pytestmark = pytest.mark.service
BATCH = 8


@pytest.fixture(params=["joint", "shuffle"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    design = joint_design(BATCH, 2) if request.param == "joint" else shuffle_design(BATCH, 2)
    with serving(tmp_path, contract_of(design, sealing=sealed.public_key(BETWEEN))) as instance:
        yield instance


def device_of(pair: Pair, store: DeviceStore) -> Device:
    device = Device(
        Transport(pair.collector.url), pair.collector.contract, store=store, background=False, clock=pair.clock
    )
    device.refresh()
    return device


def memory_of(pair: Pair, store: MemoryStore) -> Any:
    return store.read()["services"][pair.collector.url]


def held(pair: Pair) -> list[sealed.SealedUpload]:
    """What is held sealed, and not opened yet."""
    office = pair.doors.manager
    assert office._held is not None
    return [one.upload for batch in office._held._held.values() for one in batch.values()]


def version(body: str) -> int:
    return sealed.read(from_base64(body)[64:]).version


def test_an_application_that_ends_leaves_its_upload_which_is_opened_at_its_time(pair: Pair) -> None:
    store = MemoryStore()
    device = device_of(pair, store)
    episode = device.begin()
    due = memory_of(pair, store)["open"]["due"]
    episode.act(0)
    episode.observe(1.0, 1)
    assert held(pair) == []
    device.leave()
    (upload,) = held(pair)
    assert upload.opens == round(1000 * due) and 1 not in {b for b, s in pair.doors.manager._seen.items() if any(s)}
    pair.clock.now = due + 0.001
    wait_for(lambda: pair.doors.manager._seen[1][0] == 1)
    assert held(pair) == [] and pair.doors.manager.unreadable == 0


def test_the_next_run_sends_the_same_bytes(pair: Pair) -> None:
    """Also where the process that took them forgot, and had no copy."""
    store = MemoryStore()
    device = device_of(pair, store)
    episode = device.begin()
    episode.act(0)
    episode.observe(1.0, 1)
    device.leave()
    first = memory_of(pair, store)
    body = first["open"]["handed"] if first.get("open") else first["letter"]["body"]
    store._held.clear()  # the process ended
    pair.doors.manager.begin()
    wait_for(lambda: pair.doors.manager.confirmed)
    again = device_of(pair, store)
    pair.clock.now += pair.collector.contract.window
    assert again.flush()
    assert memory_of(pair, store)["letter"]["body"] == body and version(body) == 1
    wait_for(lambda: pair.doors.manager._seen[1][0] == 1)


def test_a_sealed_episode_goes_on_and_a_report_is_over(pair: Pair) -> None:
    store = MemoryStore()
    device = device_of(pair, store)
    episode = device.begin()
    episode.act(0)
    episode.observe(1.0, 1)
    device.leave()
    (before,) = held(pair)
    episode.act(1)
    episode.observe(1.0, 2)
    device.leave()
    (after,) = held(pair)
    if pair.doors.role == "curator":
        assert (before.version, after.version) == (1, 2)
        episode.finish()
        assert version(memory_of(pair, store)["letter"]["body"]) == 3
        device.leave()
        assert held(pair)[0].version == 3
    else:
        assert before == after and memory_of(pair, store)["open"] is None
        episode.finish()
        assert held(pair) == [before]


def test_a_later_run_goes_on_with_an_episode_that_was_kept(tmp_path: Path) -> None:
    """Two days later: what a curator opens is one episode, all of it, once; and what was kept is gone with its report."""
    made = contract_of(joint_design(BATCH, 2), sealing=sealed.public_key(BETWEEN))
    with serving(tmp_path, made) as pair:
        store = MemoryStore()
        device = device_of(pair, store)
        episode = device.begin()
        done = episode.act(0)
        episode.observe(0.0, 1)
        device.leave(keep=True)
        assert memory_of(pair, store)["open"]["kept"] == {
            "states": [0],
            "actions": [done],
            "rewards": [0.0],
            "last": 1,
            "over": False,
        }
        assert device_of(pair, store).resume() is None, "it goes on in the first run"
        store._held.clear()  # which ended
        later = device_of(pair, store)
        resumed = later.resume()
        assert resumed is not None and resumed.token == episode.token and later.resume() is None
        resumed.act(1)
        resumed.observe(1.0, 2)
        assert resumed.lived().states.tolist() == [0, 1, 2] and resumed.lived().rewards.tolist() == [0.0, 1.0]
        later.leave(keep=True)
        (upload,) = held(pair)
        assert upload.version == 2
        resumed.finish()
        assert memory_of(pair, store)["open"] is None and later.resume() is None
        assert version(memory_of(pair, store)["letter"]["body"]) == 3
        later.leave()
        assert [one.version for one in held(pair)] == [3] and "kept" not in str(store.read())


def test_of_two_runs_that_begin_at_once_one_goes_on_with_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other does without, and waits for nothing. What an unknown state ended is over in a later run too; an action of which no
    outcome was observed gives way to the next."""
    made = contract_of(joint_design(BATCH, 2), sealing=sealed.public_key(BETWEEN))
    with serving(tmp_path / "service", made) as pair:
        store = FileStore(tmp_path / "device")
        device = device_of(pair, store)
        episode = device.begin()
        episode.act(0)
        episode.observe(0.0, 1)
        episode.act(1)
        device.leave(keep=True)
        device._held.pop(episode.token)()  # the process ended
        first, second, found = device_of(pair, store), device_of(pair, store), list[Any]()
        looked = store.is_held

        def late(token: str) -> bool:
            monkeypatch.setattr(store, "is_held", looked)
            found.append(first.resume())
            return False

        monkeypatch.setattr(store, "is_held", late)
        waiting = threading.Thread(target=lambda: found.append(second.resume()), daemon=True)
        waiting.start()
        waiting.join(20)
        assert len(found) == 2 and found[1] is None
        resumed = found[0]
        resumed.act(2)
        resumed.observe(1.0, 0)
        assert resumed.lived().states.tolist() == [0, 2, 0] and len(resumed.lived().actions) == 2
        resumed.act("nowhere")
        first.leave(keep=True)
        first._held.pop(episode.token)()
        again = device_of(pair, store).resume()
        assert again is not None
        again.act(1)
        again.observe(1.0, 1)
        assert again.lived().states.tolist() == [0, 2, 0]


def test_nothing_is_kept_unless_it_is_asked_for_and_nothing_is_resumed_when_it_is_due(pair: Pair) -> None:
    store = MemoryStore()
    device = device_of(pair, store)
    device.begin().act(0)
    device.leave()
    assert "kept" not in str(store.read())
    device.leave(keep=True)
    store._held.clear()
    pair.clock.now += pair.collector.contract.window
    assert device_of(pair, store).resume() is None


def test_who_never_left_and_crashed_sends_an_empty_episode_of_version_0(pair: Pair) -> None:
    store = MemoryStore()
    device = device_of(pair, store)
    device.begin().act(0)
    store._held.clear()
    again = device_of(pair, store)
    pair.clock.now += pair.collector.contract.window
    assert again.flush()
    assert version(memory_of(pair, store)["letter"]["body"]) == 0


def test_where_nothing_is_sealed_nothing_leaves_before_its_time(tmp_path: Path) -> None:
    with serving(tmp_path, contract_of(joint_design(BATCH, 2))) as pair:
        store = MemoryStore()
        device = device_of(pair, store)
        episode = device.begin()
        device.leave()
        episode.finish()
        device.leave()
        letter = memory_of(pair, store)["letter"]
        assert letter["epoch"] is None and letter["due"] > pair.clock.now
