"""Serves the dashboard: pages, what they load, and one stream of events. Everything is read, nothing written."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from ...errors import InvalidInput
from ...validation import Json
from ..contract.contract import Contract
from ..contract.heads import SignedHead
from ..http.limits import network
from . import device_folder
from .story import standing, story_of

ROOM = Path(__file__).parent
STATIC = ROOM / "static"
PAUSE = 0.4
"""Seconds between two looks at the store while a page is open."""
BEAT = 15.0
"""Seconds after which a line is sent although nothing changed, so that no proxy closes the connection."""
MOST_WATCHING = 100
"""Open streams; a client beyond that polls now and then."""
MOST_OF_ONE = 10
"""Open streams of one address."""
MEMORY = 60.0
"""Seconds over which the present rate of people is measured."""
SIZES = {"states": (2, 12), "actions": (2, 2), "horizon": (2, 40)}
"""What the game can be played with."""
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
SAFE = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""A page loads and requests nothing but from here, in no frame; a device may also reach the process that issues tickets."""
POLICY = "Content-Security-Policy"


class Leaving(Protocol):
    """Whether the process is about to end."""

    def is_set(self) -> bool:
        """Whether the process is about to end."""
        ...


class HeadCount(Protocol):
    """How many people were counted."""

    @property
    def people(self) -> int:
        """How many people were counted so far."""
        ...


class PublicStore(Protocol):
    """Where public bytes are kept."""

    def alarm(self) -> tuple[int, str] | None:
        """The round of the first alarm, and what was found in it."""
        ...

    def tally(self) -> HeadCount:
        """How many people were counted."""
        ...

    def release(self, number: int) -> bytes | None:
        """The release that closed a round."""
        ...


class CollectorView(Protocol):
    """What a dashboard asks of a collector."""

    @property
    def contract(self) -> Contract:
        """The public contract."""
        ...

    @property
    def store(self) -> PublicStore:
        """Where public bytes are kept."""
        ...

    @property
    def leaving(self) -> Leaving:
        """Whether the process is about to end."""
        ...

    def published(self) -> SignedHead | None:
        """The head of the published round."""
        ...

    def refusals(self) -> dict[str, int]:
        """How many requests were refused, by reason."""
        ...

    def period(self) -> int | None:
        """The number of the period that has begun, where there are any."""
        ...

    def certified(self) -> bool:
        """Whether the certificate was computed."""
        ...

    def elsewhere(self) -> list[str]:
        """Where devices talk to besides."""
        ...


