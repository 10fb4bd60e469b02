"""Readiness: whether a store takes commits, found out by making one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from .application import in_thread
from .problems import RETRY, Refused

FRESH = 1.0
"""Seconds for which a commit proves that the next one works."""
WAIT = 2.5
"""Seconds that a commit may take before the process says that it is not ready."""


class Readiness:
    """Tells whether a store takes commits. Asked often, it tries once a second at most, and never twice at a time."""

    def __init__(self, commit: Callable[[], None], last: Callable[[], float]) -> None:
        """commit: commits nothing new. last: when something was committed, by the monotonic clock."""
        self._commit, self._last = commit, last
        self._asking = asyncio.Lock()
        self._trying = False
        self._tried, self._worked = -FRESH, False

    async def check(self) -> None:
        """Refuse unless something was committed just now, or can be."""
        if time.monotonic() - self._last() < FRESH:
            return
        async with self._asking:
            if time.monotonic() - self._tried >= FRESH:
                self._worked = await self._works()
                self._tried = time.monotonic()
        if not self._worked:
            raise Refused(
                "store", "store-not-committing", "The store does not take commits: nothing can be counted.", RETRY
            )

    async def _works(self) -> bool:
        if self._trying:  # the last attempt has not come back yet
            return False
        try:
            await in_thread(self._try, WAIT)
        except Exception:
            return False
        return True

    def _try(self) -> None:
        self._trying = True
        try:
            self._commit()
        finally:
            self._trying = False
