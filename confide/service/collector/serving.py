"""Runs a collector on an address, until a signal ends it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import PrivacyError
from ..contract.folder import Folder
from ..http.serving import Endpoint, exclusive_lock, listen, log_to
from .children import ChildProcess, needs_curator, needs_issuer

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from .app import Collector

    Pages = Callable[[Collector], Sequence[BaseRoute]]

GUESTS = "The demo page admits guests: anyone may take any number of tokens. For trying out only."


def check_wall() -> None:
    """Refuse to serve from a process that has loaded what holds episodes."""
    sensitive = f"{__name__.split('.')[0]}.data"
    if sensitive in sys.modules:
        raise PrivacyError(
            "collector-loads-episodes",
            f"A collector must not load {sensitive}, which holds episodes. Serve from a process of its own.",
        )


def serve(
    path: str | Path,
    endpoint: Endpoint | None = None,
    database: str | None = None,
    *,
    intermediary: str | None = None,
    issuer: str | None = None,
    guests: bool = False,
    pages: Pages | None = None,
) -> None:
    """Serve a folder until SIGTERM or SIGINT. database: by default SQLite in the folder. pages: served besides.

    intermediary: the address of the shuffler or the curator; without it a curator is started as a process of its own. issuer: of
    who issues tokens; without it the one that was made beside the folder is started as a process of its own, which admits guests
    too if it should.
    """
    endpoint = endpoint or Endpoint()
    check_wall()
    from ..http.connections import MOST_OF_ONE, protocol
    from ..http.limits import RATE
    from .app import Collector, application

    folder = Folder(Path(path))
    log_to("confide.collector")
    lock = exclusive_lock(folder.path) if database is None or database.startswith("sqlite") else None
    child = issuing = None
    try:
        if intermediary is None and needs_curator(folder.contract()):
            child = ChildProcess("curate", folder.path, database)
            intermediary = child.start()
        if issuer is None and needs_issuer(folder):
            issuing = ChildProcess("issue", folder.issuer_path, None, *(["--guests"] if guests else []))
            if guests:
                logging.getLogger("confide.collector").warning("guests", extra={"details": {"text": GUESTS}})
            issuer = issuing.start()
        rate = RATE if endpoint.rate is None else endpoint.rate
        collector = Collector(folder, database, rate, intermediary, issuer)
        if child is not None:
            child.refused = partial(
                collector.ending.because, "The curator refuses to serve; what it said stands above."
            )
        check_wall()
        of_one = MOST_OF_ONE if endpoint.connections is None else endpoint.connections
        http_protocol = protocol(
            collector.refused, most_of_one=of_one, proxy=endpoint.proxy, documents=collector.documents
        )
        app = application(collector, () if pages is None else pages(collector))
        listen(app, endpoint, http_protocol, collector.ending)
    finally:
        for process in (child, issuing):
            if process is not None:
                process.stop()
        if lock is not None:
            lock.close()
