"""Writes the comparison over held-out environments into the pages that show it: `python -m tools.headline`.

It is made of the data that `./run reproduce ours/worlds` stored; what was run at paper scale goes before what was run at quick
scale. A page has it between two lines, `<!-- worlds -->` and `<!-- /worlds -->`, and the environments with stuck runs, if it has
a place for them, between `<!-- stuck -->` and `<!-- /stuck -->`; the tests compare.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from confide.analysis.reporting.intervals import NAME
from confide.lab.experiments.part import PAPER, QUICK, PartResult
from confide.lab.experiments.publishing import DATA, SUMMARY, folder_of, markdown, read_data
from confide.lab.experiments.world_view import (
    OPEN,
    OURS,
    SOUND,
    STUCK,
    behind_text,
    by_promise,
    geometric,
    ratios,
    share_lost,
    split,
    stuck,
)
from confide.lab.experiments.worlds import PROMISES, family

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "research" / "worlds.md")
PLACES = ("<!-- worlds -->\n", "<!-- /worlds -->\n"), ("<!-- stuck -->\n", "<!-- /stuck -->\n")
SCALE, FOLDER = next(
    (scale, folder)
    for scale in (PAPER, QUICK)
    if (folder := folder_of(ROOT / "docs" / "reproductions", "ours/worlds", scale)).is_dir()
)
HEAD = (
    "guarantee; users",
    "regret of confide / published",
    "share of random's regret: confide; published",
    "stuck runs: confide; published",
)


def comparison(results: Sequence[PartResult]) -> list[Sequence[str]]:
    """Rows for each guarantee: the ratio of regrets (geometric mean; environments where confide is behind), the median share of
    the regret of acting at random, and stuck runs, each of confide and of the published algorithm. Other sides are not read."""
    rows: list[Sequence[str]] = [HEAD]
    for name, worlds in by_promise(results).items():
        both = {world: sides for world, sides in worlds.items() if OURS in sides and SOUND in sides}
        if name == OPEN or not both:
            continue
        by_world = ratios(both, OURS, SOUND)
        users = {f"{sides[OURS].x[0]:,.0f}" for sides in both.values()}
        rows.append(
            (
                f"{PROMISES[name][0]}; {' or '.join(sorted(users))}",
                f"{geometric(by_world):.2g}; behind in {behind_text(by_world)} of {len(by_world)}",
                "; ".join(share_lost(both, side) for side in (OURS, SOUND)),
                f"{stuck(both, OURS)}; {stuck(both, SOUND)}",
            )
        )
    return rows


def weak(results: Sequence[PartResult]) -> list[Sequence[str]]:
    """Rows for each guarantee: the environments where a run of ours is stuck, most stuck first, and how many are."""
    rows: list[Sequence[str]] = [("guarantee", "environments with stuck runs of confide, and how many")]
    for name, worlds in by_promise(results).items():
        many = {world: int((sides[OURS].rows[:, 1] > STUCK).sum()) for world, sides in worlds.items() if OURS in sides}
        told = [f"`{world}` {count}" for world, count in sorted(many.items(), key=lambda each: -each[1]) if count]
        if name != OPEN and many:
            rows.append((str(PROMISES[name][0]), ", ".join(told) or "none"))
    return rows


def block(page: Path) -> str:
    """What stands between the two lines of a page: what is compared, the table, and where the whole of it is."""
    here = Path(os.path.relpath(FOLDER, page.parent)).as_posix()
    results = read_data(FOLDER)
    compared = [result for result in results if result.label.endswith((f"; {OURS}", f"; {SOUND}"))]
    seeds = sorted({len(result.rows) for result in compared})
    worlds = {split(result.label)[1] for result in compared}
    intervals = Path(os.path.relpath(ROOT / "docs" / "intervals.md", page.parent)).as_posix()
    address = json.loads((FOLDER / SUMMARY).read_text(encoding="utf-8"))["address"]
    text = (
        "Regret of confide with default settings, divided by the regret of the published algorithm (noise raised until its DP "
        "claim holds; bonus scale tuned per environment, counts by step as printed or pooled over steps, whichever loses less "
        f"on other seeds), on {len(worlds)} held-out environments of {len({family(world) for world in worlds})} families: "
        "geometric mean of the ratio, and median of "
        f"each regret as a share of that of random actions ({' or '.join(map(str, seeds))} seeds). "
        f"Behind: the {NAME} of the ratio lies above 1 ([how often such intervals hold]({intervals})). Stuck: the last policy "
        f"loses over {STUCK:.0%} of what random actions lose. Under shuffle both assume that every user is honest, and a shuffler "
        "of another operator. Every environment, with both true guarantees: "
        f"[the table]({here}/table.md), from `./run reproduce {address} --scale {SCALE}`."
    )
    return f"{text}\n\n{markdown(comparison(results))}"


def filled(page: Path) -> str:
    """The page with its blocks renewed."""
    text = page.read_text(encoding="utf-8")
    for (begin, end), content in zip(PLACES, (block(page), f"{markdown(weak(read_data(FOLDER)))}"), strict=True):
        if begin in text:
            before, rest = text.split(begin)
            text = f"{before}{begin}{content}{end}{rest.split(end)[1]}"
    return text


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page), encoding="utf-8")
        print(page.relative_to(ROOT), "from", (FOLDER / DATA).relative_to(ROOT))
