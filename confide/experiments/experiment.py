"""An experiment is data: curves with an address, and what a reader should see in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..privacy import Guarantee
from ..reporting.figures import regret_figure
from ..results import Run
from ..simulation import simulate

QUICK, PAPER = "quick", "paper"
# How much smaller a quick run is: people and seeds.
FEWER_PEOPLE, QUICK_SEEDS = 100, 3


@dataclass(frozen=True)
class Curve:
    """One curve: a learner in a world under a promise, and everything else `simulate` is told."""

    label: str
    learner: str
    world: str
    privacy: Guarantee
    episodes: float
    choices: dict[str, Any] = field(default_factory=dict)

    def run(self, scale: str, seeds: int, workers: int) -> Run:
        """Run it, whole or quickly."""
        episodes = self.episodes if scale == PAPER else max(1, self.episodes // FEWER_PEOPLE)
        count = seeds if scale == PAPER else QUICK_SEEDS
        return simulate(
            self.learner, self.world, self.privacy, episodes, count, workers=workers, label=self.label, **self.choices
        )


@dataclass(frozen=True)
class Experiment:
    """Curves that belong together. `pairs` says which curve is compared with which: (sound, tight) indices."""

    address: str
    shows: str
    curves: tuple[Curve, ...]
    seeds: int
    pairs: tuple[tuple[int, int], ...] = ()

    def run(self, scale: str = PAPER, workers: int = 1, progress: Callable[[int], None] | None = None) -> list[Run]:
        """Every curve, in order."""
        runs = []
        for curve in self.curves:
            runs.append(curve.run(scale, self.seeds, workers))
            if progress is not None:
                progress(len(runs))
        return runs

    def draw(self, runs: list[Run], path: str | Path) -> Path:
        """The curves over episodes."""
        curves = [(run.label, run.checkpoints, run.regret) for run in runs]
        return regret_figure(curves, path, title=self.shows.split(":")[0], log_x=True, log_y=True)

    def table(self, runs: list[Run]) -> list[str]:
        """Markdown rows: every pair's final regrets with their 95 % intervals, and their ratio."""
        rows = ["| | sound | tight | tight / sound |", "|---|---|---|---|"]
        for sound, tight in self.pairs:
            words = [f"{_short(run)}" for run in (runs[sound], runs[tight])]
            ratio = runs[tight].summary()["mean"] / runs[sound].summary()["mean"]
            rows.append(
                f"| {self.curves[sound].label.removesuffix(': sound')} | {words[0]} | {words[1]} | {ratio:.3f} |"
            )
        return rows


def _short(run: Run) -> str:
    found = run.summary()
    return f"{found['mean']:.3g} ({found['low']:.3g} to {found['high']:.3g})"
