"""Databases to count into: SQLite, and a real Postgres where the test is marked for it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tools.postgres import new_database, server


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server."""
    with server() as address:
        yield address


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes the address of a new, empty database."""
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path / uuid.uuid4().hex}.db"
    address = request.getfixturevalue("postgres")
    return lambda: new_database(address)
