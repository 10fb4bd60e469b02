"""The reference without privacy of every page: confide with default settings, by whichever of its learners loses least there.

What privacy costs is a ratio to the best that is known without it. A published algorithm without privacy is no such
reference: with printed bonuses, or stuck in one world of twenty, it can lose more than private learners do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch

from ...privacy import NoPrivacy
from ...validation import Json
from .curve import Curve, Sweep
from .instances import Instances
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

    def rescheduled(self, schedule: str) -> Best:
        """The same with another schedule."""
        return replace(self, parts=tuple(part.rescheduled(schedule) for part in self.parts))

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


@singledispatch
def _without_privacy(part: ExperimentPart, learner: str) -> Curve | Instances:
    """The part without privacy, by a learner: the same worlds and people."""
    raise TypeError(f"{type(part).__name__} is no curve, and no instances of one")


@_without_privacy.register
def _(part: Curve, learner: str) -> Curve | Instances:
    return _unhidden(part, learner)


@_without_privacy.register
def _(part: Instances, learner: str) -> Curve | Instances:
    return replace(part, label="", curve=_unhidden(part.curve, learner))


def reference_of(
    part: ExperimentPart,
    learners: tuple[str, ...] = LEARNERS[:2],
    label: str = REFERENCE,
    calm: tuple[str, ...] = (),
) -> ExperimentPart:
    """The reference for a part of a page: the same worlds and people, by our best learner without privacy; for a sweep, at each
    place.

    calm: schedules that each learner is tried with too, where early plans mislead it.
    """
    if isinstance(part, Sweep):
        return replace(
            part, label=label, curves=tuple(reference_of(curve, learners, label, calm) for curve in part.curves)
        )
    return best_of(part, learners, label, calm)


def best_of(
    part: ExperimentPart, learners: tuple[str, ...], label: str = REFERENCE, calm: tuple[str, ...] = ()
) -> Best:
    """The best of our learners without privacy in the worlds of a curve."""
    tried = [_without_privacy(part, learner) for learner in learners]
    return Best(label, (*tried, *(_scheduled(one, schedule) for one in tried for schedule in calm)))


def _scheduled(part: Curve | Instances, schedule: str) -> Curve | Instances:
    """A curve, or instances of one, with a schedule."""
    if isinstance(part, Instances):
        return replace(part, curve=_later(part.curve, schedule))
    return _later(part, schedule)


def _later(curve: Curve, schedule: str) -> Curve:
    return replace(curve, choices={**curve.choices, "schedule": schedule})
