"""A process frozen while it holds the row that is counted in: others wait five seconds at most, and say when they cannot count."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from confide.service.collector.store import CollectorStore
from confide.service.contract.uploads import MEDIA_TYPE
from confide.service.http import databases
from tests.service.contract.example import letter
from tools.postgres import new_database

from .services import Service, folder_of, running, wait_for

MOST = 5.0
"""Seconds that a frozen process may stop anyone."""
HOLDER = """
import sys
from sqlalchemy import text
from confide.service.http.databases import connect
engine = connect(sys.argv[1]).execution_options(writes=True)
with engine.begin() as connection:
    connection.execute(text("UPDATE tally SET version = version"))
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextlib.contextmanager
def frozen(database: str) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that holds the tally row, stopped by SIGSTOP."""
    command = [sys.executable, "-c", HOLDER, database]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        os.kill(process.pid, signal.SIGSTOP)
        yield process
    finally:
        process.kill()
        process.communicate()


def timed(service: Service, verb: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, float]:
    began = time.monotonic()
    status, _, _ = service.raw(verb, path, body, **headers)
    return status, time.monotonic() - began


def sent(service: Service, number: int) -> tuple[int, float]:
    return timed(service, "POST", "/v1/reports", letter(service.contract, number), Content_Type=MEDIA_TYPE)


@pytest.mark.postgres
def test_a_frozen_process_on_postgres_stops_nobody_for_more_than_five_seconds(postgres: str, tmp_path: Path) -> None:
    database = new_database(postgres)
    with running(folder_of(tmp_path), database) as service:
        assert sent(service, 1)[0] == 201
        with frozen(database) as holder:
            status, seconds = sent(service, 2)
            assert status == 201 and 0.5 < seconds < MOST, "it waited, and was counted"
            assert timed(service, "GET", "/readyz")[0] == 200
            os.kill(holder.pid, signal.SIGCONT)
            holder.communicate("\n", timeout=20)
            assert holder.returncode != 0, "its transaction was ended"
        assert sent(service, 2)[0] == 200 and service.collector.store.tally().people == 2


@pytest.mark.service
def test_a_frozen_process_on_a_file_is_seen_and_nobody_waits_for_more_than_five_seconds(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    with running(folder) as service:
        assert sent(service, 1)[0] == 201
        with frozen(folder.database) as holder:
            time.sleep(1.1)  # longer than a commit proves anything
            status, seconds = timed(service, "GET", "/readyz")
            assert status == 503 and seconds < MOST
            status, seconds = sent(service, 2)
            assert status == 503 and seconds < MOST + 1
            assert timed(service, "GET", "/v1/rounds/current")[0] == 200 and timed(service, "GET", "/healthz")[0] == 200
            os.kill(holder.pid, signal.SIGCONT)
            holder.communicate("\n", timeout=20)
        wait_for(lambda: timed(service, "GET", "/readyz")[0] == 200, 15)
        assert sent(service, 2)[0] in (200, 201) and service.collector.store.tally().people == 2


def test_ready_means_that_a_commit_goes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken: list[int] = []

    def touch(self: CollectorStore) -> None:
        broken.append(1)
        raise ConnectionError

    with running(folder_of(tmp_path)) as service:
        assert service.get("/readyz")[0] == 200
        monkeypatch.setattr(service.collector._readiness, "_commit", lambda: touch(service.collector.store))
        time.sleep(1.05)
        for _ in range(5):
            status, body = service.get("/readyz")
            assert status == 503 and b"nothing can be counted" in body
        assert len(broken) == 1, "however often it is asked, it tries once a second"
        assert sent(service, 1)[0] == 201 and service.get("/readyz")[0] == 200, "something was just counted"


@pytest.mark.postgres
def test_every_session_has_ends_to_its_waits(postgres: str) -> None:
    engine = databases.connect(new_database(postgres))
    for _ in range(2):
        with engine.begin() as connection:
            shown = {
                name: connection.exec_driver_sql(f"SHOW {name}").scalar_one()
                for name in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
            }
            assert shown == {
                "lock_timeout": "4s",
                "statement_timeout": "4500ms",
                "idle_in_transaction_session_timeout": "3s",
            }
            databases.allow_long(connection)
            assert connection.exec_driver_sql("SHOW statement_timeout").scalar_one() == "2min"
    engine.dispose()
