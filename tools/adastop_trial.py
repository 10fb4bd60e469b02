"""AdaStop on our stored runs: `uv run --no-project --with adastop --with pyarrow --python 3.11 tools/adastop_trial.py`.

It is a package of its own (MIT), not among our dependencies. Of each stored cell (docs/intervals.parquet) two sides are
drawn from the same runs, so that they are equal, and two of which one loses twice as much; five seeds a side at each of at
most four looks, 5 % for all of them. Printed: how often each is said to differ, and after how many seeds a side.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import numpy as np
from adastop import MultipleAgentsComparator  # type: ignore[import-not-found]
from pyarrow import parquet

DATA = Path(__file__).resolve().parents[1] / "docs" / "intervals.parquet"
SEEDS, LOOKS, LEVEL, PAIRS, PERMUTATIONS = 5, 4, 0.05, 10, 500


def compared(one: np.ndarray, other: np.ndarray, seed: int) -> tuple[bool, int]:
    """Whether two sides are said to differ, and after how many seeds a side."""
    test = MultipleAgentsComparator(n=SEEDS, K=LOOKS, B=PERMUTATIONS, alpha=LEVEL, seed=seed)
    for look in range(1, LOOKS + 1):
        with contextlib.redirect_stdout(io.StringIO()):
            test.partial_compare({"one": one[: look * SEEDS], "other": other[: look * SEEDS]}, verbose=False)
        if test.is_finished:
            break
    return any(str(verdict) != "equal" for verdict in test.decisions.values()), look * SEEDS


def main() -> None:
    """Print the shares of both kinds of pairs."""
    table = parquet.read_table(DATA)
    cells = [
        f"{world} {name}"
        for world, name in zip(table["world"].to_pylist(), table["guarantee"].to_pylist(), strict=True)
    ]
    regrets, rng = table["regret"].to_numpy(), np.random.default_rng(0)
    for factor in (1.0, 2.0):
        found = []
        for cell in dict.fromkeys(cells):
            values = regrets[[each == cell for each in cells]]
            for pair in range(PAIRS):
                one, other = np.split(rng.permutation(values)[: 2 * SEEDS * LOOKS], 2)
                found.append(compared(factor * one, other, pair))
        said, seeds = np.array(found).T
        print(
            f"one side loses {factor:g} times as much: {100 * said.mean():.1f} % of {len(said)} pairs differ,"
            f" {seeds.mean():.1f} seeds a side"
        )


if __name__ == "__main__":
    main()
