"""What docs/research/audit.md says was found is what a run of the command found, which lies beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from confide.lab.audit import entries
from tools.audit_document import DATA, GROUPS, completed, filled, grouped, main

FOUND: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))


def test_the_document_tells_what_was_found() -> None:
    assert main(check=True) == 0


def test_rows_are_of_the_catalogue_and_none_is_flagged() -> None:
    known = {(entry.name, entry.calibration) for entry in entries()}
    rows = FOUND["rows"]
    assert {(row["name"], row["calibration"]) for row in rows} <= known and len(rows) > 0.9 * len(known)
    certified = [
        row for row in rows if row["certified_epsilon"] is not None
    ]  # a printed constant may give no epsilon at all
    assert len(rows) - len(certified) < 5
    assert all(row["lower_bound"] <= row["certified_epsilon"] * (1 + 1e-9) for row in certified)
    assert all(row["ok"] for row in rows)
    assert FOUND["false_alarm"] == pytest.approx(sum(1 - row["confidence"] for row in rows))


def test_every_row_is_in_a_group() -> None:
    groups = grouped(FOUND["rows"])
    assert sum(map(len, groups.values())) == len(FOUND["rows"]) and set(groups) == set(GROUPS)


def test_a_row_that_is_lacking_is_audited_and_one_that_is_gone_is_dropped() -> None:
    laplace, *others = FOUND["rows"]
    gone = laplace | {"name": "gone"}
    [after] = completed(FOUND | {"rows": [*others, gone], "seconds": 0.1}, [laplace["name"]])
    assert [(row["name"], row["calibration"]) for row in after["rows"]] == [
        (row["name"], row["calibration"]) for row in FOUND["rows"]
    ]
    row = after["rows"][0]
    assert row["ok"] and row["confidence"] == laplace["confidence"] and row["seconds"] != laplace["seconds"]
    assert after["rows"][1:] == others and after["added"][-1]["rows"] == 1
    assert f"`{laplace['name']}` ({laplace['calibration']})" not in after["lacking"]


def test_a_document_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no place between"):
        filled("# The audit\n", FOUND)
