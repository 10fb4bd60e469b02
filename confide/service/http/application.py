"""A web application around a server that has threads and a database: its life, its refusals, and what its handlers share."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import anyio
import anyio.to_thread
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute

from ...errors import ConfideError
from ..contract.answers import PROBLEM_TYPE
from ..contract.contract import Contract
from .documents import FOREVER
from .group_commit import PATIENCE
from .limits import Limit
from .origins import AnyOrigin
from .problems import RETRY, Refused

_NUMBER = re.compile(r"[0-9]{1,9}")


class Server(Protocol):
    """What a web application needs of the server behind it."""

    def start(self) -> None:
        """Start its threads."""
        ...

    def stop(self) -> None:
        """End its threads, and close what is open."""
        ...

    def refused(self, error: Refused) -> Response:
        """The response to a refused request."""
        ...


def web_application(server: Server, table: Sequence[BaseRoute]) -> Starlette:
    """A web application that starts and stops with the server behind it."""

    @contextlib.asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        server.start()
        try:
            yield
        finally:
            await anyio.to_thread.run_sync(server.stop)

    async def refusal(request: Request, error: Refused) -> Response:
        return server.refused(error)

    async def missing(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        if status == 405:
            return server.refused(Refused("method", "verb-not-here", "Use another verb."))
        return server.refused(_nothing_here())

    async def gone(request: Request, error: Exception) -> Response:
        return server.refused(_store_silent())

    handlers: dict[type[Exception], Callable[..., Awaitable[Response]]] = {
        Refused: refusal,
        HTTPException: missing,
        ConfideError: gone,
        SQLAlchemyError: gone,
    }
    middleware = [Middleware(AnyOrigin)]
    return Starlette(routes=table, middleware=middleware, exception_handlers=handlers, lifespan=life)


def check_rate(request: Request, limit: Limit) -> None:
    """Refuse a request from an address that sends too many."""
    client = request.client
    if not limit.allows("" if client is None else client.host):
        raise Refused("rate", "request-rate", "Too many requests come from your address at once.", RETRY)


async def read_submission(request: Request, media_type: str, longest: int) -> bytes:
    """The body of a submission, refused by what the request says of itself before anything of it is read."""
    headers = request.headers
    if headers.get("content-type", "").partition(";")[0].strip().lower() != media_type:
        raise Refused("type", "submission-type", f"A submission here is sent as {media_type}.")
    length = headers.get("content-length")
    if length is not None and (not length.isdigit() or int(length) > longest):
        raise _too_long(longest)
    return await read_body(request, longest)


async def read_body(request: Request, longest: int) -> bytes:
    """The body of a request, refused as soon as it is longer than it may be."""
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > longest:
                raise _too_long(longest)
            parts.append(part)
    except ClientDisconnect:
        raise Refused("garbage", "submission-cut-off", "The submission was cut off.") from None
    return b"".join(parts)


T = TypeVar("T")


async def in_thread(what: Callable[[], T], seconds: float = PATIENCE) -> T:
    """Run a function that waits for the database in a thread of its own, beside the loop that serves; refused if that takes
    longer than this many seconds."""
    try:
        with anyio.fail_after(seconds):
            return await anyio.to_thread.run_sync(what, abandon_on_cancel=True)
    except TimeoutError:
        raise _store_silent() from None


def number_of(request: Request) -> int:
    """The number in an address such as /v1/rounds/{number}."""
    text = request.path_params["number"]
    if not _NUMBER.fullmatch(text):
        raise _nothing_here()
    return int(text)


def shows_token(request: Request, token: str) -> bool:
    """Whether a request carries the operator's token, compared in constant time."""
    kind, _, shown = request.headers.get("authorization", "").partition(" ")
    return hmac.compare_digest(shown.strip().encode(), token.encode()) and kind.lower() == "bearer"


def immutable(body: bytes | None, media_type: str) -> Response:
    """A document that never changes once it is there; refused while it is not."""
    if body is None:
        raise _nothing_here()
    return Response(body, media_type=media_type, headers={"Cache-Control": FOREVER})


def refusal_response(error: Refused, contract: Contract) -> Response:
    """The response to a refused request. contract: the one that is served."""
    headers = {} if error.wait is None else {"Retry-After": str(error.wait)}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(json.dumps(error.problem(contract)), error.status, headers, PROBLEM_TYPE)


async def health_page(request: Request) -> Response:
    """Answers while the process lives."""
    return PlainTextResponse("alive\n")


def _nothing_here() -> Refused:
    return Refused("path", "path-unknown", "There is nothing under this address.")


def _too_long(longest: int) -> Refused:
    return Refused("length", "submission-too-long", f"A submission under this contract has at most {longest} bytes.")


def _store_silent() -> Refused:
    return Refused("store", "store-silent", "The store does not respond.", RETRY)


FRESH = 1.0
"""Seconds for which a commit proves that the next one works."""
WAIT = 2.5
"""Seconds that a commit may take before the process says that it is not ready."""


class Readiness:
    """Tells whether a store takes commits. Asked often, it tries once a second at most, and never twice at a time."""

    def __init__(self, commit: Callable[[], None], last: Callable[[], float]) -> None:
        """commit: commits nothing new. last: when something was committed, by the monotonic clock."""
        self._commit, self._last = commit, last
        self._asking = asyncio.Lock()
        self._trying = False
        self._tried, self._worked = -FRESH, False

    async def check(self) -> None:
        """Refuse unless something was committed just now, or can be."""
        if time.monotonic() - self._last() < FRESH:
            return
        async with self._asking:
            if time.monotonic() - self._tried >= FRESH:
                self._worked = await self._works()
                self._tried = time.monotonic()
        if not self._worked:
            raise Refused(
                "store", "store-not-committing", "The store does not take commits: nothing can be counted.", RETRY
            )

    async def _works(self) -> bool:
        if self._trying:  # the last attempt has not come back yet
            return False
        try:
            await in_thread(self._try, WAIT)
        except Exception:
            return False
        return True

    def _try(self) -> None:
        self._trying = True
        try:
            self._commit()
        finally:
            self._trying = False
