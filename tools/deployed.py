"""What a service loses against what a simulation showed: ./run deployed [--json] [--quick] [--workers 2] [--kept FILE] [--write]

For twelve worlds and five guarantees the contract that `confide service new` writes is simulated as it is
(`lab.staging.rehearsing`), with users who keep arriving, all of them within 30 days, while a batch waits for its deadline and a
policy for its publication; and so is what `confide simulate` has by default. Both are divided by the regret of `simulate`'s default
at commit 84297b0 (with an honest share of one half under shuffling), which stands in docs/deployed-before.json; cells that are not
in that file are left out. Where the ratio of 20 seeds is above the goal and the file has further seeds of the denominator, the
cell is measured again with as many others, and its row has that ratio: of some cells a seed in ten loses ten times as much as the
rest, so that 20 of them show little. `--quick` takes 100,000 users and 5 seeds. `--kept` names a file to which every row is added
as it is found, and whose rows are not measured again. `--write` puts the result into docs/deployed.json and docs/deployed.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.analysis.reporting.intervals import ratio_interval
from confide.lab.environments import make as world_of
from confide.lab.simulation import prepare, run
from confide.lab.staging.rehearsing import DAYS, rehearse
from confide.privacy import Guarantee
from confide.service.collector.founding import make_service

DOCS = Path(__file__).resolve().parents[1] / "docs"
BEFORE = DOCS / "deployed-before.json"
SEEDS, QUICK_SEEDS, QUICK_USERS = 20, 5, 100_000
MEAN, WORST = 1.15, 1.5
"""The most that the geometric mean of the ratios, and the worst of them, are to be."""
DEPLOYED, SIMULATED = "deployed", "simulated"
FIRST, AGAIN = "first", 500
"""What rows of cells that were measured again say of their first seeds; and the root of the further ones."""
CELLS = 120
"""Twelve worlds, five guarantees, 100,000 and 1,000,000 users."""


class DeployedCell(NamedTuple):
    """One world under one guarantee, and the regret of every seed before; again: of further seeds."""

    world: str
    trust: str
    epsilon: float
    delta: float
    people: int
    regret: list[float]
    again: tuple[float, ...] = ()

    @property
    def promise(self) -> Guarantee:
        """The guarantee."""
        return Guarantee(self.trust, self.epsilon, self.delta)


def cells() -> list[DeployedCell]:
    """The cells whose regret before is known."""
    return [DeployedCell(**row) for row in json.loads(BEFORE.read_text(encoding="utf-8"))["rows"]]


def regrets(cell: DeployedCell, seeds: int, root: int = 0) -> dict[str, NDArray[np.float64]]:
    """The regrets of the contract that `service new` writes, and of the default of `simulate`, by seed."""
    setting = prepare("ucbvi", cell.world, cell.promise, cell.people, seeds=seeds, seed=root)
    with tempfile.TemporaryDirectory() as place:
        spec = world_of(cell.world).spec
        contract = make_service(Path(place) / "tea", spec, cell.promise, cell.people).contract()
    if contract.design.digest != setting.design.digest:
        raise SystemExit(f"{cell.world} under {cell.promise}: a service deploys another design than is simulated.")
    deployed = rehearse(contract, cell.world, seeds, root, DAYS).regret
    same = contract.intermediary is None  # no user waits, so both are one simulation
    return {DEPLOYED: deployed, SIMULATED: deployed if same else run(setting).regret[:, -1]}


def row_of(cell: DeployedCell, side: str, found: NDArray[np.float64], first: Any = None) -> dict[str, Any]:
    """A row of the table: the ratio of mean regrets, with its 95 % interval, and the regrets by seed that both are made of.

    first: the row of the first seeds, if this is of further ones.
    """
    found, before = found.round(3), np.array(cell.again if first else cell.regret)
    ratio = ratio_interval(found, before)
    return {
        "world": cell.world,
        "trust": cell.trust,
        "epsilon": cell.epsilon,
        "people": cell.people,
        "side": side,
        "ratio": float(found.mean() / before.mean()),
        "interval": [ratio.low, ratio.high],
        "regret": found.tolist(),
        **({FIRST: {name: first[name] for name in ("ratio", "regret")}} if first else {}),
    }


def summed_up(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The geometric mean of the ratios of each side, and the worst; and of what `service new` deploys by trust.

    Means are of first seeds alone: to measure again what was above the goal, and nothing else, would lower them.
    """
    sides = {side: [row for row in rows if row["side"] == side] for side in (DEPLOYED, SIMULATED)}
    trusts = sorted({row["trust"] for row in rows})
    return {
        "mean": {side: mean_of(some) for side, some in sides.items()},
        "worst": {side: max(row["ratio"] for row in some) for side, some in sides.items()},
        "by_trust": {trust: mean_of([row for row in sides[DEPLOYED] if row["trust"] == trust]) for trust in trusts},
    }


