"""Exactly once: a report, its sum and the number of people change together or not at all, wherever a crash falls."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence

import numpy as np
import psycopg
import pytest
from sqlalchemy import delete, event, func, insert, select, update

from confide.errors import FormatError
from confide.protocol.releases import Sum
from confide.protocol.releases.sums import Pile
from confide.service.collector import schema
from confide.service.collector.schema import ids, sums, tally
from confide.service.collector.store import Arrival, CollectorStore, Opening, Tally
from confide.service.contract import Contract, Head, SignedHead
from tests.service.contract.example import PRIVATE, contract, design, letter

MADE = contract(design(people=30, rounds=3))
Maker = Callable[[], str]


def arrivals(numbers: Sequence[int], made: Contract = MADE) -> list[Arrival]:
    """Submissions, each with a bucket of its own."""
    pile, width = Pile(made.design), made.design.question.width
    letters = [letter(made, number, number % width) for number in numbers]
    return [Arrival(sent[4:20], pile.check(sent[56:])) for sent in letters]


def opened(url: str, kind: type[CollectorStore] = CollectorStore, made: Contract = MADE) -> CollectorStore:
    store = kind(url, made)
    store.prepare()
    return store


def total(store: CollectorStore) -> tuple[np.ndarray, int, int]:
    """Buckets of all rounds together, people, and ids."""
    with store.writing() as connection:
        cells = np.zeros(store.contract.design.question.width, dtype=np.int64)
        for (raw,) in connection.execute(select(sums.c.total)):
            cells += Sum.from_bytes(bytes(raw), store.contract.design).cells[0]
        people = connection.execute(select(tally.c.people)).scalar_one()
        known = connection.execute(select(func.count()).select_from(ids)).scalar_one()
    return cells, people, known


def test_each_is_counted_once_in_any_grouping(database: Maker) -> None:
    store = opened(database())
    assert store.count(arrivals([0, 1, 1, 2])) == ["counted", "counted", "repeated", "counted"]
    assert store.count(arrivals([2, 3, 0])) == ["repeated", "counted", "repeated"]
    cells, people, known = total(store)
    assert cells[:4].tolist() == [1, 1, 1, 1] and cells.sum() == people == known == 4
    store.close()


def test_a_group_fills_rounds_to_the_last_person_and_the_rest_is_too_late(database: Maker) -> None:
    store = opened(database())
    assert store.count(arrivals(range(25))) == ["counted"] * 25
    assert store.tally()[:2] == (3, 25)
    assert store.count(arrivals(range(25, 35))) == ["counted"] * 5 + ["ended"] * 5
    assert store.tally()[:2] == (4, 30)
    with store.writing() as connection:
        per_round = dict(connection.execute(select(ids.c.round, func.count()).group_by(ids.c.round)).all())
    assert per_round == {1: 10, 2: 10, 3: 10}
    store.close()


def test_what_is_kept_survives_and_belongs_to_one_contract(database: Maker) -> None:
    url = database()
    store = opened(url)
    store.count(arrivals([1, 2, 3]))
    store.close()
    again = opened(url)
    assert again.count(arrivals([3, 4])) == ["repeated", "counted"] and total(again)[1] == 4
    again.close()
    other = CollectorStore(url, contract(name="coffee"))
    with pytest.raises(FormatError, match="another contract"):
        other.prepare()
    other.close()


def test_a_report_counts_in_the_open_round_by_the_round_that_it_names(database: Maker) -> None:
    """Kept apart for the last rounds, and older ones with the oldest of them; each process reads its own after a restart."""
    from confide.service.collector.store import LATE_ROUNDS

    made = contract(design(people=200, rounds=20))
    url = database()
    store = opened(url, made=made)
    for number in range(95):
        assert store.count(arrivals([number], made)) == ["counted"]
    assert store.tally().round == 10
    late = [
        arrival._replace(followed=followed)
        for arrival, followed in zip(arrivals(range(100, 105), made), (1, 3, 9, 10, 12), strict=True)
    ]
    store.count(late[:3])
    store._held = None  # as after an error
    store.count(late[3:])
    with store.writing() as connection:
        rows = connection.execute(select(sums.c.followed, sums.c.total).where(sums.c.round == 10)).all()
    oldest = 10 - LATE_ROUNDS + 1
    decoded = {followed: Sum.from_bytes(bytes(raw), made.design).cells[0] for followed, raw in rows}
    assert {followed: int(cells.sum()) for followed, cells in decoded.items()} == {oldest: 7, 9: 1, 10: 2}
    assert [decoded[9][102 % 37], decoded[10][103 % 37], store.tally().people] == [1, 1, 100]
    store.close()


def test_tables_of_another_version_are_refused(database: Maker) -> None:
    url = database()
    store = opened(url)
    with store.writing() as connection:
        connection.execute(update(schema.service).where(schema.service.c.name == "schema").values(value=b"9"))
    with pytest.raises(FormatError, match="version"):
        store.prepare()
    store.close()


def test_collectors_count_side_by_side(database: Maker) -> None:
    """Four stores on one database, all sent the same submissions: each counts once in all."""
    made = contract(design(people=3000, rounds=3))
    url = database()
    opened(url, made=made).close()
    counted: list[str] = []

    def work(seed: int) -> None:
        store = opened(url, made=made)
        order = np.random.default_rng(seed).permutation(36)
        for start in range(0, 36, 5):
            counted.extend(store.count(arrivals(order[start : start + 5].tolist(), made)))
        store.close()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = opened(url, made=made)
    cells, people, known = total(store)
    assert counted.count("counted") == people == known == 36 and len(counted) == 144
    assert cells[:36].tolist() == [1] * 36
    store.close()


class Interrupted(Exception):
    """The process dies here, as far as the database can tell."""


def crashes(store: CollectorStore, at: int, what: Callable[[], object]) -> bool:
    """Do something that dies before its n-th statement, or at its commit; whether it died at all."""
    seen = 0
    engine = store._engine

    def before(*given: object) -> None:
        nonlocal seen
        seen += 1
        if seen == at:
            raise Interrupted

    def dying(method: Callable[..., object]) -> Callable[..., object]:
        def died(*given: object, **options: object) -> object:
            before()
            return method(*given, **options)

        return died

    event.listen(engine, "before_cursor_execute", before)
    event.listen(engine, "commit", before)
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("execute", "commit"):  # statements that go together are not seen by events
                patch.setattr(psycopg.Connection, name, dying(getattr(psycopg.Connection, name)))
            what()
    except Interrupted:
        return True
    finally:
        event.remove(engine, "before_cursor_execute", before)
        event.remove(engine, "commit", before)
    return False


def check_crashes(kind: type[CollectorStore], database: Maker) -> None:
    """Wherever counting dies, sums, people and ids agree; and a report that is sent again is counted once."""
    at, died = 0, True
    url = database()
    store = opened(url, kind)
    expected = 0
    while died:
        at += 1
        numbers = [2 * expected % 30, (2 * expected + 1) % 30]
        if expected >= 10:
            break
        died = crashes(store, at, lambda numbers=numbers: store.count(arrivals(numbers)))
        cells, people, known = total(store)
        assert cells.sum() == people == known, f"after a crash at statement {at}"
        done = known == 2 * expected + 2  # a crash after the commit too leaves all of it
        assert done or (died and known == 2 * expected)
        outcomes = store.count(arrivals(numbers))
        assert outcomes == (["repeated"] * 2 if done else ["counted"] * 2)
        expected += 1
        cells, people, known = total(store)
        assert cells.sum() == people == known == 2 * expected and cells.max() == 1
    assert at > 4, "nothing was cut"
    store.close()


def test_a_crash_anywhere_counts_nothing_or_all(database: Maker) -> None:
    check_crashes(CollectorStore, database)


class SumOutside(CollectorStore):
    """A mutant: the sum is written in a transaction of its own, after the ids."""

    def count(self, arrivals: Sequence[Arrival]) -> list[str]:
        with self.writing() as connection:
            known = {bytes(row) for row in connection.execute(select(ids.c.id)).scalars()}
            fresh = [arrival for arrival in arrivals if arrival.id not in known]
            if fresh:
                connection.execute(insert(ids), [{"id": arrival.id, "round": 1} for arrival in fresh])
        with self.writing() as connection:
            where = Tally(*connection.execute(schema.LOCKED).one())
            totals = self._totals(connection, where)
            for added in self._added(1, totals, fresh):
                connection.execute(delete(sums))
                connection.execute(insert(sums).values(added._asdict()))
            people = where.people + len(fresh)
            connection.execute(update(tally).values(people=people, version=where.version + 1))
        return ["repeated" if arrival.id in known else "counted" for arrival in arrivals]


class MemoryAhead(CollectorStore):
    """A mutant: what is in memory is believed although its commit failed."""

    def count(self, arrivals: Sequence[Arrival]) -> list[str]:
        with self.writing() as connection:
            where = Tally(*connection.execute(schema.LOCKED).one())
            outcomes, held = self._counted(connection, arrivals)
            self._held = (Tally(where.round, where.people, where.version), held[1])
        self._held = held
        return outcomes


@pytest.mark.parametrize("mutant", [SumOutside, MemoryAhead])
def test_mutants_are_caught(mutant: type[CollectorStore], tmp_path) -> None:
    names = iter(range(9))
    with pytest.raises(AssertionError):
        check_crashes(mutant, lambda: f"sqlite:///{tmp_path / str(next(names))}.db")


def test_two_collectors_keep_the_same_value_at_once(database: Maker) -> None:
    url = database()
    stores = [opened(url) for _ in range(4)]
    started, failed = threading.Barrier(4, timeout=30), list[Exception]()

    def keep(store: CollectorStore) -> None:
        for number in range(1, 6):
            started.wait()
            try:
                store.note_published(number)
            except Exception as error:
                failed.append(error)

    threads = [threading.Thread(target=keep, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed and {store.published() for store in stores} == {5}
    for store in stores:
        store.close()


def opening(number: int, before: SignedHead | None = None, policy: bytes = b"policy") -> Opening:
    head = Head(
        MADE.digest.hex(),
        number,
        hashlib.sha256(policy).hexdigest(),
        before.digest if before else "0" * 64,
        None,
        0,
        number > 3,
    )
    return Opening(SignedHead.signed(head, PRIVATE), policy, b"state", b"total", b"release" if before else None)


def test_a_round_is_opened_once(database: Maker) -> None:
    store = opened(database())
    first = opening(1)
    assert store.newest() is None and store.open(first) and not store.open(opening(1, policy=b"another"))
    assert store.newest() == first.head and store.policy(first.head.head.policy) == b"policy"
    assert store.open(opening(2, first.head)) and store.head(1) == first.head and store.release(1) == b"release"
    assert store.release(2) is None and store.policy("0" * 64) is None
    store.close()


def test_a_crash_while_opening_leaves_nothing_of_it(database: Maker) -> None:
    store = opened(database())
    first = opening(1)
    store.open(first)
    at = 1
    while crashes(store, at, lambda: store.open(opening(2, first.head, b"second"))):
        assert store.newest() == first.head and store.release(1) is None
        assert store.policy(hashlib.sha256(b"second").hexdigest()) is None
        at += 1
    newest = store.newest()
    assert at > 5 and newest is not None and newest.head.round == 2
    store.close()
