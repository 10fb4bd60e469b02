"""No one vouches for their own past: collector and curator or shuffler store each other's last signed document, and compare."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from confide.errors import FormatError
from confide.service.collector import sources
from confide.service.collector.sources import IntermediaryClient, Unanswered
from confide.service.collector.store import CollectorStore, Opening
from confide.service.contract import Closing, Contract, SignedClosing, SignedHead, keys
from confide.service.contract.exchange import PeerHeads, Restored
from confide.service.contract.signing import Behind
from confide.service.intermediary import BatchManager
from confide.service.intermediary.store import NotYet
from tests.refusals import refused
from tests.service.contract.example import PRIVATE

from .offices import (
    BETWEEN,
    DEADLINE,
    PATIENCE,
    PUBLICATION,
    SetClock,
    confirm,
    contract_of,
    episode,
    first_head,
    hand_over,
    joint_design,
    office_of,
    shuffle_design,
    tickets,
)

BATCH = 8


@pytest.fixture(scope="module", params=["joint", "shuffle"])
def made(request: pytest.FixtureRequest) -> Contract:
    return contract_of(joint_design() if request.param == "joint" else shuffle_design(BATCH))


def head_after(head: SignedHead, people: int = 5, private: bytes = PRIVATE) -> SignedHead:
    """The head of the next round."""
    following = replace(head.head, round=head.head.round + 1, previous=head.digest, people=people)
    return SignedHead.signed(following, private)


def close(office: BatchManager, head: SignedHead) -> SignedHead:
    """Fill and close a batch; the collector stores it, and its next round is stored here. Returns that round's head."""
    for ticket in tickets(office, office.contract.tickets(1)):
        hand_over(office, ticket, episode(ticket.place))
    office.clock.now += DEADLINE + PATIENCE + PUBLICATION  # type: ignore[attr-defined]
    assert office.step()
    confirm(office, head)
    following = head_after(head)
    confirm(office, following)
    return following


def newest(office: BatchManager) -> SignedClosing:
    row = office.store.newest()
    assert row is not None
    return SignedClosing(bytes(row.data), bytes(row.signature))


def copied(source: Path, target: Path) -> Path:
    """A backup of a folder whose processes do not run."""
    return Path(shutil.copytree(source, target))


def test_nothing_happens_before_the_collector_has_confirmed(tmp_path: Path, made: Contract) -> None:
    """A process that begins issues no ticket and closes no batch until the collector has answered it; a restart begins anew."""
    clock = SetClock()
    office = office_of(tmp_path, made, clock)
    tickets(office, made.tickets(1))
    again = office_of(tmp_path, made, clock, begin=False)
    assert again.begin() and not again.confirmed
    clock.now += DEADLINE + PATIENCE + PUBLICATION
    with pytest.raises(NotYet):
        again.issue([None])
    assert not again.step() and again.store.newest() is None
    confirm(again)
    assert again.confirmed


def test_a_head_that_anybody_can_repeat_confirms_nothing(tmp_path: Path, made: Contract) -> None:
    """Heads are public: what the collector signed for an earlier process, or no one signed, is not its word for this one."""
    office = office_of(tmp_path, made, SetClock())
    old = PeerHeads(first_head(made)).signed(PRIVATE, office.exchange(PeerHeads()).nonce)
    again = office_of(tmp_path, made, SetClock(), begin=False)
    again.begin()
    for shown in (old, PeerHeads(first_head(made))):
        again.exchange(shown)
        assert not again.confirmed
    forged = PeerHeads(first_head(made)).signed(BETWEEN, again.exchange(PeerHeads()).nonce)
    with pytest.raises(FormatError, match="signature"):
        again.exchange(forged)
    assert not again.confirmed


def test_a_body_is_shown_when_the_collector_has_stored_its_closing(tmp_path: Path, made: Contract) -> None:
    clock = SetClock()
    office = office_of(tmp_path, made, clock)
    for ticket in tickets(office, made.tickets(1)):
        hand_over(office, ticket, episode(ticket.place))
    clock.now += DEADLINE + PUBLICATION
    assert office.step()
    assert office.public_closing(1) == newest(office) and office.public_body(1) is None
    office.exchange(PeerHeads(first_head(made), newest(office)))  # as anyone could: not signed
    assert office.public_body(1) is None and not office.folder.head_file.exists()
    confirm(office)
    assert office.public_body(1) is not None
    written = SignedClosing.from_json(office.folder.head_file.read_bytes(), office.about.key)
    assert written == newest(office)


