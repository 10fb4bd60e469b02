"""Contextual bandits: ours with default settings against algorithms that are made for them, over held-out bandits.

Every run is another bandit (`arms/SxA`), the same for all sides. The rivals are private Thompson sampling and private elimination
(`learning.learners.arms` names the papers) with our noise; elimination has the width of its bounds that did best on
bandits for tuning. Seeds of bandits from `TUNING` on are for tuning, those below for this page.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...analysis.reporting.figures import Dot, ratio_figure
from ...analysis.reporting.intervals import NAME
from ...privacy import Guarantee, Joint, Local, Shuffle
from ...privacy.guarantee import SHUFFLE
from ...validation import Json
from ..simulation import prepare, run
from .experiment import Experiment, TableRow
from .facts import Claim, Facts
from .part import ExperimentPart, PartResult, people_at
from .view import ratio

OURS, THOMPSON, ELIMINATION = "ours", "Thompson sampling", "elimination"
SIDES = {OURS: ("ucbvi", 1.0), THOMPSON: ("thompson", 1.0), ELIMINATION: ("elimination", 0.25)}
"""The learner of each side, and the scale of its bounds."""
PROMISES: dict[str, Guarantee] = {
    "joint 1": Joint(1.0, 1e-6),
    "shuffle 1": Shuffle(1.0, 1e-6),
    "local 1": Local(1.0),
    "local 3": Local(3.0),
}
CONTEXTS, ARMS, PEOPLE = (1, 5, 20, 100), (5, 10), (1e4, 1e5)
RUNS, QUICK_RUNS, TUNING = 40, 2, 100
WRONG = 0.1
"""A last policy that loses more than this share of what acting at random loses is a wrong one."""
GOAL, AT_MOST, WRONG_AT_MOST = 1.05, 1.2, 0.01


@dataclass(frozen=True)
class BanditRuns(ExperimentPart):
    """One side under one guarantee. Its rows are (runs, 2): regret as a share of what acting at random loses, and the same of the
    last policy; its places are contexts and arms."""

    label: str
    side: str
    promised: str
    contexts: int
    arms: int
    people: float

    def promise(self) -> str:
        """The guarantee, in words."""
        return str(PROMISES[self.promised])

    def compute(self, scale: str, seeds: int) -> PartResult:
        """One run in each of this many bandits."""
        learner, bonus_scale = SIDES[self.side]
        people, started = people_at(scale, self.people, 1000), time.process_time()
        promise = PROMISES[self.promised]
        claimed: dict[str, Json] = {"claimed": True} if promise.trust == SHUFFLE else {}
        rows, guarantee = np.empty((seeds, 2)), ""
        for seed in range(seeds):
            world = f"arms/{self.contexts}x{self.arms}?seed={seed}"
            setting = prepare(learner, world, promise, people, seeds=1, seed=seed, bonus_scale=bonus_scale, **claimed)
            done = run(setting)
            lost = done.optimal_value - done.random_value
            rows[seed] = done.regret[0, -1] / (lost * people), (done.optimal_value - done.final_value[0]) / lost
            guarantee = str(done.certificate.guarantee)
        places = np.array([self.contexts, self.arms], dtype=np.float64)
        return PartResult(self.label, places, rows, guarantee, time.process_time() - started)


def parts() -> tuple[BanditRuns, ...]:
    """All sides of all cells."""
    return tuple(
        BanditRuns(
            f"{promised}, {contexts} x {arms}, {people:,.0f} people: {side}", side, promised, contexts, arms, people
        )
        for promised in PROMISES
        for contexts in CONTEXTS
        for arms in ARMS
        for people in PEOPLE
        for side in SIDES
    )


@dataclass(frozen=True)
class BanditCell:
    """The three sides of a cell, and which of the rivals lost less."""

    name: str
    ours: PartResult
    rivals: tuple[PartResult, ...]

    @property
    def better(self) -> PartResult:
        """The rival whose mean regret is less."""
        return min(self.rivals, key=lambda rival: float(rival.rows[:, 0].mean()))

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """(runs,) where our last policy is wrong and the better rival's, in the same bandit, is not."""
        runs = min(len(self.ours.rows), len(self.better.rows))
        return np.asarray((self.ours.rows[:runs, 1] > WRONG) & (self.better.rows[:runs, 1] <= WRONG))


