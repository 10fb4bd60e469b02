"""Learning from logged people: the simulations of Qiao and Wang (2023), and what privacy costs in two clinics.

Constants were chosen on seeds that are not reported (77): those of PEVI, VAPVI and DP-VAPVI among 0.0001 to 1, the scale of
APVI and DP-APVI among 0 to 1, the shift of our regression among 0 to 8. Worlds were the same. The pessimism of our `apvi`
(2 deviations, actions that stand out by 1) was chosen on ICU-Sepsis, on other draws of the same world.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mdp import Policy
from ..planning.evaluation import optimal_value, policy_value
from ..privacy import Central, Guarantee
from ..reporting.value_figure import value_figure
from ..simulation.offline import prepare_offline
from ..simulation.offline_linear import simulate_linear
from ..simulation.streams import spawn
from .experiment import PAPER

VALUE, GAP = "value of the learned policy", "sub-optimality"
REPORTED = 2024
"""The seed of the linear curves: none of those on which anything was chosen."""

EPISODES = (5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, eq=False)
class Points:
    """What one curve gave: rows (seeds, C) over people (C,)."""

    label: str
    people: NDArray[np.int64]
    rows: NDArray[np.float64]

    def save(self, folder: str | Path, *, replace: bool = False) -> Path:
        """One CSV file."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=replace)
        with open(target / "points.csv", "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["people", *(f"seed {index}" for index in range(len(self.rows)))])
            rows.writerows(zip(self.people.tolist(), *self.rows.tolist(), strict=True))
        return target


@dataclass(frozen=True)
class OfflineCurve:
    """A learner under a promise, at several numbers of people. `linear` learns from features, else from counts."""

    label: str
    privacy: Guarantee | None
    people: tuple[float, ...]
    world: str
    linear: bool = False
    choices: dict[str, Any] = field(default_factory=dict)

    def run(self, seeds: int) -> Points:
        """Every number of people, `seeds` times."""
        measured = np.stack([self._at(int(many), seeds) for many in self.people], axis=1)
        return Points(self.label, np.array([int(many) for many in self.people]), measured)

    def _at(self, people: int, seeds: int) -> NDArray[np.float64]:
        if self.linear:
            return simulate_linear(self.world, self.privacy, people, seeds, **self.choices).suboptimality
        setting = prepare_offline(self.world, self.privacy, people, **self.choices)
        plans = [setting.learn(setting.release(root)).policy for root in spawn(0, seeds)]
        return np.array([policy_value(setting.model, Policy(plan)) for plan in plans])


@dataclass(frozen=True)
class OfflineExperiment:
    """Curves that belong together; the same verbs as `Experiment`."""

    address: str
    shows: str
    curves: tuple[OfflineCurve, ...]
    seeds: int
    measure: str

    def run(self, scale: str = PAPER, workers: int = 1, progress: Callable[[int], None] | None = None) -> list[Points]:
        """Every curve, in order; quickly, with one seed."""
        found = []
        for curve in self.curves:
            found.append(curve.run(self.seeds if scale == PAPER else 1))
            if progress is not None:
                progress(len(found))
        return found

    def draw(self, runs: list[Points], path: str | Path) -> Path:
        """The curves over people, beside current practice and the best."""
        curves = [(run.label, run.people, run.rows) for run in runs]
        return value_figure(curves, path, self.shows.split(":")[0], self.measure, self._lines())

    def _lines(self) -> list[tuple[str, float]]:
        if self.measure == GAP:
            return []
        setting = prepare_offline(self.curves[0].world, None, 1, **self.curves[0].choices)
        practice = policy_value(setting.model, setting.behaviour)
        return [("current practice", practice), ("the best policy", optimal_value(setting.model))]

    def table(self, runs: list[Points]) -> list[str]:
        """Markdown rows: the mean at each number of people."""
        people = sorted({int(many) for run in runs for many in run.people})
        rows = ["| " + " | ".join(["", *(f"{many:,}" for many in people)]) + " |", "|---" * (1 + len(people)) + "|"]
        for run in runs:
            means = dict(zip(run.people.tolist(), run.rows.mean(axis=0), strict=True))
            rows.append(
                "| " + " | ".join([run.label, *(f"{means[n]:.3f}" if n in means else "" for n in people)]) + " |"
            )
        return rows


def _linear(label: str, rho: float | None = None, **choices: Any) -> OfflineCurve:
    privacy = None if rho is None else Central(rho=rho)
    return OfflineCurve(label, privacy, EPISODES, "linear-mdp", True, {"seed": REPORTED, **choices})


_SOUND: dict[str, Any] = {"calibration": "sound", "split": False, "constant": 0.3}
_PEVI = _linear("PEVI", learner="pevi", calibration="sound", constant=0.001)
_VAPVI = _linear("VAPVI", **_SOUND)
_FIGURE = "The linear process of the paper, 20 steps"


def _counts(label: str, world: str, people: tuple[float, ...], rho: float | None, **choices: Any) -> OfflineCurve:
    return OfflineCurve(label, None if rho is None else Central(rho=rho), people, world, choices=choices)


def _clinic() -> OfflineExperiment:
    people = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
    step = {"model": "per-step"}
    printed = {**step, "calibration": "sound", "bonus_scale": 1e-5}
    curves = [
        _counts("APVI", "clinic", people, None, **printed),
        _counts("ours, no privacy", "clinic", people, None, **step),
    ]
    for rho in (0.05, 0.5):
        curves += [
            _counts(f"DP-APVI, rho {rho:g}", "clinic", people, rho, **printed),
            _counts(f"ours, rho {rho:g}", "clinic", people, rho, **step),
        ]
    shows = "A small clinic, 6 states, 3 treatments, 8 visits, told per step: DP-APVI as published, and ours."
    return OfflineExperiment("ours/offline-clinic", shows, tuple(curves), 5, VALUE)


def _icu() -> OfflineExperiment:
    people = (1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
    curves = [_counts("no privacy", "icu-sepsis", people, None)]
    curves += [_counts(f"rho {rho:g}", "icu-sepsis", people, rho) for rho in (5.0, 0.5, 0.05)]
    curves += [
        _counts(f"rho {rho:g}, no public support", "icu-sepsis", people, rho, support=False) for rho in (5.0, 0.5)
    ]
    shows = "ICU-Sepsis, 716 states, 25 doses, 20 steps: what is learned from the clinicians' own records."
    return OfflineExperiment("ours/icu-sepsis", shows, tuple(curves), 3, VALUE)


EXPERIMENTS = {
    experiment.address: experiment
    for experiment in (
        OfflineExperiment(
            "offline/figure-1a",
            f"{_FIGURE}: PEVI, VAPVI and DP-VAPVI made sound, beside ours.",
            (
                _PEVI,
                _VAPVI,
                _linear("ours, no privacy"),
                _linear("DP-VAPVI, rho 10", 10.0, **_SOUND),
                _linear("ours, rho 10", 10.0),
            ),
            5,
            GAP,
        ),
        OfflineExperiment(
            "offline/figure-1b",
            f"{_FIGURE}: DP-VAPVI made sound, and ours, at several budgets.",
            tuple(
                curve
                for rho in (1.0, 10.0, 100.0)
                for curve in (_linear(f"DP-VAPVI, rho {rho:g}", rho, **_SOUND), _linear(f"ours, rho {rho:g}", rho))
            ),
            5,
            GAP,
        ),
        _clinic(),
        _icu(),
    )
}
