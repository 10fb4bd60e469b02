"""Runs a web application on an address, until a signal ends it or it ends itself, and logs lines of JSON."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ...errors import FormatError, InvalidInput
from ...validation import Json

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from starlette.types import ASGIApp

LOGGER = "confide.http"
"""The logger of what servers share."""
SERVING = "serving"
"""The event of a server that is there."""
GRACE = 2
"""Seconds that requests have to end after the signal."""
HANDSHAKE = 10.0
"""Seconds that the handshake of TLS may take, where this process speaks it; nothing is asked before, and no place is taken."""


class JsonLines(logging.Formatter):
    """Formats log records as one JSON object a line: the event and its details; never an address, never a body."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, Json] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **vars(record).get("details", {}),
        }
        return json.dumps(line)


def announce(command: str, folder: str, url: str) -> None:
    """Say on stderr where a server is: a sentence at a terminal, else a line of the log."""
    if sys.stderr.isatty():
        print(f"confide: {command} serves {folder} on {url}", file=sys.stderr, flush=True)
        return
    record = logging.makeLogRecord({"levelname": "INFO", "msg": SERVING, "details": {"command": command, "url": url}})
    print(JsonLines().format(record), file=sys.stderr, flush=True)


def announced_url(line: str) -> str | None:
    """The address in a line of a log by which a server says where it is; None in any other line."""
    try:
        document = json.loads(line)
    except ValueError:
        return None
    found = document.get("url") if isinstance(document, dict) and document.get("event") == SERVING else None
    return found if isinstance(found, str) else None


@dataclass(frozen=True)
class Endpoint:
    """Where a process listens, and to whom.

    port: 0 takes a free one. rate: requests a second that are taken from one address, by default as many as `limits` says.
    connections: how many of one
    client may be open, by default as many as `connections` says. proxy: the address of a proxy, or a network of them, whose
    X-Forwarded-For says who asks. certificate, certificate_key: files for TLS; without
    them put a proxy that speaks it before the process. ready: called with the address once it is known.
    """

    bind: str = "127.0.0.1"
    port: int = 8000
    rate: float | None = None
    connections: int | None = None
    proxy: str | None = None
    certificate: str | None = None
    certificate_key: str | None = None
    ready: Callable[[str], None] | None = None


class Ending:
    """How a process ends by itself, with one sentence that says why."""

    def __init__(self) -> None:
        self.sentence = ""
        self.act: Callable[[], None] = lambda: None
        """Ends the server, once there is one."""
        self.leaving = threading.Event()
        """Set when the process is about to end: handlers of open connections let go."""

    def because(self, sentence: str) -> None:
        """End it."""
        self.sentence = self.sentence or sentence
        self.act()


def listen(
    application: ASGIApp,
    endpoint: Endpoint,
    http_protocol: type[asyncio.Protocol],
    ending: Ending,
    loop: Any = "auto",
) -> None:
    """Serve a web application until SIGTERM or SIGINT, or until it ends itself. http_protocol: how HTTP is read."""
    import uvicorn

    _allow_files()
    config = uvicorn.Config(
        application,
        loop=loop,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        http=http_protocol,
        ssl_certfile=endpoint.certificate,
        ssl_keyfile=endpoint.certificate_key,
        lifespan="on",
        proxy_headers=endpoint.proxy is not None,
        forwarded_allow_ips=endpoint.proxy,
    )
    factory = config.get_loop_factory()
    if endpoint.certificate and factory is not None:
        config.loop = hastening(factory)  # type: ignore[assignment]
    listener = _listener(endpoint.bind, endpoint.port)
    scheme = "https" if endpoint.certificate else "http"
    if endpoint.ready is not None:
        endpoint.ready(f"{scheme}://{endpoint.bind}:{listener.getsockname()[1]}")
    server = uvicorn.Server(config)
    handle_exit = server.handle_exit

    def end() -> None:
        ending.leaving.set()
        server.should_exit = True

    def leave(signal: int, frame: FrameType | None) -> None:
        ending.leaving.set()
        handle_exit(signal, frame)

    server.handle_exit = leave  # type: ignore[assignment, method-assign]
    ending.act = end
    try:
        if not ending.sentence:
            server.run(sockets=[listener])
    finally:
        listener.close()
    if ending.sentence:
        raise FormatError("serving-ended", ending.sentence)


def hastening(factory: Callable[[], asyncio.AbstractEventLoop]) -> Callable[[], asyncio.AbstractEventLoop]:
    """A factory of event loops whose servers speak TLS, and end a handshake that takes longer than `HANDSHAKE`."""

    def made() -> asyncio.AbstractEventLoop:
        loop = factory()
        loop.create_server = partial(loop.create_server, ssl_handshake_timeout=HANDSHAKE)  # type: ignore[method-assign]
        return loop

    return made


def _allow_files() -> None:
    """Let the process have as many connections open as the system allows it."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _listener(bind: str, port: int) -> socket.socket:
    # By name TCP, or asyncio would not see that it is, and responses would wait for acknowledgements.
    listener = socket.socket(socket.AF_INET6 if ":" in bind else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((bind, port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else "a port is from 0 to 65535"
        raise InvalidInput(
            "port-unusable", f"{bind}:{port} cannot be served on: {reason}. Choose another --port."
        ) from error
    listener.listen(1024)
    return listener


def exclusive_lock(folder: Path, name: str = "lock") -> TextIO:
    """A lock file of a folder, held by one process only; several need Postgres."""
    lock = os.fdopen(os.open(folder / name, os.O_CREAT | os.O_RDWR, 0o600), "r+", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise InvalidInput(
            "service-served-already", f"Another process serves {folder}. Stop it, or give both one Postgres --database."
        ) from error
    return lock


def end_with_parent() -> None:
    """End this process when its standard input ends, as a parent's death makes it."""

    def wait() -> None:
        while sys.stdin.buffer.read(1 << 12):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def log_to(name: str) -> None:
    """Let a logger, and those of what servers share, write lines of JSON to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.captureWarnings(True)
    sys.excepthook = lambda kind, error, trace: _log_end(kind, trace)
    threading.excepthook = lambda given: _log_end(given.exc_type, given.exc_traceback)
    others = ((LOGGER, logging.INFO), ("uvicorn.error", logging.WARNING), ("py.warnings", logging.WARNING))
    for logged, level in ((name, logging.INFO), *others):
        logger = logging.getLogger(logged)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False


def _log_end(kind: type[BaseException], trace: TracebackType | None) -> None:
    """Log an error that ends a thread or the process: where it arose, never what it was about."""
    import traceback

    frames = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(trace)[-5:]]
    logging.getLogger(LOGGER).error("unexpected error", extra={"details": {"error": kind.__name__, "at": frames}})
