"""A service that ends before its schedule, what follows it, and how it is deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from confide.cli import run
from confide.errors import InvalidInput
from confide.lab.staging import check_url
from confide.learning import learners
from confide.learning.learners import state_bytes
from confide.mdp import Spec
from confide.privacy import Local
from confide.service.collector import closing
from confide.service.collector.closing import Publisher, RoundCloser
from confide.service.collector.ending import carry, delete, end, succeed
from confide.service.collector.founding import make_service
from confide.service.collector.store import CollectorStore
from confide.service.contract.folder import Folder
from tests.refusals import refused
from tests.service.contract.example import PRIVATE, contract, design, letter

from .services import Lessons, folder_of, running, wait_for
from .test_store import arrivals


def test_an_end_while_nobody_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "LearnerProcess", Lessons)
    folder = folder_of(tmp_path / "tea")
    made = folder.contract()
    with pytest.raises(InvalidInput, match="never served"):
        end(folder)
    store = CollectorStore(folder.database, made)
    publisher = Publisher(store, folder)
    closer = RoundCloser(store, publisher, PRIVATE, lambda seconds: None)
    closer.step()
    store.count(arrivals(range(14), made))
    closer.step()
    assert end(folder) == {"round": 3, "people": 10, "dropped": 4, "successor": None}
    assert store.count(arrivals(range(20), made)) == ["ended"] * 20, "no id is remembered, and nothing counts"
    closer.step()
    assert publisher.current is not None and publisher.current.head.ended
    publisher.check()
    with pytest.raises(InvalidInput, match="ended already"):
        end(folder)
    store.close()


def test_an_end_that_loses_the_race_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector closes the round between the look and the write: the end comes one round later, and nothing is overwritten."""
    monkeypatch.setattr(closing, "LearnerProcess", Lessons)
    folder = folder_of(tmp_path / "tea")
    made = folder.contract()
    store = CollectorStore(folder.database, made)
    store.prepare()
    closer = RoundCloser(store, Publisher(store, folder), PRIVATE, lambda seconds: None)
    closer.step()
    store.count(arrivals(range(12), made))
    plain, seen = CollectorStore.tally, []

    def late(self: CollectorStore) -> object:
        if not seen:
            seen.append(1)
            closer.step()
        return plain(self)

    monkeypatch.setattr(CollectorStore, "tally", late)
    assert end(folder)["round"] == 3
    second = store.head(2)
    assert second is not None and not second.head.ended and store.release(1) is not None
    store.close()


@pytest.mark.service
def test_a_running_service_is_ended_and_names_what_follows(tmp_path: Path) -> None:
    folder, new = folder_of(tmp_path / "tea"), folder_of(tmp_path / "new", contract(design(), version=2))
    with running(folder) as service:
        assert service.send(letter(service.contract, 1)) == 201
        assert succeed(folder, new)["successor"] == new.contract().pin
        assert end(folder)["successor"] == new.contract().digest.hex()
        assert service.send(letter(service.contract, 2, 1)) == 410
        wait_for(lambda: check_url(service.url)["ended"])
        checks = check_url(service.url)
        assert (checks["heads"], checks["people"], checks["successor"]) == (2, 0, new.contract().digest.hex())
        with pytest.raises(InvalidInput, match="before the end"):
            succeed(folder, new)
        with pytest.raises(InvalidInput, match="ended already"):
            end(folder)


def test_a_weaker_successor_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "tea")
    weaker = folder_of(tmp_path / "weaker", contract(design(Local(5.0))))
    with refused("successor-weaker", match="epsilon is 5"):
        succeed(folder, weaker)
    with pytest.raises(InvalidInput, match="follow itself"):
        succeed(folder, folder)
    with pytest.raises(InvalidInput, match="weaker guarantee"):
        make_service(tmp_path / "new", Spec(3, 2, 4), Local(5.0), 100, before=folder.contract())
    made = make_service(tmp_path / "new", Spec(3, 2, 4), Local(3.0), 100, before=folder.contract()).contract()
    assert (made.document["version"], made.document["name"], made.operator) == (2, "tea", "Tea Ltd")


def test_only_what_has_ended_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "LearnerProcess", Lessons)
    folder = folder_of(tmp_path / "tea")
    store = CollectorStore(folder.database, folder.contract())
    store.prepare()
    RoundCloser(store, Publisher(store, folder), PRIVATE, lambda seconds: None).step()
    store.close()
    with pytest.raises(InvalidInput, match="not ended"):
        delete(folder)
    end(folder)
    delete(folder)
    assert not folder.path.exists()


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "LearnerProcess", Lessons)
    tea, next_tea = str(tmp_path / "tea"), str(tmp_path / "tea2")
    sizes = ["--states", "3", "--actions", "2", "--horizon", "4", "--people", "100", "--json"]
    assert run(["service", "new", tea, "--epsilon", "4", *sizes]) == 0
    assert run(["service", "new", next_tea, "--succeeds", tea, "--epsilon", "2", *sizes]) == 0
    capsys.readouterr()
    assert run(["service", "succeed", tea, next_tea, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["successor"] == Folder(Path(next_tea)).contract().pin
    assert run(["service", "end", tea]) == 2
    assert "never served" in capsys.readouterr().err
    assert run(["service", "delete", tea, "--yes", "--json"]) == 0 and not Path(tea).exists()
    token = Path(next_tea) / "token"
    assert token.stat().st_mode & 0o777 == 0o600 and len(token.read_text().strip()) == 64


def closed_once(folder: Folder) -> None:
    """Serve until one round is closed, then end."""
    store = CollectorStore(folder.database, folder.contract())
    store.prepare()
    store.begin_with(folder.earlier())
    closer = RoundCloser(store, Publisher(store, folder), PRIVATE, lambda seconds: None)
    closer.step()
    store.count(arrivals(range(14), folder.contract()))
    closer.step()
    store.close()
    end(folder)


def test_a_successor_begins_with_what_was_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three contracts in a row: each knows all users of those before it, and its first policy is the last one's."""
    monkeypatch.setattr(closing, "LearnerProcess", Lessons)
    folders = [folder_of(tmp_path / name, contract(version=one)) for one, name in enumerate(("tea", "tea2", "tea3"), 1)]
    with refused("carry-nothing"):
        carry(folders[0], folders[1])
    closed_once(folders[0])
    assert carry(folders[0], folders[1])["people"] == 10
    with refused("carry-too-late"):
        carry(folders[0], folders[1])
    closed_once(folders[1])
    assert carry(folders[1], folders[2])["people"] == 10
    store = CollectorStore(folders[1].database, folders[1].contract())
    school = Lessons(folders[2].contract(), folders[2].earlier())
    state = school.ask("begin")[0]
    assert state_bytes.from_bytes(state, learners.make("ucbvi")).users == 20  # type: ignore[arg-type]
    with refused("earlier-changed"):
        store.begin_with(b"")
    with refused("earlier-changed"):
        store.begin_with(folders[2].earlier())
    store.begin_with(folders[1].earlier())
    store.close()


def test_what_an_alarm_taught_is_not_carried_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "LearnerProcess", Lessons)
    folder, after = folder_of(tmp_path / "tea"), folder_of(tmp_path / "tea2", contract(version=2))
    closed_once(folder)
    store = CollectorStore(folder.database, folder.contract())
    store.raise_alarm(1, "something was sent that no device sends")
    store.close()
    with refused("carry-after-alarm"):
        carry(folder, after)
