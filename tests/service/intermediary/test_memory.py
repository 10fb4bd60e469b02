"""A process that holds batches overwrites what it frees, to the smallest piece; set to less, it does not."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

from confide.service.intermediary.memory import WIPING
from tests.service.intermediary.test_shuffler_memory import memory_of

PIECES = 400
PROGRAM = f"""
import hashlib, sys
for size in (16, 32):
    kept = [hashlib.sha256(b"%d" % number).digest()[:size] for number in range({PIECES})]
    del kept
print("freed", flush=True)
sys.stdin.read(1)
"""


def left(settings: dict[str, str]) -> int:
    """How many of the pieces that a process freed are still in its memory."""
    environment = {**{name: value for name, value in os.environ.items() if name not in WIPING}, **settings}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "freed\n"
        memory = memory_of(process.pid)
        process.kill()
    return sum(hashlib.sha256(b"%d" % number).digest()[:16] in memory for number in range(PIECES))


@pytest.mark.skipif(not os.path.exists("/proc/self/mem") or os.geteuid() != 0, reason="needs to read another's memory")
def test_small_pieces_are_overwritten() -> None:
    """The last one may still be where it was computed, on the stack."""
    assert left(WIPING) <= 1
    assert left({name: value for name, value in WIPING.items() if name != "GLIBC_TUNABLES"}) > 1
