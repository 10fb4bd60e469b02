"""The interval over seeds holds the truth in real runs as often as docs/intervals.md says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from confide.analysis.reporting import intervals
from tools import interval_choice, interval_coverage
from tools.interval_choice import cells_of, error, figures, groups_of
from tools.interval_coverage import (
    DATA,
    DOCUMENTS,
    GUARANTEES,
    HELD_OUT,
    HELD_OUT_DATA,
    HELD_OUT_RUNS,
    LATER,
    LATER_DATA,
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


@pytest.mark.parametrize(
    ("path", "worlds", "count"),
    [(DATA, WORLDS, RUNS), (HELD_OUT_DATA, HELD_OUT, HELD_OUT_RUNS), (LATER_DATA, LATER, HELD_OUT_RUNS)],
)
def test_all_runs_are_stored(path: Path, worlds: tuple[str, ...], count: int) -> None:
    runs = stored(path)
    assert list(runs) == [(world, name) for world in worlds for name in GUARANTEES]
    assert all(len(values) == count for values in runs.values())


@pytest.mark.parametrize("path", [HELD_OUT_DATA, LATER_DATA], ids=["held out", "later"])
def test_the_goals_are_met_in_runs_on_which_nothing_was_chosen(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval_coverage, "GROUPS", FEW)
    runs = stored(path)
    assert not missed(runs)
    monkeypatch.setattr(intervals, "_quantile", lambda freedom, level: 0.8)
    assert len(missed(runs)) >= len(SEEDS), "an interval a third as wide is noticed at every number of seeds"


def test_the_constants_keep_the_rule_and_those_of_before_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """At ten seeds, where those of before held 90 % in a cell; `python -m tools.interval_choice` looks at all."""
    monkeypatch.setattr(interval_choice, "SEEDS", (10,))
    cells = cells_of(stored(DATA))
    assert figures(cells, (intervals.PRIOR_SEEDS, intervals.PRIOR_DEVIATION, intervals.QUANTILE, 0.0)).kept
    assert not figures(cells, (3.0, 0.4, 0.975, 0.0)).kept


def test_the_choice_has_the_interval_that_is_printed() -> None:
    values = np.random.default_rng(5).lognormal(size=(4, 2, 6))
    point = (intervals.PRIOR_SEEDS, intervals.PRIOR_DEVIATION, intervals.QUANTILE, 0.0)
    one, other = (groups_of(values[:, side]) for side in (0, 1))
    for sides, printed in (
        ((one,), [intervals.mean_interval(pair[0]) for pair in values]),
        ((one, other), [intervals.ratio_interval(*pair) for pair in values]),
    ):
        for h, found in zip(error(sides, 6, point), printed, strict=True):
            assert found.low == (None if h >= 1 else pytest.approx(found.value * (1 - h)))


def test_the_documents_have_the_tables_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last row of a cell by itself, with all groups: the whole is made again by the command."""
    first = dict(list(stored(HELD_OUT_DATA).items())[:1])
    row = each(first).splitlines()[-1]
    assert row in DOCUMENTS[1].read_text(encoding="utf-8")
    assert all(
        f"| {world} | {name} |" in DOCUMENTS[1].read_text(encoding="utf-8")
        for world in (*WORLDS, *HELD_OUT, *LATER)
        for name in GUARANTEES
    )
    heads = summary(first).splitlines()[2:]
    assert all(
        line.split("|")[1] in DOCUMENTS[0].read_text(encoding="utf-8") for line in heads if "not steep" not in line
    )
    assert np.isfinite(list(first.values())).all()
