"""Brings tables of earlier versions up to date, one version at a time, each in one transaction."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, Engine, select, text, update

from . import schema
from .schema import service, sums


def upgrade(engine: Engine) -> None:
    """Bring the tables of a database up to date; what it does not know it leaves alone. engine: one that writes."""
    while True:
        with engine.begin() as connection:
            query = select(service.c.value).where(service.c.name == "schema").with_for_update()
            version = connection.execute(query).scalar()
            step = None if version is None else _STEPS.get(bytes(version))
            if step is None:
                return
            following, change = step
            change(connection)
            connection.execute(update(service).where(service.c.name == "schema").values(value=following))


def _followed(connection: Connection) -> None:
    """Upgrade version 1 to 2: sums are kept by the round that people followed; before, everybody was taken to follow the
    open one."""
    connection.execute(text("ALTER TABLE sums RENAME TO sums_1"))
    sums.create(connection)
    connection.execute(
        text("INSERT INTO sums (round, followed, shard, total) SELECT round, round, shard, total FROM sums_1")
    )
    connection.execute(text("DROP TABLE sums_1"))
    schema.expectations.create(connection, checkfirst=True)


def _asked(connection: Connection) -> None:
    """Upgrade version 2 to 3: rounds may carry a question."""
    schema.questions.create(connection, checkfirst=True)


_STEPS: dict[bytes, tuple[bytes, Callable[[Connection], None]]] = {b"1": (b"2", _followed), b"2": (b"3", _asked)}
