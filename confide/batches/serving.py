"""Runs a shuffler or a curator on an address, until a signal ends it, or its parent is gone."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from ..collector.serving import Endpoint as Endpoint
from ..collector.serving import exclusive_lock, listen, log_to
from ..designs import Design
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
    from ..collector.limits import RATE
    from ..collector.protocol import protocol
    from .app import OfficeApp, application
    from .office import Office

    os.umask(0o077)  # whatever is written here is for its owner only
    folder = RoleFolder(Path(path), role)
    log_to("confide.batches")
    lock = exclusive_lock(folder.path, f"{role}.lock") if database is None or database.startswith("sqlite") else None
    office = Office(folder, hold(folder.contract().design), database)
    if child:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        doors = OfficeApp(office, RATE if endpoint.rate is None else endpoint.rate)
        http_protocol = protocol(doors.refused)
        # Not uvloop: it reads into one buffer, which keeps what came last.
        listen(application(doors), endpoint, http_protocol, loop=_loop)
    finally:
        if lock is not None:
            lock.close()


def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.SelectorEventLoop()


def _end_with_parent() -> None:
    while sys.stdin.buffer.read(1 << 12):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
