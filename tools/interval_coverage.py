"""How often the interval over seeds holds the truth, in real runs: `python -m tools.interval_coverage`.

The exit code is 1 if a goal is missed. The runs are many seeds of each world under each guarantee below: a cell. Their final
regrets lie in docs/intervals.parquet (cells on which the interval is chosen, by `python -m tools.interval_choice`),
docs/intervals-held-out.parquet (cells that were run after its form was chosen) and docs/intervals-later.parquet (cells that
were run after its constants were chosen again, when the first had been looked at); what is not there is run first, and stored
when it is finished, so that an interrupted command goes on. The mean of all runs of a cell is the truth; groups of 3, 5, 10
and 20 of them are what a study would have run. The tables of docs/intervals.md and docs/research/intervals.md are written
from that.

Goals, on the held-out and on the later cells, at every number of seeds: of the intervals that are given at least 93 % hold
the mean, and of two groups of the same runs, whose ratio is 1, at most 3 % are said to be behind; both over all cells
together and in each cell that is not steep. A cell is steep if the worst 1 % of its seeds make more than 5 % of the mean:
these are shown one by one."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.analysis.reporting.intervals import SeedInterval, mean_interval, ratio_interval
from confide.privacy import Guarantee, Joint, Local, Shuffle
from tools.interval_candidates import MEANS, RATIOS, Array

ROOT = Path(__file__).resolve().parents[1]
DATA, HELD_OUT_DATA = ROOT / "docs" / "intervals.parquet", ROOT / "docs" / "intervals-held-out.parquet"
LATER_DATA = ROOT / "docs" / "intervals-later.parquet"
DOCUMENTS = (ROOT / "docs" / "intervals.md", ROOT / "docs" / "research" / "intervals.md")
WORLDS = (
    *("riverswim/8", "chain/6", "random/4x3?seed=13", "clinic"),
    *("grid/3x3", "random/8x3?seed=15", "riverswim-inhomogeneous/4", "illness/6x3"),
)
HELD_OUT = ("chain/4", "climb/5", "random/6x2?seed=21", "illness/5x3")
"""Worlds that were run after the form of the interval was chosen."""

LATER = ("chain/7", "climb/6", "random/7x3?seed=41", "illness/4x3")
"""Worlds that were named before, and run after, its constants were chosen again."""

GUARANTEES: dict[str, tuple[str, Guarantee, float, dict[str, Any]]] = {
    "joint": ("ucbvi", Joint(1.0, 1e-6), 1e5, {}),
    "local": ("obi", Local(4.0), 1e6, {"schedule": "growth:1.1"}),
    "shuffle": ("obi", Shuffle(1.0, 1e-6), 1e5, {"honest": 1.0}),
}
"""By name: the learner, the guarantee, the number of users, and other choices."""

RUNS, HELD_OUT_RUNS, GROUPS, COMPARED = 1000, 500, 2000, 400
SEEDS = (3, 5, 10, 20)
COVERED, BEHIND = 0.93, 0.03
STEEP = 0.05
"""Where the worst 1 % of seeds make more of the mean than this, few seeds cannot hold their share of it."""

TAKEN = "**taken: `confide/analysis/reporting/intervals.py`**"
"""What confide prints, by its own functions."""

Runs = dict[tuple[str, str], Array]


def stored(path: Path = DATA) -> Runs:
    """The final regrets (RUNS,) of each world and guarantee that were run."""
    from pyarrow import parquet

    if not path.is_file():
        return {}
    table = parquet.read_table(path)
    keys = list(zip(table["world"].to_pylist(), table["guarantee"].to_pylist(), strict=True))
    regrets = table["regret"].to_numpy()
    return {key: regrets[[other == key for other in keys]] for key in dict.fromkeys(keys)}


def completed(path: Path = DATA, worlds: tuple[str, ...] = WORLDS, seeds: int = RUNS) -> Runs:
    """All runs; those that are not stored are run, and stored as they are finished."""
    runs = stored(path)
    for world in worlds:
        for name, (learner, guarantee, people, choices) in GUARANTEES.items():
            if (world, name) not in runs:
                from confide.lab.simulation import simulate

                print(f"running {world} under {guarantee}", file=sys.stderr)
                runs[world, name] = simulate(learner, world, guarantee, people, seeds, **choices).regret[:, -1]
                write(runs, path)
    return runs


def write(runs: Runs, path: Path = DATA) -> None:
    """Store runs; the file appears whole or not at all."""
    import pyarrow
    from pyarrow import parquet

    columns = {
        "world": [world for (world, _), values in runs.items() for _ in values],
        "guarantee": [guarantee for (_, guarantee), values in runs.items() for _ in values],
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


CoverShares = dict[str, dict[tuple[tuple[str, str], int], float]]


def coverage(runs: Runs, ways: Mapping[str, Callable[[Array], tuple[Array, Array]]]) -> CoverShares:
    """By way, world and guarantee, and number of seeds: the share of groups whose interval holds the mean of all runs."""
    shares: CoverShares = {name: {} for name in ways}
    for key, values in runs.items():
        for seeds in SEEDS:
            groups = drawn(values, seeds, 1)[:COMPARED]
            for name, way in ways.items():
                low, high = way(groups)
                shares[name][key, seeds] = float(((low <= values.mean()) & (values.mean() <= high)).mean())
    return shares


def said_behind(runs: Runs, ways: Mapping[str, Callable[[Array, Array], tuple[Array, Array]]]) -> CoverShares:
    """By way, world and guarantee, and number of seeds: the share of pairs of groups of the same runs whose interval is above 1."""
    shares: CoverShares = {name: {} for name in ways}
    for key, values in runs.items():
        for seeds in SEEDS:
            both = np.split(drawn(values, 2 * seeds, 2)[:COMPARED], 2, axis=1)
            for name, way in ways.items():
                shares[name][key, seeds] = float((way(*both)[0] > 1).mean())
    return shares


def compared(shares: CoverShares, worst: Callable[[NDArray[np.float64]], Any], head: str) -> str:
    """A table of ways: over all worlds and guarantees the mean share, and the worst."""
    rows = [f"| {head} | " + " | ".join(f"{seeds} seeds" for seeds in SEEDS) + " |", "|---" * (1 + len(SEEDS)) + "|"]
    for name, found in shares.items():
        cells = []
        for seeds in SEEDS:
            values = np.array([share for (_, many), share in found.items() if many == seeds])
            cells.append(f"{100 * values.mean():.1f} ({100 * worst(values):.1f})")
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def steepness(values: Array) -> float:
    """Which part of the mean the worst 1 % of seeds make."""
    return float(np.sort(values)[-(len(values) // 100) :].sum() / values.sum())


class CellCoverage(NamedTuple):
    """Of one cell and number of seeds, of what is taken: the share of groups with an interval, the share of these that hold the
    mean, the share of equal pairs that are said to be behind, and the middle of the interval's upper end over the mean."""

    given: float
    held: float
    behind: float
    factor: float


