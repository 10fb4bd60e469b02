"""The reference without privacy of every page: confide with default settings, by whichever of its learners loses least there.

What privacy costs is a ratio to the best that is known without it. A published algorithm without privacy is no such
reference: with printed bonuses, or stuck in one world of twenty, it can lose more than private learners do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from ...privacy import NoPrivacy
from ...validation import Json
from .curve import Curve, Sweep, scheduled
from .part import ExperimentPart, PartResult

REFERENCE = "no privacy, confide with default settings"
LEARNERS = ("ucbvi", "obi", "ucrl-vtr")
"""Learners of ours that may do best without privacy."""


@dataclass(frozen=True)
class Best(ExperimentPart):
    """Of several parts the one with the least mean at its last place."""

    label: str
    parts: tuple[ExperimentPart, ...]

    def promise(self) -> str:
        """No privacy, in words."""
        return str(NoPrivacy())

    def changed(self, change: Callable[[Curve], Curve]) -> Best:
        """The best of changed parts."""
        return replace(self, parts=tuple(part.changed(change) for part in self.parts))

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Run all, and keep the best."""
        results = [part.compute(scale, seeds) for part in self.parts]
        best = min(results, key=lambda result: float(result.final.mean()))
        return replace(best, label=self.label, seconds=sum(result.seconds for result in results))


def _unhidden(curve: Curve, learner: str) -> Curve:
    """A curve's world, people and schedule, without privacy and with nothing tuned."""
    kept: dict[str, Json] = {
        name: curve.choices[name] for name in ("horizon", "schedule", "seed") if name in curve.choices
    }
    return replace(curve, label="", learner=learner, privacy=NoPrivacy(), choices=kept)


def sweep_reference(
    part: Sweep, learners: tuple[str, ...] = LEARNERS[:2], label: str = REFERENCE, calm: tuple[str, ...] = ()
) -> Sweep:
    """The reference for a sweep, at each place; arguments as of `reference_of`."""
    return replace(part, label=label, curves=tuple(reference_of(curve, learners, label, calm) for curve in part.curves))


def reference_of(
    part: ExperimentPart,
    learners: tuple[str, ...] = LEARNERS[:2],
    label: str = REFERENCE,
    calm: tuple[str, ...] = (),
) -> Best:
    """The reference for a part of a page: the same worlds and people, by the best of our learners without privacy.

    calm: schedules that each learner is tried with too, where early plans mislead it.
    """
    tried = [part.changed(partial(_unhidden, learner=learner)) for learner in learners]
    return Best(
        label, (*tried, *(one.changed(partial(scheduled, schedule=schedule)) for one in tried for schedule in calm))
    )
