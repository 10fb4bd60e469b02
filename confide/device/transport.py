"""How a device reaches a service: plain requests by the standard library, bounded in time and size, and no redirects."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from ..errors import ConfideError, InvalidInput

if TYPE_CHECKING:
    from http.client import HTTPConnection

MOST_ANSWER = 1 << 24
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Unreachable(ConfideError):
    """Nobody answered, or not in time."""


class HttpAnswer(NamedTuple):
    """status, how many seconds to wait before asking again (None if it was not said), and the body."""

    status: int
    wait: float | None
    body: bytes


class Documents(Protocol):
    """Where the public documents of a service are read: over the network, or in its own database."""

    url: str

    def get(self, path: str) -> HttpAnswer:
        """Fetch a public document."""


class Transport:
    """Requests to one service. keep: each thread has a connection of its own, which stays open until `close`."""

    def __init__(self, url: str, timeout: float = 10.0, keep: bool = False) -> None:
        parts = urlsplit(url if isinstance(url, str) else "")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(f"A service has an address such as https://tea.example. Got {url!r}.")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise InvalidInput("A service that is not on this machine must be reached by https.")
        self.url = url.rstrip("/")
        self._parts, self._timeout, self._keep = parts, timeout, keep
        self._own = threading.local()
        self._open: set[HTTPConnection] = set()

    def beside(self, url: str) -> Transport:
        """A transport with the same settings to another address."""
        return Transport(url, self._timeout, self._keep)

    def get(self, path: str) -> HttpAnswer:
        """Fetch a public document."""
        return self._ask("GET", path, None, {})

    def post(self, path: str, body: bytes, media_type: str) -> HttpAnswer:
        """Send a letter."""
        return self._ask("POST", path, body, {"Content-Type": media_type})

    def close(self) -> None:
        """Close whatever was kept open."""
        while self._open:
            self._open.pop().close()

    def _connection(self) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        assert self._parts.hostname is not None
        return kind(self._parts.hostname, self._parts.port, timeout=self._timeout)

    def _ask(self, verb: str, path: str, body: bytes | None, headers: dict[str, str]) -> HttpAnswer:
        """One request; once more on a new connection if one that was kept open turns out to be closed.

        Sending the same letter twice is safe: it is counted once.
        """
        kept_connection: HTTPConnection | None = getattr(self._own, "connection", None)
        if kept_connection is not None:
            self._own.connection = None
            try:
                return self._once(kept_connection, verb, path, body, headers)
            except (OSError, _http_error()):
                self._drop(kept_connection)
        fresh = self._connection()
        try:
            return self._once(fresh, verb, path, body, headers)
        except (OSError, _http_error()) as error:
            self._drop(fresh)
            raise Unreachable(f"{self.url} did not answer ({type(error).__name__}).") from error

    def _once(
        self, connection: HTTPConnection, verb: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> HttpAnswer:
        connection.request(verb, self._parts.path.rstrip("/") + path, body, headers)
        response = connection.getresponse()
        content = response.read(MOST_ANSWER + 1)
        if len(content) > MOST_ANSWER:
            raise OSError("the answer is too long")
        if response.length:  # a bounded read does not notice that the rest never came
            raise OSError("the answer was cut off")
        if self._keep:
            self._own.connection = connection
            self._open.add(connection)
        else:
            connection.close()
        wait = response.headers.get("Retry-After", "")
        return HttpAnswer(response.status, float(wait) if wait.isdigit() else None, content)

    def _drop(self, connection: HTTPConnection) -> None:
        connection.close()
        self._open.discard(connection)


def _http_error() -> type[Exception]:
    from http.client import HTTPException

    return HTTPException
