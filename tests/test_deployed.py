"""What docs/deployed.md says of services and simulations is what was measured, of cells whose regret before is known."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tools.deployed import (
    CELLS,
    DEPLOYED,
    DOCS,
    FIRST,
    MEAN,
    SIMULATED,
    WORST,
    beyond,
    cells,
    document,
    key_of,
    line_of,
    repeated,
    row_of,
    summed_up,
    to_repeat,
)

RESULT = json.loads((DOCS / "deployed.json").read_text(encoding="utf-8"))


def test_the_page_says_what_was_measured() -> None:
    assert (DOCS / "deployed.md").read_text(encoding="utf-8") == document(RESULT)


def test_every_cell_that_is_known_was_measured_on_both_sides() -> None:
    known = {key_of(cell._asdict()) for cell in cells()}
    for side in (DEPLOYED, SIMULATED):
        measured = [key_of(row) for row in RESULT["rows"] if row["side"] == side]
        assert len(measured) == len(set(measured)) and set(measured) <= known and len(known) <= CELLS


def test_intervals_are_those_that_are_printed_today() -> None:
    """Made again from the regrets by seed of both sides."""
    before = {key_of(cell._asdict()): cell for cell in cells()}
    for row in RESULT["rows"]:
        cell = before[key_of(row)]
        again = row_of(cell, row["side"], np.array(row["regret"]), row.get(FIRST))
        assert len(row["regret"]) == len(cell.again if FIRST in row else cell.regret)
        assert (row["ratio"], *row["interval"]) == pytest.approx((again["ratio"], *again["interval"]))


def test_means_and_goals_are_those_of_the_rows() -> None:
    again = summed_up(RESULT["rows"])
    for name in ("mean", "worst", "by_trust"):
        assert RESULT[name] == pytest.approx(again[name])
    assert max(again["mean"].values()) <= MEAN
    above = [row["interval"][0] for row in RESULT["rows"] if row["ratio"] > WORST]
    assert all(low is None or low <= WORST for low in above), "a cell is surely above the goal"
    assert all(line in document(RESULT) for line in beyond(RESULT["rows"]))
    assert max(again["by_trust"].values()) <= MEAN


def test_a_cell_above_the_goal_is_measured_again_where_further_seeds_are_known() -> None:
    cell = cells()[0]
    low, high = ([row_of(cell, DEPLOYED, factor * np.array(cell.regret))] for factor in (1.0, 2 * WORST))
    known = cell._replace(again=(1.0, 2.0))
    assert [to_repeat(*each) for each in ((cell, high), (known, high), (known, low))] == [False, True, False]
    again = row_of(known, DEPLOYED, np.array([1.0, 2.0]), high[0])
    assert again["ratio"] == 1 and again[FIRST]["ratio"] == pytest.approx(2 * WORST) and not to_repeat(known, [again])
    assert line_of(again) in repeated([again]) and not beyond([again])
