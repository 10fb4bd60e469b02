"""The page on what an interval assumes tells what was measured, and its example goes wrong."""

from __future__ import annotations

import json

from tools.assumes import DATA, PAGE, SIZES, table


def test_the_page_tells_what_was_measured() -> None:
    rows = json.loads(DATA.read_text(encoding="utf-8"))
    assert [row["people"] for row in rows] == list(SIZES)
    assert table(rows) in PAGE.read_text(encoding="utf-8")
    # The table is sure of a gain that is a loss, and nothing is recommended.
    last = rows[-1]
    assert last["gain"]["low"] > 0 > last["true"] and last["alarms"] and not last["recommended"]
