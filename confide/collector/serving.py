"""Runs a collector on an address, until a signal ends it."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput, PrivacyError
from .children import CuratorProcess, needs_curator
from .founding import Folder

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from .app import Collector

    Pages = Callable[[Collector], Sequence[BaseRoute]]

SENSITIVE = ("privatizers", "statistics", "trajectories")
GRACE = 2
"""Seconds that requests have to end after the signal."""


def check_wall() -> None:
    """Refuse to serve from a process that has loaded what holds episodes."""
    room = __name__.split(".")[0]
    loaded = [name for name in SENSITIVE if f"{room}.{name}" in sys.modules]
    if loaded:
        raise PrivacyError(
            f"A collector must not load {', '.join(loaded)}, which hold episodes. Serve from a process of its own."
        )


class JsonLines(logging.Formatter):
    """Formats log records as one JSON object a line: the event and its details; never an address, never a body."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "details", {}),
        }
        return json.dumps(line)


@dataclass(frozen=True)
class Endpoint:
    """Where a process listens, and to whom.

    port: 0 takes a free one. rate: requests a second that are taken from one address, by default as many as `limits` says.
    proxy: the address of a proxy, whose X-Forwarded-For says who asks. certificate, certificate_key: files for TLS; without
    them put a proxy that speaks it before the process. ready: called with the address once it is known.
    """

    bind: str = "127.0.0.1"
    port: int = 8000
    rate: float | None = None
    proxy: str | None = None
    certificate: str | None = None
    certificate_key: str | None = None
    ready: Callable[[str], None] | None = None


def serve(
    path: str | Path,
    endpoint: Endpoint | None = None,
    database: str | None = None,
    *,
    intermediary: str | None = None,
    pages: Pages | None = None,
) -> None:
    """Serve a folder until SIGTERM or SIGINT. database: by default SQLite in the folder. pages: served besides.

    intermediary: the address of the shuffler or the curator; without it a curator is started as a process of its own.
    """
    endpoint = endpoint or Endpoint()
    check_wall()
    from .app import Collector, application
    from .limits import RATE
    from .protocol import protocol

    folder = Folder(Path(path))
    log_to("confide.collector")
    lock = exclusive_lock(folder.path) if database is None or database.startswith("sqlite") else None
    child = None
    try:
        if intermediary is None and needs_curator(folder.contract()):
            child = CuratorProcess(folder.path, database)
            intermediary = child.start()
        collector = Collector(folder, database, RATE if endpoint.rate is None else endpoint.rate, intermediary)
        check_wall()
        http_protocol = protocol(collector.refused)
        app = application(collector, () if pages is None else pages(collector))
        listen(app, endpoint, http_protocol, collector.leaving.set)
    finally:
        if child is not None:
            child.stop()
        if lock is not None:
            lock.close()


def listen(
    application: Any,
    endpoint: Endpoint,
    http_protocol: type[asyncio.Protocol],
    leaving: Callable[[], None] = lambda: None,
    loop: Any = "auto",
) -> None:
    """Serve a web application until SIGTERM or SIGINT. http_protocol: how HTTP is read. leaving: called when it is to end."""
    import uvicorn

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
    listener = _listener(endpoint.bind, endpoint.port)
    scheme = "https" if endpoint.certificate else "http"
    if endpoint.ready is not None:
        endpoint.ready(f"{scheme}://{endpoint.bind}:{listener.getsockname()[1]}")
    server = uvicorn.Server(config)
    handle_exit = server.handle_exit

    def leave(signal: int, frame: Any) -> None:
        leaving()
        handle_exit(signal, frame)

    server.handle_exit = leave  # type: ignore[assignment, method-assign]
    try:
        server.run(sockets=[listener])
    finally:
        listener.close()


def _listener(bind: str, port: int) -> socket.socket:
    # By name TCP, or asyncio would not see that it is, and answers would wait for acknowledgements.
    listener = socket.socket(socket.AF_INET6 if ":" in bind else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((bind, port))
    except OSError as error:
        listener.close()
        raise InvalidInput(f"{bind}:{port} cannot be served on: {error}. Choose another --port.") from error
    listener.listen(1024)
    return listener


def exclusive_lock(folder: Path, name: str = "lock") -> Any:
    """A lock file of a folder, held by one process only; several need Postgres."""
    lock = os.fdopen(os.open(folder / name, os.O_CREAT | os.O_RDWR, 0o600), "r+", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise InvalidInput(
            f"Another process serves {folder}. Stop it, or give both one Postgres --database."
        ) from error
    return lock


def log_to(name: str) -> None:
    """Let a logger write lines of JSON to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    for logged, level in ((name, logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(logged)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
