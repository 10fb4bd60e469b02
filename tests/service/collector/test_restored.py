"""An older copy of a collector's database or folder, and one that is cut off, are refused with one sentence; nothing is written."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from confide.cli import run
from confide.errors import FormatError
from confide.lab.staging import check_folder
from confide.lab.staging.processes import Process
from confide.service.collector import closing
from confide.service.collector.app import Collector
from confide.service.collector.closing import Publisher, RoundCloser
from confide.service.collector.store import CollectorStore
from confide.service.contract.folder import Folder
from tests.refusals import refused
from tests.service.contract.example import PRIVATE, contract
from tests.service.intermediary import offices
from tests.service.intermediary.offices import contract_of, joint_design, shuffle_design

from .services import Lessons, folder_of
from .test_store import arrivals


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A service that was stopped in its third round; beside it lie copies of its first and second."""
    monkeypatch.setattr(closing, "LearnerProcess", Lessons)
    folder = folder_of(tmp_path / "tea")
    made = folder.contract()
    for number, people in enumerate((range(0), range(10), range(10, 24)), 1):
        store = CollectorStore(folder.database, made)
        store.prepare()
        closer = RoundCloser(store, Publisher(store, folder), PRIVATE, lambda seconds: None)
        if people:
            store.count(arrivals(people, made))
        closer.step()
        store.close()
        shutil.copytree(folder.path, tmp_path / str(number))
    return folder


def files(folder: Path) -> dict[str, bytes]:
    """What is there, but for what SQLite puts beside a file that is read, and locks."""
    beside = ("-shm", "-wal", "lock")
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith(beside)}


@pytest.mark.parametrize("point", [1, 2])
@pytest.mark.parametrize("kind", ["database", "folder"])
def test_an_older_half_is_refused(served: Folder, point: int, kind: str) -> None:
    for path in served.path.iterdir():
        if (".db" in path.name) == (kind == "database"):
            path.unlink()
    for path in (served.path.parent / str(point)).iterdir():
        if (".db" in path.name) == (kind == "database"):
            shutil.copy(path, served.path / path.name)
    before = files(served.path)
    with pytest.raises(FormatError, match="older copy"):
        Collector(served)
    with pytest.raises(FormatError, match="older copy"):
        check_folder(served.path)
    assert files(served.path) == before


def test_what_was_not_restored_goes_on(served: Folder) -> None:
    collector = Collector(served)
    collector.publisher.advance()
    assert collector.current == 3
    collector.store.close()


def test_a_crash_between_commit_and_head_is_no_restored_folder(served: Folder) -> None:
    """The file is written after the round was committed, and the database follows after that: in between it is one behind."""
    with sqlite3.connect(served.path / "collector.db") as connection:
        assert connection.execute("UPDATE service SET value = ? WHERE name = 'published'", ((2).to_bytes(8),)).rowcount
    connection.close()
    shutil.copy(served.path.parent / "2" / "head.json", served.head_file)
    collector = Collector(served)
    collector.publisher.advance()
    assert collector.current == 3 and collector.store.published() == 3
    collector.store.close()


@pytest.mark.parametrize("lost", ["missing", "empty"])
def test_a_database_that_is_gone_is_refused_and_not_made(served: Folder, lost: str) -> None:
    for path in served.path.glob("collector.db*"):
        path.unlink()
    if lost == "empty":
        (served.path / "collector.db").touch()
    before = files(served.path)
    with pytest.raises(FormatError, match="database is empty"):
        Collector(served)
    assert files(served.path) == before


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, "noise", "word"])
def test_a_damaged_database_is_one_sentence(
    served: Folder, share: float | str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = served.path / "collector.db"
    whole = path.read_bytes()
    for beside in served.path.glob("collector.db-*"):
        beside.unlink()
    if share == "noise":
        path.write_bytes(whole[:4096] + random.Random(1).randbytes(len(whole) - 4096))
    elif share == "word":
        path.write_bytes(b"not a database, but as long as one " * 400)
    else:
        path.write_bytes(whole[: int(len(whole) * float(share))])
    before = files(served.path)
    with refused("database-damaged"):
        Collector(served)
    for command in (["service", "check", str(served.path)], ["service", "end", str(served.path)]):
        assert run(command) == 2
        said = capsys.readouterr().err.strip().splitlines()
        assert len(said) == 1 and "collector.db is damaged or cut off" in said[0] and "Restore" in said[0], said
    assert files(served.path) == before


@pytest.mark.service
@pytest.mark.parametrize("command", ["serve", "curate", "shuffle"])
def test_a_process_whose_database_is_cut_off_says_so_and_ends(tmp_path: Path, command: str) -> None:
    made = {
        "serve": contract(),
        "curate": contract_of(joint_design()),
        "shuffle": contract_of(shuffle_design(8)),
    }[command]
    folder = offices.folder_of(tmp_path, made).path if command != "serve" else folder_of(tmp_path, made).path
    database = folder / {"serve": "collector.db", "curate": "curator.db", "shuffle": "shuffler.db"}[command]
    process = Process(folder, command=command, log=tmp_path.with_suffix(".log")).start(120)
    process.stop()
    database.write_bytes(database.read_bytes()[:9000])
    before = files(folder)
    process.launch()
    assert process.ended(60) == 2
    said = process.log_text().strip().splitlines()
    assert len(said) == 1 and f"{database.name} is damaged or cut off" in said[0]
    assert files(folder) == before


def test_a_whole_database_with_a_log_beside_it_is_sound(served: Folder) -> None:
    """Killed before the log was written back: the file alone is behind, and with the log it is whole."""
    with sqlite3.connect(served.path / "collector.db") as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        connection.execute("INSERT INTO service VALUES ('later', x'00')")
        connection.commit()
        killed = served.path.parent / "killed"
        shutil.copytree(served.path, killed)
    connection.close()
    assert (killed / "collector.db-wal").stat().st_size
    Collector(Folder(killed)).store.close()