class Dashboard:
    """Answers what the pages ask, from a source."""

    def __init__(self, source: CollectorView, demo: bool = False) -> None:
        self._source, self._demo = source, demo
        self._safe = {**SAFE, POLICY: " ".join([SAFE[POLICY], *map(_origin, source.elsewhere())])}
        self._files = {path: _read(file) for path, file in _assets().items()}
        self._watching = 0
        self._streams: Counter[str] = Counter()
        self._asking = asyncio.Lock()
        self._seen: tuple[float, dict[str, Json]] | None = None
        self._samples: deque[tuple[float, int]] = deque()
        self._story: tuple[str | None, bytes] = ("", b"")

    def page(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        """The handler that answers with a page."""

        async def answer(request: Request) -> Response:
            return self._file(request, name)

        return answer

    async def asset(self, request: Request) -> Response:
        """A file that a page loads."""
        return self._file(request, request.path_params["path"])

    def _file(self, request: Request, name: str) -> Response:
        if name not in self._files:
            return PlainTextResponse("There is nothing under this address.\n", 404)
        body, tag = self._files[name]
        headers = {**self._safe, "ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=TYPES[Path(name).suffix])

    async def story_page(self, request: Request) -> Response:
        """What was learned so far, as JSON."""
        head = self._source.published()
        name = None if head is None else head.digest
        if self._story[0] != name:
            story = await anyio.to_thread.run_sync(
                partial(story_of, self._source.contract, head, self._source.store.release)
            )
            self._story = (name, json.dumps({**story, "demo": self._demo}).encode())
        headers = {**SAFE, "Cache-Control": "no-cache"}
        return Response(self._story[1], headers=headers, media_type="application/json")

    async def standing_page(self, request: Request) -> Response:
        """The present status of the service, as JSON."""
        return JSONResponse(await self._standing(), headers={**SAFE, "Cache-Control": "no-store"})

    async def events(self, request: Request) -> Response:
        """A stream of the service's status, whenever it changes."""
        client = network("" if request.client is None else request.client.host)
        if self._watching >= MOST_WATCHING or self._streams[client] >= MOST_OF_ONE:
            return PlainTextResponse("Too many watch. Ask /dashboard/standing.json.\n", 503, {"Retry-After": "10"})
        headers = {**SAFE, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(self._lines(client), headers=headers, media_type="text/event-stream")

    async def _lines(self, client: str) -> AsyncIterator[str]:
        self._watching += 1
        self._streams[client] += 1
        last, since = "", 0.0
        try:
            while not self._source.leaving.is_set():
                line = json.dumps(await self._standing())
                if line != last:
                    yield f"data: {line}\n\n"
                    last, since = line, time.monotonic()
                elif time.monotonic() - since > BEAT:
                    yield ":\n\n"
                    since = time.monotonic()
                await asyncio.sleep(PAUSE)
        finally:
            self._watching -= 1
            self._streams[client] -= 1
            self._streams += Counter()  # a client that watches nothing is forgotten

    async def _standing(self) -> dict[str, Json]:
        """The status of the service, the same for all clients within a pause."""
        async with self._asking:
            now = time.monotonic()
            if self._seen is None or now - self._seen[0] >= PAUSE:
                self._seen = now, await anyio.to_thread.run_sync(self._look)
            return self._seen[1]

    def _look(self) -> dict[str, Any]:
        source, now = self._source, time.monotonic()
        status = standing(
            source.contract, source.published(), source.store.tally().people, source.refusals(), source.period()
        )
        self._samples.append((now, status["people"]))
        while now - self._samples[0][0] > MEMORY:
            self._samples.popleft()
        began, people = self._samples[0]
        rate = (status["people"] - people) / (now - began) if now - began > 2 else None
        steady = None if rate is None else float(f"{rate:.3g}")
        raised = source.store.alarm()
        alarm = None if raised is None else f"Round {raised[0]}: {raised[1]}. The policy before it stays."
        return {**status, "rate": steady, "certified": source.certified(), "alarm": alarm}


def routes(source: CollectorView, demo: bool = False) -> list[BaseRoute]:
    """The dashboard at `/`, with all it needs; and the game at `/demo` if it is wanted."""
    if demo:
        check_game(source.contract)
    board = Dashboard(source, demo)
    table: list[BaseRoute] = [
        Route("/", board.page("index.html"), methods=["GET"]),
        Route("/dashboard/story.json", board.story_page, methods=["GET"]),
        Route("/dashboard/standing.json", board.standing_page, methods=["GET"]),
        Route("/dashboard/events", board.events, methods=["GET"]),
        Route("/dashboard/{path:path}", board.asset, methods=["GET"]),
    ]
    if demo:
        table.insert(1, Route("/demo", board.page("demo.html"), methods=["GET"]))
    return table


def check_game(contract: Contract) -> None:
    """Refuse a contract that the game cannot be played under."""
    spec = contract.document["spec"]
    for name, (least, most) in SIZES.items():
        if not least <= spec[name] <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise InvalidInput(
                "demo-page-sizes",
                f"The game of --demo-page needs {wanted} {name}; the contract has {spec[name]}. Leave --demo-page out.",
            )


def _assets() -> dict[str, Path]:
    """The files that pages load, by address: our own, and those of the device in JavaScript."""
    files = {path.name: path for path in STATIC.iterdir() if path.suffix in TYPES}
    package = device_folder()
    for folder in ("src", "extra"):
        files |= {f"device/{folder}/{path.name}": path for path in (package / folder).glob("*.js")}
    return files


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _read(path: Path) -> tuple[bytes, str]:
    body = path.read_bytes()
    return body, f'"{hashlib.sha256(body).hexdigest()[:16]}"'
