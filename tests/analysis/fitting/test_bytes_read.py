"""How much of a text table a fit reads, in bytes, by the operating system's count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting.fingerprints import BLOCK, BLOCKS
from confide.data.trajectories import read
from confide.errors import FormatError

IO = Path("/proc/self/io")
OTHERWISE = 1 << 19
"""Bytes of everything else that a fit reads: its ledger, notes, the head of the file, this process's own counters."""


def log(path: Path, people: int, seed: int = 0) -> Path:
    """A text table of this many people, whose names are long."""
    rng = np.random.default_rng(seed)
    lines = ["user,step,state,action,reward"]
    for person in range(people):
        states, actions = rng.integers(4, size=3), rng.integers(2, size=3)
        lines += [f"person-{person:060d},{step},{states[step]},{actions[step]},{step % 2}" for step in range(3)]
    path.write_text("\n".join(lines) + "\n")
    return path


def bytes_read() -> int:
    return int(next(line for line in IO.read_text().splitlines() if line.startswith("rchar")).split()[1])


@pytest.mark.skipif(not IO.exists(), reason="this system does not count")
def test_a_fit_reads_a_text_table_twice(tmp_path: Path) -> None:
    """Once for quotation marks, which say where entries end, and once to count. Beside that, the blocks by which data is known."""
    promise, sizes = cf.Central(rho=1.0), {"states": 4, "actions": 2, "horizon": 3}
    first = log(tmp_path / "first.csv", 3000)
    cf.fit(read(first, **sizes), privacy=promise, budget=1.0, out=tmp_path / "first")  # loads and compiles
    second = log(tmp_path / "second.csv", 25_000)
    size = second.stat().st_size
    assert size > 5 << 20
    before = bytes_read()
    fit = cf.fit(read(second, **sizes), privacy=promise, budget=1.0, out=tmp_path / "second")
    used = bytes_read() - before
    assert 17_000 < fit.users < 18_000  # the others judge: seven deviations
    assert 2 * size <= used <= 2 * size + BLOCK * BLOCKS + OTHERWISE


def test_another_file_of_the_same_name_is_read_again(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", 20)
    sizes = {"states": 4, "actions": 2, "horizon": 3}
    assert next(iter(read(path, **sizes).parts[0].batches(["user"]))).num_rows == 60
    path.write_text('user,step,state,action,reward\n"p,0,0,0,1\n')
    with pytest.raises(FormatError, match="quotation mark"):
        list(read(path, **sizes).parts[0].batches(["user"]))
