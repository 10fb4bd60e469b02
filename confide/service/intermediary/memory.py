"""Overwrites memory that is freed: nothing of a closed batch is to be found in memory, in swap or in a core dump.

Python and numpy free memory without wiping it. glibc wipes what is freed if it is set to before a process starts, but for
the small pieces that each thread keeps to use again, unless it is set to keep none; and Python uses glibc for everything if it
is set to. So a process with open batches starts itself once more, with all three set.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys

PERTURB = "85"
"""The byte that freed memory is filled with."""
WIPING = {"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": PERTURB, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
PR_SET_DUMPABLE = 4


def wipes() -> bool:
    """Whether this process overwrites what it frees."""
    return all(os.environ.get(name) == value for name, value in WIPING.items())


def begin_wiping() -> None:
    """Start this command again in a process that overwrites what it frees, unless it does already; and leave no core dumps."""
    if not wipes():
        command = [sys.executable, "-P", "-m", __name__.split(".")[0], *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **WIPING})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
