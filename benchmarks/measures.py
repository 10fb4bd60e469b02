"""What benchmarks of the service have in common: the sizes, letters such as devices send, and what a process uses."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from confide.mdp import Spec
from confide.protocol.releases import Report
from confide.service.contract import Contract, Letter

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
                total += sum(int(word) for word in fields[11:15]) / TICK
            elif int(fields[1]) == pid:
                total += sum(int(word) for word in fields[11:13]) / TICK
    return total


def resident(pid: int) -> float:
    """Megabytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def letters(contract: Contract, many: int, start: int) -> list[bytes]:
    """Letters such as devices send: bits at random."""
    design, rng = contract.design, np.random.default_rng(start)
    question = design.question
    made = []
    for _ in range(many):
        cells = (rng.random(question.width) < 0.3).astype(np.int64)
        report = Report(design.digest, question.digest, cells).to_bytes(design)
        made.append(Letter(os.urandom(16), contract.digest, 1, report).to_bytes())
    return made