def measured(runs: Runs) -> dict[tuple[tuple[str, str], int], CellCoverage]:
    """What is taken, by cell and number of seeds."""
    found = {}
    for key, values in runs.items():
        for seeds in SEEDS:
            groups = drawn(values, seeds, 1)
            low, high = taken_mean(groups)
            given, truth = np.isfinite(high), values.mean()
            both = np.split(drawn(values, 2 * seeds, 2), 2, axis=1)
            found[key, seeds] = CellCoverage(
                float(given.mean()),
                float(((low <= truth) & (truth <= high))[given].mean()) if given.any() else 1.0,
                float((taken_ratio(*both)[0] > 1).mean()),
                float(np.median(high / groups.mean(axis=1))),
            )
    return found


def summary(runs: Runs) -> str:
    """A table by number of seeds: how many groups have an interval, how many of these hold the mean, how wide they are."""
    found = measured(runs)

    def line(
        name: str,
        of: Callable[[CellCoverage], float],
        over: Callable[[list[float]], Any],
        keys: Iterable[tuple[str, str]],
    ) -> str:
        cells = [over([of(found[key, seeds]) for key in keys]) for seeds in SEEDS]
        return f"| {name} | {' | '.join(f'{cell:.1f}' for cell in cells)} |"

    calm = [key for key, values in runs.items() if steepness(values) <= STEEP]
    return "\n".join(
        [
            f"| {len(runs)} cells | {' | '.join(f'{seeds} seeds' for seeds in SEEDS)} |",
            "|---" * (1 + len(SEEDS)) + "|",
            line("groups with an interval, %", lambda each: 100 * each.given, np.mean, runs),
            line("of these hold the mean, %, all cells together", lambda each: 100 * each.held, np.mean, runs),
            line(
                "the same, groups without an interval counted as right",
                lambda each: 100 * (1 - each.given * (1 - each.held)),
                np.mean,
                runs,
            ),
            line("of these hold the mean, %, in the worst cell", lambda each: 100 * each.held, min, runs),
            line(
                f"the same, worst of the {len(calm)} cells that are not steep", lambda each: 100 * each.held, min, calm
            ),
            line("equal sides said to be behind, %, all cells together", lambda each: 100 * each.behind, np.mean, runs),
            line("equal sides said to be behind, %, in the worst cell", lambda each: 100 * each.behind, max, runs),
            line("upper end / mean, median", lambda each: each.factor, np.median, runs),
        ]
    )