def test_a_collector_that_is_behind_is_not_believed(tmp_path: Path, made: Contract) -> None:
    """It is shown the later head under its own signature, which is a proof; nothing it says is stored."""
    office = office_of(tmp_path, made, SetClock())
    second = close(office, first_head(made))
    office.begin()
    for shown in (first_head(made), head_after(first_head(made), people=6)):
        answer = office.exchange(PeerHeads(shown).signed(PRIVATE, office.exchange(PeerHeads()).nonce))
        assert answer.head == second and not office.confirmed
    assert office.store.announced() == second and office.store.desk().round == 2
    confirm(office, second)
    assert office.confirmed


def test_a_part_in_between_that_is_behind_ends(tmp_path: Path, made: Contract) -> None:
    """Restored with database, head and key: the closing under its own signature that it does not hold is a proof."""
    clock = SetClock()
    office = office_of(tmp_path / "now", made, clock)
    second = close(office, first_head(made))
    office.store.close_connections()
    backup = copied(tmp_path / "now", tmp_path / "backup")
    office = office_of(tmp_path / "now", made, clock, begin=False)
    office.begin()
    confirm(office, second)
    third = close(office, second)
    restored = office_of(backup, made, clock, begin=False)
    restored.begin()
    nonce = restored.exchange(PeerHeads()).nonce
    with refused("store-restored"):
        restored.exchange(PeerHeads(third, newest(office)).signed(PRIVATE, nonce))
    with refused("store-restored"):
        restored.exchange(PeerHeads(closing=newest(office)))  # whichever party shows it: it is under our own signature
    assert not restored.confirmed and not restored.step()


def test_a_round_that_was_stored_here_and_is_missing_is_a_proof(tmp_path: Path, made: Contract) -> None:
    """All closings are there, since several were closed before the collector came; its later rounds are not."""
    office = office_of(tmp_path, made, SetClock())
    second = head_after(first_head(made))
    with pytest.raises(Restored, match="round 2"):
        confirm(office, head_after(second))
    confirm(office, second)


@pytest.mark.parametrize("kind", ["database", "folder"])
def test_a_folder_and_its_database_belong_together(tmp_path: Path, made: Contract, kind: str) -> None:
    clock = SetClock()
    office = office_of(tmp_path / "now", made, clock)
    second = close(office, first_head(made))
    office.store.close_connections()
    copied(tmp_path / "now", tmp_path / "backup")
    office = office_of(tmp_path / "now", made, clock, begin=False)
    office.begin()
    confirm(office, second)
    close(office, second)
    office.store.close_connections()
    office_of(tmp_path / "now", made, clock, begin=False).store.close_connections()
    for path in (tmp_path / "now").iterdir():
        if (".db" in path.name) == (kind == "database"):
            path.unlink()
    for path in (tmp_path / "backup").iterdir():
        if (".db" in path.name) == (kind == "database"):
            shutil.copy(path, tmp_path / "now" / path.name)
    with pytest.raises(FormatError, match="older copy"):
        office_of(tmp_path / "now", made, clock, begin=False)
    if kind == "folder":
        office.folder.head_file.unlink()
        with pytest.raises(FormatError, match="older copy"):
            office_of(tmp_path / "now", made, clock, begin=False)


def test_a_missing_or_empty_database_is_refused_and_not_made(tmp_path: Path, made: Contract) -> None:
    office = office_of(tmp_path, made, SetClock())
    close(office, first_head(made))
    office.store.close_connections()
    database = tmp_path / f"{office.about.role}.db"
    for path in tmp_path.glob("*.db*"):
        path.unlink()
    for _ in range(2):
        with pytest.raises(FormatError, match="older copy"):
            office_of(tmp_path, made, SetClock(), begin=False)
        assert not database.exists() or not database.stat().st_size
        database.touch()


def test_only_the_last_state_is_in_the_database(tmp_path: Path) -> None:
    """A counter's state before the last closing would tell, with the next one, what was drawn in between."""
    made, clock = contract_of(joint_design()), SetClock()
    office = office_of(tmp_path, made, clock)
    head, states = first_head(made), []
    for _ in range(3):
        head = close(office, head)
        row = office.store.newest()
        assert row is not None
        states.append(bytes(row.state))
    data = b"\0".join(path.read_bytes() for path in tmp_path.iterdir())  # while it runs: its log is there too
    office.store.close_connections()
    with sqlite3.connect(tmp_path / "curator.db") as connection:
        kept = [number for (number,) in connection.execute("SELECT number FROM closings WHERE state IS NOT NULL")]
    connection.close()
    assert kept == [3]
    assert [state in data for state in states] == [False, False, True]


