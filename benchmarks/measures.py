"""What benchmarks of the service have in common: the sizes, submissions such as devices send, and what a process uses."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from confide.mdp import Spec
from confide.protocol.releases import Report
from confide.service.contract import Contract, Upload
from confide.service.contract.blind_rsa import PrivateKey
from confide.service.contract.tokens import TokenRequest

SPEC = Spec(10, 4, 20)
TICK = os.sysconf("SC_CLK_TCK")


def cpu(pid: int) -> float:
    """CPU seconds that a process and its living and past children have used."""
    total = 0.0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(folder.name) == pid:
                total += _clock(pid) + sum(int(word) for word in fields[13:15]) / TICK
            elif int(fields[1]) == pid:
                total += _clock(int(folder.name))
    return total


def _clock(pid: int) -> float:
    """CPU seconds of a process by its own clock (clock_getcpuclockid), in nanoseconds where /proc counts in ticks of 10 ms."""
    with contextlib.suppress(OSError):
        return time.clock_gettime(~pid << 3 | 2)
    return 0.0  # it ended meanwhile


def resident(pid: int) -> float:
    """Megabytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def tokens(contract: Contract, key: PrivateKey, many: int) -> list[bytes]:
    """Tokens of a contract, as its issuer signs them."""
    checker = contract.tokens
    assert checker is not None
    requests = [TokenRequest.new(checker) for _ in range(many)]
    return [request.token(checker, key.sign(request.blinded(checker))) for request in requests]


def letters(contract: Contract, many: int, start: int, with_tokens: Sequence[bytes] = ()) -> list[bytes]:
    """Submissions such as devices send: bits at random. With a token each has the id that follows from it."""
    design, rng = contract.design, np.random.default_rng(start)
    question = design.question
    made = []
    for _ in range(many):
        cells = (rng.random(question.width) < 0.3).astype(np.int64)
        report = Report(design.digest, question.digest, cells).to_bytes(design)
        token = with_tokens[len(made)] if with_tokens else b""
        made.append(Upload(token[:16] or os.urandom(16), contract.digest, 1, report).to_bytes() + token)
    return made