def cells_of(results: Sequence[PartResult]) -> list[BanditCell]:
    """The cells all of whose sides were run."""
    found = {result.label: result for result in results}
    names = dict.fromkeys(label.rpartition(": ")[0] for label in found)
    sides = {name: [found.get(f"{name}: {side}") for side in SIDES] for name in names}
    return [BanditCell(name, each[0], (each[1], each[2])) for name, each in sides.items() if all(each)]  # type: ignore[arg-type]


def _regret(result: PartResult) -> PartResult:
    return PartResult(result.label, result.x[:1], result.rows[:, :1], result.guarantee)


@dataclass(frozen=True)
class Bandits:
    """Shares of what acting at random loses, the ratio to the better rival, and runs that ended with a wrong policy."""

    title: str

    def table(self, results: Sequence[PartResult]) -> list[TableRow]:
        """One row a cell."""
        rows: list[TableRow] = [
            (
                "",
                "true guarantee",
                *(f"{side}, share of random's loss" for side in SIDES),
                "ours / better rival",
                "wrong: ours alone",
            )
        ]
        for cell in cells_of(results):
            shares = [f"{side.rows[:, 0].mean():.3g}" for side in (cell.ours, *cell.rivals)]
            over = ratio(_regret(cell.ours), _regret(cell.better)).text()
            rows.append((cell.name, cell.ours.guarantee, *shares, over, f"{cell.wrong.sum()} of {len(cell.wrong)}"))
        return rows

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw one picture."""
        dots: list[Dot] = [(cell.name, *ratio(_regret(cell.ours), _regret(cell.better))) for cell in cells_of(results)]
        caption = f"dot: ratio of mean regrets; bar: {NAME}; left of the line ours loses less"
        label = "regret of ours / regret of the better of Thompson sampling and elimination"
        return [ratio_figure(dots, folder / f"bandits{suffix}", self.title, caption, label, better="below")]


def _seen(facts: Facts) -> list[Claim]:
    cells = cells_of(facts.results)
    ratios = {cell.name: ratio(_regret(cell.ours), _regret(cell.better)) for cell in cells}
    mean = math.exp(sum(math.log(one.value) for one in ratios.values()) / len(ratios))
    behind = [name for name, one in ratios.items() if (one.low or 0.0) > AT_MOST]
    wrong = np.concatenate([cell.wrong for cell in cells])
    return [
        facts.judged(
            f"Over all cells ours loses at most {GOAL} times as much as the better of two algorithms for bandits",
            mean <= GOAL,
            f"geometric mean {mean:.3g} over {len(ratios)} cells",
        ),
        facts.judged(
            f"In no cell does it surely lose more than {AT_MOST} times as much",
            not behind,
            f"it does in {', '.join(behind) or 'none'}",
        ),
        facts.judged(
            f"Runs that end with a wrong policy where the rival's does not are less than {WRONG_AT_MOST:.0%}",
            float(wrong.mean()) < WRONG_AT_MOST,
            f"{int(wrong.sum())} of {wrong.size} runs",
        ),
    ]


EXPERIMENTS = (
    Experiment(
        "ours/bandits",
        "Contextual bandits: ours with default settings against algorithms made for them",
        "What does one lose who takes ours with default settings for episodes of one step, beside private Thompson sampling "
        "and private elimination with the same noise?",
        _seen,
        "64 cells of contexts, arms, users and guarantees, 40 bandits each",
        60.0,
        parts(),
        RUNS,
        Bandits("Regret of ours over that of the better algorithm for bandits"),
        quick_seeds=QUICK_RUNS,
    ),
)