def test_tables_of_another_version_are_refused(tmp_path: Path, made: Contract) -> None:
    clock = SetClock()
    office = office_of(tmp_path, made, clock)
    close(office, first_head(made))
    office.store.close_connections()
    with sqlite3.connect(tmp_path / f"{office.about.role}.db") as connection:
        connection.execute("UPDATE desk SET version = 9")
    connection.close()
    with refused("database-not-ours"):
        office_of(tmp_path, made, clock, begin=False).begin()


class Line:
    """A collector's side: its store, and a curator that answers in the same process."""

    def __init__(self, path: Path, office: BatchManager, monkeypatch: pytest.MonkeyPatch) -> None:
        self.manager, self.contract = office, office.contract
        self.store = CollectorStore(f"sqlite:///{path / 'collector.db'}", office.contract)
        self.store.prepare()
        self.open(first_head(office.contract))
        self.client = IntermediaryClient(self.store, "http://127.0.0.1:1", PRIVATE)
        monkeypatch.setattr(IntermediaryClient, "_ask", lambda client, where, body=None: self.answer(where, body))

    def open(self, head: SignedHead) -> None:
        self.store.open(Opening(head, b"policy", b"state", b"", b"release" if head.head.round > 1 else None))

    def answer(self, where: str, body: bytes | None) -> bytes | None:
        if body is not None:
            return self.manager.exchange(PeerHeads.from_json(body, self.contract)).to_json()
        kind, number = where.removeprefix("/v1/").split("/")
        if kind == "closings":
            closing = self.manager.public_closing(int(number))
            return None if closing is None else closing.to_json()
        return self.manager.public_body(int(number))

    def look(self) -> bytes | None:
        """One look of the collector; the body of the round that closed, if one did."""
        head = self.store.newest()
        assert head is not None
        self.client.announce(head)
        found = self.client.round_data(head.head.round)
        if found is None:
            return None
        self.open(head_after(head, found.people))
        return found.groups[0].total

    def fill(self, number: int) -> None:
        for ticket in tickets(self.manager, self.contract.tickets(1)):
            hand_over(self.manager, ticket, episode(10 * number + ticket.place))
        self.manager.clock.now += DEADLINE + PATIENCE + PUBLICATION  # type: ignore[attr-defined]
        assert self.manager.step()


@pytest.fixture
def line(tmp_path: Path, made: Contract, monkeypatch: pytest.MonkeyPatch) -> Line:
    office = office_of(tmp_path / "between", made, SetClock(), begin=False)
    office.begin()
    (tmp_path / "collector").mkdir()
    return Line(tmp_path / "collector", office, monkeypatch)


