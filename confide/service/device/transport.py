"""How a device reaches a service: plain requests by the standard library, bounded in time and size, and no redirects.

A request ends in time as a whole, whatever it waits for: a name, a connection, or a response that comes one byte at a time. It
runs in a thread of its own, whose socket is shut when its time is over; a timeout of the socket would begin anew with every byte.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar
from urllib.parse import urlsplit

from ...errors import ConfideError, InvalidInput

if TYPE_CHECKING:
    import socket
    from http.client import HTTPConnection

MOST_ANSWER = 1 << 24
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Timed(Protocol):
    """The transport of `Reaching`: how long a request may take."""

    @property
    def timeout(self) -> float:
        """Seconds."""
        ...


class Reaching(Protocol):
    """Something that reaches a service."""

    @property
    def transport(self) -> Timed:
        """How it does."""
        ...


Reacher = TypeVar("Reacher", bound=Reaching)
Arguments = ParamSpec("Arguments")
R = TypeVar("R")

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)
"""When all requests of this thread must have ended, by `time.monotonic`."""


class Unreachable(ConfideError):
    """No response, or not in time."""


class HttpAnswer(NamedTuple):
    """status, how many seconds to wait before asking again (None if it was not said), the body, and its media type."""

    status: int
    wait: float | None
    body: bytes
    media_type: str = ""


class Documents(Protocol):
    """Where the public documents of a service are read: over the network, or in its own database."""

    url: str

    def get(self, path: str) -> HttpAnswer:
        """Fetch a public document."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """All requests in this block end within this many seconds together; a deadline around it that is earlier stays."""
    token = _deadline.set(min(_deadline.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


def bounded(method: Callable[Concatenate[Reacher, Arguments], R]) -> Callable[Concatenate[Reacher, Arguments], R]:
    """Let all requests of a method of something with a `transport` end within its timeout, together."""

    @functools.wraps(method)
    def in_time(self: Reacher, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> R:
        with within(self.transport.timeout):
            return method(self, *args, **kwargs)

    return in_time


class _OwnOfThread(threading.local):
    """What each thread has of its own: the connection that it kept open."""

    connection: HTTPConnection | None = None


class Transport:
    """Requests to one service. timeout: seconds for a whole request. keep: each thread has a connection of its own, which stays
    open until `close`.
    """

    def __init__(self, url: str, timeout: float = 10.0, keep: bool = False) -> None:
        parts = urlsplit(url if isinstance(url, str) else "")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(
                "service-address-form", f"A service has an address such as https://tea.example. Got {url!r}."
            )
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise InvalidInput("service-needs-https", "A service that is not on this machine must be reached by https.")
        self.url, self.timeout = url.rstrip("/"), timeout
        self._parts, self._keep = parts, keep
        self._own = _OwnOfThread()
        self._open: set[HTTPConnection] = set()

    def beside(self, url: str) -> Transport:
        """A transport with the same settings to another address."""
        return Transport(url, self.timeout, self._keep)

    def get(self, path: str) -> HttpAnswer:
        """Fetch a public document."""
        return self._ask("GET", path, None, {})

    def post(self, path: str, body: bytes, media_type: str) -> HttpAnswer:
        """Send a submission."""
        return self._ask("POST", path, body, {"Content-Type": media_type})

    def close(self) -> None:
        """Close whatever was kept open."""
        while self._open:
            self._open.pop().close()

    def _connection(self) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        assert self._parts.hostname is not None
        return kind(self._parts.hostname, self._parts.port)

    def _ask(self, verb: str, path: str, body: bytes | None, headers: dict[str, str]) -> HttpAnswer:
        """One request; once more on a new connection if one that was kept open turns out to be closed.

        Sending the same submission twice is safe: it is counted once.
        """
        until = min(_deadline.get(), time.monotonic() + self.timeout)
        request = _Message(verb, self._parts.path.rstrip("/") + path, body, headers)
        kept_connection = self._own.connection
        self._own.connection = None
        if kept_connection is not None:
            try:
                return self._once(kept_connection, request, until)
            except (OSError, _http_error()):
                self._open.discard(kept_connection)
        try:
            return self._once(self._connection(), request, until)
        except (OSError, _http_error()) as error:
            raise Unreachable(
                "service-silent",
                f"{self.url} did not respond ({type(error).__name__}). Check the address, and that the server runs.",
            ) from error

    def _once(self, connection: HTTPConnection, request: _Message, until: float) -> HttpAnswer:
        answer = _Exchange(connection, request).answer(until)
        if self._keep:
            self._own.connection = connection
            self._open.add(connection)
        else:
            connection.close()
        return answer


class _Message(NamedTuple):
    verb: str
    path: str
    body: bytes | None
    headers: dict[str, str]


class _Exchange(threading.Thread):
    """One request and its response, in a thread that is left behind when the time is over."""

    def __init__(self, connection: HTTPConnection, request: _Message) -> None:
        super().__init__(name="confide-request", daemon=True)
        self._connection, self._request = connection, request
        self._socket: socket.socket | None = None
        self._result: HttpAnswer | Exception | None = None
        self._late = False

    def answer(self, until: float) -> HttpAnswer:
        """The response, or why there is none, no later than `until`."""
        left = until - time.monotonic()
        if left <= 0:
            self._connection.close()
            raise TimeoutError("there is no time left")
        self._connection.timeout = left
        if self._connection.sock is not None:
            self._connection.sock.settimeout(left)
        self.start()
        self.join(left)
        result = self._result
        if result is None:
            self._late = True
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(2)  # both ways: the reader is woken
            raise TimeoutError("the response took too long")
        if isinstance(result, Exception):
            raise result
        return result

    def run(self) -> None:
        """Ask, in the thread."""
        try:
            self._result = self._asked()
        except Exception as error:
            self._connection.close()
            self._result = error

    def _asked(self) -> HttpAnswer:
        connection = self._connection
        if connection.sock is None:
            connection.connect()
        self._socket = connection.sock
        if self._late:
            raise TimeoutError("connected too late")
        connection.request(*self._request)
        response = connection.getresponse()
        content = response.read(MOST_ANSWER + 1)
        if len(content) > MOST_ANSWER:
            raise OSError("the response is too long")
        if response.length:  # a bounded read does not notice that the rest never came
            raise OSError("the response was cut off")
        wait = response.headers.get("Retry-After", "")
        return HttpAnswer(
            response.status, float(wait) if wait.isdecimal() else None, content, response.headers.get_content_type()
        )


def _http_error() -> type[Exception]:
    from http.client import HTTPException

    return HTTPException
