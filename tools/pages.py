"""Renews pages of experiments and their tables from the data that lies beside them: `python -m tools.pages [--check | --pictures |
--redraw]`.

A sentence that its data does not bear is refused, page by page. `--pictures` draws the pictures that pages show and the repository
does not hold, from the data, and does nothing else; `--redraw` draws all of them at paper scale again, after a change to how they
are drawn.
Tables of experiments in documents, between `<!-- table: ADDRESS -->` or `<!-- headline: ADDRESS -->` and `<!-- end -->`, are copied
from their pages.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from confide.errors import InvalidInput
from confide.lab.experiments.experiment import catalogue
from confide.lab.experiments.part import PAPER, QUICK
from confide.lab.experiments.publishing import (
    HEADLINE,
    PAGE,
    SUMMARY,
    TABLE,
    draw_missing,
    folder_of,
    publish_gallery,
    read_data,
    texts,
)

DOCUMENTS = Path(__file__).parent.parent / "docs"
PAGES = DOCUMENTS / "reproductions"

COPIED = re.compile(r"(<!-- (table|headline): (\S+) -->).*?(<!-- end -->)", flags=re.DOTALL)
FILES = {"table": TABLE, "headline": HEADLINE}


def folders(address: str, pages: Path = PAGES) -> list[tuple[str, Path]]:
    """The scales at which an experiment has a page, each with its folder."""
    places = ((scale, folder_of(pages, address, scale)) for scale in (PAPER, QUICK))
    return [(scale, folder) for scale, folder in places if (folder / PAGE).is_file()]


def stale(address: str, pages: Path = PAGES) -> dict[Path, str]:
    """The files of an experiment that say something else than its data, and what they should say."""
    wrong = {}
    for scale, folder in folders(address, pages):
        pictures = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))["pictures"]
        for name, text in texts(catalogue()[address], scale, read_data(folder), pictures).items():
            file = folder / name
            if not file.is_file() or file.read_text(encoding="utf-8") != text:
                wrong[file] = text
    return wrong


def stale_pictures(address: str, pages: Path = PAGES) -> dict[Path, bytes]:
    """The pictures of an experiment at paper scale that its data would be drawn as otherwise, and what they should be. Those in PNG
    are looked at where the repository has them."""
    wrong = {}
    folder = folder_of(pages, address, PAPER)
    if not (folder / PAGE).is_file():
        return {}
    with tempfile.TemporaryDirectory() as drafts:
        for suffix in (".svg", ".png"):
            for draft in catalogue()[address].view.draw(read_data(folder), Path(drafts), suffix):
                kept, drawn = folder / draft.name, draft.read_bytes()
                known = kept.read_bytes() if kept.is_file() else b""
                if known != drawn and (known or suffix == ".svg"):
                    wrong[kept] = drawn
    return wrong


def redraw() -> None:
    """Draw the pictures of all pages again, and say which are new."""
    for address in catalogue():
        for picture, drawn in stale_pictures(address).items():
            picture.write_bytes(drawn)
            print(f"{picture.relative_to(DOCUMENTS)} drawn again")


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
            renewed = stale(address)
        except InvalidInput as error:
            wrong += 1
            print(error)
            continue
        for file, text in renewed.items():
            wrong += check
            print(f"{file.relative_to(DOCUMENTS)} {'says something else' if check else 'renewed'}")
            if not check:
                file.write_text(text, encoding="utf-8")
    for document in sorted((*DOCUMENTS.glob("*.md"), *DOCUMENTS.glob("research/*.md"))):
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
    if "--redraw" in sys.argv:
        redraw()
    elif "--pictures" in sys.argv:
        print(f"{len(draw_missing(catalogue(), PAGES))} pictures drawn in {PAGES}")
    else:
        sys.exit(main("--check" in sys.argv))