def mean_of(rows: list[dict[str, Any]]) -> float:
    """The geometric mean of the ratios of first seeds."""
    return float(np.exp(np.mean([np.log(row.get(FIRST, row)["ratio"]) for row in rows])))


def line_of(row: dict[str, Any]) -> str:
    """A line on a cell: its ratio, with the interval, and that of its first seeds, if it was measured again."""
    low, high = row["interval"]
    told = "no interval: its seeds differ by orders of magnitude" if low is None else f"{low:.2f} to {high:.2f}"
    first = f"; {len(row['regret'])} seeds, and {row[FIRST]['ratio']:.2f} of the first {SEEDS}" if FIRST in row else ""
    return f"- {row['world']}, {row['trust']} {row['epsilon']:g}, {row['people']:,} users: {row['ratio']:.2f} ({told}{first})"


def beyond(rows: list[dict[str, Any]]) -> list[str]:
    """A line on each cell of what is deployed whose ratio is above `WORST`."""
    return [line_of(row) for row in rows if row["side"] == DEPLOYED and row["ratio"] > WORST]


def repeated(rows: list[dict[str, Any]]) -> list[str]:
    """A line on each cell of what is deployed that was measured again."""
    return [line_of(row) for row in rows if row["side"] == DEPLOYED and FIRST in row]


def to_repeat(cell: DeployedCell, rows: list[dict[str, Any]]) -> bool:
    """Whether a cell is to be measured again: its first seeds are above the goal, and further ones are known."""
    return bool(cell.again) and any(row["ratio"] > WORST and FIRST not in row for row in rows)


