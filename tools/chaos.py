"""A service under everything that goes wrong: kill -9, cut connections, devices that repeat, come late and send garbage.

`./run chaos [--kills N] [--store sqlite|postgres] [--json]`. After the kills come a full disk, a store that is read-only, a
database that goes and comes back, and an older backup (`tools.faults`). Every device has a bucket of its own in the sum: a 2
is a report that was counted twice and a 0 where an answer was given is one that was lost. Whatever was published is watched:
it must never change. Exit code 1 if anything was lost, double or changed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from sqlalchemy import select

from confide.collector.founding import Folder, make_service
from confide.collector.schema import states, sums
from confide.collector.store import CollectorStore
from confide.contracts import Contract, Letter, SignedHead
from confide.contracts.letters import MEDIA_TYPE
from confide.device.transport import Transport, Unreachable
from confide.mdp import Spec
from confide.privacy import Local, Schedule
from confide.releases import Report, Sum
from confide.staging.processes import NotServed, Process
from tools.postgres import new_database, running

SPEC = Spec(40, 2, 3)
BUCKETS = 2 * 40 * 2 * 40
ROUND = 50
"""People in a round."""
WORKERS = 10
"""Devices that send at the same time."""
WARM = 400.0
"""Seconds within which the first round must be closed."""
CUT = 0.15
"""Share of connections that the proxy cuts."""


TRUSTS = ("local", "shuffle", "joint")


@dataclass
class Row:
    """What came of one rehearsal."""

    name: str
    trust: str
    store: str
    kills: int = 0
    sent: int = 0
    acknowledged: int = 0
    rounds: int = 0
    lost: int = 0
    double: int = 0
    changed: int = 0
    refused: int = 0
    misfits: int = 0
    recovered: bool = False
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether nothing was lost, counted twice or changed, batches were as scheduled, and it went on in the end."""
        return self.recovered and not (self.lost or self.double or self.changed or self.misfits)


@dataclass
class Stage:
    """Who takes part in a rehearsal."""

    folder: Folder
    processes: list[Process]
    crowd: Crowd
    watcher: Watcher
    row: Row


Blows = Callable[[Stage], None]


