"""The interpolation between local and joint privacy: its data are true, and it is drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from confide.experiments.shuffled import BATCHES, EXPERIMENTS, LEAST, Interpolation, found_batch
from confide.results import Run

EXPERIMENT = EXPERIMENTS["shuffled-obi/table-1"]


@pytest.mark.parametrize(
    ("mechanism", "local"), [("shuffled-step", 4.0), ("shuffled-step", 10.0), ("shuffled-bits", 16.0)]
)
def test_batches_are_the_smallest_that_work(mechanism: str, local: float) -> None:
    assert BATCHES[mechanism][local] == found_batch(mechanism, local)


def test_larger_local_epsilons_need_larger_batches_and_none_is_below_the_least() -> None:
    for batches in BATCHES.values():
        assert sorted(batches) == list(batches) and sorted(batches.values()) == list(batches.values())
    shuffled = [curve for curve in EXPERIMENT.curves if "batch" in curve.choices]
    assert min(curve.choices["batch"] for curve in shuffled) == LEAST
    assert len(shuffled) == sum(map(len, BATCHES.values())) == len(EXPERIMENT.curves) - 2


def test_table_and_picture(tmp_path: Path) -> None:
    assert isinstance(EXPERIMENT, Interpolation)
    first = replace(EXPERIMENT.curves[5], episodes=2e5).run("paper", 2, 1)
    joint = replace(EXPERIMENT.curves[-2], episodes=2e5, choices={"horizon": 20}).run("paper", 2, 1)
    runs: list[Run] = [replace(first, label=curve.label) for curve in EXPERIMENT.curves[:-2]]
    runs += [replace(joint, label=label) for label in ("joint", "local")]
    rows = EXPERIMENT.table(runs)
    assert rows[2].startswith("| shuffled-step | 8 | 2,633 | 1 |") and rows[-1].startswith("| joint |  |  | 1 |")
    picture = EXPERIMENT.draw(runs, tmp_path / "regret.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert np.isfinite(first.regret).all()