def test_a_collector_stores_a_closing_before_it_sees_the_body(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    assert line.look() is None and line.client.trouble == ""
    line.fill(1)
    asked = line.answer

    def answer(where: str, body: bytes | None) -> bytes | None:
        if "closings" not in where and body is None:
            stored = line.store.closing(1)
            assert stored is not None and line.manager.store.received() == 1
        return asked(where, body)

    monkeypatch.setattr(line, "answer", answer)
    assert line.look() == line.manager.public_body(1)
    assert line.store.closing() == newest(line.manager)


def test_a_collector_believes_its_own_memory_of_what_came_before(line: Line, tmp_path: Path) -> None:
    """A curator that was restored, and believes itself, closes batch 1 again: its second closing follows from another first."""
    line.look()
    line.fill(1)
    line.look()
    taken = line.store.closing(1)
    line.manager = office_of(tmp_path / "other", line.contract, SetClock(), begin=False)
    line.manager.begin()
    line.manager.exchange = lambda shown: _answered(line.manager, shown)  # type: ignore[method-assign]
    with refused("chain-went-back", match="closing 1"):
        line.look()
    assert "went back" in line.client.trouble
    line.manager.confirmed = True
    line.manager.store.announce(first_head(line.contract), 0)
    line.fill(1)
    with pytest.raises(Behind, match="two different"):
        line.look()
    line.fill(2)
    with pytest.raises(Behind, match="does not follow"):
        line.look()
    assert line.store.closing() == taken and line.client.trouble


def _answered(office: BatchManager, shown: PeerHeads) -> PeerHeads:
    """What a user answers who compares nothing."""
    row = office.store.newest(office.clock())
    return PeerHeads(shown.head, None if row is None else newest(office), b"nonce")


def test_a_closing_that_skips_the_stored_one_is_not_taken(line: Line) -> None:
    """Two closings ahead nothing can be compared at a glance: what is taken next must follow from what is stored."""
    line.look()
    line.fill(1)
    line.look()
    line.fill(2)
    second = newest(line.manager)
    forged = SignedClosing.signed(replace(second.closing, previous="f" * 64), BETWEEN)
    asked = line.answer
    line.answer = lambda where, body: (  # type: ignore[method-assign]
        forged.to_json() if where == "/v1/closings/2" else asked(where, body)
    )
    with pytest.raises(Behind, match="does not follow"):
        line.look()
    assert line.store.closing(2) is None


def test_a_collector_that_is_behind_ends(line: Line, tmp_path: Path) -> None:
    line.look()
    line.store.close()
    backup = copied(tmp_path / "collector", tmp_path / "backup")
    line.fill(1)
    line.look()
    line.look()
    line.store.close()
    line.store = CollectorStore(f"sqlite:///{backup / 'collector.db'}", line.contract)
    line.client = IntermediaryClient(line.store, "http://127.0.0.1:1", PRIVATE)
    with refused("store-restored", match="round 2"):
        line.look()
    assert "older copy" in line.client.trouble


def test_readiness_ends_with_silence(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "not responded yet" in line.client.trouble
    line.look()
    assert line.client.trouble == ""
    now = sources.time.monotonic()
    monkeypatch.setattr(sources.time, "monotonic", lambda: now + sources.SILENCE + 1)
    assert "does not respond" in line.client.trouble


def test_the_collector_goes_to_whoever_has_the_lease(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = line.answer
    waiting = "http://127.0.0.1:1"

    def answer(where: str, body: bytes | None) -> bytes | None:
        if body is not None and line.client.url == waiting:
            return PeerHeads(holder="http://127.0.0.1:2").to_json()
        if gone:
            raise Unanswered("gone", "gone")
        return asked(where, body)

    gone = False
    monkeypatch.setattr(line, "answer", answer)
    line.look()
    assert line.client.url == "http://127.0.0.1:2" and line.client.trouble == ""
    gone = True
    with pytest.raises(Unanswered):
        line.look()
    assert line.client.url == waiting and line.client.trouble


@pytest.mark.parametrize("said", [None, b"{}", b"<html>"], ids=["nothing there", "another service", "a page"])
def test_a_wrong_word_about_the_lease_is_forgotten(
    line: Line, monkeypatch: pytest.MonkeyPatch, said: bytes | None
) -> None:
    """A process that once named another address, or whose address is another's now, does not stop the collector for ever."""
    asked, waiting, lying = line.answer, line.client.url, True

    def answer(where: str, body: bytes | None) -> bytes | None:
        if body is not None and line.client.url != waiting:
            return said
        return PeerHeads(holder="http://127.0.0.1:2").to_json() if lying else asked(where, body)

    monkeypatch.setattr(line, "answer", answer)
    with pytest.raises(FormatError):
        line.look()
    lying = False
    line.look()
    assert line.client.url == waiting and line.client.trouble == ""


def test_the_collector_goes_to_no_address_that_is_none(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    went = []

    def answer(where: str, body: bytes | None) -> bytes | None:
        went.append(line.client.url)
        return PeerHeads(holder="file:///etc/passwd?").to_json()

    monkeypatch.setattr(line, "answer", answer)
    with pytest.raises(Unanswered):
        line.look()
    assert set(went) == {line.client.url}


def test_what_is_exchanged_must_be_of_this_contract_and_signed(made: Contract) -> None:
    other = contract_of(joint_design(7))
    good = PeerHeads(first_head(made)).to_json()
    with pytest.raises(FormatError, match="another contract"):
        PeerHeads.from_json(PeerHeads(first_head(other)).to_json(), made)
    closing = Closing(made.digest.hex(), 1, 1, "0" * 64, "0" * 64, 5, 1)
    for bad in (
        b"",
        b"[]",
        b"{}",
        good.replace(b'"head"', b'"tail"'),
        PeerHeads(closing=SignedClosing.signed(closing, PRIVATE)).to_json(),
    ):
        with pytest.raises(FormatError):
            PeerHeads.from_json(bad, made)
    assert PeerHeads.from_json(good, made).head == first_head(made)
    assert keys.public_key(PRIVATE) == made.key
