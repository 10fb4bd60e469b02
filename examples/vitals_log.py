"""A log with six covariates: patients with sepsis, up to eight steps, four treatments, drawn in `confide.lab.environments.vitals`.

Run it: python examples/vitals_log.py [patients] [file.csv]. It writes the log and prints what is public about it. Nothing in it was
estimated from real patients.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

sys.path.insert(0, str(Path(__file__).parents[1]))

from confide.lab.environments import vitals


def main(patients: int, place: Path) -> None:
    """Draw patients and write them down."""
    table = pa.table(vitals.log(patients, seed=3))
    csv.write_csv(table, place)
    print(f"{place}: {table.num_rows:,} steps of {patients:,} patients")
    for each in vitals.INPUTS:
        print(f"  {each.name} from {each.low:g} to {each.high:g}")
    print(f"  treatment: {', '.join(vitals.ACTIONS)}; stable: 1 or 0; chance: of the treatment, at least 0.05")


if __name__ == "__main__":
    main(
        int(float(sys.argv[1])) if len(sys.argv) > 1 else 20_000,
        Path(sys.argv[2] if len(sys.argv) > 2 else "vitals.csv"),
    )
