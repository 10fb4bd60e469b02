"""A pause: a file in a service's folder, which its servers look for. It outlives them, and a restart of the machine."""

from __future__ import annotations

import time
from pathlib import Path

from .files import write_whole

FILE = "paused"
LOOK = 0.5
"""Seconds between two looks."""
WAIT = 60
"""Seconds after which a device may ask again."""
SENTENCE = "The operator has paused this service. What you hold is kept: ask again later."


class Pause:
    """Whether the servers of a folder are paused; the file is looked for now and then."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self._seen, self._paused = 0.0, False

    def __bool__(self) -> bool:
        """Whether there is a pause."""
        now = time.monotonic()
        if now - self._seen >= LOOK:
            self._seen, self._paused = now, self._file.exists()
        return self._paused


def pause(folder: Path) -> None:
    """Let the servers of a folder count no report and issue no ticket, from half a second later on."""
    write_whole(folder / FILE, b"")


def resume(folder: Path) -> bool:
    """End the pause; whether there was one."""
    there = (folder / FILE).exists()
    (folder / FILE).unlink(missing_ok=True)
    return there
