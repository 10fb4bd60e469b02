"""People who come again to a shuffler or a curator: in batches far enough apart, by their device and by their tokens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from confide.errors import ConfideError
from confide.privacy.guarantee import JOINT, SHUFFLE
from confide.service.contract import Contract, Intermediary, keys
from confide.service.contract.contract import keys_needed
from confide.service.contract.intermediary import ROLES
from confide.service.contract.tokens import TokenIssuer
from confide.service.device import Device, MemoryStore, Transport
from confide.service.http.connections import protocol
from confide.service.issuer.app import IssuedStore, IssuerServer, application_of
from confide.service.issuer.folder import IssuerFolder, IssuerKeys
from confide.service.issuer.logins import SignedAssertions, assertion
from tests.service.collector.services import listening
from tests.service.contract.example import contract
from tests.service.contract.test_slots import returning
from tests.service.issuer.issuers import LOGIN

from .offices import BETWEEN, DEADLINE, PATIENCE, PUBLICATION, WINDOW, SetClock, office_of
from .services import Pair, serving

pytestmark = pytest.mark.service
SIZE = 5


def admitting(trust: str, times: int, apart: int, issuer: IssuerKeys | None = None) -> Contract:
    design = returning(trust, times, apart)
    about = Intermediary(
        ROLES[trust],
        "Between Ltd",
        keys.public_key(BETWEEN),
        deadline=DEADLINE,
        publication=PUBLICATION,
        patience=PATIENCE,
    )
    entry = None if issuer is None else TokenIssuer("Doors Ltd", issuer.publics[0], None, issuer.publics[1:])
    return contract(design, window=WINDOW, intermediary=about, issuer=entry)


@pytest.fixture(scope="module")
def secrets() -> IssuerKeys:
    design = returning(JOINT, 2, 3)
    drawn = IssuerKeys.new(keys_needed(design))
    return IssuerKeys(drawn.pem, LOGIN, keys.public_key(LOGIN))


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
def issuing(path: Path, made: Contract, secrets: IssuerKeys) -> Iterator[str]:
    folder = IssuerFolder(path)
    folder.write(secrets, made)
    server = IssuerServer(folder, SignedAssertions(folder.login_public()), rate=1e9)
    with listening(application_of(server), protocol(server.refused)) as url:
        yield url


def test_several_devices_of_one_person_stay_as_far_apart(tmp_path: Path, secrets: IssuerKeys) -> None:
    """By their tokens: of batches 1 to 6 in slots of two, one has batch 1 or 2 and then 5 or 6, with a device for each visit."""
    made = admitting(JOINT, 2, 3, secrets)
    assert made.slots is not None and (made.slots.width, made.slots.gap, made.slots.many) == (2, 2, 3)
    with serving(tmp_path / "tea", made) as pair, issuing(tmp_path / "issuer", made, secrets) as url:
        found = []
        for batch in range(1, 7):
            found.append(visit(pair, MemoryStore(), "ada", url))
            if batch < 6:
                fill(pair, batch)
        assert found == [1, None, None, None, 5, None]
        assert visit(pair, MemoryStore(), "grace", url) == 6


def test_a_token_of_a_slot_gets_no_place_in_another(tmp_path: Path, secrets: IssuerKeys) -> None:
    office = office_of(tmp_path, admitting(JOINT, 2, 3, secrets), SetClock())
    first, second = b"a" * 32, b"b" * 32
    early, none = office.issue([first, second], {first: 0, second: 1})
    assert early is not None and early.batch == 1 and none is None
    tickets = office.issue([None] * 9)
    assert [one.batch for one in tickets if one is not None] == [1] * 4 + [2] * 5
    late, again = office.issue([b"c" * 32, second], {b"c" * 32: 0, second: 1})
    assert late is None and again is not None and again.batch == 3
    assert office.issue([first], {first: 0}) == [early], "shown again, it has the same place"


def test_an_issuer_gives_a_person_no_two_tokens_too_close(tmp_path: Path, secrets: IssuerKeys) -> None:
    slots = admitting(JOINT, 2, 3, secrets).slots
    store = IssuedStore(f"sqlite:///{tmp_path / 'issuer.db'}", b"secret")
    store.prepare()
    grant = lambda name, blinded, slot: store.grant(bytes(32), name, blinded, slot, slots)  # noqa: E731
    assert grant("ada", b"x", 0) and grant("ada", b"x", 0), "the same bytes again"
    assert not grant("ada", b"y", 0) and not grant("ada", b"y", 1)
    assert grant("ada", b"y", 2) and not grant("ada", b"z", 1)
    assert grant("grace", b"z", 1) and not grant("grace", b"w", 2)


def test_two_keys_of_slots_are_not_one(secrets: IssuerKeys) -> None:
    twice = IssuerKeys(secrets.pem, LOGIN, secrets.login_public)
    twice.__dict__["publics"] = (secrets.publics[0], secrets.publics[0], secrets.publics[2])
    with pytest.raises(ConfideError, match="one key"):
        admitting(JOINT, 2, 3, twice)
