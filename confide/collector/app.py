"""The collector as a web application: public documents, and one door for letters."""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from .._version import __version__
from ..contracts.heads import SignedHead
from ..errors import ConfideError, InvalidInput
from . import metrics as measuring
from .closing import Publisher, RoundCloser
from .counting import Busy, GroupCommitter
from .founding import Folder
from .intake import Intake, Refused
from .limits import RATE, Limit
from .metrics import Metrics
from .openapi import BYTES, JSON, document
from .origins import AnyOrigin
from .sources import CountedReports, IntermediaryClient
from .store import COUNTED, ENDED, CollectorStore

RETRY = 2
"""Seconds after which a device may ask again."""
FOREVER = "public, max-age=31536000, immutable"
_NUMBER = re.compile(r"[0-9]{1,9}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_COUNTED = b'{"outcome": "counted"}'
_REPEATED = b'{"outcome": "counted before"}'


class Collector:
    """One process of a service: its store and threads, and the handler of each address."""

    def __init__(
        self, folder: Folder, database: str | None = None, rate: float = RATE, intermediary: str | None = None
    ) -> None:
        """intermediary: the address of the shuffler or the curator, where the contract has one."""
        self.contract = folder.contract()
        private = folder.key(self.contract)
        self.store = CollectorStore(database or folder.database, self.contract)
        self.store.prepare()
        self.publisher = Publisher(self.store, folder)
        self.publisher.check()
        self.metrics = Metrics()
        self.remote = _remote(self.store, intermediary)
        self.intake = Intake(self.contract, self.publisher.question_digests) if self.remote is None else None
        source = self.remote or CountedReports(self.store)
        self.closer = RoundCloser(self.store, self.publisher, private, self.metrics.learning.observe, source)
        self.counter = GroupCommitter(self.store, self._full, self.metrics.committed)
        self.limit = Limit(rate)
        self.leaving = threading.Event()
        """Set when the collector is about to end: whoever holds a connection open lets go."""
        self._token = folder.token().encode()
        self._started = time.time()
        self._openapi = json.dumps(document(None if self.intake is None else self.intake.longest)).encode()

    def start(self) -> None:
        """Publish what is committed, and begin to count."""
        self.publisher.advance()
        self.counter.start()
        self.closer.start()

    def stop(self) -> None:
        """Count what waits, then let go of everything."""
        self.counter.stop()
        self.closer.stop()
        self.store.close()

    def _full(self) -> None:
        """Wake the closer if a round was filled."""
        if self.store.turned:
            self.closer.look()

    def published(self) -> SignedHead | None:
        """The head of the published round."""
        return self.publisher.current

    def refusals(self) -> dict[str, int]:
        """How many requests this collector refused, by reason."""
        return self.metrics.refusals()

    def certified(self) -> bool:
        """Whether the certificate was computed."""
        return bool(self.closer.certificate)

    def elsewhere(self) -> list[str]:
        """Where devices talk to besides: the addresses of the shuffler or the curator, where the contract has one."""
        if self.remote is None or self.contract.intermediary is None:
            return []
        return sorted({self.remote.url, self.contract.intermediary.address or self.remote.url})

    @property
    def current(self) -> int:
        """The number of the published round; there is none until the first is open."""
        if self.publisher.current is None:
            raise Refused("starting", "The first round is not open yet.", RETRY)
        return self.publisher.current.head.round

    async def contract_page(self, request: Request) -> Response:
        """The contract, byte for byte."""
        return Response(self.contract.data, media_type=JSON)

    async def current_page(self, request: Request) -> Response:
        """The signed head of the current round."""
        _ = self.current
        return Response(self.publisher.served, media_type=JSON, headers={"Cache-Control": "no-cache"})

    async def head_page(self, request: Request) -> Response:
        """The signed head of a round that was published."""
        number = self._number(request)
        signed = await in_thread(partial(self.store.head, number)) if number <= self.current else None
        return _document(None if signed is None else signed.to_json(), JSON)

    async def policy_page(self, request: Request) -> Response:
        """A policy by its hash."""
        return await self._by_digest(request, self.store.policy)

    async def question_page(self, request: Request) -> Response:
        """What people of a round are asked, by its hash."""
        return await self._by_digest(request, self.store.question)

    async def _by_digest(self, request: Request, lookup: Callable[[str], bytes | None]) -> Response:
        digest = request.path_params["digest"]
        known = _DIGEST.fullmatch(digest) is not None
        return _document(await in_thread(partial(lookup, digest)) if known else None, BYTES)

    async def release_page(self, request: Request) -> Response:
        """The release that closed a round."""
        number = self._number(request)
        return _document(await in_thread(partial(self.store.release, number)) if number < self.current else None, BYTES)

    async def certificate_page(self, request: Request) -> Response:
        """The certificate of the service, once it is computed."""
        if not self.closer.certificate:
            raise Refused("starting", "The certificate is being computed.", RETRY)
        return Response(self.closer.certificate, media_type=JSON)

    async def report_door(self, request: Request) -> Response:
        """Take one letter: 201 when it is counted and on disk, 200 if it was before."""
        client = request.client
        if not self.limit.allows("" if client is None else client.host):
            raise Refused("rate", "Too many letters come from your address at once.", RETRY)
        headers = request.headers
        assert self.intake is not None
        self.intake.check_head(headers.get("content-type", ""), headers.get("content-length"))
        body = await read_body(request, self.intake.longest)
        current = self.current
        arrival = self.intake.read(body, current)
        try:
            outcome = await self.counter.submit(arrival)
        except Busy:
            raise Refused("busy", "More letters wait than can be counted soon.", RETRY) from None
        except Exception:
            raise Refused("store", "The store does not answer; nothing was counted.", RETRY) from None
        if outcome == ENDED:
            raise Refused("ended", "The last round is closed. Drop this letter.")
        if outcome == COUNTED:
            self.metrics.counted.inc()
            return Response(_COUNTED, 201, media_type=JSON)
        self.metrics.repeated.inc()
        return Response(_REPEATED, 200, media_type=JSON)

    async def intermediary_page(self, request: Request) -> Response:
        """Where the shuffler or the curator is."""
        assert self.remote is not None
        answer = {"role": self.remote.role, "address": self.remote.url}
        return Response(json.dumps(answer), media_type=JSON, headers={"Cache-Control": "no-cache"})

    async def openapi_page(self, request: Request) -> Response:
        """The OpenAPI document."""
        return Response(self._openapi, media_type=JSON)

    async def metrics_page(self, request: Request) -> Response:
        """Counters, as Prometheus reads them."""
        current = self.publisher.current
        self.metrics.round.set(0 if current is None else current.head.round)
        self.metrics.waiting.set(self.counter.waiting)
        return Response(self.metrics.page(self.remote is None), media_type=measuring.MEDIA_TYPE)

    async def health_page(self, request: Request) -> Response:
        """Answers while the process lives."""
        return PlainTextResponse("alive\n")

    async def ready_page(self, request: Request) -> Response:
        """Answers when reports are counted: a round is published, the store answers, and those who count and close are alive."""
        _ = self.current
        if not (self.counter.is_alive() and self.closer.is_alive()):
            raise Refused("starting", "Nobody counts.", RETRY)
        if self.remote is not None and not self.remote.announced:
            raise Refused("starting", f"The {self.remote.role} has not answered yet.", RETRY)
        try:
            await in_thread(self.store.tally)
        except Exception:
            raise Refused("store", "The store does not answer.", RETRY) from None
        return PlainTextResponse("ready\n")

    async def operator_page(self, request: Request) -> Response:
        """How this process and its store are doing, for the operator only."""
        self.check_operator(request)
        standing = await in_thread(self.store.tally)
        answer = {
            "version": __version__,
            "trust": self.contract.design.trust,
            "database": self.store.kind,
            "seconds": round(time.time() - self._started, 1),
            "resident_bytes": resident(),
            "waiting": self.counter.waiting,
            "round": standing.round,
            "people": standing.people,
            "ids": await in_thread(self.store.known_ids),
        }
        return Response(json.dumps(answer), media_type=JSON, headers={"Cache-Control": "no-store"})

    def check_operator(self, request: Request) -> None:
        """Refuse whoever does not show the operator's token."""
        kind, _, shown = request.headers.get("authorization", "").partition(" ")
        if not hmac.compare_digest(shown.strip().encode(), self._token) or kind.lower() != "bearer":
            raise Refused("token", "Only the operator may see this: Authorization: Bearer, then the token.")

    def _number(self, request: Request) -> int:
        text = request.path_params["number"]
        if not _NUMBER.fullmatch(text):
            raise Refused("path", "There is nothing under this address.")
        return int(text)

    def refused(self, error: Refused) -> Response:
        """The response to a refused request, which is counted by its reason."""
        self.metrics.refused.labels(error.reason).inc()
        headers = {} if error.wait is None else {"Retry-After": str(error.wait)}
        if error.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return Response(json.dumps(error.problem()), error.status, headers, "application/problem+json")


async def read_body(request: Request, longest: int) -> bytes:
    """The body of a request, refused as soon as it is longer than a letter may be."""
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > longest:
                raise Refused("length", f"A letter of this contract has at most {longest} bytes.")
            parts.append(part)
    except ClientDisconnect:
        raise Refused("garbage", "The letter was cut off.") from None
    return b"".join(parts)


class Server(Protocol):
    """What a web application needs of whoever stands behind it."""

    def start(self) -> None:
        """Start its threads."""
        ...

    def stop(self) -> None:
        """End its threads, and close what is open."""
        ...

    def refused(self, error: Refused) -> Response:
        """The response to a refused request."""
        ...


def application(collector: Collector, pages: Sequence[BaseRoute] = ()) -> Starlette:
    """The web application of a collector, with further pages; it starts and stops with it."""
    return web_application(collector, [*routes(collector), *pages])


def web_application(server: Server, table: Sequence[BaseRoute]) -> Starlette:
    """A web application that starts and stops with whoever stands behind it."""

    @contextlib.asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        server.start()
        try:
            yield
        finally:
            await in_thread(server.stop)

    async def refusal(request: Request, error: Any) -> Response:
        return server.refused(error)

    async def missing(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        reason, text = (
            ("method", "Use another verb.") if status == 405 else ("path", "There is nothing under this address.")
        )
        return server.refused(Refused(reason, text))

    async def gone(request: Request, error: Exception) -> Response:
        return server.refused(Refused("store", "The store does not answer.", RETRY))

    handlers: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        Refused: refusal,
        HTTPException: missing,
        ConfideError: gone,
        _database_error(): gone,
    }
    middleware = [Middleware(AnyOrigin)]
    return Starlette(routes=table, middleware=middleware, exception_handlers=handlers, lifespan=life)


def routes(collector: Collector) -> list[Route]:
    """The routes of a collector: every address, and its handler."""
    door = Route("/v1/reports", collector.report_door, methods=["POST"])
    between = Route("/v1/intermediary", collector.intermediary_page, methods=["GET"])
    return [
        door if collector.remote is None else between,
        Route("/v1/contract", collector.contract_page, methods=["GET"]),
        Route("/v1/rounds/current", collector.current_page, methods=["GET"]),
        Route("/v1/rounds/{number}", collector.head_page, methods=["GET"]),
        Route("/v1/policies/{digest}", collector.policy_page, methods=["GET"]),
        Route("/v1/questions/{digest}", collector.question_page, methods=["GET"]),
        Route("/v1/releases/{number}", collector.release_page, methods=["GET"]),
        Route("/v1/certificate", collector.certificate_page, methods=["GET"]),
        Route("/v1/openapi.json", collector.openapi_page, methods=["GET"]),
        Route("/v1/operator", collector.operator_page, methods=["GET"]),
        Route("/metrics", collector.metrics_page, methods=["GET"]),
        Route("/healthz", collector.health_page, methods=["GET"]),
        Route("/readyz", collector.ready_page, methods=["GET"]),
    ]


def _remote(store: CollectorStore, address: str | None) -> IntermediaryClient | None:
    """The shuffler or the curator of a contract that has one."""
    about = store.contract.intermediary
    if about is None:
        if address is not None:
            raise InvalidInput("Under trust local reports come straight to the collector. Leave the address out.")
        return None
    where = address or about.address
    if where is None:
        raise InvalidInput(f"This contract has a {about.role}. Start it, and give its address with --{about.role}.")
    return IntermediaryClient(store, where)


async def in_thread(what: Callable[[], Any]) -> Any:
    """Run a function that waits for the database in a thread of its own, beside the loop that serves."""
    return await anyio.to_thread.run_sync(what)


def resident() -> int | None:
    """Bytes of memory that this process holds, where that can be asked."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _document(body: bytes | None, media_type: str) -> Response:
    if body is None:
        raise Refused("path", "There is nothing under this address.")
    return Response(body, media_type=media_type, headers={"Cache-Control": FOREVER})


def _database_error() -> type[Exception]:
    from sqlalchemy.exc import SQLAlchemyError

    return SQLAlchemyError
