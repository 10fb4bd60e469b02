"""What was claimed and what is true: the table of verdicts, by the code that calibrates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..designs.verdicts import COLUMNS, Verdict, cells
from ..reporting.ratio_figure import Dot, ratio_figure
from .experiment import Experiment
from .facts import Facts
from .linear_verdicts import all_verdicts
from .part import Found


@dataclass(frozen=True)
class Verdicts:
    """Every printed prescription: true epsilon (or rho) over the claimed one. Nothing is run: it is computed."""

    title: str

    def table(self, found: Sequence[Found]) -> list[Sequence[str]]:
        """As `confide verdicts` prints it."""
        return [COLUMNS, *map(cells, all_verdicts())]

    def draw(self, found: Sequence[Found], folder: Path, suffix: str) -> list[Path]:
        """One row for each that has a ratio to draw; right of the line a claim is false."""
        drawn = [one for one in all_verdicts() if 1e-3 < one.ratio < math.inf]
        dots: list[Dot] = [(_name(one), one.ratio, one.ratio, one.ratio) for one in drawn]
        caption = (
            "right of the line the claim is false; left of it, true with more noise than it takes; the table has all"
        )
        target = folder / f"verdicts{suffix}"
        return [ratio_figure(dots, target, self.title, caption, "true / claimed", better="below")]


def _name(verdict: Verdict) -> str:
    return f"{verdict.paper}, {verdict.mechanism}, {str(verdict.claimed).rpartition(', ')[0]}: {verdict.source.partition(':')[0]}"


def _listed(verdicts: Sequence[Verdict]) -> str:
    return "; ".join(f"{one.paper} with {one.mechanism} noise, {one.claimed}" for one in verdicts)


def _seen(facts: Facts) -> str:
    """By the table itself."""
    found = all_verdicts()
    broken = [one for one in found if one.ratio > 1 + 1e-6]
    loose = [one for one in found if one.ratio < 0.5]
    none = [one for one in broken if math.isinf(one.ratio)]
    worst = max((one for one in broken if one not in none), key=lambda one: one.ratio)
    trees = [one.ratio for one in broken if one.paper in ("private-ucb", "pucb")]
    return " ".join(
        [
            f"Of {len(found)} prescriptions {len(broken)} do not keep their promise, and {len(loose)} spend "
            "less than half of it.",
            f"Trees and local Laplace noise of PRIVATE-UCB and PUCB spend {min(trees):.3g} to {max(trees):.3g} "
            "times the epsilon they state, because "
            "replacing a person changes twice as many counts as they say.",
            f"The furthest off, {worst.ratio:.3g} times, is {worst.paper}: {worst.source}."
            + (f" No epsilon at all is kept at the delta that is claimed by {_listed(none)}." if none else ""),
        ]
    )


EXPERIMENTS = (
    Experiment(
        "ours/claimed-and-true",
        "What was claimed, and what is true",
        "Does the noise that a paper prints keep the promise that the paper makes?",
        _seen,
        "no people; exact accounts",
        0.1,
        (),
        1,
        Verdicts("What the papers' noise truly spends"),
    ),
)
