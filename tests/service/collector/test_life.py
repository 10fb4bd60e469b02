"""The life of a collector: what is published was committed, what was published stays, and an older copy refuses to start."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from confide.errors import FormatError, InvalidInput
from confide.lab.staging import check_url
from confide.lab.staging.processes import NotServed, Process
from confide.mdp import Spec
from confide.privacy import Guarantee, Local, Schedule
from confide.service.collector import closing
from confide.service.collector.app import Collector
from confide.service.collector.closing import Publisher, RoundCloser
from confide.service.collector.founding import make_service
from confide.service.collector.learning import send
from confide.service.collector.store import Arrival, CollectorStore, Opening
from confide.service.contract import SignedHead
from confide.service.contract.folder import Folder
from confide.service.http.group_commit import GroupCommitter
from tests.service.contract.example import PRIVATE, contract, design, letter

from .services import Lessons, folder_of, running, wait_for
from .test_store import arrivals


class Failing(CollectorStore):
    """A store that loses its database when a round is to be opened."""

    broken = False

    def open(self, opening: Opening) -> bool:
        if self.broken:
            raise ConnectionError
        return super().open(opening)


class HeadFirst(RoundCloser):
    """A mutant: the head outside the database is written before the commit."""

    def _open(self, opening: Opening) -> None:
        closing.write_whole(self._publisher._file, opening.head.to_json())
        super()._open(opening)


class PublishFirst(RoundCloser):
    """A mutant: what is served changes before the commit."""

    def _open(self, opening: Opening) -> None:
        self._publisher.current, self._publisher.served = opening.head, opening.head.to_json()
        super()._open(opening)


def check_order(kind: type[RoundCloser], folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database goes when a round is closed: nothing is published, and a new process starts from what is stored."""
    monkeypatch.setattr(closing, "LearnerProcess", Lessons)
    made = folder.contract()
    store = Failing(folder.database, made)
    store.prepare()
    publisher = Publisher(store, folder)
    publisher.check()
    closer = kind(store, publisher, PRIVATE, lambda seconds: None)
    closer.step()
    first, served = publisher.current, publisher.served
    assert first is not None and first.head.round == 1
    assert store.count(arrivals(range(12), made)) == ["counted"] * 12
    store.broken = True
    with pytest.raises(ConnectionError):
        closer.step()
    assert publisher.current == first and publisher.served == served, "published before it was committed"
    store.close()
    again = CollectorStore(folder.database, made)
    fresh = Publisher(again, folder)
    fresh.check()
    fresh.advance()
    assert fresh.current == first
    RoundCloser(again, fresh, PRIVATE, lambda seconds: None).step()
    assert fresh.current is not None and fresh.current.head.round == 2 and fresh.current.head.previous == first.digest
    assert SignedHead.from_json(folder.head_file.read_bytes(), made.key) == fresh.current
    again.close()


def test_commit_then_head_then_publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_order(RoundCloser, folder_of(tmp_path), monkeypatch)


@pytest.mark.parametrize("mutant", [HeadFirst, PublishFirst])
def test_mutants_of_the_order_are_caught(
    mutant: type[RoundCloser], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises((AssertionError, FormatError)):
        check_order(mutant, folder_of(tmp_path), monkeypatch)


class AnswerFirst(GroupCommitter):
    """A mutant: the answer is given before the commit."""

    def _count(self, group) -> None:
        for _, future in group:
            future.get_loop().call_soon_threadsafe(future.set_result, "counted")
        try:
            self._store.count([arrival for arrival, _ in group])
        except Exception:
            return


def check_answers(kind: type[GroupCommitter], tmp_path: Path) -> None:
    """Where the commit fails no sender hears that they were counted."""

    class FailingStore:
        def count(self, given: list[Arrival]) -> list[str]:
            raise ConnectionError

    async def ask() -> str:
        counter = kind(FailingStore(), lambda: None, lambda many, seconds: None)  # type: ignore[arg-type]
        counter.start()
        try:
            return await counter.submit(arrivals([1])[0])
        except ConnectionError:
            return "failed"
        finally:
            counter.stop()

    assert asyncio.run(ask()) == "failed"


def test_no_answer_before_the_commit(tmp_path: Path) -> None:
    check_answers(GroupCommitter, tmp_path)
    with pytest.raises(AssertionError):
        check_answers(AnswerFirst, tmp_path)


def test_only_what_is_served_is_founded(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="trust local"):
        make_service(tmp_path / "a", Spec(3, 2, 4), Guarantee("central", 1.0, 1e-6), 100)
    with pytest.raises(InvalidInput, match="counts"):
        make_service(tmp_path / "b", Spec(3, 2, 4), Local(1.0), 100, learner="apvi")
    made = make_service(tmp_path / "c", Spec(3, 2, 4), Local(1.0), 100, schedule=Schedule.growth(100, 2.0))
    assert made.key_file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidInput, match="not empty"):
        make_service(tmp_path / "c", Spec(3, 2, 4), Local(1.0), 100)


