"""Runs a shuffler or a curator on an address, until a signal ends it, or its parent is gone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ...protocol.design import Design
from ..http.serving import Endpoint, end_with_parent, exclusive_lock, listen, log_to
from .folder import RoleFolder
from .open_batches import OpenBatches


def serve(
    role: str,
    hold: Callable[[Design], OpenBatches],
    path: str | Path,
    endpoint: Endpoint,
    database: str | None = None,
    *,
    child: bool = False,
) -> None:
    """Serve a folder in a role. hold: makes its open batches. child: end when standard input does. Else as a collector."""
    from ..http.connections import MOST_OF_ONE, protocol
    from ..http.limits import RATE
    from .app import IntermediaryServer, application
    from .batch_manager import BatchManager

    os.umask(0o077)  # whatever is written here is for its owner only
    folder = RoleFolder(Path(path), role)
    log_to("confide.batches")
    lock = exclusive_lock(folder.path, f"{role}.lock") if database is None or database.startswith("sqlite") else None
    manager = BatchManager(folder, hold(folder.contract().design), database)
    if child:
        end_with_parent()
    try:
        server = IntermediaryServer(manager, RATE if endpoint.rate is None else endpoint.rate)

        def ready(url: str) -> None:
            manager.address = manager.about.address or url
            if endpoint.ready is not None:
                endpoint.ready(url)

        # Not uvloop: it reads into one buffer, which keeps what came last.
        of_one = MOST_OF_ONE if endpoint.connections is None else endpoint.connections
        http_protocol = protocol(server.refused, most_of_one=of_one, proxy=endpoint.proxy)
        listen(application(server), replace(endpoint, ready=ready), http_protocol, server.ending, loop=_loop)
    finally:
        if lock is not None:
            lock.close()


def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.SelectorEventLoop()
