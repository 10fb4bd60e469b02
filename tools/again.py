"""Which published pages today's code would still give: `python -m tools.again [ADDRESS ...] [--seconds 10]`.

Of each page at paper scale a part with several seeds is computed again for the first, and set beside the row that lies there. A
part that takes longer than that many seconds of CPU is given up and the next one tried; pages of which no part is done by then are
named. Other digits can be of the same law: streams of random numbers are used in another order where a loop is compiled.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
from pathlib import Path
from typing import NamedTuple

import numpy as np

from confide.lab.experiments.experiment import catalogue
from confide.lab.experiments.part import PAPER, ExperimentPart, PartResult
from confide.lab.experiments.publishing import folder_of, read_data
from tools.pages import PAGES

CLOSE = 1e-9
"""Of a value: what another order of additions changes."""
MOST_TRIED = 3
SAME, OTHER, LONG = "the same", "other", "no part in time"


class Again(NamedTuple):
    """What came of a page: the part that was computed, and by how much it is off at most."""

    address: str
    verdict: str
    part: str = ""
    off: float = 0.0


def difference(new: PartResult, kept: PartResult) -> float:
    """How far the first row is from the one that is kept, as a share of the largest value there; infinite where places differ."""
    if new.x.shape != kept.x.shape or not np.allclose(new.x, kept.x):
        return float("inf")
    return float(np.abs(new.rows[0] - kept.rows[0]).max() / max(float(np.abs(kept.rows[0]).max()), 1e-300))


def off(part: ExperimentPart, kept: PartResult, seconds: int) -> float | None:
    """By how much the first seed is off, computed in a process of its own; None if that takes more CPU than that many seconds."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def compute() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        theirs.send(difference(part.compute(PAPER, 1), kept))

    child = context.Process(target=compute)
    child.start()
    theirs.close()
    child.join()
    return float(ours.recv()) if child.exitcode == 0 else None


def again(address: str, seconds: int, pages: Path = PAGES) -> Again:
    """Compute the first seed of a part of a page, and compare."""
    kept = {result.label: result for result in read_data(folder_of(pages, address, PAPER))}
    parts = [part for part in catalogue()[address].parts if part.label in kept]
    drawn = [part for part in parts if len(kept[part.label].rows) > 1]  # a bound has one row, and no seed
    parts = drawn or parts
    for part in {part.label: part for part in [*parts[:1], *parts[:-MOST_TRIED:-1]]}.values():
        far = off(part, kept[part.label], seconds)
        if far is not None:
            return Again(address, SAME if far <= CLOSE else OTHER, part.label, far)
    return Again(address, LONG)


def main() -> int:
    """Print a line for each page; fails if some page would be another today."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("addresses", nargs="*", help="all that have data, if none is named")
    parser.add_argument("--seconds", type=int, default=10, help="of CPU for a part, after which the next one is tried")
    parser.add_argument("--json", action="store_true", help="one object to stdout")
    options = parser.parse_args()
    found = []
    for address in options.addresses or catalogue():
        if read_data(folder_of(PAGES, address, PAPER)):
            found.append(again(address, options.seconds))
            if not options.json:
                one = found[-1]
                print(
                    f"{address}: {one.verdict}" + (f" ({one.part}, off by {one.off:.2g})" if one.part else ""),
                    flush=True,
                )
    if options.json:
        print(json.dumps([one._asdict() for one in found], indent=1))
    return int(any(one.verdict == OTHER for one in found))


if __name__ == "__main__":
    raise SystemExit(main())