def test_a_process_that_holds_episodes_does_not_serve() -> None:
    """And one that serves has loaded nothing that does, nor a compiler."""
    program = "import sys\nfrom confide.service.collector.serving import check_wall\n{}\ncheck_wall()\nprint(*sorted(sys.modules))"
    bad = subprocess.run(
        [sys.executable, "-c", program.format("import confide.data.trajectories")], capture_output=True, text=True
    )
    assert bad.returncode and "must not load confide.data" in bad.stderr
    good = subprocess.run(
        [sys.executable, "-c", program.format("import confide.service.collector.app")],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(good.stdout.split())
    assert not loaded & {
        "confide.data.trajectories",
        "confide.data.statistics",
        "confide.data.privatizers",
        "numba",
        "scipy",
        "opendp",
    }


def test_a_lesson_whose_collector_was_killed_ends_without_a_word(tmp_path: Path) -> None:
    """What it would have answered is read by no one; a log that says so would look like a failure."""
    command = [sys.executable, "-P", "-m", "confide.service.collector.learning"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdout.close()
        send(child.stdin, contract().data)
        send(child.stdin, b"")  # no contract taught anything before
        send(child.stdin, ["certificate"])
        child.stdout = None
        assert child.communicate(timeout=120) == (None, b"") and child.returncode == 0


@pytest.mark.service
def test_a_database_that_goes_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(folder_of(tmp_path)) as service:
        store = service.collector.store
        assert service.send(letter(service.contract, 1)) == 201
        writing = store.writing

        def gone() -> object:
            raise ConnectionError

        store.writing = gone  # type: ignore[method-assign, assignment]
        assert service.send(letter(service.contract, 2, 1)) == 503
        store.writing = writing  # type: ignore[method-assign]
        assert [service.send(letter(service.contract, number, number)) for number in (1, 2)] == [200, 201]
        assert store.tally().people == 2


def pragma(store: CollectorStore, text: str) -> None:
    """Tell every connection of the pool."""
    for connection in [store._engine.raw_connection() for _ in range(4)]:
        assert connection.driver_connection is not None
        connection.driver_connection.execute(f"PRAGMA {text}")
        connection.close()


@pytest.mark.service
def test_a_store_that_is_read_only_refuses_and_recovers(tmp_path: Path) -> None:
    with running(folder_of(tmp_path)) as service:
        store = service.collector.store
        assert service.send(letter(service.contract, 1)) == 201
        pragma(store, "query_only=ON")
        assert service.send(letter(service.contract, 2, 1)) == 503
        pragma(store, "query_only=OFF")
        assert service.send(letter(service.contract, 2, 1)) == 201
        assert store.tally().people == 2


@pytest.mark.service
def test_a_full_disk(tmp_path: Path) -> None:
    """The database may not grow: submissions are refused, none is half counted, and when there is room again they count."""
    with running(folder_of(tmp_path, contract(design(people=5000, rounds=1)))) as service:
        store = service.collector.store
        pragma(store, "max_page_count=1")  # as many as there are
        statuses = [service.send(letter(service.contract, number, number % 37)) for number in range(400)]
        assert set(statuses) == {201, 503}
        assert store.tally().people == statuses.count(201)
        pragma(store, "max_page_count=1000000")
        again = [service.send(letter(service.contract, number, number % 37)) for number in range(400)]
        assert again == [200 if status == 201 else 201 for status in statuses]
        assert store.tally().people == 400


@pytest.fixture
def live(tmp_path: Path):
    """A service of its own process, as `confide serve` runs it."""
    folder = folder_of(tmp_path / "tea", contract(design(people=30, rounds=3)))
    process = Process(folder.path)
    yield folder, process
    process.kill()


@pytest.mark.service
def test_killed_restarted_ended_and_restored(live: tuple[Folder, Process], tmp_path: Path) -> None:
    """kill -9 loses nothing; SIGTERM ends it soon; a second one is refused; an older copy refuses to start."""
    from confide.service.contract.uploads import MEDIA_TYPE
    from confide.service.device import Transport

    folder, process = live
    made = folder.contract()
    process.start()

    def send(number: int) -> int:
        return Transport(process.url).post("/v1/reports", letter(made, number, number), MEDIA_TYPE).status

    assert [send(number) for number in range(5)] == [201] * 5
    process.kill()
    process.start()
    assert [send(number) for number in range(10)] == [200] * 5 + [201] * 5
    second = Process(folder.path, log=tmp_path / "second")
    with pytest.raises(NotServed, match="Another process"):
        second.start()
    shutil.copytree(folder.path, tmp_path / "backup")
    wait_for(lambda: check_url(process.url)["heads"] == 2)
    assert [send(number) for number in range(10, 20)] == [201] * 10
    wait_for(lambda: check_url(process.url)["heads"] == 3)
    seconds = process.stop()
    assert seconds < 3 and "Traceback" not in process.log_text()
    for name in ("collector.db", "collector.db-wal", "collector.db-shm"):
        (folder.path / name).unlink(missing_ok=True)
        if (tmp_path / "backup" / name).exists():
            shutil.copy(tmp_path / "backup" / name, folder.path / name)
    restored = Process(folder.path, log=tmp_path / "restored")
    with pytest.raises(NotServed, match="older copy"):
        restored.start()
    assert "127.0.0.1" not in process.log_text().replace(process.url, "")


@pytest.mark.service
def test_another_story_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    with running(folder):
        pass
    store = CollectorStore(folder.database, folder.contract())
    publisher = Publisher(store, folder)
    publisher.check()
    newest = store.newest()
    assert newest is not None
    folder.head_file.write_bytes(SignedHead.signed(replace(newest.head, people=1), PRIVATE).to_json())
    with pytest.raises(FormatError, match="another round"):
        publisher.check()
    forged = SignedHead(newest.data.replace(b'"people":0', b'"people":1'), newest.signature)
    folder.head_file.write_bytes(forged.to_json())
    with pytest.raises(FormatError, match="signature"):
        publisher.check()
    store.close()


def test_a_key_that_is_not_the_contracts_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    folder.key_file.write_text("00" * 32)
    with pytest.raises(FormatError, match="not the key"):
        Collector(folder)


@pytest.mark.service
@pytest.mark.postgres
def test_every_connection_of_postgres_is_cut(tmp_path: Path, postgres: str) -> None:
    """As when the server is restarted: submissions are refused for a moment at most, and each counts once."""
    import psycopg

    from tools.postgres import new_database

    address = new_database(postgres)
    with running(folder_of(tmp_path), address) as service:
        assert service.send(letter(service.contract, 1)) == 201
        with psycopg.connect(postgres, autocommit=True) as connection:
            name = address.partition("?")[0].rsplit("/", 1)[1]
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        answers = [service.send(letter(service.contract, 2, 1)) for _ in range(8)]
        assert set(answers) <= {200, 201, 503} and answers.count(201) == 1 and answers[-1] == 200
        wait_for(lambda: service.get("/readyz")[0] == 200)
        assert service.collector.store.tally().people == 2
