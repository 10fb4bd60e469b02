"""A service under everything that goes wrong: kill -9, cut connections, devices that repeat, come late and send garbage.

`./run chaos [--kills N] [--store sqlite|postgres] [--trust local|shuffle|joint] [--json]`. After the kills come a full disk,
a store that is read-only, a database that goes and comes back, and older backups (`tools.faults`, `tools.chaos_restore`). Every
device has a bucket of its own in the sum: a 2 is a report that was counted twice and a 0 where an answer was given is one that was
lost. Whatever was published is watched: it must never change. Exit code 1 if anything was lost, double or changed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import select

from confide.lab.staging.processes import NotServed, Process
from confide.privacy import Local, Schedule
from confide.protocol.releases import Sum
from confide.service.collector.founding import make_service
from confide.service.collector.schema import states, sums
from confide.service.collector.store import CollectorStore
from confide.service.contract import Contract
from confide.service.contract.folder import Folder
from confide.service.device.transport import Transport
from tools.crowd import BUCKETS, SPEC, Crowd, Proxy, Watcher, free_port
from tools.postgres import new_database, running

ROUND = 50
"""People in a round."""
WORKERS = 10
"""Devices that send at the same time."""
WARM = 400.0
"""Seconds within which the first round must be closed."""
SOON, LATER = 0.5, 3.5
"""Seconds until the next blow: at most, of half of them; and of the others, which find rounds being closed again."""


MOST_TICKETS = 2.5
"""Tickets that are issued for a needed report, at most, with half of the holders absent."""
TRUSTS = ("local", "shuffle", "joint")
STORES = ("sqlite", "postgres")


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
    tickets: float = 0.0
    arrived: float = 0.0
    recovered: bool = False
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether nothing was lost, counted twice or changed, batches were as scheduled and took no more tickets than they may a
        needed report, and it went on in the end."""
        return (
            self.recovered
            and self.tickets <= MOST_TICKETS
            and not (self.lost or self.double or self.changed or self.misfits)
        )


@dataclass
class Stage:
    """Who takes part in a rehearsal."""

    folder: Folder
    processes: list[Process]
    crowd: Crowd
    watcher: Watcher
    row: Row


Blows = Callable[[Stage], None]


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
    """kill -9, this many times, at random moments."""

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
            raise NotServed("not-served", "no round was closed before the first blow")
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
    time.sleep(random.choice((random.uniform(0.0, SOON), random.uniform(SOON, LATER))))
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


def played(store: str, many: int, trusts: Sequence[str]) -> list[Row]:
    """The rehearsals on one store, each printed as soon as it is over. Two stores are two processes: they mostly wait."""
    done = []
    for row in rows(store, many, trusts):
        done.append(row)
        print(row, file=sys.stderr)
    return done


def rows(store: str, many: int, trusts: Sequence[str] = TRUSTS) -> Iterator[Row]:
    """The rehearsals on one store that were asked for."""
    from tools import chaos_batches, chaos_restore, faults

    with tempfile.TemporaryDirectory(prefix="confide-chaos-") as name:
        place = Path(name)
        if store == "sqlite":
            if many and "local" in trusts:
                yield rehearse("kill -9, one collector", "sqlite", 1, place / "sqlite", kills(many))
            if "local" in trusts:
                yield from faults.on_sqlite(place)
            for trust in TRUSTS[1:]:
                if trust in trusts:
                    row = Row("kill -9, collector and one in between", trust, "sqlite")
                    yield chaos_batches.rehearse(row, many, place / f"{trust}-sqlite", None, 1)
                    row = Row("kill -9, half of the ticket holders absent", trust, "sqlite")
                    yield chaos_batches.rehearse(row, many // 5, place / f"{trust}-absent", None, 1, chaos_batches.HALF)
                    row = Row("kill -9, every page closes and stays away", trust, "sqlite")
                    where = place / f"{trust}-closed"
                    yield chaos_batches.rehearse(row, many // 5, where, None, 1, chaos_batches.CLOSING)
            yield from chaos_restore.rows(place, trusts)
        else:
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
    parser.add_argument("--store", choices=["all", *STORES], default="all")
    parser.add_argument("--trust", choices=["all", *TRUSTS], default="all")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    arguments = parser.parse_args()
    stores = STORES if arguments.store == "all" else (arguments.store,)
    trusts = TRUSTS if arguments.trust == "all" else (arguments.trust,)
    with ProcessPoolExecutor(len(stores)) as pool:
        done = [
            row
            for finished in pool.map(partial(played, many=arguments.kills, trusts=trusts), stores)
            for row in finished
        ]
    if arguments.json:
        print(json.dumps({"rows": [asdict(row) for row in done]}))
    sys.exit(0 if all(row.good for row in done) else 1)


if __name__ == "__main__":
    main()
