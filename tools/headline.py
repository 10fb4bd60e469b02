"""Copies the headline of `ours/worlds` into the pages that show it: `python -m tools.headline`.

It is run after `./run reproduce ours/worlds`; what was run at paper scale goes before what was run at quick scale. A page has the
headline between two lines, `<!-- worlds -->` and `<!-- /worlds -->`; the tests compare.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from confide.experiments.part import PAPER, QUICK
from confide.experiments.publishing import DATA, HEADLINE, SUMMARY, folder_of

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "online.md")
BEGIN, END = "<!-- worlds -->\n", "<!-- /worlds -->\n"
SCALE, FOLDER = next(
    (scale, folder)
    for scale in (PAPER, QUICK)
    if (folder := folder_of(ROOT / "docs" / "reproductions", "ours/worlds", scale)).is_dir()
)


def block(page: Path) -> str:
    """What stands between the two lines of a page: the picture, what it shows, and the table."""
    here = Path(os.path.relpath(FOLDER, page.parent)).as_posix()
    summary = json.loads((FOLDER / SUMMARY).read_text(encoding="utf-8"))
    caption = (
        "*Every dot is a world on which nothing was ever chosen, under one promise: what ours loses as it comes, as a share of "
        "what the published algorithm loses, made sound and at the bonus scale that does best in that very world. A run is stuck "
        "if its last policy loses over a tenth of what acting at random does; behind is a world whose whole interval lies above 1. "
        "Without privacy there are as many people as under joint privacy. "
        f"`./run reproduce {summary['address']} --scale {SCALE}`; every world, and both sides' true guarantees: "
        f"[the table]({here}/table.md).*"
    )
    table = (FOLDER / HEADLINE).read_text(encoding="utf-8")
    return f"![{summary['title']}]({here}/worlds.png)\n\n{caption}\n\n{table}"


def filled(page: Path) -> str:
    """The page with its block renewed."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    return f"{before}{BEGIN}{block(page)}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page), encoding="utf-8")
        print(page.relative_to(ROOT), "from", (FOLDER / DATA).relative_to(ROOT))
