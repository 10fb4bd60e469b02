"""A collector, and the intermediary before it, without a network: devices call the web applications themselves, in this process."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from confide.service.collector import closing
from confide.service.collector.app import Collector, application
from confide.service.collector.sources import IntermediaryClient, Unanswered
from confide.service.contract.folder import Folder
from confide.service.device.transport import HttpAnswer, Transport
from confide.service.http import group_commit
from confide.service.intermediary import app as batches_app
from confide.service.intermediary.app import IntermediaryServer
from tests.service.collector.services import Lessons, wait_for
from tests.service.intermediary.offices import SetClock, office_of

ADDRESS = "http://127.0.0.1:1"


class Inside(Transport):
    """Requests that are handed to an application as its web server would."""

    def __init__(self, app: Any, loop: asyncio.AbstractEventLoop, other: Inside | None = None) -> None:
        """other: where every other address leads."""
        super().__init__(ADDRESS)
        self._app, self._loop, self._other = app, loop, other

    def beside(self, url: str) -> Transport:
        assert self._other is not None
        return self._other

    def _ask(self, verb: str, path: str, body: bytes | None, headers: dict[str, str]) -> HttpAnswer:
        return asyncio.run_coroutine_threadsafe(self._asked(verb, path, body or b"", headers), self._loop).result(30)

    async def _asked(self, verb: str, path: str, body: bytes, headers: dict[str, str]) -> HttpAnswer:
        results = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": verb, "path": path, "query_string": b"", "headers": results, "client": None}
        status, parts = 0, []
        told: dict[bytes, bytes] = {}

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            told.update(message.get("headers", ()))
            parts.append(message.get("body", b""))

        await self._app(scope, receive, send)
        media_type = told.get(b"content-type", b"").decode().partition(";")[0]
        return HttpAnswer(status, None, b"".join(parts), media_type)


@contextlib.contextmanager
def living(app: Any, loop: asyncio.AbstractEventLoop) -> Iterator[Any]:
    """An application between its start and its end."""
    life = app.router.lifespan_context(app)
    asyncio.run_coroutine_threadsafe(life.__aenter__(), loop).result(30)
    try:
        yield app
    finally:
        asyncio.run_coroutine_threadsafe(life.__aexit__(None, None, None), loop).result(30)


@contextlib.contextmanager
def looping(monkeypatch: pytest.MonkeyPatch) -> Iterator[asyncio.AbstractEventLoop]:
    """A loop in a thread of its own, in a process whose collectors learn at once and wait for no one."""
    monkeypatch.setattr(closing, "LearnerProcess", Lessons)
    monkeypatch.setattr(group_commit, "LINGER", 0.0)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextlib.contextmanager
def inside(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Collector, Inside]]:
    """A collector of the folder, and a way to reach it."""
    with looping(monkeypatch) as loop:
        collector = Collector(Folder(path))
        with living(application(collector), loop) as app:
            wait_for(lambda: collector.publisher.current is not None)
            yield collector, Inside(app, loop)


class Trio:
    """A collector, a shuffler or a curator, and their clock."""

    def __init__(self, collector: Collector, doors: IntermediaryServer, clock: SetClock, transport: Inside) -> None:
        self.collector, self.doors, self.clock, self.transport = collector, doors, clock, transport

    def close_batch(self, number: int) -> None:
        """Let time pass until a batch is closed, learned from, and the next one follows what was learned."""
        about = self.doors.manager.about
        self.clock.now += about.deadline + about.publication
        wait_for(lambda: self.collector.current == number + 1 and self.doors.manager.store.desk().round == number + 1)


@contextlib.contextmanager
def inside_both(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trio]:
    """A collector of the folder and the shuffler or the curator that its contract names; they look for each other all the time."""
    monkeypatch.setattr(batches_app, "PAUSE", 0.002)
    monkeypatch.setattr(closing, "PAUSE", 0.002)
    clock = SetClock()
    with looping(monkeypatch) as loop:
        doors = IntermediaryServer(office_of(path, Folder(path).contract(), clock, begin=False), 1e9)
        with living(batches_app.application(doors), loop) as app:
            line = Inside(app, loop)

            def ask(remote: IntermediaryClient, where: str, body: bytes | None = None) -> bytes | None:
                answer = line.get(where) if body is None else line.post(where, body, "application/json")
                if answer.status not in (200, 204, 404):
                    raise Unanswered("unanswered", f"answered {answer.status}")
                return None if answer.status == 404 else answer.body

            monkeypatch.setattr(IntermediaryClient, "_ask", ask)
            collector = Collector(Folder(path), intermediary=ADDRESS)
            with living(application(collector), loop) as front:
                wait_for(lambda: collector.publisher.current is not None and doors.manager.store.desk().round == 1)
                yield Trio(collector, doors, clock, Inside(front, loop, line))
