"""Small logs for tests: episodes of made-up people, and the columns they become."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

STATES, ACTIONS, HORIZON = 3, 2, 4


@dataclass(frozen=True)
class Episode:
    """states: one more than actions, the last being where the person ended up."""

    states: list[int]
    actions: list[int]
    rewards: list[float]


def episodes(people: int, seed: int = 0, full: bool = False, horizon: int = HORIZON) -> list[Episode]:
    """Random episodes of 1 to H steps, or of H if `full`, with rewards of 0 and 1."""
    rng = np.random.default_rng(seed)
    results = []
    for _ in range(people):
        steps = horizon if full else int(rng.integers(1, horizon + 1))
        states = rng.integers(STATES, size=steps + 1).tolist()
        results.append(
            Episode(states, rng.integers(ACTIONS, size=steps).tolist(), rng.integers(2, size=steps).tolist())
        )
    return results


def columns(log: list[Episode], first: int = 0, ids: list[Any] | None = None) -> dict[str, Any]:
    """The log as columns, with steps from `first` on; `ids` name the people."""
    lengths = [len(one.actions) for one in log]
    names = list(range(len(log))) if ids is None else ids
    return {
        "user": [name for name, length in zip(names, lengths, strict=True) for _ in range(length)],
        "step": [first + step for length in lengths for step in range(length)],
        "state": [state for one in log for state in one.states[:-1]],
        "action": [action for one in log for action in one.actions],
        "reward": [float(reward) for one in log for reward in one.rewards],
        "next_state": [state for one in log for state in one.states[1:]],
    }


def write(path: Path, log: list[Episode], **changes: Any) -> Path:
    """A Parquet file of the log; `changes` replace columns, None removes one."""
    options = {**columns(log), **changes}
    parquet.write_table(pa.table({name: values for name, values in options.items() if values is not None}), path)
    return path
