"""Renews what pages of experiments say, from the data that lies beside them: `python -m tools.pages [--check | --pictures]`.

A sentence that its data does not bear is refused, page by page. Tables are left alone: `confide reproduce` makes them. `--pictures`
draws the pictures that pages show and the repository does not hold, from the data, and does nothing else.
Tables of experiments in documents, between `<!-- table: ADDRESS -->` or `<!-- headline: ADDRESS -->` and `<!-- end -->`, are copied
from their pages.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from html import escape
from pathlib import Path

from confide.errors import InvalidInput
from confide.experiments.catalogue import catalogue
from confide.experiments.part import PAPER
from confide.experiments.publishing import (
    DATA,
    HEADLINE,
    PAGE,
    SEEN,
    TABLE,
    draw_missing,
    folder_of,
    publish_gallery,
    read_data,
)

DOCUMENTS = Path(__file__).parent.parent / "docs"
PAGES = DOCUMENTS / "reproductions"
PARAGRAPH = re.compile(rf"(<h2>{SEEN}</h2><p>)(.*?)(</p>)", flags=re.DOTALL)

COPIED = re.compile(r"(<!-- (table|headline): (\S+) -->).*?(<!-- end -->)", flags=re.DOTALL)
FILES = {"table": TABLE, "headline": HEADLINE}


def said(address: str, pages: Path = PAGES) -> tuple[str, str] | None:
    """What the page of an address says, and what its data has it say, both as HTML; None if there is no page."""
    folder = folder_of(pages, address, PAPER)
    if not (folder / PAGE).is_file():
        return None
    results = read_data(folder) if (folder / DATA).is_file() else []
    written = PARAGRAPH.search((folder / PAGE).read_text(encoding="utf-8"))
    return (written[2] if written else ""), escape(catalogue()[address].text(PAPER, results))


def filled(text: str) -> str:
    """A document with the tables of its experiments."""

    def table(match: re.Match[str]) -> str:
        rows = (folder_of(PAGES, match[3], PAPER) / FILES[match[2]]).read_text(encoding="utf-8")
        return f"{match[1]}\n\n{rows}\n{match[4]}"

    return COPIED.sub(table, text)


def main(check: bool, skipped: Collection[str] = ()) -> int:
    """Compare, or renew."""
    wrong = 0
    for address in (name for name in catalogue() if name not in skipped):
        try:
            both = said(address)
        except InvalidInput as error:
            wrong += 1
            print(error)
            continue
        if both is None or both[0] == both[1]:
            continue
        wrong += check
        print(f"{address} says something else" if check else f"{address} renewed")
        if not check:
            page = folder_of(PAGES, address, PAPER) / PAGE
            text = page.read_text(encoding="utf-8")
            page.write_text(
                text.replace(f"<h2>{SEEN}</h2><p>{both[0]}</p>", f"<h2>{SEEN}</h2><p>{both[1]}</p>"), "utf-8"
            )
    for document in sorted(DOCUMENTS.glob("*.md")):
        text = document.read_text(encoding="utf-8")
        if (new := filled(text)) == text:
            continue
        wrong += check
        print(f"{document.name} has other tables" if check else f"{document.name} renewed")
        if not check:
            document.write_text(new, encoding="utf-8")
    if not check:
        publish_gallery(catalogue(), PAGES)
    return int(wrong > 0)


if __name__ == "__main__":
    if "--pictures" in sys.argv:
        print(f"{len(draw_missing(catalogue(), PAGES))} pictures drawn in {PAGES}")
    else:
        sys.exit(main("--check" in sys.argv))
