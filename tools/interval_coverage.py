"""How often the interval over seeds holds the truth, in real runs: `python -m tools.interval_coverage`.

The exit code is 1 if a goal is missed. The runs are a thousand seeds of each world under each promise below. Their final regrets
lie in docs/intervals.parquet; what is not there is run first, and stored when it is finished, so that an interrupted command goes
on. The mean of the thousand is the truth; groups of 3, 5, 10 and 20 of them are what somebody would have run. The tables of
docs/intervals.md are written from that.

A group that has no interval says nothing wrong, and counts as one whose interval has no end; how many there are is shown, and
how many of the others hold the mean.
Goals: over all worlds and promises together but those of `RARE` seeds the mean is held by at least 93 % of the intervals at every
number of seeds, and of two groups of the same runs, whose ratio is 1, at most 3 % are said to be behind, under each promise in each
world.

The quantile was chosen on the first three worlds; then the clinic was run, and showed that logarithms alone say too much.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.analysis.reporting.intervals import SeedInterval, mean_interval, ratio_interval
from confide.privacy import Guarantee, Joint, Local, Shuffle
from tools.interval_candidates import MEANS, RATIOS, Array

ROOT = Path(__file__).resolve().parents[1]
FRESH_DATA = ROOT / "docs" / "intervals-fresh.parquet"
DATA, DOCUMENT = ROOT / "docs" / "intervals.parquet", ROOT / "docs" / "intervals.md"
WORLDS = ("riverswim/8", "chain/6", "random/4x3?seed=13", "clinic")
FRESH = ("grid/3x3", "random/8x3?seed=15", "riverswim-inhomogeneous/4", "illness/6x3")
"""Worlds on which nothing of the interval was chosen."""

PROMISES: dict[str, tuple[str, Guarantee, float, dict[str, Any]]] = {
    "joint": ("ucbvi", Joint(1.0, 1e-6), 1e5, {}),
    "local": ("obi", Local(4.0), 1e6, {"schedule": "growth:1.1"}),
    "shuffle": ("obi", Shuffle(1.0, 1e-6), 1e5, {"honest": 1.0}),
}
"""By name: the learner, the promise, how many people, and other choices."""

RUNS, GROUPS = 1000, 2000
SEEDS = (3, 5, 10, 20)
COVERED, BEHIND = 0.93, 0.03
RARE = 0.04
"""Where the worst 1 % of seeds make more of the mean than this, groups of 20 seldom hold their share: shown, and not judged."""

TAKEN = "**taken: `confide/analysis/reporting/intervals.py`**"
"""What confide prints, by its own functions."""

Runs = dict[tuple[str, str], Array]


def stored(path: Path = DATA) -> Runs:
    """The final regrets (RUNS,) of each world and promise that were run."""
    from pyarrow import parquet

    if not path.is_file():
        return {}
    table = parquet.read_table(path)
    keys = list(zip(table["world"].to_pylist(), table["promise"].to_pylist(), strict=True))
    regrets = table["regret"].to_numpy()
    return {key: regrets[[other == key for other in keys]] for key in dict.fromkeys(keys)}


def completed(path: Path = DATA, worlds: tuple[str, ...] = WORLDS) -> Runs:
    """All runs; those that are not stored are run, and stored as they are finished."""
    runs = stored(path)
    for world in worlds:
        for name, (learner, promise, people, choices) in PROMISES.items():
            if (world, name) not in runs:
                from confide.lab.simulation import simulate

                print(f"running {world} under {promise}", file=sys.stderr)
                runs[world, name] = simulate(learner, world, promise, people, RUNS, **choices).regret[:, -1]
                write(runs, path)
    return runs


def write(runs: Runs, path: Path = DATA) -> None:
    """Store runs; the file appears whole or not at all."""
    import pyarrow
    from pyarrow import parquet

    columns = {
        "world": [world for (world, _), values in runs.items() for _ in values],
        "promise": [promise for (_, promise), values in runs.items() for _ in values],
        "regret": np.concatenate(list(runs.values())),
    }
    draft = path.with_suffix(f".{os.getpid()}.partial")
    parquet.write_table(pyarrow.table(columns), draft, compression="zstd")
    os.replace(draft, path)


def drawn(values: Array, seeds: int, root: int) -> Array:
    """(GROUPS, seeds) runs, without repetition in a group."""
    rng = np.random.default_rng([root, seeds])
    return values[np.argsort(rng.random((GROUPS, len(values))), axis=1)[:, :seeds]]


def taken_mean(groups: Array) -> tuple[Array, Array]:
    """The ends that confide prints for the means of groups."""
    return _ends([mean_interval(group) for group in groups])


def taken_ratio(groups: Array, others: Array) -> tuple[Array, Array]:
    """The ends that confide prints for the ratios of means of groups."""
    return _ends([ratio_interval(*both) for both in zip(groups, others, strict=True)])


def _ends(found: list[SeedInterval]) -> tuple[Array, Array]:
    """The ends of intervals; those that are not given are 0 and infinity."""
    low = np.array([0.0 if each.low is None else each.low for each in found])
    high = np.array([np.inf if each.high is None else each.high for each in found])
    return low, high


Shares = dict[str, dict[tuple[tuple[str, str], int], float]]


def coverage(runs: Runs, ways: Mapping[str, Callable[[Array], tuple[Array, Array]]]) -> Shares:
    """By way, world and promise, and number of seeds: the share of groups whose interval holds the mean of all runs."""
    shares: Shares = {name: {} for name in ways}
    for key, values in runs.items():
        for seeds in SEEDS:
            groups = drawn(values, seeds, 1)
            for name, way in ways.items():
                low, high = way(groups)
                shares[name][key, seeds] = float(((low <= values.mean()) & (values.mean() <= high)).mean())
    return shares


def said_behind(runs: Runs, ways: Mapping[str, Callable[[Array, Array], tuple[Array, Array]]]) -> Shares:
    """By way, world and promise, and number of seeds: the share of pairs of groups of the same runs whose interval is above 1."""
    shares: Shares = {name: {} for name in ways}
    for key, values in runs.items():
        for seeds in SEEDS:
            both = np.split(drawn(values, 2 * seeds, 2), 2, axis=1)
            for name, way in ways.items():
                shares[name][key, seeds] = float((way(*both)[0] > 1).mean())
    return shares


def compared(shares: Shares, worst: Callable[[NDArray[np.float64]], Any], head: str) -> str:
    """A table of ways: over all worlds and promises the mean share, and the worst."""
    rows = [f"| {head} | " + " | ".join(f"{seeds} seeds" for seeds in SEEDS) + " |", "|---" * (1 + len(SEEDS)) + "|"]
    for name, found in shares.items():
        cells = []
        for seeds in SEEDS:
            values = np.array([share for (_, many), share in found.items() if many == seeds])
            cells.append(f"{100 * values.mean():.1f} ({100 * worst(values):.1f})")
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def rare(values: Array) -> float:
    """Which part of the mean the worst 1 % of seeds make."""
    return float(np.sort(values)[-(len(values) // 100) :].sum() / values.sum())


def given(runs: Runs) -> str:
    """A table of how many groups have an interval of the mean, by the number of seeds, and how many of those hold it."""
    names = ("groups with an interval, %", "of these hold the mean, %", "the same without worlds of rare bad seeds, %")
    lines: dict[str, list[str]] = {name: [] for name in names}
    for seeds in SEEDS:
        shares, held, regular = [], [], []
        for values in runs.values():
            low, high = taken_mean(drawn(values, seeds, 1))
            ended = np.isfinite(high)
            inside = ((low <= values.mean()) & (values.mean() <= high))[ended].mean()
            shares.append(ended.mean())
            held.append(inside)
            regular += [inside] if rare(values) <= RARE else []
        for line, found in zip(lines.values(), (shares, held, regular), strict=True):
            line.append(f"{100 * np.mean(found):.1f}")
    rows = [f"| | {' | '.join(f'{seeds} seeds' for seeds in SEEDS)} |", "|---" * (1 + len(SEEDS)) + "|"]
    return "\n".join([*rows, *(f"| {name} | {' | '.join(cells)} |" for name, cells in lines.items())])


def each(runs: Runs, covered: Shares, behind: Shares) -> str:
    """A table of worlds and promises: what is taken, one by one, and how much of the mean is made by the worst of a hundred."""
    heads = [f"{what}, {seeds} seeds" for what in ("held", "said to be behind") for seeds in SEEDS]
    rows = [f"| world | promise | deviation / mean | worst 1 % of seeds make | {' | '.join(heads)} |"]
    rows.append("|---" * (4 + len(heads)) + "|")
    for (world, promise), values in runs.items():
        cells = [100 * shares[TAKEN][(world, promise), seeds] for shares in (covered, behind) for seeds in SEEDS]
        told = [
            f"{values.std() / values.mean():.2f}",
            f"{100 * rare(values):.1f} % of the mean",
            *(f"{c:.1f}" for c in cells),
        ]
        rows.append(f"| {world} | {promise} | {' | '.join(told)} |")
    return "\n".join(rows)


def missed(runs: Runs, covered: Shares, behind: Shares) -> list[str]:
    """The goals that are missed, in words."""
    wrong = []
    for seeds in SEEDS:
        held = np.mean([covered[TAKEN][key, seeds] for key, values in runs.items() if rare(values) <= RARE])
        late = max(share for (_, many), share in behind[TAKEN].items() if many == seeds)
        if held < COVERED:
            wrong.append(
                f"{seeds} seeds: {100 * held:.1f} % of the intervals hold the mean, {100 * COVERED:g} are wanted"
            )
        if late > BEHIND:
            wrong.append(f"{seeds} seeds: {100 * late:.1f} % of equal sides are said to be behind")
    return wrong


def filled(text: str, tables: Mapping[str, str]) -> str:
    """A document with its tables renewed, each between `<!-- intervals: NAME -->` and `<!-- end -->`."""
    for name, table in tables.items():
        mark = re.compile(rf"(<!-- intervals: {name} -->\n\n).*?(\n\n<!-- end -->)", flags=re.DOTALL)
        text, count = mark.subn(lambda found, table=table: f"{found[1]}{table}{found[2]}", text)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"the document has no place for the table {name!r}")
    return text


def measured(runs: Runs) -> tuple[dict[str, str], list[str]]:
    """The tables, and the goals that are missed."""
    covered = coverage(runs, {**MEANS, TAKEN: taken_mean})
    behind = said_behind(runs, {**RATIOS, TAKEN: taken_ratio})
    tables = {
        "means": compared(covered, np.min, "interval of a mean: % held, all together (worst)"),
        "ratios": compared(behind, np.max, "interval of a ratio: % said to be behind, all together (worst)"),
        "each": each(runs, covered, behind),
        "given": given(runs),
    }
    return tables, missed(runs, covered, behind)


def fresh(runs: Runs) -> dict[str, str]:
    """The tables of the worlds on which nothing was chosen."""
    covered, behind = coverage(runs, {TAKEN: taken_mean}), said_behind(runs, {TAKEN: taken_ratio})
    return {
        "fresh": compared(covered, np.min, "fresh worlds: % held, all together (worst)"),
        "fresh given": given(runs),
        "fresh each": each(runs, covered, behind),
    }


def main() -> int:
    """Run what is missing, measure, and write the tables."""
    tables, wrong = measured(completed())
    tables |= fresh(completed(FRESH_DATA, FRESH))
    DOCUMENT.write_text(filled(DOCUMENT.read_text(encoding="utf-8"), tables), encoding="utf-8")
    print("\n\n".join(tables.values()))
    for sentence in wrong:
        print(f"MISSED: {sentence}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
