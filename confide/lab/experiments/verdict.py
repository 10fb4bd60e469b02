"""The experiment of verdicts: what papers claim and what is true, by the code that calibrates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...analysis.reporting.figures import Dot, ratio_figure
from ...protocol.verdicts import COLUMNS, Verdict, cells
from .experiment import Experiment
from .facts import Facts
from .linear_verdicts import all_verdicts
from .part import PartResult


@dataclass(frozen=True)
class Verdicts:
    """Every printed prescription: true epsilon (or rho) over the claimed one. Nothing is run: it is computed."""

    title: str

    def table(self, results: Sequence[PartResult]) -> list[Sequence[str]]:
        """The rows that `confide verdicts` prints."""
        return [COLUMNS, *map(cells, all_verdicts())]

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """One row for each that has a ratio to draw; right of the line a claim is false."""
        drawn = [verdict for verdict in all_verdicts() if 1e-3 < verdict.ratio < math.inf]
        dots: list[Dot] = [(_name(verdict), verdict.ratio, verdict.ratio, verdict.ratio) for verdict in drawn]
        caption = (
            "right of the line the claim is false; left of it, true with more noise than it takes; the table has all"
        )
        target = folder / f"verdicts{suffix}"
        return [ratio_figure(dots, target, self.title, caption, "true / claimed", better="below")]


def _name(verdict: Verdict) -> str:
    return f"{verdict.paper}, {verdict.mechanism}, {str(verdict.claimed).rpartition(', ')[0]}: {verdict.source.partition(':')[0]}"


def _listed(verdicts: Sequence[Verdict]) -> str:
    words = (f"{verdict.paper} with {verdict.mechanism} noise, {verdict.claimed}" for verdict in verdicts)
    return "; ".join(dict.fromkeys(words))


def _seen(facts: Facts) -> str:
    """The text, from the table itself."""
    judged = all_verdicts()
    broken = [verdict for verdict in judged if verdict.ratio > 1 + 1e-6]
    loose = [verdict for verdict in judged if verdict.ratio < 0.5]
    none = [verdict for verdict in broken if math.isinf(verdict.ratio)]
    lost = [verdict for verdict in none if not verdict.true.private]
    worst = max((verdict for verdict in broken if verdict not in none), key=lambda verdict: verdict.ratio)
    trees = [verdict.ratio for verdict in broken if verdict.paper in ("private-ucb", "pucb")]
    return " ".join(
        [
            f"Of {len(judged)} prescriptions {len(broken)} do not keep what they claim, and {len(loose)} spend "
            "less than half of it.",
            f"Trees and local Laplace noise of PRIVATE-UCB and PUCB spend {min(trees):.3g} to {max(trees):.3g} "
            "times the epsilon they state, because "
            "replacing a person changes twice as many counts as they say.",
            f"The furthest off, {worst.ratio:.3g} times, is {worst.paper}: {worst.source}."
            + (f" No epsilon at all is kept at the delta that is claimed by {_listed(none)}." if none else "")
            + (f" Nothing at all is hidden by {_listed(lost)}: delta is 1." if lost else ""),
        ]
    )


EXPERIMENTS = (
    Experiment(
        "ours/claimed-and-true",
        "What was claimed, and what is true",
        "Does the noise that a paper prints keep the guarantee that the paper claims?",
        _seen,
        "no people; exact accounts",
        0.1,
        (),
        1,
        Verdicts("What the papers' noise truly spends"),
    ),
)
