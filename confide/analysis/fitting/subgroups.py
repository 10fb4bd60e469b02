"""Who gains and who loses: the gain of an adoption in every public group, with intervals that hold together.

Judging people are in one group each; how many is not public, so sizes are released with noise, at no price
(`protocol.kinds.judged`). The mean score of a group is a ratio S/n of two noisy sums: with an error of n of variance v, and one of
S of variance u, its error has variance about (u + (S/n)^2 v)/n^2 beside what is due to who was drawn. Intervals of G groups hold
together with the stated confidence, each failing with a G-th of what it allows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...learning.planning.estimates import Estimate, quantile
from ...protocol.kinds.judged import JudgedRelease
from ..reporting.group_gains import FEW, GAINS, LOSES, UNCLEAR, UNSTATED
from ..reporting.stated import GroupGain

if TYPE_CHECKING:
    from .findings import UnitConverter

CONFIDENCE = 0.95
FEWEST, STANDS_OUT = 50, 4.0
"""Of a group something is said from this many judging people on, if they exceed this many deviations of their noise."""


def group_gains(
    release: JudgedRelease, names: Sequence[str], doubt: float, in_units: UnitConverter, stated: bool
) -> list[GroupGain]:
    """Of every group: `group`, `share` of the people with `share_low` and `share_high`, `gain`, `low`, `high` and `verdict`.

    doubt: the deviation that estimated chances of actions bring into the gain of all; it may be larger in a part of them, by the
    root of its share. stated: whether any gain may be.
    """
    confidence = 1 - (1 - CONFIDENCE) / len(names)
    found: list[GroupGain] = []
    for place, name in enumerate(names):
        (total, square, size), noise = release.sums[3 * place : 3 * place + 3], release.noise[3 * place + 2]
        people = max(release.users, 1)
        drawn = math.sqrt(max(size, 0.0) * max(1 - size / people, 0.0))
        width = quantile(confidence) * math.hypot(noise, drawn)
        share, fewest, most = (min(max(each / people, 0.0), 1.0) for each in (size, size - width, size + width))
        row = GroupGain(
            group=name, share=share, share_low=fewest, share_high=most, gain=None, low=None, high=None, verdict=FEW
        )
        if size < max(FEWEST, STANDS_OUT * noise):
            found.append(row)
            continue
        mean = min(max(total / size, -1.0), 1.0)
        luck = max(square / size - mean**2, 0.0) / size
        errors = (release.noise[3 * place] ** 2 + (mean * noise) ** 2) / size**2
        deviation = release.scale * math.sqrt(luck + errors)
        half = quantile(confidence) * math.hypot(deviation, doubt / math.sqrt(max(size / people, 1e-9)))
        value = release.scale * mean
        shown = in_units(Estimate(value, value - half, value + half, deviation, confidence), difference=True)
        verdict = GAINS if value - half > 0 else LOSES if value + half < 0 else UNCLEAR
        found.append({**row, "gain": shown["value"], "low": shown["low"], "high": shown["high"], "verdict": verdict})
    return found if stated else unstated(found)


def unstated(groups: Sequence[GroupGain]) -> list[GroupGain]:
    """The same groups without their gains, where no gain may be stated."""
    return [{**row, "gain": None, "low": None, "high": None, "verdict": UNSTATED} for row in groups]
