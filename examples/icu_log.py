"""A log of an intensive care unit, from the file to the answer: 716 states, 25 doses, 20 steps, as Parquet.

Run it: python examples/icu_log.py [patients]. It needs `pip install confide[icu]`. Patients are drawn in the ICU-Sepsis world,
which was estimated from real stays; records of real ones have no place in examples. `icu_sepsis.py` compares with the truth.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

sys.path.insert(0, str(Path(__file__).parents[1]))

from confide.lab.environments import make
from confide.lab.simulation.offline import practice_of
from confide.lab.simulation.offline_log import draw_records
from examples.answering import answer

HORIZON = 20
FIT_FILE = f"""
[data]
files = ["stays.parquet"]

[problem]
states = 716
actions = 25
horizon = {HORIZON}
fixed_length = true
support = "possible.npy"

[guarantee]
rho = 0.5
budget = 1.0

[output]
folder = "policy"
"""


def main(patients: int, folder: Path) -> None:
    """Draw stays, write them down with what is public, and answer."""
    world = make("icu-sepsis", HORIZON)
    assert world.model is not None
    drawn = draw_records(world.model, practice_of(world, None), patients, np.random.default_rng(3))
    parquet.write_table(pa.table(drawn), folder / "stays.parquet")
    np.save(folder / "possible.npy", world.model.transitions[0] > 0)
    answer(folder, FIT_FILE)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 9_000, Path(place))
