"""Rows of `./run coverage --write`, put into docs/research/coverage.md: each where one of its name and people stands, or last.

A table begins after `<!-- coverage: COLUMNS -->`, whose number says which rows are its own, and ends with an empty line.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

DOCUMENT = Path(__file__).parents[1] / "docs" / "research" / "coverage.md"


def written(rows: Sequence[Sequence[str]], document: Path = DOCUMENT) -> None:
    """Put rows (name, people, and further cells) into the tables that have as many columns."""
    text = document.read_text(encoding="utf-8")
    for columns in sorted({len(row) for row in rows}):
        mark = f"<!-- coverage: {columns} -->\n\n"
        before, there, after = text.partition(mark)
        if not there:
            raise ValueError(f"{document.name} has no table of {columns} columns after {mark.strip()}")
        table, _, rest = after.partition("\n\n")
        lines = table.splitlines()
        for row in rows:
            if len(row) == columns:
                _put(lines, row)
        text = before + mark + "\n".join(lines) + "\n\n" + rest
    document.write_text(text, encoding="utf-8")


def _put(lines: list[str], row: Sequence[str]) -> None:
    new, key = f"| {' | '.join(row)} |", tuple(row[:2])
    for number, line in enumerate(lines):
        if tuple(cell.strip() for cell in line.strip("|").split("|")[:2]) == key:
            lines[number] = new
            return
    lines.append(new)
