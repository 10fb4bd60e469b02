"""`./run bench fit [ROWS]`: what judging adds to a fit of 180,000 rows of ICU-Sepsis, and to one of a small table of this many
rows.

Seconds of all processors, of a fit in which three in ten judge and of one of the same log without judging users: each the better of
two, after a small one that compiles. ROWS is 5 million unless another number is given; they are read from Parquet files.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import confide as cf
from confide.data.trajectories import Dataset, read
from confide.lab.simulation.offline import practice_of
from confide.lab.simulation.offline_log import draw_records

JUDGING_ADDS, RUNS = 1.3, 2
"""How many times as long a fit may take because people judge; how often each is timed."""

STAYS, ROWS, PARTS = 9000, 5_000_000, 16


def intensive_care(stays: int) -> Dataset:
    """A log of ICU-Sepsis: 20 rows a stay."""
    world = cf.environments.make("icu-sepsis", 20)
    assert world.model is not None
    records = draw_records(world.model, practice_of(world, None), stays, np.random.default_rng(3))
    states, actions = world.model.rewards.shape[1:]
    sizes: dict[str, Any] = {"states": states, "actions": actions, "horizon": 20}
    return read(records, **sizes, fixed_length=True, support=world.model.transitions[0] > 0)


def large(rows: int, folder: Path) -> Dataset:
    """A log of ten rows a person, in Parquet files."""
    rng, people = np.random.default_rng(4), rows // 10 // PARTS
    for part in range(PARTS):
        user = np.repeat(np.arange(part * people, (part + 1) * people, dtype=np.int32), 10)
        step = np.tile(np.arange(10, dtype=np.int8), people)
        state, action = (rng.integers(size, size=len(user), dtype=np.int8) for size in (12, 3))
        reward = (rng.random(len(user)) < (1 + action + state) / 16).astype(np.int8)
        table = {"user": user, "step": step, "state": state, "action": action, "reward": reward}
        parquet.write_table(pa.table(table), folder / f"part-{part}.parquet")
    return read(str(folder), states=12, actions=3, horizon=10, fixed_length=True)


def seconds_of_fit(data: Dataset, judge: str | float) -> float:
    """Seconds of all processors of a fit, the better of a few."""
    times = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as place:
            started = time.process_time()
            cf.fit(data, privacy=cf.Central(rho=0.5), judge=judge, ledger=Path(place) / "ledger.json", budget=1.0)
            times.append(time.process_time() - started)
    return min(times)


def compared(name: str, data: Dataset) -> dict[str, Any]:
    """A row: a fit in which people judge beside one of the same log without judging users."""
    judged, plain = seconds_of_fit(data, 0.3), seconds_of_fit(data, "none")
    row = {"name": f"a fit of {name}, judged", "ratio": judged / plain, "goal": JUDGING_ADDS}
    return {**row, "ok": judged <= JUDGING_ADDS * plain, "seconds": {"confide": judged, "nobody judging": plain}}


def fitting(rows: int = ROWS) -> list[dict[str, Any]]:
    """Both logs."""
    compared("few rows", intensive_care(2000))  # compiles
    with tempfile.TemporaryDirectory() as place:
        care = compared("180,000 rows of ICU-Sepsis", intensive_care(STAYS))
        return [care, compared(f"{rows:,} rows of 12 states", large(rows, Path(place)))]
