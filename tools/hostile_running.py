"""Attacks of `./run hostile` on processes as they run: silent connections, a frozen process, one token at two collectors."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

import numpy as np

from confide import Local
from confide.data.privatizers import respond
from confide.data.trajectories.trajectory import Trajectory
from confide.lab.staging.admission import make_admitting
from confide.lab.staging.processes import NotServed, Process
from confide.mdp import Spec
from confide.mechanisms.noise import device_noise
from confide.privacy import Schedule
from confide.protocol.kinds.question import asked_by
from confide.service.collector.store import CollectorStore
from confide.service.contract.blind_rsa import PrivateKey
from confide.service.contract.folder import Folder
from confide.service.contract.tokens import TokenRequest
from confide.service.contract.uploads import MEDIA_TYPE, Upload
from confide.service.device.transport import Transport, Unreachable
from confide.service.issuer.folder import IssuerFolder
from tools.postgres import new_database, server

SILENT, GREEDY = 1010, "127.0.0.2"
MOST = 5.0
"""Seconds that a process may be stopped."""
TOKENS, COPIES, KILLS = 120, 4, 8
"""Tokens, how often each is spent at the same time, and how often a collector is killed meanwhile."""
HOLDER = """
import sys
from sqlalchemy import text
from confide.service.http.databases import connect
with connect(sys.argv[1]).execution_options(writes=True).begin() as connection:
    connection.execute(text("UPDATE tally SET version = version"))
    print("held", flush=True)
    sys.stdin.readline()
"""


class TriedAttack(NamedTuple):
    """The outcome of one attack. held: whether it failed. figure: what was seen, in words."""

    name: str
    held: bool
    figure: str


def service_with_tokens(place: Path, people: int = 1000) -> tuple[Folder, PrivateKey]:
    """A local service of one round, and the key of its issuer."""
    schedule = Schedule.batches(people, 1)
    folder = make_admitting(place / "tea", spec=Spec(3, 2, 4), promise=Local(4.0), people=people, schedule=schedule)
    return folder, IssuerFolder(folder.issuer_path).private_keys()[0]


def letter(folder: Folder, token: bytes) -> bytes:
    """A submission with a token: an id that follows from the token, and a report that is drawn anew."""
    contract = folder.contract()
    lived = Trajectory(np.zeros(5, dtype=np.int64), np.zeros(4, dtype=np.int64), np.ones(4))
    report = respond(contract.design, asked_by(contract.design.question, None), lived, device_noise(None))
    return Upload(token[:16], contract.digest, 1, report.to_bytes(contract.design)).to_bytes() + token


def token(folder: Folder, key: PrivateKey) -> bytes:
    """A token, as an issuer signs it."""
    checker = folder.contract().tokens
    assert checker is not None
    request = TokenRequest.new(checker)
    return request.token(checker, key.sign(request.blinded(checker)))


def silent_connections() -> TriedAttack:
    """One address opens more connections than a server takes, and says nothing."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(before[0], 4096), before[1]), before[1]))
    answered, slowest = 0, 0.0
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as held:
        folder, _ = service_with_tokens(Path(place))
        process = Process(folder.path).start(120)
        try:
            port = int(process.url.rsplit(":", 1)[1])
            for _ in range(SILENT):
                with contextlib.suppress(OSError):
                    held.enter_context(socket.create_connection(("127.0.0.1", port), 5, source_address=(GREEDY, 0)))
            for _ in range(20):
                began = time.monotonic()
                with contextlib.suppress(Unreachable):
                    answered += Transport(process.url, 10.0).get("/v1/rounds/current").status == 200
                slowest = max(slowest, time.monotonic() - began)
        finally:
            process.stop()
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    figure = f"{answered} of 20 requests of another address served, all within {MOST:g} s"
    return TriedAttack(f"{SILENT:,} silent connections of one address", answered == 20 and slowest < MOST, figure)


@contextlib.contextmanager
def frozen(database: str) -> Iterator[None]:
    """Meanwhile a process holds the row that is counted in, and is stopped by SIGSTOP."""
    command = [sys.executable, "-c", HOLDER, database]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        os.kill(process.pid, signal.SIGSTOP)
        yield
    finally:
        process.kill()
        process.communicate()


def frozen_process() -> TriedAttack:
    """A process that holds the counted row is frozen; a user sends a report to another."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "server").mkdir()
        with server(place / "server") as address:
            database = new_database(address)
            folder, key = service_with_tokens(place)
            process = Process(folder.path, 0, database).start(120)
            try:
                line = Transport(process.url, 30.0)
                with frozen(database):
                    began = time.monotonic()
                    status = line.post("/v1/reports", letter(folder, token(folder, key)), MEDIA_TYPE).status
                    seconds = time.monotonic() - began
                    ready = line.get("/readyz").status
            finally:
                process.stop()
    held = status == 201 and seconds < MOST and ready == 200
    word = "counted" if status == 201 else f"answered {status}"
    within = f"within {MOST:g} s" if seconds < MOST else f"after {seconds:.0f} s"
    return TriedAttack("a frozen process holds the counted row", held, f"a report was {word} {within}; /readyz {ready}")


def killed(process: Process) -> None:
    """A process, killed at a random moment and started again."""
    time.sleep(random.uniform(0.0, 0.5))
    process.kill()
    process.launch()
    process.wait(60)


def _spend(folder: Folder, spent: bytes, process: Process) -> bool:
    """Whether a report with this token was counted. Without a response it is sent again, the same bytes."""
    body, until = letter(folder, spent), time.monotonic() + 120
    while time.monotonic() < until:
        with contextlib.suppress(Unreachable):
            status = Transport(process.url, 10.0).post("/v1/reports", body, MEDIA_TYPE).status
            if status < 500 and status != 429:
                return status == 201
        time.sleep(0.1)
    raise NotServed("not-served", "nobody answered for two minutes")


def spent_at_two_collectors() -> TriedAttack:
    """Each token is spent several times at once, at two collectors on one Postgres that are killed again and again."""
    counted: Counter[bytes] = Counter()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "server").mkdir()
        with server(place / "server") as address:
            database = new_database(address)
            folder, key = service_with_tokens(place)
            copytree(folder.path, place / "other")
            processes = [
                Process(path, 0, database, options=("--rate", "1e9")) for path in (folder.path, place / "other")
            ]
            try:
                for process in processes:
                    process.start(120)
                for _ in range(KILLS):
                    spent = [one for _ in range(TOKENS // KILLS) for one in COPIES * [token(folder, key)]]
                    killer = threading.Thread(target=killed, args=(random.choice(processes),))
                    killer.start()
                    with ThreadPoolExecutor(2 * COPIES) as pool:
                        answers = pool.map(
                            lambda work: _spend(folder, *work), zip(spent, cycle(processes), strict=False)
                        )
                        counted.update(one for one, taken in zip(spent, answers, strict=True) if taken)
                    killer.join(120)
                store = CollectorStore(database, folder.contract())
                people = store.tally().people
                store.close()
            finally:
                for process in processes:
                    process.stop()
    twice = sum(many > 1 for many in counted.values()) + max(0, people - TOKENS)
    figure = f"{TOKENS} tokens, each spent {COPIES} times at once under {KILLS} kills: {people} counted, {twice} twice"
    return TriedAttack("one token at two collectors that are killed", twice == 0 and people == TOKENS, figure)
