"""Features instead of tables: what people lose by `linear`, and by `ucrl-vtr` where known models are mixed.

Beside them are tables, no privacy, and the published algorithms for bandits.

Every run is another world: those of seeds from `FIRST` on, which nothing was chosen on. The published algorithms are LinUCB under
joint (Shariff and Sheffet 2018) and under local privacy (Zheng et al. 2020), by `learning.learners.linucb`, with noise that keeps
what is claimed; the scale of their ellipsoids was chosen on bandits of seeds 0 to 9.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...analysis.reporting.figures import Dot, ratio_figure
from ...analysis.reporting.intervals import NAME, mean_interval
from ...privacy import Guarantee, Joint, Local, Shuffle
from ...privacy.guarantee import SHUFFLE
from ..simulation import simulate
from .experiment import Experiment, TableRow
from .facts import Claim, Facts, number
from .part import ExperimentPart, PartResult, people_at
from .view import ratio

FEATURES, TABLE, OPEN, LINUCB = "features", "table", "features, no privacy", "LinUCB"
NONE = "no privacy"
MIXTURES = "mixture/"
"""Worlds of known models in unknown proportions, which `ucrl-vtr` learns from feature targets."""
PROMISES: dict[str, Guarantee] = {
    "joint 1": Joint(1.0, 1e-6),
    "shuffle 1": Shuffle(1.0, 1e-6),
    "local 1": Local(1.0),
    "local 4": Local(4.0),
    NONE: Guarantee.none(),
}
NOISY: dict[str, Guarantee] = {"local 1": Local(1.0, 1e-6), "local 4": Local(4.0, 1e-6)}
"""Of LinUCB, whose noise on devices is Gaussian."""
SCALE = 0.03
"""Of its ellipsoids: of .003 to 1, tried on bandits of seeds 0 and 1, and then .03 and .1 on seeds 0 to 9."""
FIRST, RUNS, FEW, QUICK_RUNS = 20, 10, 3, 2
REGRET, SHARE = "regret", "share of random's loss"


@dataclass(frozen=True)
class FeatureCell:
    """A world under a guarantee: this many people, and what is to be reached, as regret or as a share of what acting at random
    loses.

    sides: beside features. runs: how many worlds.
    """

    world: str
    promised: str
    people: float
    goal: float
    measure: str = SHARE
    sides: tuple[str, ...] = (OPEN, LINUCB)
    runs: int = RUNS

    @property
    def name(self) -> str:
        """World, guarantee and people, in words."""
        return f"{self.world}, {self.promised}, {self.people:,.0f} people"


CELLS = (
    FeatureCell("linear-bandit/6x4", "joint 1", 1e6, 700, REGRET, (TABLE, OPEN, LINUCB)),
    FeatureCell("linear-bandit/8x4", "joint 1", 1e6, 900, REGRET, (TABLE, OPEN, LINUCB)),
    FeatureCell("linear-bandit/20x4", "joint 1", 1e6, 2200, REGRET, (OPEN, LINUCB), FEW),
    FeatureCell("linear-bandit/6x4", "shuffle 1", 1e6, 0.006, SHARE, (OPEN,)),
    FeatureCell("linear-bandit/6x4", "local 4", 1e6, 0.07, SHARE, (TABLE, OPEN, LINUCB), FEW),
    FeatureCell("linear-bandit/6x4", "local 1", 1e6, 0.25, SHARE, (TABLE, OPEN, LINUCB), FEW),
    FeatureCell("linear-mdp", "joint 1", 1e5, 0.07, SHARE, (TABLE, OPEN), FEW),
    FeatureCell("covariates/2", "joint 1", 1e5, 0.2, SHARE, (OPEN,), FEW),
    FeatureCell("mixture/20x3x16", "joint 1", 1e4, 0.005, SHARE, (OPEN,)),
    FeatureCell("mixture/20x3x16", "shuffle 1", 1e4, 0.01, SHARE, (OPEN,), FEW),
    FeatureCell("mixture/20x3x16", "local 4", 1e4, 0.005, SHARE, (OPEN,)),
)


@dataclass(frozen=True)
class FeatureRuns(ExperimentPart):
    """One side of a cell. Its rows are (runs, 2): regret, and the same as a share of what acting at random loses."""

    label: str
    side: str
    world: str
    promised: str
    people: float
    seeds: int | None = None

    def promise(self) -> str:
        """The guarantee, in words."""
        return str(self._promised())

    def _promised(self) -> Guarantee:
        if self.side == OPEN:
            return PROMISES[NONE]
        return NOISY.get(self.promised, PROMISES[self.promised]) if self.side == LINUCB else PROMISES[self.promised]

    def compute(self, scale: str, seeds: int) -> PartResult:
        """One run in each of this many worlds."""
        people, started, promise = people_at(scale, self.people, 1000), time.process_time(), self._promised()
        ours = "ucrl-vtr" if self.world.startswith(MIXTURES) else "linear"
        learner = {TABLE: "ucbvi", LINUCB: "linucb"}.get(self.side, ours)
        options: dict[str, Any] = {"c": SCALE} if self.side == LINUCB else {}
        if self.side == LINUCB and self.promised in NOISY:
            options["mechanism"] = "gaussian"
        if promise.trust == SHUFFLE:
            options["claimed"] = True
        rows, guarantee = np.empty((seeds, 2)), ""
        for seed in range(seeds):
            world = f"{self.world}?seed={FIRST + seed}"
            run = simulate(learner, world, promise, people, 1, seed=seed, **options)
            lost = people * (run.optimal_value - run.random_value)
            rows[seed] = run.regret[0, -1], run.regret[0, -1] / lost
            guarantee = str(run.certificate.guarantee)
        return PartResult(self.label, np.array([people, people]), rows, guarantee, time.process_time() - started)


def parts() -> tuple[FeatureRuns, ...]:
    """All sides of all cells."""
    return tuple(
        FeatureRuns(f"{cell.name}: {side}", side, cell.world, cell.promised, cell.people, cell.runs)
        for cell in CELLS
        for side in (FEATURES, *cell.sides)
    )


def _found(results: Sequence[PartResult]) -> list[tuple[FeatureCell, dict[str, PartResult]]]:
    """The cells of which features were run, with their sides."""
    known = {result.label: result for result in results}
    cells = []
    for cell in CELLS:
        sides = {side: known.get(f"{cell.name}: {side}") for side in (FEATURES, *cell.sides)}
        there = {side: result for side, result in sides.items() if result is not None}
        if FEATURES in there:
            cells.append((cell, there))
    return cells


@dataclass(frozen=True)
class FeatureView:
    """Regret and shares beside goals, and a picture of ratios to every other side."""

    title: str

    def table(self, results: Sequence[PartResult]) -> list[TableRow]:
        """One row a cell."""
        sides = (FEATURES, TABLE, OPEN, LINUCB)
        rows: list[TableRow] = [("", "true guarantee", "measure", *sides, "goal", "reached", "worlds")]
        for cell, there in _found(results):
            column = 0 if cell.measure == REGRET else 1
            shown = [mean_interval(there[side].rows[:, column]).text() if side in there else "" for side in sides]
            ours = there[FEATURES]
            reached = "yes" if float(ours.rows[:, column].mean()) <= cell.goal else "no"
            rows.append(
                (cell.name, ours.guarantee, cell.measure, *shown, f"{cell.goal:g}", reached, str(len(ours.rows)))
            )
        return rows

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw one picture."""
        dots: list[Dot] = [
            (f"{cell.name}: {side}", *ratio(there[FEATURES], there[side]))
            for cell, there in _found(results)
            for side in (TABLE, LINUCB)
            if side in there
        ]
        caption = f"dot: ratio of mean regrets; bar: {NAME}; left of the line features lose less"
        label = "regret with features / regret of the other side"
        return [ratio_figure(dots, folder / f"features{suffix}", self.title, caption, label, better="below")]


