"""What a service loses against what a simulation showed: ./run deployed [--json] [--quick]

For twelve worlds and five promises the contract that `confide service new` writes is simulated as it is (`lab.staging.rehearsing`),
with users who keep arriving, all of them within 30 days, while a batch waits for its deadline and a policy for its publication;
and so is what `confide simulate` has by default. Both are divided by the regret of `simulate`'s default at commit 84297b0 (with an
honest share of one half under shuffling), which stands in docs/deployed-before.json; cells that are not in that file are left out.
`--quick` takes 100,000 users and 5 seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
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

BEFORE = Path(__file__).resolve().parents[1] / "docs" / "deployed-before.json"
SEEDS, QUICK_SEEDS, QUICK_USERS = 20, 5, 100_000
MEAN, WORST = 1.15, 1.5
"""The most that the geometric mean of the ratios, and the worst of them, are to be."""
DEPLOYED, SIMULATED = "deployed", "simulated"


class Cell(NamedTuple):
    """One world under one promise, and the regret of every seed before."""

    world: str
    trust: str
    epsilon: float
    delta: float
    people: int
    regret: list[float]

    @property
    def promise(self) -> Guarantee:
        """The guarantee."""
        return Guarantee(self.trust, self.epsilon, self.delta)


def cells() -> list[Cell]:
    """The cells whose regret before is known."""
    return [Cell(**row) for row in json.loads(BEFORE.read_text(encoding="utf-8"))["rows"]]


def regrets(cell: Cell, seeds: int) -> dict[str, NDArray[np.float64]]:
    """The regrets of the contract that `service new` writes, and of the default of `simulate`, by seed."""
    setting = prepare("ucbvi", cell.world, cell.promise, cell.people, seeds=seeds, seed=0)
    with tempfile.TemporaryDirectory() as place:
        spec = world_of(cell.world).spec
        contract = make_service(Path(place) / "tea", spec, cell.promise, cell.people).contract()
    if contract.design.digest != setting.design.digest:
        raise SystemExit(f"{cell.world} under {cell.promise}: a service deploys another design than is simulated.")
    deployed = rehearse(contract, cell.world, seeds, 0, DAYS).regret
    same = contract.intermediary is None  # nobody waits, so both are one simulation
    return {DEPLOYED: deployed, SIMULATED: deployed if same else run(setting).regret[:, -1]}


def row_of(cell: Cell, side: str, found: NDArray[np.float64]) -> dict[str, Any]:
    """A row of the table: the ratio of mean regrets, with its 95 % interval."""
    ratio = ratio_interval(found, np.array(cell.regret))
    return {
        "world": cell.world,
        "trust": cell.trust,
        "epsilon": cell.epsilon,
        "people": cell.people,
        "side": side,
        "ratio": float(found.mean() / np.mean(cell.regret)),
        "interval": [ratio.low, ratio.high],
    }


def summed_up(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The geometric mean of the ratios of each side, and the worst; and of what `service new` deploys by trust."""
    sides = {side: [row["ratio"] for row in rows if row["side"] == side] for side in (DEPLOYED, SIMULATED)}
    trusts = sorted({row["trust"] for row in rows})
    return {
        "mean": {side: float(np.exp(np.log(ratios).mean())) for side, ratios in sides.items()},
        "worst": {side: max(ratios) for side, ratios in sides.items()},
        "by_trust": {
            trust: float(
                np.exp(
                    np.mean([np.log(row["ratio"]) for row in rows if row["side"] == DEPLOYED and row["trust"] == trust])
                )
            )
            for trust in trusts
        },
    }


def main(arguments: list[str] | None = None) -> int:
    """Run every cell, and say whether the goals are met."""
    parser = argparse.ArgumentParser(prog="./run deployed", description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_USERS:,} users and {QUICK_SEEDS} seeds")
    given = parser.parse_args(arguments)
    chosen = [cell for cell in cells() if not given.quick or cell.people == QUICK_USERS]
    rows: list[dict[str, Any]] = []
    for cell in chosen:
        for side, found in regrets(cell, QUICK_SEEDS if given.quick else SEEDS).items():
            rows.append(row_of(cell, side, found))
            of = f"{cell.world:<28} {cell.promise!s:<26} {cell.people:>9,} {side:<9}"
            print(
                f"{of} {rows[-1]['ratio']:.3f} {rows[-1]['interval']}",
                file=sys.stderr if given.json else sys.stdout,
                flush=True,
            )
    result = {"rows": rows, **summed_up(rows), "goals": {"mean": MEAN, "worst": WORST}}
    if given.json:
        print(json.dumps(result, indent=2))
    else:
        for side in (DEPLOYED, SIMULATED):
            print(f"{side}: mean {result['mean'][side]:.3f}, worst {result['worst'][side]:.3f}")
        print("deployed, by trust: " + ", ".join(f"{name} {mean:.3f}" for name, mean in result["by_trust"].items()))
    return int(any(result["mean"][side] > MEAN or result["worst"][side] > WORST for side in (DEPLOYED, SIMULATED)))


if __name__ == "__main__":
    sys.exit(main())
