"""What was claimed and what is true: the table of verdicts, by the code that calibrates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..designs.verdicts import COLUMNS, Verdict, cells
from ..reporting.ratio_figure import Dot, ratio_figure
from .experiment import Experiment
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
        """One row for each; right of the line a claim is false."""
        dots: list[Dot] = [(_name(one), one.ratio, one.ratio, one.ratio) for one in all_verdicts() if one.ratio > 1e-3]
        caption = "right of the line the claim is false; left of it, true with more noise than it takes"
        target = folder / f"verdicts{suffix}"
        return [ratio_figure(dots, target, self.title, caption, "true epsilon / claimed epsilon", better="below")]


def _name(verdict: Verdict) -> str:
    return f"{verdict.paper}, {verdict.mechanism}, {str(verdict.claimed).rpartition(', ')[0]}: {verdict.source.partition(':')[0]}"


EXPERIMENTS = (
    Experiment(
        "ours/claimed-and-true",
        "What was claimed, and what is true",
        "Does the noise that a paper prints keep the promise that the paper makes?",
        "Many do not. Trees and local Laplace noise of PRIVATE-UCB and PUCB spend two to three times the epsilon they "
        "state, because replacing a person changes twice as many counts as they say. The Gaussian noise of LDP-OBI spends "
        "up to 2.6 times its epsilon where epsilon is large, and almost none of it where it is small. LDP-UCRL-VTR has nine "
        "to twenty times the noise it needs. DP-VAPVI is right as it is meant; with features as long as those of its own "
        "simulation, which nobody scaled, it would spend 39 times its budget.",
        "no people; exact accounts",
        0.1,
        (),
        1,
        Verdicts("What the papers' noise truly spends"),
    ),
)
