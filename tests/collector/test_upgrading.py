"""Tables of version 1, as they were written then, are brought up to date; nothing that was counted is lost or counted again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select, text

from confide.collector import upgrading
from confide.collector.schema import connect, sums
from confide.collector.store import CollectorStore
from tests.contracts.example import contract, design

from .test_store import arrivals, opened, opening, total

VERSION_1 = """
CREATE TABLE service (name VARCHAR(40) NOT NULL PRIMARY KEY, value {bytes});
CREATE TABLE tally (id INTEGER NOT NULL PRIMARY KEY, round INTEGER NOT NULL, people BIGINT NOT NULL, version BIGINT NOT NULL);
CREATE TABLE sums (round INTEGER NOT NULL, shard VARCHAR(16) NOT NULL, total {bytes} NOT NULL, PRIMARY KEY (round, shard));
CREATE TABLE ids (id {bytes} NOT NULL PRIMARY KEY, round INTEGER NOT NULL);
CREATE TABLE heads (number INTEGER NOT NULL PRIMARY KEY, data {bytes} NOT NULL, signature {bytes} NOT NULL);
CREATE TABLE releases (number INTEGER NOT NULL PRIMARY KEY, data {bytes} NOT NULL);
CREATE TABLE policies (digest VARCHAR(64) NOT NULL PRIMARY KEY, data {bytes} NOT NULL);
CREATE TABLE states (number INTEGER NOT NULL PRIMARY KEY, state {bytes} NOT NULL, total {bytes} NOT NULL)
"""
COPIED = {
    "service": "name, value",
    "tally": "id, round, people, version",
    "sums": "round, shard, total",
    "ids": "id, round",
    "heads": "number, data, signature",
    "policies": "digest, data",
    "states": "number, state, total",
}
MADE = contract(design(people=30, rounds=3))


def version_1(new: Callable[[], str]) -> str:
    """A database as version 1 left it: 14 people, the second round open."""
    source = opened(new(), made=MADE)
    source.open(opening(1))
    source.count([arrival._replace(followed=2) for arrival in arrivals(range(14), MADE)])
    url = new()
    engine = connect(url)
    with source._engine.begin() as old, engine.begin() as connection:
        for line in VERSION_1.format(bytes="BYTEA" if engine.dialect.name == "postgresql" else "BLOB").split(";"):
            connection.execute(text(line))
        for table, columns in COPIED.items():
            names = columns.split(", ")
            into = text(f"INSERT INTO {table} ({columns}) VALUES ({', '.join(':' + name for name in names)})")
            for row in old.execute(text(f"SELECT {columns} FROM {table}")).mappings():
                connection.execute(into, dict(row))
        connection.execute(text("UPDATE service SET value = :one WHERE name = 'schema'"), {"one": b"1"})
    engine.dispose()
    source.close()
    return url


def test_version_1_goes_on(database: Callable[[], str]) -> None:
    url = version_1(database)
    store = opened(url, made=MADE)
    with store.writing() as connection:
        rows = connection.execute(select(sums.c.round, sums.c.followed)).all()
    assert sorted(map(tuple, rows)) == [(1, 1), (2, 2)]
    assert store.count(arrivals(range(20), MADE)) == ["repeated"] * 14 + ["counted"] * 6
    cells, people, known = total(store)
    assert cells[:20].tolist() == [1] * 20 and cells.sum() == people == known == 20
    assert store.newest() == opening(1).head
    store.close()
    opened(url, made=MADE).close()


def test_an_upgrade_that_dies_changes_nothing(database: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    url = version_1(database)
    store = CollectorStore(url, MADE)
    before = dict(upgrading._STEPS)

    def dies(connection: object) -> None:
        before[b"1"][1](connection)  # type: ignore[arg-type]
        raise ConnectionError

    monkeypatch.setitem(upgrading._STEPS, b"1", (b"2", dies))
    with pytest.raises(ConnectionError):
        store.prepare()
    monkeypatch.setitem(upgrading._STEPS, b"1", before[b"1"])
    store.prepare()
    assert total(store)[1:] == (14, 14)
    store.close()
