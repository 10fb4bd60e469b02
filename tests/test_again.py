"""Whether a page is still what today's code gives is seen from its data."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from pyarrow import compute, parquet

from confide.lab.experiments.offline import Bound
from confide.lab.experiments.part import PartResult
from confide.lab.experiments.publishing import DATA
from tools.again import OTHER, SAME, again, off
from tools.pages import PAGES

ADDRESS = "ldp-obi/figure-9"


def test_a_page_is_the_same_or_other_or_takes_too_long(tmp_path: Path) -> None:
    assert again(ADDRESS, 60).verdict == SAME
    shutil.copytree(PAGES / ADDRESS, tmp_path / ADDRESS)
    data = tmp_path / ADDRESS / "paper" / DATA
    table = parquet.read_table(data)
    moved = table.set_column(table.column_names.index("value"), "value", compute.multiply(table["value"], 1.001))
    parquet.write_table(moved, data)
    found = again(ADDRESS, 60, tmp_path)
    assert found.verdict == OTHER and 1e-4 < found.off < 1e-2


def test_a_bound_does_not_stand_for_a_page() -> None:
    found = again("offline/theorem-3.3", 60)
    assert found.verdict == SAME and "bound" not in found.part


class Endless(Bound):
    """A part that takes for ever."""

    def compute(self, scale: str, seeds: int) -> PartResult:
        while True:
            pass


def test_a_part_that_takes_too_long_is_given_up() -> None:
    kept = PartResult("endless", np.ones(1), np.ones((1, 1)), "")
    assert off(Endless("endless", "riverswim/3", (1.0,), 1.0, True), kept, 1) is None
