"""Sealed uploads: bound to their ticket and time, opened at that time and not before, once, and kept across a process's death."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from confide.errors import FormatError
from confide.protocol.releases import Sum, release_bytes
from confide.service.contract import Contract, Ticket, keys, sealed, weaker
from confide.service.intermediary import BatchManager
from confide.service.intermediary.batch_manager import CLOSED, FULL, SOON, TAKEN
from confide.service.intermediary.held import MOST_COPIES, HeldUploads, spool_of
from tests.refusals import refused
from tests.service.contract import hpke

from .offices import (
    BETWEEN,
    DEADLINE,
    PUBLICATION,
    SetClock,
    confirm,
    contract_of,
    episode,
    joint_design,
    message,
    office_of,
    published,
    shuffle_design,
    tickets,
)

PUBLIC = sealed.public_key(BETWEEN)
BATCH = 40
START = 1e9


@pytest.fixture(scope="module")
def joint() -> Contract:
    return contract_of(joint_design(), sealing=PUBLIC)


@pytest.fixture(scope="module")
def shuffled() -> Contract:
    return contract_of(shuffle_design(BATCH), sealing=PUBLIC)


@pytest.fixture(autouse=True)
def no_copies_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies are kept where a test says, if that is memory."""
    monkeypatch.setattr("confide.service.intermediary.held._in_memory", lambda path: path == tmp_path / "memory")
    (tmp_path / "memory").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "memory"))


def upload(made: Contract, ticket: Ticket, seed: int, opens: float, version: int = 0, steps: int = 4) -> bytes:
    told = message(made.design, episode(seed, steps))
    return sealed.sealed(PUBLIC, ticket.to_bytes(), round(1000 * opens), version, told)


def give(office: BatchManager, data: bytes) -> str:
    return office.take(*office.read(data))


def cells(office: BatchManager, batch: int = 1) -> int:
    """How much is in the open sum of a curator."""
    found = office.open_batches._sums.get(batch)
    return 0 if found is None else int(np.abs(found).sum())


def test_an_upload_opens_for_its_key_ticket_time_and_version_alone(joint: Contract) -> None:
    ticket = Ticket(joint.digest, 1, 0, 1).issued(bytes(32)).to_bytes()
    data = sealed.sealed(PUBLIC, ticket, 12345, 2, b"an episode")
    found, private = sealed.read(data[len(ticket) :]), sealed.private_key(BETWEEN)
    assert (found.opens, found.version) == (12345, 2) and b"episode" not in data
    assert len(data) == sealed.length(len(b"an episode"))
    assert sealed.opened(private, ticket, found) == b"an episode"
    other = Ticket(joint.digest, 1, 1, 1).issued(bytes(32)).to_bytes()
    wrong = [
        (sealed.private_key(bytes(32)), ticket, found),
        (private, other, found),
        (private, ticket, found._replace(opens=12346)),
        (private, ticket, found._replace(version=3)),
        (private, ticket, found._replace(box=found.box[:-1] + bytes([found.box[-1] ^ 1]))),
    ]
    for given in wrong:
        with refused("upload-unopenable"):
            sealed.opened(*given)
    assert sealed.sealed(PUBLIC, ticket, 12345, 2, b"an episode") != data  # a fresh key each time


def test_uploads_are_hpke_as_in_rfc_9180() -> None:
    """Vector A.1.1 up to its ciphertext, by code written from the RFC; and the library and that code open each other's uploads.

    The library draws its ephemeral key and binds by `info` alone, so that it cannot make the vector's own ciphertext, which
    binds by `aad` too.
    """
    known = {name: bytes.fromhex(text) for name, text in hpke.A11.items()}
    private = X25519PrivateKey.from_private_bytes(known["skRm"])
    secret = private.exchange(X25519PublicKey.from_public_bytes(known["pkEm"]))
    found = hpke.schedule(secret, known["pkEm"], known["pkRm"], known["info"])
    assert found == (known["shared"], known["key"], known["nonce"])
    assert AESGCM(found.key).decrypt(found.nonce, known["ct"], known["aad"]) == known["pt"]

    ticket, own = bytes(range(64)), sealed.private_key(BETWEEN)
    data = sealed.sealed(PUBLIC, ticket, 7, 1, b"hello")
    head, box = data[: 64 + sealed.FORM.size], data[64 + sealed.FORM.size :]
    assert hpke.decrypted(own, PUBLIC, sealed.CONTEXT + head, box) == b"hello"
    other = hpke.encrypted(known["skEm"], PUBLIC, sealed.CONTEXT + head, b"hello")
    assert other[:32] == known["pkEm"]
    assert sealed.opened(own, ticket, sealed.SealedUpload(7, 1, other)) == b"hello"


