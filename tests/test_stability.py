"""docs/stability.md names all that is public: names of the package, and file formats."""

from __future__ import annotations

import re
from pathlib import Path

import confide

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
FORMAT = re.compile(r"confide\.[a-z-]+/\d+")


def table(heading: str) -> str:
    """The rows of the first table after a heading."""
    rows = re.search(r"^\|[- |]+\|\n((?:\|.*\n)+)", PAGE.partition(f"\n## {heading}\n")[2], flags=re.MULTILINE)
    assert rows
    return rows[1]


def test_public_names_are_those_of_the_package() -> None:
    named = re.findall(r"`(\w+)`", table("What is public"))
    assert sorted(named) == sorted(confide.__all__)
    assert all(hasattr(confide, name) for name in named)


def test_file_formats_are_those_of_the_sources() -> None:
    sources = [*(ROOT / "confide").rglob("*.py"), *(ROOT / "js" / "src").iterdir()]
    written = {
        name
        for path in sources
        for text in re.findall(r"""["'](confide\.[a-z-]+/\d+)""", path.read_text(encoding="utf-8"))
        for name in FORMAT.findall(text)
    }
    assert len(written) > 30
    assert set(FORMAT.findall(table("File formats"))) == written
