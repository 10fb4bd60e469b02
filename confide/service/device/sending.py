"""When a letter is sent, and sent again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

COUNTED = (200, 201, 202)
"""Status codes of a letter that was counted, now or before, or will be."""

FIRST_WAIT = 1.0
LONGEST_WAIT = 3600.0
FIRST_PAUSE = 0.05
LONGEST_SLEEP = 60.0
"""Clocks are changed and machines sleep: a waiting thread looks again after so many seconds."""


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
    """How long to wait after so many attempts: twice as long each time, up to an hour, and never all devices at once.

    requested: how long whoever answered asked for; at most an hour of it, since anybody may ask for ever.
    """
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(tries - 1, 20))
    return min(max(requested or 0.0, 0.0), LONGEST_WAIT) + wait * (0.5 + chance())


def note_standing(memory: dict[str, Any], standing: dict[str, Any], epoch: int, again: float) -> bool:
    """Remember what became of a batch, and when to ask again; whether a report taken in an epoch need not be sent again."""
    same, closed = standing["epoch"] == epoch, standing["closing"] is not None
    if closed:
        memory.update(letter=None, answer=202 if same else 410)
    elif memory.get("letter") is not None:
        memory["letter"]["again"] = again if same else 0.0
    return same or closed


def steady_clock() -> Callable[[], float]:
    """A clock that reads the time of day once, now, and then only counts: putting the machine's clock right does not move it."""
    steady = getattr(
        time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None)
    )  # the first counts a machine's sleep too
    count = time.monotonic if steady is None else lambda: time.clock_gettime(steady)
    start = time.time() - count()
    return lambda: start + count()


def put_right(memory: dict[str, Any], now: float, window: float) -> bool:
    """Draw anew the times of a report that lie further ahead than any that is drawn now: the clock was put back since, and they
    might never come. Whether there were any.
    """
    opened, letter = memory.get("open"), memory.get("letter")
    ahead = [each for each in (opened, letter) if each is not None and each["due"] > now + window]
    for each in ahead:
        each["due"] = now + delay(window)
    if letter is not None and letter["again"] > now + 3 * LONGEST_WAIT:
        letter["again"] = now
        ahead.append(letter)
    return bool(ahead)
