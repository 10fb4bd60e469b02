"""A learner in several worlds drawn by one law, one run in each: means, quantiles, and how often it is stuck."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...analysis.reporting.intervals import mean_interval
from ..simulation import prepare, run
from .curve import Curve
from .part import ExperimentPart, PartResult, in_words, thinned
from .view import Regret
from .world_view import random_loss

FIRST = 200
"""The first of the worlds: those before were tuned on."""

LEAST_LOSS = 0.05
"""Worlds in which acting at random loses less than this have nothing to learn, and are passed over."""

LEAST = 1e-3
"""Regret below this is rounding."""

STUCK = 0.1
"""A run is stuck if its last people lose more than this share of what acting at random loses."""


@cache
def worlds(world: str, horizon: int, many: int, first: int = FIRST) -> tuple[str, ...]:
    """The addresses of the first `many` worlds of a law, from a seed on, in which there is something to learn."""
    addresses: list[str] = []
    seed = first
    while len(addresses) < many:
        address = f"{world}?seed={seed}"
        if random_loss(address, horizon) > LEAST_LOSS:
            addresses.append(address)
        seed += 1
    return tuple(addresses)


def mean_random_loss(many: int, world: str = "random/2x2", horizon: int = 2) -> float:
    """What acting at random loses a person, in the mean over the first `many` worlds of a law."""
    return float(np.mean([random_loss(address, horizon) for address in worlds(world, horizon, many)]))


def stuck_runs(result: PartResult, random: NDArray[np.float64] | float) -> NDArray[np.bool_]:
    """(seeds,) whether the last people lose more than STUCK of what acting at random loses, which is `random`."""
    last = (result.rows[:, -1] - result.rows[:, -2]) / (result.x[-1] - result.x[-2])
    return np.asarray(last > STUCK * random)


@dataclass(frozen=True)
class Instances(ExperimentPart):
    """A curve whose world is, for each seed, another one of the same law."""

    label: str
    curve: Curve
    first: int = field(default=FIRST, repr=False)
    """The seed of the first world: another one for tuning."""

    @classmethod
    def of(cls, curve: Curve) -> Instances:
        """The instances of a curve, under its name."""
        return cls(curve.label, replace(curve, label=""))

    def promise(self) -> str:
        """The guarantee of the curve, in words."""
        return self.curve.promise()

    def changed(self, change: Callable[[Curve], Curve]) -> Instances:
        """The instances of a changed curve."""
        return replace(self.of(change(replace(self.curve, label=self.label))), first=self.first)

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Cumulative regret over people, a row for each world; its last two places are so near that they show its slope."""
        curve = self.curve
        episodes, choices = curve.at(scale)
        horizon = validation.integer("horizon", choices["horizon"], 1)
        runs = [
            run(prepare(curve.learner, address, curve.privacy, episodes, seeds=1, seed=number, **choices))
            for number, address in enumerate(worlds(curve.world, horizon, seeds, self.first))
        ]
        rows = np.concatenate([each.regret for each in runs])
        x, rows = thinned(runs[0].checkpoints, rows)
        guarantee = "; ".join(in_words(promise.true) for promise in runs[0].certificate.promises)
        return PartResult(self.label, x, rows, guarantee, sum(each.seconds for each in runs))


@dataclass(frozen=True)
class InstanceRegret(Regret):
    """Regret over worlds: the mean, three quantiles, and in how many the last people still lose much."""

    def table(self, results: Sequence[PartResult]) -> list[Sequence[str]]:
        """One row for each part."""
        rows: list[Sequence[str]] = [("", "true guarantee", "mean final regret", "10 %, half, 90 % of worlds", "stuck")]
        for result in results:
            quantiles = np.quantile(result.final, (0.1, 0.5, 0.9))
            text = ", ".join(f"{value:.3g}" for value in quantiles)
            rows.append((result.label, result.guarantee, mean_interval(result.final).text(), text, self.stuck(result)))
        return rows

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw the regret as of one world; what is no regret but rounding is not drawn on a logarithmic scale."""
        titled = replace(self, title=f"{len(results[0].rows)} {self.title}")
        return Regret.draw(
            titled,
            [replace(result, rows=np.where(result.rows < LEAST, 0.0, result.rows)) for result in results],
            folder,
            suffix,
        )

    @staticmethod
    def stuck(result: PartResult, world: str = "random/2x2", horizon: int = 2) -> str:
        """In how many worlds of how many the last people lose more than a tenth of what acting at random loses."""
        random = np.array([random_loss(address, horizon) for address in worlds(world, horizon, len(result.rows))])
        return f"{stuck_runs(result, random).sum()} of {len(result.rows)}"


@dataclass(frozen=True)
class InstancePanels(InstanceRegret):
    """A picture for each epsilon, which is the last word of a label."""

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """One for each epsilon, in which labels do without it."""
        panels: dict[str, list[PartResult]] = {}
        for result in results:
            name, _, epsilon = result.label.rpartition(", ")
            panels.setdefault(epsilon, []).append(replace(result, label=name))
        paths = []
        for epsilon, some in panels.items():
            (drawn,) = InstanceRegret(f"{self.title}; local epsilon {epsilon}").draw(some, folder, suffix)
            paths.append(drawn.rename(folder / f"regret-{epsilon}{suffix}"))
        return paths