def test_a_curator_opens_an_upload_at_its_time_and_not_before(tmp_path: Path, joint: Contract) -> None:
    clock = SetClock(START)
    office = office_of(tmp_path, joint, clock)
    (first, *_) = tickets(office, 5)
    assert give(office, upload(joint, first, 1, START + 10)) == TAKEN
    clock.now += 9.9
    office.step()
    assert cells(office) == 0
    clock.now += 0.1
    office.step()
    assert cells(office) > 0


def test_a_sealed_episode_is_replaced_until_it_is_opened(tmp_path: Path, joint: Contract) -> None:
    """The highest version counts, in whatever order they come; once it is opened nothing replaces it."""
    clock = SetClock(START)
    office, expected = office_of(tmp_path / "one", joint, clock), office_of(tmp_path / "other", joint, clock)
    (ticket, *_), (same, *_) = tickets(office, 5), tickets(expected, 5)
    for version, seed in ((0, 1), (2, 3), (1, 2)):
        assert give(office, upload(joint, ticket, seed, START + 10, version)) == TAKEN
    give(expected, upload(joint, same, 3, START + 10))
    clock.now += 10
    office.step()
    expected.step()
    opened = office.open_batches._sums[1].copy()
    assert (opened == expected.open_batches._sums[1]).all() and opened.any()
    assert give(office, upload(joint, ticket, 9, START + 10, 9)) == TAKEN
    office.step()
    assert (office.open_batches._sums[1] == opened).all()


def test_a_report_is_never_replaced(tmp_path: Path, shuffled: Contract) -> None:
    """Two reports about one episode would tell more than one: the first counts, whatever version another says it has."""
    clock = SetClock(START)
    office, expected = office_of(tmp_path / "one", shuffled, clock), office_of(tmp_path / "other", shuffled, clock)
    (ticket, *_), (same, *_) = tickets(office, 50), tickets(expected, 50)
    first = upload(shuffled, ticket, 1, START + 10)
    private = sealed.private_key(BETWEEN)
    give(office, first)
    give(office, upload(shuffled, ticket, 2, START + 10, 5))
    told = sealed.opened(private, ticket.to_bytes(), sealed.read(first[64:]))
    give(expected, sealed.sealed(PUBLIC, same.to_bytes(), round(1000 * START), 0, told))
    clock.now += 10
    office.step()
    expected.step()
    found, right = office.open_batches._shuffler, expected.open_batches._shuffler
    (batch,) = shuffled.design.batches_of(0)
    assert (found._sums[batch].cells == right._sums[batch].cells).all()


def test_a_batch_opens_all_it_holds_when_it_closes(tmp_path: Path, joint: Contract, shuffled: Contract) -> None:
    """Also what says that it is to be opened in ten years: a clock may be wrong."""
    for made in (joint, shuffled):
        clock = SetClock(START)
        office = office_of(tmp_path / made.design.trust, made, clock)
        for number, ticket in enumerate(tickets(office, made.tickets(1))):
            give(office, upload(made, ticket, number, START + 1e8))
        clock.now += DEADLINE
        (late, *_) = tickets(office, 1)
        assert office.step()
        clock.now += PUBLICATION
        _, body = published(office, 1)
        if made.design.mixing is None:
            assert release_bytes.from_bytes(body).users == made.tickets(1)
        else:
            assert Sum.from_bytes(body, made.design).users == made.tickets(1)
        assert give(office, upload(made, late, 1, START)) == TAKEN


