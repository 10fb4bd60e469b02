"""Shufflers and curators under everything that goes wrong: part of `./run chaos`.

Every ticket holder has a cell of their own. Under trust shuffle reports are made by hand, so that the published sums are exact;
under trust joint the guarantee is so weak that its noise rounds away. Then a 2 in a cell is a message that was counted twice, and
a 0 is one that was lost; it counts as lost if the epoch that acknowledged it is the one that closed its batch.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from confide.data.trajectories import Trajectory, trajectory
from confide.lab.staging.processes import Process
from confide.mdp import Spec
from confide.privacy import Guarantee, Schedule
from confide.privacy.guarantee import JOINT
from confide.protocol.releases import Report, Sum, release_bytes
from confide.service.collector.founding import make_service
from confide.service.contract import Contract, SignedClosing
from confide.service.contract.encoding import from_base64
from confide.service.contract.folder import Folder
from confide.service.contract.sealed import upload
from confide.service.contract.tickets import MEDIA_TYPE, Ticket
from confide.service.device.transport import Transport, Unreachable
from confide.service.intermediary.folder import RoleFolder as OfficeFolder
from confide.service.intermediary.held import spool_of
from confide.service.intermediary.store import BatchStore

if TYPE_CHECKING:
    from tools.chaos import Row

SPEC = Spec(40, 2, 3)
CELLS = SPEC.states * SPEC.actions * SPEC.states
SIZE, BATCHES = 20, 150
"""Tickets in a batch, and most batches: more than a slow machine closes until the last kill."""
LOOKS = (0.4, 1.2)
"""Seconds between two looks at whether a batch is closed: most of what a rehearsal asks for, and the least of what it tests."""


class TicketHolders(NamedTuple):
    """Who takes tickets. many: at a time; absent: share of those who never come; every: seconds between two who take one. closes:
    whether each closes a page, and hands its sealed upload over once, within seconds and long before it is opened."""

    many: int = 40
    absent: float = 0.05
    every: float = 0.0
    closes: bool = False


USUAL = TicketHolders()
HALF = TicketHolders(many=80, absent=0.5, every=0.2)
"""Half of them stay away. They come one by one: people who all wait at once for batches that need more of them wait for ever."""
CLOSING = TicketHolders(closes=True, every=0.2)
"""No page stays, and none comes back: what was taken once must outlive the process that took it."""
TIMES = {"deadline": 2.0, "publication": 0.3, "patience": 3.0}
WINDOW = 0.5
VERBS = {"joint": ("curate", "--curator", "/v1/episodes"), "shuffle": ("shuffle", "--shuffler", "/v1/reports")}


def made(trust: str, path: Path) -> Folder:
    """A service whose every batch has this many tickets."""
    if trust == JOINT:
        schedule = Schedule.batches(SIZE * BATCHES, BATCHES)
        weak = Guarantee(JOINT, 1e6, 1e-6)
        return make_service(
            path, SPEC, weak, SIZE * BATCHES, name="chaos", schedule=schedule, window=WINDOW, between=TIMES
        )
    batch = SIZE * 4 // 5
    promise, between = Guarantee(trust, 4.0, 1e-3), {**TIMES, "tickets": SIZE}
    how: dict[str, Any] = {"mechanism": "shuffled-bits", "batch": batch, "window": WINDOW, "between": between}
    return make_service(path, SPEC, promise, batch * BATCHES, name="chaos", **how)


def message(contract: Contract, cell: int) -> bytes:
    """What the holder of a cell hands over: one step from one state to another, or the report that says so exactly."""
    state, rest = divmod(cell, SPEC.actions * SPEC.states)
    action, after = divmod(rest, SPEC.states)
    if contract.design.trust == JOINT:
        return trajectory.to_bytes(Trajectory.checked(SPEC, [state, after], [action], [0.0]), SPEC)
    cells = np.zeros(contract.design.question.width, dtype=np.int64)
    cells[cell] = 1
    return Report(contract.design.digest, contract.design.question.digest, cells).to_bytes(contract.design)


class Holders:
    """People with tickets, who send until their batch is closed, and again in every epoch."""

    def __init__(self, contract: Contract, url: str, crowd: TicketHolders = USUAL) -> None:
        self._contract, self._url, self._crowd = contract, url, crowd
        self._cells = iter(range(CELLS))
        self._lock, self._arriving = threading.Lock(), threading.Lock()
        self.sent: set[int] = set()
        self.acknowledged: set[int] = set()
        self.batches: dict[int, int] = {}
        """Of those who do not come back, the batch of each; `acknowledged` has those whose upload was taken."""
        self.ended = threading.Event()
        self._last = float("inf")

    def end(self) -> None:
        """No other user comes; who is there waits for two deadlines more, since a batch that is not full never closes."""
        self._last = time.monotonic() + 2 * TIMES["deadline"] + TIMES["patience"]
        self.ended.set()

    def work(self) -> None:
        """One person after the other until there is an end."""
        line = Transport(self._url, 5.0)
        while not self.ended.is_set():
            with self._lock:
                cell = next(self._cells, None)
            with self._arriving:
                time.sleep(self._crowd.every)
            ticket = self._ticket(line)
            if ticket is None or cell is None:
                return
            if random.random() > self._crowd.absent:
                self._hand_over(line, ticket, cell)

    def _ticket(self, line: Transport) -> bytes | None:
        while not self.ended.is_set():
            status, answer = _asked(line, "/v1/tickets", b"")
            if status == 201:
                return from_base64(answer["ticket"])
            if status == 410:
                return None
            time.sleep(random.uniform(0.05, 0.3))
        return None

    def _hand_over(self, line: Transport, ticket: bytes, cell: int) -> None:
        """Until the batch is closed, or the rehearsal is over."""
        about = self._contract.intermediary
        assert about is not None
        opens = round(1000 * (time.time() + random.uniform(0, WINDOW)))
        batch, body = Ticket.from_bytes(ticket).batch, upload(about, ticket, message(self._contract, cell), opens)
        door = VERBS[self._contract.design.trust][2]
        time.sleep(random.uniform(0, WINDOW))
        with self._lock:
            self.sent.add(cell)
        if self._crowd.closes:
            status, _ = _asked(line, door, body)
            with self._lock:
                self.batches[cell] = batch
                if status == 202:
                    self.acknowledged.add(cell)
            return
        epoch, until = None, time.monotonic() + 120
        while time.monotonic() < min(until, self._last):
            if random.random() < 0.1:
                _asked(line, door, random.randbytes(150))
            if epoch is None or random.random() < 0.1:
                status, answer = _asked(line, door, body)
                epoch = answer.get("epoch") if status == 202 else epoch
            status, answer = _asked(line, f"/v1/batches/{batch}", None)
            if status == 200 and answer["closing"] is not None:
                if answer["epoch"] == epoch:
                    with self._lock:
                        self.acknowledged.add(cell)
                return
            if status == 200 and answer["epoch"] != epoch:
                epoch = None
            if self.ended.is_set() and epoch is None:
                return
            time.sleep(random.uniform(*LOOKS))


def _asked(line: Transport, path: str, body: bytes | None) -> tuple[int, dict[str, Any]]:
    try:
        answer = line.get(path) if body is None else line.post(path, body, MEDIA_TYPE)
        return answer.status, json.loads(answer.body) if answer.body else {}
    except (Unreachable, ValueError):
        return 0, {}


class Reader(threading.Thread):
    """Reads what is published of closed batches, again and again, and counts what changed."""

    def __init__(self, url: str, bodies: str) -> None:
        super().__init__(daemon=True)
        self._url, self._bodies = url, bodies
        self.seen: dict[str, str] = {}
        self.changed = 0
        self.ended = threading.Event()

    def run(self) -> None:
        """Until the signal to end."""
        line, newest = Transport(self._url, 5.0), 0
        while not self.ended.wait(0.5):
            while newest < BATCHES and self._look(line, newest + 1):
                newest += 1
            for number in {newest, random.randint(1, newest)} if newest else ():
                self._look(line, number)

    def _look(self, line: Transport, number: int) -> bool:
        """Whether a batch is closed, as far as is known."""
        closed = self._read(line, f"/v1/closings/{number}")
        return closed and self._read(line, f"/v1/{self._bodies}/{number}")

    def _read(self, line: Transport, path: str) -> bool:
        try:
            answer = line.get(path)
        except Unreachable:
            return False
        if answer.status == 200:
            digest = hashlib.sha256(answer.body).hexdigest()
            if self.seen.setdefault(path, digest) != digest:
                print(f"changed: {path}", file=sys.stderr)
                self.changed += 1
        return answer.status == 200


def rehearse(row: Row, kills: int, place: Path, database: str | None, many: int, crowd: TicketHolders = USUAL) -> Row:
    """Kill shufflers or curators, and the collector, at random moments. many: how many race for one database."""
    from tools.chaos import kill
    from tools.crowd import Proxy, free_port

    began = time.monotonic()
    folder = made(row.trust, place / "service")
    contract = folder.contract()
    verb, option, _ = VERBS[row.trust]
    ports = [free_port() for _ in range(many)]
    offices = [
        Process(folder.path, port, database, place / f"{verb}{number}.log", command=verb)
        for number, port in enumerate(ports)
    ]
    proxy = Proxy(ports)
    collector = Process(folder.path, free_port(), database, options=(option, proxy.url))
    holders, reader = (
        Holders(contract, proxy.url, crowd),
        Reader(proxy.url, "releases" if row.trust == JOINT else "sums"),
    )
    processes = [*offices, collector]
    try:
        proxy.start()
        for process in processes:
            process.start(180)
        reader.start()
        with ThreadPoolExecutor(crowd.many) as pool:
            work = [pool.submit(holders.work) for _ in range(crowd.many)]
            try:
                for _ in range(kills):
                    kill(random.choice(processes))
                    row.kills += 1
                for process in processes:
                    with contextlib.suppress(Exception):
                        process.wait(120)
                row.recovered = _calm(holders) and (not crowd.closes or _closes(reader))
            finally:
                holders.end()
            for future in work:
                future.result(180)
        time.sleep(TIMES["deadline"])
    finally:
        reader.ended.set()
        reader.join(10)
        for process in processes:
            process.stop()
        proxy.close()
        about = contract.intermediary
        spool = None if about is None else spool_of(folder.path, contract.digest, about.role)
        if spool is not None:
            shutil.rmtree(spool, ignore_errors=True)
    judge(row, holders, reader, folder, database)
    row.seconds = round(time.monotonic() - began, 1)
    return row


def _calm(holders: Holders) -> bool:
    """Whether after the last blow it goes on as before: two more batches of people are acknowledged, within two minutes."""
    wanted, until = len(holders.acknowledged) + 2 * SIZE, time.monotonic() + 120
    while len(holders.acknowledged) < wanted and time.monotonic() < until:
        time.sleep(0.1)
    return len(holders.acknowledged) >= wanted


def _closes(reader: Reader) -> bool:
    """Whether two more batches are closed, within two minutes: who closes a page does not wait for that."""
    closed = lambda: sum(path.startswith("/v1/closings/") for path in list(reader.seen))  # noqa: E731
    wanted, until = closed() + 2, time.monotonic() + 120
    while closed() < wanted and time.monotonic() < until:
        time.sleep(0.1)
    return closed() >= wanted


def judge(row: Row, holders: Holders, reader: Reader, folder: Folder, database: str | None) -> None:
    """Compare what was acknowledged with what was published, and the batches with the schedule."""
    contract = folder.contract()
    about = contract.intermediary
    assert about is not None
    store = BatchStore(database or OfficeFolder(folder.path, about.role).database, contract)
    cells, people, issued = np.zeros(CELLS, dtype=np.int64), 0, 0
    previous, batches = "0" * 64, set()
    number = 0
    while (stored_closing := store.closing(number + 1)) is not None:
        number += 1
        signed = SignedClosing(bytes(stored_closing.data), bytes(stored_closing.signature))
        closing = signed.closing
        cells, came = _counted(contract, bytes(stored_closing.body), cells)
        people = came if row.trust == JOINT else people + came
        right = closing.number == number and closing.previous == previous and closing.people == people
        scheduled = (
            people == contract.ends[number - 1] and closing.batch == number
            if row.trust == JOINT
            else came >= SIZE * 4 // 5
        )
        row.misfits += int(not (right and scheduled and closing.batch not in batches))
        previous = signed.digest
        batches.add(closing.batch)
        closed_batch = store.batch(closing.batch)
        issued += SIZE + (0 if closed_batch is None else closed_batch.given)
        shown = reader.seen.get(f"/v1/closings/{number}")
        row.changed += int(shown is not None and shown != hashlib.sha256(signed.to_json()).hexdigest())
    store.close_connections()
    row.changed += reader.changed
    row.rounds = number
    row.tickets = round(issued / (contract.ends[number - 1] if number else 1), 2)
    gone = {
        cell for cell, batch in holders.batches.items() if batch not in batches
    }  # when it ended, their batch was open
    sent, acknowledged = holders.sent - gone, holders.acknowledged - gone
    row.sent, row.acknowledged = len(sent), len(acknowledged)
    row.arrived = round(sum(int(cells[cell] > 0) for cell in sent) / max(len(sent), 1), 3)
    row.lost = sum(int(cells[cell] == 0) for cell in acknowledged)
    row.double = int((cells > 1).sum()) + sum(int(cells[cell] > 0) for cell in set(range(CELLS)) - holders.sent)


def _counted(contract: Contract, body: bytes, before: Any) -> tuple[Any, int]:
    """How often each cell was counted up to here, and how many people there are: in the batch, or up to here."""
    if contract.design.trust == JOINT:
        release = release_bytes.from_bytes(body)
        return np.rint(release.counts.transitions.reshape(-1)[:CELLS]).astype(np.int64), release.users
    total = Sum.from_bytes(body, contract.design)
    return before + total.cells[0][:CELLS], total.users