def each(runs: Runs) -> str:
    """A table of cells, one by one, and how much of the mean is made by the worst of a hundred."""
    found = measured(runs)
    heads = [f"{what}, {seeds} seeds" for what in ("held", "behind") for seeds in SEEDS]
    rows = [f"| world | guarantee | deviation / mean | worst 1 % of seeds make | {' | '.join(heads)} |"]
    rows.append("|---" * (4 + len(heads)) + "|")
    for key, values in runs.items():
        shares = [found[key, seeds].held for seeds in SEEDS] + [found[key, seeds].behind for seeds in SEEDS]
        cells = [
            f"{values.std() / values.mean():.2f}",
            f"{100 * steepness(values):.1f} % of the mean",
            *(f"{100 * share:.1f}" for share in shares),
        ]
        rows.append(f"| {' | '.join(key)} | {' | '.join(cells)} |")
    return "\n".join(rows)


def missed(runs: Runs) -> list[str]:
    """The goals that are missed, in words."""
    wrong, found = [], measured(runs)
    calm = [key for key, values in runs.items() if steepness(values) <= STEEP]
    for seeds in SEEDS:
        held, late = ({key: found[key, seeds][which] for key in runs} for which in (1, 2))
        for name, share in (
            ("all cells", float(np.mean(list(held.values())))),
            ("a cell", min(held[key] for key in calm)),
        ):
            if share < COVERED:
                wrong.append(f"{seeds} seeds: {100 * share:.1f} % of the intervals of {name} hold the mean")
        for name, share in (
            ("all cells", float(np.mean(list(late.values())))),
            ("a cell", max(late[key] for key in calm)),
        ):
            if share > BEHIND:
                wrong.append(f"{seeds} seeds: {100 * share:.1f} % of the equal sides of {name} are said to be behind")
    return wrong


def filled(text: str, tables: Mapping[str, str]) -> str:
    """A document with its tables renewed, each between `<!-- intervals: NAME -->` and `<!-- end -->`."""
    mark = re.compile(r"(<!-- intervals: ([a-z -]+) -->\n).*?(\n<!-- end -->)", flags=re.DOTALL)
    return mark.sub(lambda found: f"{found[1]}\n{tables[found[2]]}\n{found[3]}", text)


def main() -> int:
    """Run what is missing, measure, and write the tables."""
    chosen, held_out = completed(), completed(HELD_OUT_DATA, HELD_OUT, HELD_OUT_RUNS)
    later = completed(LATER_DATA, LATER, HELD_OUT_RUNS)
    tables = {
        "means": compared(coverage(chosen, {**MEANS, TAKEN: taken_mean}), np.min, "a mean: % held, all cells (worst)"),
        "ratios": compared(
            said_behind(chosen, {**RATIOS, TAKEN: taken_ratio}), np.max, "equal sides: % behind, all cells (worst)"
        ),
        "chosen": summary(chosen),
        "chosen each": each(chosen),
        "held out": summary(held_out),
        "held out each": each(held_out),
        "later": summary(later),
        "later each": each(later),
    }
    for document in DOCUMENTS:
        document.write_text(filled(document.read_text(encoding="utf-8"), tables), encoding="utf-8")
    print("\n\n".join(tables.values()))
    wrong = missed(held_out) + missed(later)
    for sentence in wrong:
        print(f"MISSED: {sentence}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