def _seen(facts: Facts) -> list[Claim]:
    claims = []
    for cell, there in _found(facts.results):
        found = float(there[FEATURES].rows[:, 0 if cell.measure == REGRET else 1].mean())
        said = f"{cell.name}: {cell.measure} at most {cell.goal:g}"
        claims.append(
            facts.judged(said, found <= cell.goal, f"{number(found)} over {len(there[FEATURES].rows)} worlds")
        )
    for side, least in ((TABLE, 1.0), (LINUCB, 1.0)):
        ratios = {
            cell.name: ratio(there[FEATURES], there[side]) for cell, there in _found(facts.results) if side in there
        }
        ahead = [name for name, one in ratios.items() if one.below_one]
        behind = [name for name, one in ratios.items() if (one.low or 0.0) > least]
        claims.append(
            facts.judged(
                f"In no cell do features surely lose more than {side}",
                not behind,
                f"surely less in {len(ahead)} of {len(ratios)}, surely more in {len(behind)}",
            )
        )
    return claims


EXPERIMENTS = (
    Experiment(
        "ours/features",
        "Features instead of tables: bandits, linear processes and covariates",
        "What do people lose who are learned about by features, beside tables, no privacy, and private LinUCB?",
        _seen,
        f"{len(CELLS)} cells of worlds and guarantees, 10 or 3 worlds each",
        30.0,
        parts(),
        RUNS,
        FeatureView("Regret with features over that of tables, and of private LinUCB"),
        quick_seeds=QUICK_RUNS,
    ),
)
