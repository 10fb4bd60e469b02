"""What docs/audit.md says was found is what two runs of the command found, which lie beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from confide.audit import entries
from tools.audit_document import DEEP, DOCUMENT, GROUPS, USUAL, filled, grouped, main


def found(path: Any) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def test_the_document_tells_what_was_found() -> None:
    assert main(check=True) == 0


@pytest.mark.parametrize("file", [USUAL, DEEP])
def test_rows_are_of_the_catalogue_and_none_is_flagged(file: Any) -> None:
    known = {(entry.name, entry.calibration) for entry in entries()}
    rows = found(file)["rows"]
    assert {(row["name"], row["calibration"]) for row in rows} <= known and len(rows) > 0.9 * len(known)
    assert all(row["ok"] and row["lower_bound"] <= row["certified_epsilon"] * (1 + 1e-9) for row in rows)
    assert found(file)["false_alarm"] == pytest.approx(sum(1 - row["confidence"] for row in rows))


def test_more_samples_show_more_on_the_whole() -> None:
    usual, deep = ({(row["name"], row["calibration"]): row for row in found(file)["rows"]} for file in (USUAL, DEEP))
    assert set(usual) == set(deep)
    more = [deep[key]["lower_bound"] > usual[key]["lower_bound"] for key in usual]
    assert sum(more) > 0.75 * len(more)


def test_every_row_is_in_a_group() -> None:
    groups = grouped(found(DEEP)["rows"])
    assert sum(map(len, groups.values())) == len(found(DEEP)["rows"]) and set(groups) == set(GROUPS)


def test_a_document_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="has no place between"):
        filled("# The audit\n", found(USUAL), found(DEEP))
