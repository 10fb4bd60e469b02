"""How often what `compare` and `explain` print is true: rows of `./run coverage`.

compare: four policies (current practice, what was learned, all actions alike, always the first), and whether all intervals hold
together, as is said. explain: each difference alone, and whether its interval holds; and whether the number of counted steps on
which it rests lies within its error. Where propensities were logged, their intervals are among those that hold together.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.analysis.fitting.comparing import judged
from confide.analysis.fitting.differences import differences
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.findings import Units, in_people_units
from confide.analysis.fitting.plan import COUNTS, WEIGHED, rows_of, together_read
from confide.data.trajectories import Dataset
from confide.learning.planning.evaluation import policy_value
from confide.mdp import Model, Policy
from confide.protocol.kinds.budgeted import BudgetedQuestion
from confide.protocol.releases import CountRelease

GOAL = 0.93


@dataclass
class AnswerTally:
    """Out of this many fits: comparisons all of whose intervals held; and differences, of which this many gains and counts
    held; and values weighed by propensities, of which this many held (`by_weights`).
    """

    fits: int = 0
    together: int = 0
    differences: int = 0
    gains: int = 0
    rests: int = 0
    weighed: int = 0
    by_weights: int = 0
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether what was said at 95 % held in 93 % or more."""
        held = (
            self.by_weights >= GOAL * self.weighed
            and self.gains >= GOAL * self.differences
            and self.rests >= GOAL * self.differences
        )
        return held and self.together >= GOAL * self.fits

    def row(self) -> dict[str, Any]:
        """Plain numbers."""
        many = max(self.differences, 1)
        return {
            "together": self.together / self.fits,
            "gain_of_a_difference": self.gains / many,
            "rests": self.rests / many,
            "differences": self.differences,
            "weighed": self.by_weights / self.weighed if self.weighed else None,
            "fits": self.fits,
            "ok": self.ok,
            "seconds": self.seconds,
        }

    def shown(self, name: str, people: int) -> str:
        """A row of the table."""
        row = self.row()
        shares = (
            f"together {row['together']:.3f}, differences {row['gain_of_a_difference']:.3f}, rests {row['rests']:.3f}"
        )
        return f"{name:28}{people:8,} {shares} of {self.differences}{'' if self.ok else '   MISSED'}  ({self.seconds:.0f} s)"

    def document_row(self, name: str, people: int) -> list[str]:
        """A row of the table in the documents."""
        row = self.row()
        shares = [row[statistic] for statistic in ("together", "weighed", "gain_of_a_difference", "rests")]
        return [
            name,
            f"{people:,}",
            *("-" if statistic is None else f"{100 * statistic:.1f}" for statistic in shares),
            str(self.differences),
        ]

    def add(
        self, model: Model, usual: Policy, data: Dataset, records: dict[str, Any], learned: Any, releases: Any
    ) -> None:
        """Hold what a fit's releases say of policies against the truth. records: what was logged."""
        started = time.perf_counter()
        knowledge, practice = data.knowledge, usual.probabilities
        horizon, states = knowledge.spec.horizon, knowledge.states
        alike = np.zeros_like(learned.extended)
        alike[..., 0], first = 1.0, np.zeros_like(learned.extended)
        first[..., 0] = 1.0
        alike[:, :states, 0] = first[:, :states, 0] = 0.0
        alike[:, :states, 1:], first[:, :states, 1] = 1 / knowledge.spec.actions, 1.0
        now = np.zeros_like(alike)
        now[..., 0] = 1.0
        tables = {"practice": now, "learned": learned.extended, "uniform": alike, "always": first}
        truth = {name: policy_value(model, followed(table, practice)) for name, table in tables.items()}
        comparison = judged(learned.evidence, tables, Units(0.0, 1.0), 0.95, releases.get(WEIGHED), data.floor)
        weighed = [_within(row.weighed, truth[row.name]) for row in comparison.rows if row.weighed is not None]
        held = [
            _within(row.value, truth[row.name]) and _within(row.gain, truth[row.name] - truth["practice"])
            for row in comparison.rows
        ]
        self.weighed, self.by_weights = self.weighed + len(weighed), self.by_weights + sum(weighed)
        self.together += all(held) and all(weighed)
        in_units = in_people_units((0.0, 1.0), horizon)
        release = together_read(releases)[COUNTS]
        counted = counted_visits(data, release, records)
        for difference in differences(learned.evidence, learned.extended, release, in_units, judged=True):
            only = now.copy()
            only[list(difference.steps), difference.state] = 0.0
            only[list(difference.steps), difference.state, 1 + difference.action] = 1.0
            more = policy_value(model, followed(only, practice)) - truth["practice"]
            assert difference.gain is not None
            self.differences += 1
            self.gains += _within(difference.gain, more)
            self.rests += abs(difference.rests - counted[difference.state, difference.action]) <= difference.error
        self.fits += 1
        self.seconds += time.perf_counter() - started


def counted_visits(data: Dataset, release: CountRelease, records: dict[str, Any]) -> NDArray[np.int64]:
    """(S, A): how often each pair was really counted: every time, or as often as the budget lets it."""
    spec = data.knowledge.spec
    if release.budget:
        question = BudgetedQuestion(release.question, release.budget)
        return rows_of(question, count(data, question, Engine(workers=1)).cells).reshape(spec.states, spec.actions)
    visits = np.zeros((spec.states, spec.actions), dtype=np.int64)
    np.add.at(visits, (records["state"], records["action"]), 1)
    return visits


def _within(span: dict[str, Any], truth: float) -> bool:
    return bool(span["low"] <= truth <= span["high"])


def followed(table: NDArray[np.float64], practice: NDArray[np.float64]) -> Policy:
    """A policy (H, S, A+1) as it is run: people go on with their practice wherever it says so."""
    return Policy(table[..., 1:] + table[..., :1] * practice)
