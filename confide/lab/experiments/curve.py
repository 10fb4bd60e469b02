"""Parts of experiments that learn online: one curve over people, or its end at several settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...privacy import Guarantee
from ...validation import Json
from ..simulation import prepare, run
from .part import LEAST_PEOPLE, PAPER, ExperimentPart, PartResult, in_words, people_at, thinned


@dataclass(frozen=True)
class Curve(ExperimentPart):
    """One curve: a learner in a world under a guarantee, and all other arguments of `simulate`."""

    label: str
    learner: str
    world: str
    privacy: Guarantee
    episodes: float
    choices: Mapping[str, Json] = field(default_factory=dict)
    seeds: int | None = field(default=None, repr=False)
    """As many as this curve has elsewhere; None is as many as its experiment says. Not part of what the curve is."""

    def promise(self) -> str:
        """The guarantee in words: what was asked for, which `sound` and `tight` keep; of a paper's constants, what they
        truly give."""
        if self.choices.get("calibration") != "paper":
            return str(self.privacy)
        options = {key: value for key, value in self.choices.items() if key not in ("seed", "engine")}
        setting = prepare(self.learner, self.world, self.privacy, self.episodes, **options)
        return "; ".join(in_words(promise.true) for promise in setting.certificate().promises)

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Run the simulation: cumulative regret over people."""
        episodes, choices = self.at(scale)
        done = run(prepare(self.learner, self.world, self.privacy, episodes, seeds=seeds, **choices))
        guarantee = "; ".join(in_words(promise.true) for promise in done.certificate.promises)
        return PartResult(self.label, *thinned(done.checkpoints, done.regret), guarantee, done.seconds)

    def changed(self, change: Callable[[Curve], Curve]) -> Curve:
        """Itself, changed."""
        return change(self)

    def at(self, scale: str) -> tuple[float, Mapping[str, Json]]:
        """People and choices: quickly, fewer people and as many a batch; growth takes no longer with all of them."""
        kind, _, number = str(self.choices.get("schedule", "")).partition(":")
        if scale == PAPER or kind == "growth":
            return self.episodes, self.choices
        people = people_at(scale, self.episodes, min(self.episodes, LEAST_PEOPLE))
        if kind != "batches":
            return people, self.choices
        return people, {**self.choices, "schedule": f"batches:{max(1.0, float(number) * people / self.episodes):.0f}"}


@dataclass(frozen=True)
class Sweep(ExperimentPart):
    """Final regret of several curves that differ in one thing, whose values are `places`; divided by `unit`, if given."""

    label: str
    places: tuple[float, ...]
    curves: tuple[ExperimentPart, ...]
    unit: tuple[float, ...] = ()

    def promise(self) -> str:
        """The guarantees of the curves in words, each said once."""
        return "; ".join(dict.fromkeys(curve.promise() for curve in self.curves))

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Run all curves: one value a seed at each place."""
        results = [curve.compute(scale, seeds) for curve in self.curves]
        rows = np.stack([result.final for result in results], axis=1) / np.array(self.unit or 1.0)
        guarantee = "; ".join(dict.fromkeys(result.guarantee for result in results))
        return PartResult(
            self.label,
            np.array(self.places, dtype=np.float64),
            rows,
            guarantee,
            sum(result.seconds for result in results),
        )

    def changed(self, change: Callable[[Curve], Curve]) -> Sweep:
        """The same places of changed curves."""
        return replace(self, curves=tuple(curve.changed(change) for curve in self.curves))


def scheduled(curve: Curve, schedule: str) -> Curve:
    """A curve with another schedule."""
    return replace(curve, choices={**curve.choices, "schedule": schedule})


def rescheduled(curve: Curve, schedule: str) -> Curve:
    """A curve with another schedule, if its own is one of growth: for those who want to wait."""
    grows = str(curve.choices.get("schedule", schedule)).startswith("growth")
    return scheduled(curve, schedule) if grows else curve
