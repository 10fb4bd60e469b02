"""Who takes part in `./run chaos` beside collectors: devices, a proxy that cuts connections, a watcher of what is published."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np

from confide.lab.staging.processes import Process
from confide.mdp import Spec
from confide.protocol.releases import Report
from confide.service.contract import Contract, SignedHead, Upload
from confide.service.contract.uploads import MEDIA_TYPE
from confide.service.device.transport import Transport, Unreachable

SPEC = Spec(40, 2, 3)
BUCKETS = 2 * 40 * 2 * 40
CUT = 0.15
"""Share of connections that the proxy cuts."""


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
        with contextlib.suppress(OSError), _ending(line):
            if cut and where == "before":
                return
            with _ending(socket.create_connection(("127.0.0.1", random.choice(self._ports)), timeout=5)) as other:
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


@contextlib.contextmanager
def _ending(one: socket.socket) -> Iterator[socket.socket]:
    """Shut a connection before it is closed: while another thread waits for it, closing alone tells the other side nothing."""
    with one:
        try:
            yield one
        finally:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Until the source ends; then the target gets its end, too, and does not stay open for a source that is gone."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_RDWR)


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
        """The submission of one device: the same however often it is sent."""
        design = self._contract.design
        cells = np.zeros(design.question.width, dtype=np.int64)
        cells[bucket] = 1
        report = Report(design.digest, design.question.digest, cells).to_bytes(design)
        return Upload(hashlib.sha256(bucket.to_bytes(8)).digest()[:16], self._contract.digest, 1, report).to_bytes()

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
        """Until the signal."""
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
