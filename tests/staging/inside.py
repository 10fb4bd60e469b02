"""A collector without a network: devices call the web application itself, in this process."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from confide.collector import closing, counting
from confide.collector.app import Collector, application
from confide.collector.founding import Folder
from confide.device.transport import Answer, Transport
from tests.collector.services import Lessons, wait_for


class Inside(Transport):
    """Requests that are handed to an application as its web server would."""

    def __init__(self, app: Any, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__("http://127.0.0.1:1")
        self._app, self._loop = app, loop

    def _ask(self, verb: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        return asyncio.run_coroutine_threadsafe(self._asked(verb, path, body or b"", headers), self._loop).result(30)

    async def _asked(self, verb: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        told = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": verb, "path": path, "query_string": b"", "headers": told, "client": None}
        status, parts = 0, []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            parts.append(message.get("body", b""))

        await self._app(scope, receive, send)
        return Answer(status, None, b"".join(parts))


@contextlib.contextmanager
def inside(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Collector, Inside]]:
    """A collector of the folder, and a way to reach it."""
    monkeypatch.setattr(closing, "Child", Lessons)
    monkeypatch.setattr(counting, "LINGER", 0.0)
    collector = Collector(Folder(path))
    app = application(collector)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    life = app.router.lifespan_context(app)
    asyncio.run_coroutine_threadsafe(life.__aenter__(), loop).result(30)
    try:
        wait_for(lambda: collector.publisher.current is not None)
        yield collector, Inside(app, loop)
    finally:
        asyncio.run_coroutine_threadsafe(life.__aexit__(None, None, None), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