def measured(cell: DeployedCell, seeds: int, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a cell: what is deployed, and what is simulated. rows: those of its first seeds, if they were measured."""
    rows = rows or [row_of(cell, side, found) for side, found in regrets(cell, seeds).items()]
    if not to_repeat(cell, rows):
        return rows
    further = regrets(cell, len(cell.again), AGAIN)
    return [row_of(cell, row["side"], further[row["side"]], row) for row in rows]


def all_measured(
    chosen: list[tuple[DeployedCell, list[dict[str, Any]]]], seeds: int, workers: int
) -> Iterator[list[dict[str, Any]]]:
    """The rows of every cell, with those of its first seeds if these are known, in several processes, as they are found."""
    if workers == 1:
        yield from (measured(cell, seeds, rows) for cell, rows in chosen)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for done in as_completed([pool.submit(measured, cell, seeds, rows) for cell, rows in chosen]):
            yield done.result()


def key_of(row: Any) -> tuple[str, str, float, int]:
    """What a row is about, and what it is sorted by."""
    return row["trust"], row["world"], row["epsilon"], row["people"]


def document(result: dict[str, Any]) -> str:
    """The page: what was measured, the means, and a row a world."""
    rows = result["rows"]
    measured_cells = len({key_of(row) for row in rows})
    columns = sorted({(row["trust"], row["epsilon"], row["people"]) for row in rows})
    head = [f"{trust} {epsilon:g}, {people:,}" for trust, epsilon, people in columns]
    lines = [
        "# What is simulated is what is deployed",
        "",
        "Regret of the contract that `confide service new` writes, simulated with users who keep arriving (all of them within",
        "30 days) while a batch waits for its deadline and a policy for its publication, divided by the regret of the default of",
        "`confide simulate` before there was one set of choices ([deployed-before.json](deployed-before.json): commit 84297b0, an",
        f"honest share of one half under shuffling). {measured_cells} of {CELLS} cells, {SEEDS} seeds each; made by",
        "`./run deployed --write`, with the intervals in [deployed.json](deployed.json). Goals: a geometric mean of at most",
        f"{MEAN:g}, and no cell above {WORST:g}.",
        "",
        "| | geometric mean | worst cell |",
        "| --- | --- | --- |",
        *(f"| {side} | {result['mean'][side]:.3f} | {result['worst'][side]:.2f} |" for side in (DEPLOYED, SIMULATED)),
        *(f"| deployed, {trust} | {mean:.3f} | |" for trust, mean in result["by_trust"].items()),
        "",
        *(["Above the goal:", "", *above, ""] if (above := beyond(rows)) else []),
        *(
            [
                "Measured again, with other seeds on both sides (means are of the first seeds of every cell):",
                "",
                *more,
                "",
            ]
            if (more := repeated(rows))
            else []
        ),
        "Deployed, by trust, epsilon and number of users:",
        "",
        f"| world | {' | '.join(head)} |",
        f"| --- |{' --- |' * len(head)}",
    ]
    ratios = {key_of(row): row["ratio"] for row in rows if row["side"] == DEPLOYED}
    for world in sorted({row["world"] for row in rows}):
        cells = [ratios.get((trust, world, epsilon, people)) for trust, epsilon, people in columns]
        lines.append(f"| {world} | {' | '.join('' if one is None else f'{one:.2f}' for one in cells)} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Run every cell, and say whether the goals are met."""
    parser = argparse.ArgumentParser(prog="./run deployed", description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_USERS:,} users and {QUICK_SEEDS} seeds")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--kept", type=Path, help="rows that were found, one a line; they are not measured again")
    parser.add_argument("--write", action="store_true", help="put the result into docs/")
    given = parser.parse_args(arguments)
    chosen = [cell for cell in cells() if not given.quick or cell.people == QUICK_USERS]
    kept = given.kept.read_text(encoding="utf-8").splitlines() if given.kept and given.kept.exists() else []
    rows: list[dict[str, Any]] = list({(key_of(row), row["side"]): row for row in map(json.loads, kept)}.values())
    done = {key: [row for row in rows if key_of(row) == key] for key in map(key_of, rows)}
    left = [(cell, done.get(key_of(cell._asdict()), [])) for cell in chosen]
    left = [(cell, first) for cell, first in left if not first or to_repeat(cell, first)]
    left.sort(key=lambda one: (one[0].trust == "local", one[0].people))  # where something waits first
    for found in all_measured(left, QUICK_SEEDS if given.quick else SEEDS, given.workers):
        rows = [row for row in rows if key_of(row) != key_of(found[0])] + found
        if given.kept:
            with given.kept.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in found)
        for row in found:
            of = f"{row['world']:<28} {row['trust']:<8} {row['epsilon']:<4g} {row['people']:>9,} {row['side']:<9}"
            print(
                f"{of} {row['ratio']:.3f} {row['interval']}", file=sys.stderr if given.json else sys.stdout, flush=True
            )
    rows.sort(key=lambda row: (key_of(row), row["side"]))
    result = {"rows": rows, **summed_up(rows), "goals": {"mean": MEAN, "worst": WORST}}
    if given.write:
        (DOCS / "deployed.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        (DOCS / "deployed.md").write_text(document(result), encoding="utf-8")
    if given.json:
        print(json.dumps(result, indent=2))
    else:
        for side in (DEPLOYED, SIMULATED):
            print(f"{side}: mean {result['mean'][side]:.3f}, worst {result['worst'][side]:.3f}")
        print("deployed, by trust: " + ", ".join(f"{name} {mean:.3f}" for name, mean in result["by_trust"].items()))
    return int(any(result["mean"][side] > MEAN or result["worst"][side] > WORST for side in (DEPLOYED, SIMULATED)))


if __name__ == "__main__":
    sys.exit(main())
