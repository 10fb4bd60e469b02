"""The interval over seeds holds the truth in real runs as often as docs/intervals.md says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from confide.analysis.reporting import intervals
from tools import interval_coverage
from tools.interval_coverage import (
    DATA,
    DOCUMENTS,
    GUARANTEES,
    HELD_OUT,
    HELD_OUT_DATA,
    HELD_OUT_RUNS,
    RUNS,
    SEEDS,
    WORLDS,
    each,
    missed,
    stored,
    summary,
)

FEW = 250
"""Groups of each cell and number of seeds. They are drawn with fixed seeds, so that a test that passes always passes."""


@pytest.mark.parametrize(("path", "worlds", "count"), [(DATA, WORLDS, RUNS), (HELD_OUT_DATA, HELD_OUT, HELD_OUT_RUNS)])
def test_all_runs_are_stored(path: Path, worlds: tuple[str, ...], count: int) -> None:
    runs = stored(path)
    assert list(runs) == [(world, name) for world in worlds for name in GUARANTEES]
    assert all(len(values) == count for values in runs.values())


def test_the_goals_are_met_in_runs_on_which_nothing_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval_coverage, "GROUPS", FEW)
    runs = stored(HELD_OUT_DATA)
    assert not missed(runs)
    monkeypatch.setattr(intervals, "_quantile", lambda freedom, level: 0.8)
    assert len(missed(runs)) >= len(SEEDS), "an interval a third as wide is noticed at every number of seeds"


def test_the_documents_have_the_tables_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last row of a cell by itself, with all groups: the whole is made again by the command."""
    first = dict(list(stored(HELD_OUT_DATA).items())[:1])
    row = each(first).splitlines()[-1]
    assert row in DOCUMENTS[1].read_text(encoding="utf-8")
    assert all(
        f"| {world} | {name} |" in DOCUMENTS[1].read_text(encoding="utf-8")
        for world in (*WORLDS, *HELD_OUT)
        for name in GUARANTEES
    )
    heads = summary(first).splitlines()[2:]
    assert all(
        line.split("|")[1] in DOCUMENTS[0].read_text(encoding="utf-8") for line in heads if "not steep" not in line
    )
    assert np.isfinite(list(first.values())).all()
