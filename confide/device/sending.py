"""When a letter is sent, sent again, or given up."""

from __future__ import annotations

import os

COUNTED = (200, 201, 202)
"""Status codes of a letter that was counted, now or before, or will be."""
FINAL = (400, 404, 409, 410, 413, 415, 422)
"""Status codes of a letter that never will be: another contract, a service that ended, or bytes that are none."""

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

    requested: how long the service asked for, at least.
    """
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(tries - 1, 20))
    return max(requested or 0.0, 0.0) + wait * (0.5 + chance())