def test_what_cannot_be_read_is_an_absentees_and_is_not_replaced(tmp_path: Path, joint: Contract) -> None:
    clock = SetClock(START)
    office = office_of(tmp_path, joint, clock)
    one, two, three, *_ = tickets(office, 5)
    give(office, sealed.sealed(PUBLIC, one.to_bytes(), 0, 0, b"garbage"))
    give(office, sealed.sealed(sealed.public_key(bytes(32)), two.to_bytes(), 0, 0, message(joint.design, episode(2))))
    office.step()
    assert office.unreadable == 2 and cells(office) == 0
    give(office, upload(joint, one, 1, 0, 1))
    office.step()
    assert cells(office) == 0
    give(office, upload(joint, three, 1, 0))
    office.step()
    assert cells(office) > 0


def test_what_is_not_sealed_is_refused(tmp_path: Path, joint: Contract) -> None:
    office = office_of(tmp_path, joint, SetClock(START))
    (ticket, *_) = tickets(office, 5)
    with refused("upload-not-sealed"):
        office.take(ticket, message(joint.design, episode(1)))


def test_a_killed_process_leaves_what_it_held_to_the_next(tmp_path: Path, joint: Contract) -> None:
    """The process ends without a word; the next has another epoch and holds the same uploads, but for one half written; who sends
    again counts once. When the batch is closed nothing is left of it."""
    clock = SetClock(START)
    office = office_of(tmp_path, joint, clock)
    issued = tickets(office, 5)
    for number, ticket in enumerate(issued[:3]):
        give(office, upload(joint, ticket, number, START + number))
    clock.now += 1
    office.step()  # some were opened, and their sum is lost
    (spool,) = (tmp_path / "memory").iterdir()
    with open(spool / "1.batch", "ab") as file:
        file.write(b"\x00\x02\x00\x00half")
    office.store.close_connections()

    second = office_of(tmp_path, joint, clock)
    assert second.epoch == 2
    assert give(second, upload(joint, issued[3], 3, START)) == TAKEN
    assert give(second, upload(joint, issued[0], 0, START)) == TAKEN
    second.store.close_connections()
    third = office_of(tmp_path, joint, clock)
    clock.now += 10
    third.step()
    whole = office_of(tmp_path / "whole", joint, clock)
    for number, ticket in enumerate(tickets(whole, 5)[:4]):
        give(whole, upload(joint, ticket, number, START))
    whole.step()
    assert (third.open_batches._sums[1] == whole.open_batches._sums[1]).all() and cells(third) > 0
    clock.now += DEADLINE
    assert third.step()
    assert not spool.exists() and give(third, upload(joint, issued[4], 3, START)) == CLOSED


def test_a_copy_of_a_closed_batch_is_not_held_again(tmp_path: Path, joint: Contract) -> None:
    clock = SetClock(START)
    office = office_of(tmp_path, joint, clock)
    issued = tickets(office, 5)
    give(office, upload(joint, issued[0], 0, START))
    (spool,) = (tmp_path / "memory").iterdir()
    copy = (spool / "1.batch").read_bytes()
    clock.now += DEADLINE
    assert office.step()
    spool.mkdir(mode=0o700)
    (spool / "1.batch").write_bytes(copy)  # killed between the commit and this
    office.store.close_connections()
    second = office_of(tmp_path, joint, clock)
    assert not spool.exists() and cells(second) == 0


def test_copies_are_kept_in_memory_alone_and_in_a_folder_of_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = spool_of(tmp_path, b"contract", "curator")
    assert found is not None and found.parent == tmp_path / "memory" and not found.exists()
    found.mkdir(mode=0o755)
    found.chmod(0o755)
    assert spool_of(tmp_path, b"contract", "curator") is None  # open to others
    found.rmdir()
    found.symlink_to(tmp_path)
    assert spool_of(tmp_path, b"contract", "curator") is None
    monkeypatch.undo()
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/proc")
    monkeypatch.setattr("confide.service.intermediary.held.MEMORY", ())
    assert spool_of(tmp_path, b"contract", "curator") is None  # a disk


