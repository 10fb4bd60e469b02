"""People who come again to a shuffler or a curator: in batches far enough apart, by their device and by their tokens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from confide.privacy.guarantee import JOINT, SHUFFLE
from confide.service.contract import Contract
from confide.service.device import Device, MemoryStore, Transport
from confide.service.http.connections import protocol
from confide.service.issuer.app import IssuerServer, application_of
from confide.service.issuer.folder import IssuerFolder
from confide.service.issuer.logins import SignedAssertions, assertion
from tests.service.collector.services import listening
from tests.service.issuer.issuers import LOGIN

from .offices import WINDOW
from .services import Pair, serving
from .slotted import KEYS, admitting

pytestmark = pytest.mark.service
SIZE = 5


def visit(pair: Pair, store: MemoryStore, name: str = "", issuer: str | None = None) -> int | None:
    """The batch of a visit that is reported; None if it is not."""
    credential = assertion(LOGIN, name) if name else None
    device = Device(
        Transport(pair.collector.url),
        pair.collector.contract,
        store=store,
        background=False,
        clock=pair.clock,
        credential=credential,
        issuer=issuer,
    )
    device.refresh()
    episode = device.begin()
    opened = store.read()["services"][pair.collector.url].get("open")
    episode.finish()
    pair.clock.now += WINDOW
    device.flush()
    return opened["batch"] if episode.reports and opened else None


def fill(pair: Pair, batch: int) -> None:
    """Issue what is left of a batch to others, who stay away, and close it."""
    office = pair.doors.manager
    while office.next_batch() == batch:
        office.issue([None])
    pair.close_batch(batch)


def test_a_device_comes_again_when_its_batches_are_far_enough_apart(tmp_path: Path) -> None:
    """Twice, three batches apart: not in the two batches between, and never a third time."""
    store = MemoryStore()
    with serving(tmp_path, admitting(JOINT, 2, 3)) as pair:
        found = []
        for batch in range(1, 7):
            found.append(visit(pair, store))
            if batch < 6:
                fill(pair, batch)
        assert found == [1, None, None, 4, None, None]


def test_a_device_takes_no_ticket_that_it_could_not_use(tmp_path: Path) -> None:
    store = MemoryStore()
    with serving(tmp_path, admitting(JOINT, 2, 3)) as pair:
        assert visit(pair, store) == 1
        issued = pair.doors.manager.store.desk().place
        assert visit(pair, store) is None and pair.doors.manager.store.desk().place == issued


def test_under_shuffle_a_person_is_in_a_batch_once(tmp_path: Path) -> None:
    store = MemoryStore()
    with serving(tmp_path, admitting(SHUFFLE, 2, 1)) as pair:
        assert [visit(pair, store), visit(pair, store)] == [1, None]


@contextlib.contextmanager
def issuing(path: Path, made: Contract) -> Iterator[str]:
    folder = IssuerFolder(path)
    folder.write(KEYS, made)
    server = IssuerServer(folder, SignedAssertions(folder.login_public()), rate=1e9)
    with listening(application_of(server), protocol(server.refused)) as url:
        yield url


def test_several_devices_of_one_person_stay_as_far_apart(tmp_path: Path) -> None:
    """By their tokens: of batches 1 to 6 in slots of two, one has batch 1 or 2 and then 5 or 6, with a device for each visit."""
    made = admitting(JOINT, 2, 3, KEYS)
    assert made.slots is not None and (made.slots.width, made.slots.gap, made.slots.many) == (2, 2, 3)
    with serving(tmp_path / "tea", made) as pair, issuing(tmp_path / "issuer", made) as url:
        found = []
        for batch in range(1, 7):
            found.append(visit(pair, MemoryStore(), "ada", url))
            if batch < 6:
                fill(pair, batch)
        assert found == [1, None, None, None, 5, None]
        assert visit(pair, MemoryStore(), "grace", url) == 6
