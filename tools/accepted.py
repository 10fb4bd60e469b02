"""Writes js/src/accepted.js, the part of the table of what is accepted that a device in a page can do: python -m tools.accepted"""

from __future__ import annotations

import json
from pathlib import Path

from confide.protocol.accepted import IN_PAGES, rows_in_pages

PATH = Path(__file__).parents[1] / "js" / "src" / "accepted.js"


def table() -> dict[str, dict[str, list[str]]]:
    """The mechanisms by trust model and kind of question."""
    known: dict[str, dict[str, list[str]]] = {trust: {} for trust in IN_PAGES}
    for kind, mechanism, trust in rows_in_pages():
        known[trust].setdefault(kind, []).append(mechanism)
    return known


def text() -> str:
    """The text of the module."""
    said = "/** What is accepted: mechanisms by trust and kind of question. `python -m tools.accepted` writes it. */"
    return f"{said}\n\nexport const ACCEPTED = {json.dumps(table(), separators=(',', ':'))};\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
