"""Collectors inside the test's own process, whose lessons are learned there too, so that nothing is compiled twice."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from confide.service.collector import closing
from confide.service.collector.app import Collector, application
from confide.service.collector.learning import RoundLearner
from confide.service.contract import Contract, keys
from confide.service.contract.files import write_whole
from confide.service.contract.folder import Folder
from confide.service.contract.uploads import MEDIA_TYPE
from confide.service.device import Transport
from confide.service.http.connections import protocol
from tests.service.contract.example import PRIVATE, contract


class Lessons:
    """Takes the place of the child process."""

    def __init__(self, contract: Contract, earlier: bytes = b"") -> None:
        self._school = RoundLearner(contract, earlier)

    def ask(self, verb: str, *given: Any) -> list[bytes]:
        return list(getattr(self._school, verb)(*given))

    def stop(self) -> None:
        pass


def folder_of(path: Path, made: Contract | None = None) -> Folder:
    """A service's folder with a contract made for a test."""
    path.mkdir(parents=True, exist_ok=True)
    folder = Folder(path)
    if not folder.key_file.exists():
        keys.save_key(folder.key_file, PRIVATE)
        write_whole(folder.contract_file, (made or contract()).data)
    return folder


class Service:
    """A running collector and a way to talk to it."""

    def __init__(self, collector: Collector, url: str) -> None:
        self.collector, self.url, self.contract = collector, url, collector.contract
        self.transport = Transport(url, 10.0)

    def get(self, path: str) -> tuple[int, bytes]:
        answer = self.transport.get(path)
        return answer.status, answer.body

    def send(self, body: bytes, media_type: str = MEDIA_TYPE) -> int:
        return self.transport.post("/v1/reports", body, media_type).status

    def raw(self, verb: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Any request, with any headers."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=10)
        try:
            connection.request(verb, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        finally:
            connection.close()

    def until_round(self, number: int, seconds: float = 30.0) -> None:
        """Wait for a round to be published."""
        wait_for(lambda: self.collector.publisher.current is not None and self.collector.current >= number, seconds)


def wait_for(what: Callable[[], bool], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


@contextlib.contextmanager
def running(
    folder: Folder,
    database: str | None = None,
    rate: float = 1e9,
    connections: int = 1000,
    intermediary: str | None = None,
    pages: Callable[[Collector], Any] | None = None,
) -> Iterator[Service]:
    child, closing.LearnerProcess = closing.LearnerProcess, Lessons  # type: ignore[misc, assignment]
    try:
        collector = Collector(folder, database, rate, intermediary)
    finally:
        closing.LearnerProcess = child  # type: ignore[misc]
    app = application(collector, () if pages is None else pages(collector))
    with listening(app, protocol(collector.refused, connections, documents=collector.documents)) as url:
        try:
            service = Service(collector, url)
            service.until_round(1, 240.0)  # it may have to be compiled first
            yield service
        finally:
            collector.leaving.set()


@contextlib.contextmanager
def listening(app: Any, reader: Any) -> Iterator[str]:
    """A web application on a port of this machine, in a thread; its address."""
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    door.bind(("127.0.0.1", 0))
    door.listen(128)
    config = uvicorn.Config(app, http=reader, log_config=None, access_log=False, lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        door.close()
