"""The guide is short, each page of its kind, and its pictures are drawn by code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.diagrams import FOLDER, PICTURES

DOCS = Path(__file__).parents[1] / "docs"
MOST, MOST_EXPLAINED = 1500, 1200
"""Words of a page of the guide, and of an explanation."""
NO_GUIDE = ("reference", "research", "reproductions", "decisions")
"""Folders that are looked up or kept as a record, not read through."""
LOOKED_UP = {"json.md", "mutants.md", "verdicts.md", "notation.md", "map.md"}
"""Pages of the same kind beside them."""

GUIDE = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if page.relative_to(DOCS).parts[0] not in NO_GUIDE and page.name not in LOOKED_UP
]
EXPLANATIONS = sorted((DOCS / "explanations").glob("*.md"))


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def test_no_page_of_the_guide_is_long() -> None:
    assert len(GUIDE) > 30
    assert {str(page.relative_to(DOCS)): words(page) for page in GUIDE if words(page) > MOST} == {}


@pytest.mark.parametrize("page", EXPLANATIONS, ids=lambda page: page.stem)
def test_an_explanation_is_short_and_has_one_picture(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert words(page) <= MOST_EXPLAINED
    assert len(re.findall(r"^!\[", text, flags=re.MULTILINE)) == 1


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_its_code_draws(name: str) -> None:
    drawn = PICTURES[name]().svg()
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == drawn, "python -m tools.diagrams draws it anew"


def test_every_picture_is_shown_by_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    assert [name for name in PICTURES if f"pictures/{name}.svg" not in pages] == []


def test_the_research_log_is_dated() -> None:
    pages = {page.name: page.read_text(encoding="utf-8") for page in (DOCS / "research").glob("*.md")}
    dated = re.compile(
        r"(?:January|February|March|April|May|June|July|August|September|October|November|December) 20\d\d|0\.2\.0"
    )
    assert len(pages) > 10 and {name for name, text in pages.items() if not dated.search(text)} == {"README.md"}


def test_every_stumble_names_the_commit_that_mended_it() -> None:
    text = (DOCS / "research" / "first-use.md").read_text(encoding="utf-8")
    rows = [row for row in re.findall(r"^\| (.*) \|$", text, flags=re.MULTILINE) if not row.startswith("stumble")]
    assert len(rows) > 60 and [row for row in rows if not re.search(r" \| [0-9a-f]{8}$", row)] == []
