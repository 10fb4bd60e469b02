"""When a submission is sent, and sent again."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .store import ServiceMemory
    from .ticket_client import BatchStanding

COUNTED = (200, 201, 202)
"""Status codes of a submission that was counted, now or before, or will be."""

FIRST_WAIT = 1.0
LONGEST_WAIT = 3600.0
FIRST_PAUSE = 0.05
LONGEST_SLEEP = 60.0
"""Clocks are changed and machines sleep: a waiting thread looks again after this many seconds."""


def chance() -> float:
    """A uniform number below one, from the operating system's randomness."""
    return int.from_bytes(os.urandom(6)) / (1 << 48)


def delay(window: float) -> float:
    """When a report is sent, in seconds after an episode began: uniform, and drawn before anything happened."""
    return window * chance()


def look(patience: float) -> float:
    """Seconds until a device asks whether its batch was closed, if a batch stays open for `patience` after a restart."""
    return min(600.0, patience / 4) * (0.5 + chance())


def patience(tries: int, requested: float | None) -> float:
    """How long to wait after this many attempts: twice as long each time, up to an hour, and never all devices at once.

    requested: the wait that the server requests; at most an hour of it, since a server may request any.
    """
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(tries - 1, 20))
    return min(max(requested or 0.0, 0.0), LONGEST_WAIT) + wait * (0.5 + chance())


def note_standing(memory: ServiceMemory, standing: BatchStanding, epoch: int | None, again: float) -> bool:
    """Remember what became of a batch, and when to ask again; whether a report taken in an epoch need not be sent again."""
    same, closed = standing["epoch"] == epoch, standing["closed"]
    if closed:
        memory["letter"], memory["answer"] = None, 202 if same else 410
    elif (letter := memory.get("letter")) is not None:
        letter["again"] = again if same else 0.0
    return same or closed


def steady_clock() -> Callable[[], float]:
    """A clock that reads the time of day once, now, and then only counts: putting the machine's clock right does not move it."""
    if sys.platform == "linux":  # counts a machine's sleep too
        count: Callable[[], float] = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
    else:
        count = time.monotonic
    start = time.time() - count()
    return lambda: start + count()


def put_right(memory: ServiceMemory, now: float, window: float) -> bool:
    """Draw anew the times of a report that lie further ahead than any that is drawn now: the clock was put back since, and they
    might never come. Whether there were any.
    """
    opened, letter = memory.get("open"), memory.get("letter")
    moved = False
    if opened is not None and opened["due"] > now + window:
        opened["due"], moved = now + delay(window), True
    if letter is not None and letter["due"] > now + window:
        letter["due"], moved = now + delay(window), True
    if letter is not None and letter["again"] > now + 3 * LONGEST_WAIT:
        letter["again"], moved = now, True
    return moved
