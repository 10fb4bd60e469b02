"""A service is checked from its folder too, without a collector: whatever was changed in its database is noticed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from confide.cli import run
from confide.errors import ConfideError
from confide.lab.staging import check_folder
from confide.lab.staging.checking import StoredDocuments, check_witness, keep_witness
from confide.service.collector import closing
from confide.service.collector.closing import Publisher, RoundCloser
from confide.service.collector.store import CollectorStore
from confide.service.contract import SignedHead
from confide.service.contract.folder import Folder
from confide.service.device.transport import HttpAnswer
from tests.refusals import refused
from tests.service.collector.services import Lessons, folder_of
from tests.service.collector.test_store import arrivals
from tests.service.contract.example import PRIVATE, contract


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """The folder of a service that was stopped in its third round, of 10 people each."""
    monkeypatch.setattr(closing, "LearnerProcess", Lessons)
    folder = folder_of(tmp_path / "tea")
    made = folder.contract()
    store = CollectorStore(folder.database, made)
    store.prepare()
    closer = RoundCloser(store, Publisher(store, folder), PRIVATE, lambda seconds: None)
    closer.step()
    for people in (range(10), range(10, 24)):
        store.count(arrivals(people, made))
        closer.step()
    store.close()
    return folder


def change(folder: Folder, statement: str) -> None:
    with sqlite3.connect(folder.path / "collector.db") as connection:
        assert connection.execute(statement).rowcount == 1
    connection.close()


def test_the_chain_in_a_folder_is_followed_to_its_end(served: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    found = check_folder(served.path)
    assert (found["heads"], found["people"], found["ended"], found["rounds"]) == (3, 20, False, 3)
    assert run(["service", "check", str(served.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert run(["service", "check", str(served.path), "--database", served.database]) == 0
    assert found["contract"] in capsys.readouterr().out


def test_a_service_that_was_never_served_has_a_promise_and_no_chain(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "tea")
    found = check_folder(folder.path)
    assert (found["guarantee"], found["heads"], found["ended"]) == ("4-DP, local", None, None)
    assert not folder.counts_here  # looking leaves nothing behind


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (
            "UPDATE policies SET data = zeroblob(length(data)) WHERE rowid = (SELECT max(rowid) FROM policies)",
            "chain-policy-unsigned",
        ),
        (
            "UPDATE releases SET data = (SELECT data FROM releases WHERE number = 1) WHERE number = 2",
            "chain-release-unsigned",
        ),
        ("DELETE FROM releases WHERE number = 1", "service-response"),
        ("UPDATE heads SET signature = zeroblob(64) WHERE number = 2", "signature-wrong"),
        ("UPDATE heads SET data = CAST(replace(data, '10', '11') AS BLOB) WHERE number = 2", "signature-wrong"),
        ("DELETE FROM heads WHERE number = 2", "service-response"),
        ("DELETE FROM heads WHERE number = 3", "database-restored"),
    ],
)
def test_whatever_was_changed_is_noticed(served: Folder, statement: str, sentence: str) -> None:
    change(served, statement)
    with refused(sentence):
        check_folder(served.path)


def test_a_database_of_another_contract_is_refused(served: Folder, tmp_path: Path) -> None:
    other = folder_of(tmp_path / "coffee", contract(name="coffee"))
    with pytest.raises(ConfideError, match="does not follow"):
        check_folder(other.path, served.database)


def test_a_witness_is_of_a_running_service(served: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["service", "check", str(served.path), "--witness", "x"]) == 2
    assert "--witness goes with a URL" in capsys.readouterr().err


class Shown:
    """A service that shows what a folder's database holds, up to a round."""

    def __init__(self, folder: Folder, rounds: int) -> None:
        self.url, self._rounds = "a service", rounds
        self._documents = StoredDocuments(CollectorStore(folder.database, folder.contract()), self.url)

    def get(self, path: str) -> HttpAnswer:
        return self._documents.get(path.replace("current", str(self._rounds)))


def test_a_witness_keeps_what_was_shown_and_refuses_less(served: Folder, tmp_path: Path) -> None:
    made, seen = served.contract(), tmp_path / "witness"
    for rounds in (2, 3):
        check_witness(Shown(served, rounds), made, seen)
        keep_witness(Shown(served, rounds), made, seen, rounds)
    kept = seen / made.digest.hex() / "v1" / "rounds"
    assert sorted(path.name for path in kept.iterdir()) == ["1", "2", "3", "current"]
    assert (kept / "current").read_bytes() == (kept / "3").read_bytes()
    with refused("chain-went-back", match="3 to round 2"):
        check_witness(Shown(served, 2), made, seen)
    pair = [SignedHead.from_json(text.encode(), made.key) for text in json.loads((seen / "proof.json").read_bytes())]
    assert [signed.head.round for signed in pair] == [3, 2]
    check_witness(Shown(served, 3), made, seen)


def test_a_running_service_has_no_database_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["service", "check", "http://127.0.0.1:1", "--database", "sqlite:///x"]) == 2
    assert "--database goes with a FOLDER" in capsys.readouterr().err