def free_port() -> int:
    """A port of this machine that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Proxy(threading.Thread):
    """Stands between devices and collectors, chooses one of them for each connection, and cuts some in the middle."""

    def __init__(self, ports: list[int]) -> None:
        super().__init__(daemon=True)
        self._ports = ports
        self._door = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"

    def run(self) -> None:
        """Until closed."""
        while True:
            try:
                line, _ = self._door.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(line,), daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()

    def _pass_on(self, line: socket.socket) -> None:
        cut = random.random() < CUT
        where = random.choice(("before", "request", "answer"))
        with contextlib.suppress(OSError), line:
            if cut and where == "before":
                return
            with socket.create_connection(("127.0.0.1", random.choice(self._ports)), timeout=5) as other:
                line.settimeout(10)
                other.settimeout(10)
                data = line.recv(65536)
                if cut and where == "request":
                    data = data[: random.randrange(len(data) + 1)]
                other.sendall(data)
                if cut and where == "request":
                    return
                back = threading.Thread(target=_pump, args=(line, other), daemon=True)
                back.start()
                answer = other.recv(65536)
                if not (cut and where == "answer"):
                    while answer:
                        line.sendall(answer)
                        answer = other.recv(65536)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)


class Crowd:
    """Devices, each with a bucket of its own, that send until they are answered."""

    def __init__(self, contract: Contract, url: str) -> None:
        self._contract, self._url = contract, url
        self._next = iter(range(BUCKETS))
        self._lock = threading.Lock()
        self.sent: set[int] = set()
        self.acknowledged: set[int] = set()
        self.refused = 0
        self.ended = threading.Event()

    def body(self, bucket: int) -> bytes:
        """The letter of one device: the same however often it is sent."""
        design = self._contract.design
        cells = np.zeros(design.question.width, dtype=np.int64)
        cells[bucket] = 1
        report = Report(design.digest, design.question.digest, cells).to_bytes(design)
        return Letter(hashlib.sha256(bucket.to_bytes(8)).digest()[:16], self._contract.digest, 1, report).to_bytes()

    def work(self) -> None:
        """One device after the other until there is an end."""
        transport = Transport(self._url, 5.0)
        while not self.ended.is_set():
            with self._lock:
                bucket = next(self._next, None)
            if bucket is None:
                return
            self._deliver(transport, bucket)

    def _deliver(self, transport: Transport, bucket: int) -> None:
        body, manner = self.body(bucket), random.random()
        if manner < 0.1:
            self._post(transport, os.urandom(random.randrange(1, 150)))
        if 0.1 <= manner < 0.2:
            time.sleep(random.uniform(0, 1))
        with self._lock:
            self.sent.add(bucket)
        for attempt in range(200):
            status = self._post(transport, body)
            if status in (200, 201):
                with self._lock:
                    self.acknowledged.add(bucket)
                break
            if self.ended.is_set() and attempt > 20:
                return  # neither counted for sure nor lost for sure
            time.sleep(random.uniform(0.02, 0.2))
        if 0.2 <= manner < 0.4:
            self._post(transport, body)
        time.sleep(random.uniform(0, 0.05))

    def _post(self, transport: Transport, body: bytes) -> int:
        try:
            status = transport.post("/v1/reports", body, MEDIA_TYPE).status
        except Unreachable:
            return 0
        with self._lock:
            self.refused += status == 503
        return status


class Watcher(threading.Thread):
    """Reads what is published, again and again, and counts what changed."""

    def __init__(self, contract: Contract, processes: list[Process]) -> None:
        super().__init__(daemon=True)
        self._contract, self._processes = contract, processes
        self.seen: dict[str, str] = {}
        self.changed, self.round = 0, 0
        self.ended = threading.Event()

    def run(self) -> None:
        """Until told."""
        while not self.ended.wait(0.1):
            for process in self._processes:
                with contextlib.suppress(Unreachable):
                    self.look(Transport(process.url, 3.0))

    def look(self, transport: Transport) -> None:
        """Everything that one collector shows of its last two rounds."""
        answer = transport.get("/v1/rounds/current")
        if answer.status != 200:
            return
        head = SignedHead.from_json(answer.body, self._contract.key).head
        self.round = max(self.round, head.round)
        self._note(f"/v1/rounds/{head.round}", answer.body)
        for path in (f"/v1/policies/{head.policy}", f"/v1/rounds/{head.round - 1}", f"/v1/releases/{head.round - 1}"):
            if head.round > 1 or "policies" in path:
                response = transport.get(path)
                if response.status == 200:
                    self._note(path, response.body)

    def _note(self, path: str, body: bytes) -> None:
        digest = hashlib.sha256(body).hexdigest()
        if self.seen.setdefault(path, digest) != digest:
            print(f"changed: {path}, now {len(body)} bytes", file=sys.stderr)
            self.changed += 1


def rehearse(name: str, store: str, collectors: int, place: Path, blows: Blows, database: str | None = None) -> Row:
    """One service under fire; what was lost, counted twice or changed. blows: what befalls it, under load."""
    began = time.monotonic()
    row = Row(name, "local", store)
    people = 2 * BUCKETS
    first = make_service(
        place / "0", SPEC, Local(8.0), people, mechanism="k-ary", name="chaos", schedule=Schedule.sized(people, ROUND)
    )
    contract = first.contract()
    for number in range(1, collectors):
        shutil.copytree(first.path, place / str(number))
    ports = [free_port() for _ in range(collectors)]
    logs = place.parent / f"{place.name}.logs"
    logs.mkdir(exist_ok=True)
    processes = [Process(place / str(number), port, database, logs / str(number)) for number, port in enumerate(ports)]
    proxy = Proxy(ports)
    crowd, watcher = Crowd(contract, proxy.url), Watcher(contract, processes)
    try:
        for process in processes:
            process.start(120)
        proxy.start()
        watcher.start()
        with ThreadPoolExecutor(WORKERS) as pool:
            work = [pool.submit(crowd.work) for _ in range(WORKERS)]
            try:
                blows(Stage(first, processes, crowd, watcher, row))
                for process in processes:
                    process.wait(120)
                row.recovered = _calm(crowd, watcher)
            finally:
                crowd.ended.set()
            for future in work:
                future.result(120)
        watcher.look(Transport(processes[0].url, 5.0))
    finally:
        watcher.ended.set()
        watcher.join(10)
        for process in processes:
            process.stop()
        proxy.close()
    _judge(row, crowd, watcher, first, contract, database)
    row.seconds = round(time.monotonic() - began, 1)
    return row


def kills(many: int) -> Blows:
    """kill -9, so many times, at random moments."""

    def strike(stage: Stage) -> None:
        _warm(stage.watcher)
        for _ in range(many):
            kill(random.choice(stage.processes))
            stage.row.kills += 1

    return strike


def _warm(watcher: Watcher) -> None:
    """Wait until a round was closed: what learns may have to be compiled first, and kills must find it at work."""
    until = time.monotonic() + WARM
    while watcher.round < 2:
        if time.monotonic() > until:
            raise NotServed("no round was closed before the first blow")
        time.sleep(0.1)


def _calm(crowd: Crowd, watcher: Watcher) -> bool:
    """Whether after the last blow it goes on as before: two more rounds of people are counted, and one is closed."""
    opened = watcher.round
    wanted, until = len(crowd.acknowledged) + 2 * ROUND, time.monotonic() + 60
    while len(crowd.acknowledged) < wanted and time.monotonic() < until:
        time.sleep(0.1)
    until = time.monotonic() + 120
    while watcher.round <= opened and time.monotonic() < until:
        time.sleep(0.1)
    return len(crowd.acknowledged) >= wanted and watcher.round > opened


def kill(process: Process) -> None:
    """kill -9 at a random moment, also while it is starting; then start it again."""
    time.sleep(random.choice((random.uniform(0.0, 0.5), random.uniform(0.5, 5.0))))
    process.kill()
    process.launch()
    if random.random() < 0.7:
        with contextlib.suppress(NotServed):
            process.wait(60)


def _judge(row: Row, crowd: Crowd, watcher: Watcher, folder: Folder, contract: Contract, database: str | None) -> None:
    """Compare what was answered with what is in the store."""
    store = CollectorStore(database or folder.database, contract)
    newest = store.newest()
    assert newest is not None
    with store.writing() as connection:
        stored_closing = [
            raw for (raw,) in connection.execute(select(sums.c.total).where(sums.c.round >= newest.head.round))
        ]
        stored_closing += [raw for (raw,) in connection.execute(select(states.c.total))]
    cells = sum(Sum.from_bytes(bytes(raw), contract.design).cells[0] for raw in stored_closing)
    row.sent, row.acknowledged, row.rounds = len(crowd.sent), len(crowd.acknowledged), newest.head.round
    row.lost = sum(int(cells[bucket] == 0) for bucket in crowd.acknowledged)
    row.double = int((cells > 1).sum()) + sum(int(cells[bucket] > 0) for bucket in set(range(BUCKETS)) - crowd.sent)
    row.changed += watcher.changed
    row.refused = crowd.refused
    people = store.tally().people
    row.double += int(people != int(cells.sum()))
    for number in range(1, newest.head.round + 1):
        signed = store.head(number)
        shown = watcher.seen.get(f"/v1/rounds/{number}")
        if signed is None or (shown is not None and hashlib.sha256(signed.to_json()).hexdigest() != shown):
            print(f"changed: round {number} in the store", file=sys.stderr)
            row.changed += 1
    store.close()


def rows(which: str, many: int, trusts: Sequence[str] = TRUSTS) -> Iterator[Row]:
    """The rehearsals that were asked for."""
    from tools import chaos_batches, faults

    with tempfile.TemporaryDirectory(prefix="confide-chaos-") as name:
        place = Path(name)
        if which in ("all", "sqlite"):
            if many and "local" in trusts:
                yield rehearse("kill -9, one collector", "sqlite", 1, place / "sqlite", kills(many))
            if "local" in trusts:
                yield from faults.on_sqlite(place)
            for trust in TRUSTS[1:]:
                if trust in trusts:
                    row = Row("kill -9, collector and one in between", trust, "sqlite")
                    yield chaos_batches.rehearse(row, many, place / f"{trust}-sqlite", None, 1)
        if which in ("all", "postgres"):
            (place / "server").mkdir()
            with running(place / "server") as server:
                if many and "local" in trusts:
                    database = new_database(server.address)
                    yield rehearse("kill -9, two collectors", "postgres", 2, place / "postgres", kills(many), database)
                if "local" in trusts:
                    yield from faults.on_postgres(place, server)
                for trust in TRUSTS[1:]:
                    if trust in trusts:
                        row = Row("kill -9, collector and two that race", trust, "postgres")
                        where = place / f"{trust}-postgres"
                        yield chaos_batches.rehearse(row, many, where, new_database(server.address), 2)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="./run chaos", description="A service under everything that goes wrong.")
    parser.add_argument(
        "--kills", type=int, default=50, help="kill -9 for each store (default 50); 0: only the other faults"
    )
    parser.add_argument("--store", choices=["all", "sqlite", "postgres"], default="all")
    parser.add_argument("--trust", choices=["all", *TRUSTS], default="all")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    arguments = parser.parse_args()
    done = []
    for row in rows(arguments.store, arguments.kills, TRUSTS if arguments.trust == "all" else (arguments.trust,)):
        done.append(row)
        print(row, file=sys.stderr)
    if arguments.json:
        print(json.dumps({"rows": [asdict(row) for row in done]}))
    sys.exit(0 if all(row.good for row in done) else 1)


if __name__ == "__main__":
    main()