def test_no_more_is_held_than_fits(tmp_path: Path, joint: Contract, monkeypatch: pytest.MonkeyPatch) -> None:
    office = office_of(tmp_path, joint, SetClock(START))
    one, two, *_ = tickets(office, 5)
    data = upload(joint, one, 1, START + 10)
    monkeypatch.setattr("confide.service.intermediary.held.MOST_BYTES", len(data) - 64)
    assert [give(office, data), give(office, upload(joint, two, 1, START + 10))] == [TAKEN, FULL]
    office.clock.now += 10
    office.step()
    assert give(office, upload(joint, two, 1, START + 10)) == TAKEN


def test_nothing_held_is_written_to_the_folder(tmp_path: Path, joint: Contract) -> None:
    """Neither an upload nor a part of it is in any file of the role; the copy is elsewhere, and sealed."""
    clock = SetClock(START)
    office = office_of(tmp_path / "office", joint, clock)
    issued = tickets(office, 5)
    told = [upload(joint, ticket, number, START + 5) for number, ticket in enumerate(issued)]
    for data in told:
        give(office, data)
    clock.now += 6
    office.step()
    kept = b"".join(path.read_bytes() for path in (tmp_path / "office").rglob("*") if path.is_file())
    copy = b"".join(path.read_bytes() for path in (tmp_path / "memory").rglob("*") if path.is_file())
    assert all(data[-48:] in copy and data[-48:] not in kept for data in told)
    plain = [message(joint.design, episode(number)) for number in range(5)]
    assert all(one not in copy and one[12:28] not in copy for one in plain)


def test_uploads_of_a_batch_have_one_length(joint: Contract, shuffled: Contract) -> None:
    for made in (joint, shuffled):
        ticket = Ticket(made.digest, 1, 0, 1)
        found = {len(upload(made, ticket, seed, START, seed, steps)) for seed in range(5) for steps in (0, 1, 4)}
        assert found == {sealed.length(len(message(made.design, episode(0))))}


def test_held_uploads_count_their_bytes(joint: Contract) -> None:
    held = HeldUploads(None, replaced=True)
    for version in range(3):
        ticket = Ticket(joint.digest, 1, 0, 1)
        held.put(ticket, upload(joint, ticket, 1, START, version)[64:])
    assert held._bytes == sealed.length(len(message(joint.design, episode(0)))) - 64
    assert [one.upload.version for one in held.due(START)] == [2] and held._bytes == 0
    held.forget(1)
    assert held._bytes == 0


def test_nobody_fills_the_memory_of_copies(tmp_path: Path, joint: Contract) -> None:
    """The newest of a place is held however often it is replaced; only the first few are copied."""
    held, ticket = HeldUploads(tmp_path / "spool", replaced=True), Ticket(joint.digest, 1, 0, 1)
    for version in range(4 * MOST_COPIES):
        held.put(ticket, upload(joint, ticket, 1, START, version)[64:])
    each = len(upload(joint, ticket, 1, START)) + 4  # its length stands before it
    assert (tmp_path / "spool" / f"{ticket.batch}.batch").stat().st_size == MOST_COPIES * each
    assert [one.upload.version for one in held.due(START)] == [4 * MOST_COPIES - 1]


def test_a_successor_that_does_not_seal_is_weaker(joint: Contract) -> None:
    plain = contract_of(joint_design())
    assert weaker(plain, joint) == "its uploads are not sealed to the same key" and weaker(joint, plain) == ""
    with pytest.raises(FormatError, match="no X25519 key"):
        contract_of(joint_design(), sealing=b"short")


def test_the_key_that_is_named_must_be_the_roles_own(tmp_path: Path) -> None:
    made = contract_of(joint_design(), sealing=sealed.public_key(keys.new_key()))
    with refused("intermediary-key-wrong"):
        office_of(tmp_path, made, SetClock(START))


def test_what_comes_while_a_batch_closes_is_not_held(tmp_path: Path, joint: Contract) -> None:
    clock = SetClock(START)
    office = office_of(tmp_path, joint, clock)
    issued = tickets(office, 5)
    clock.now += DEADLINE
    assert give(office, upload(joint, issued[0], 0, START)) == SOON
    assert office.step()
    confirm(office)
    assert give(office, upload(joint, issued[0], 0, START)) == CLOSED
