"""Estimates with intervals: of a gain, by its variances and by what is not known at all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ... import validation
from ...privacy.quantiles import normal_quantile

SPENT = 0.4
"""Of the failures that a stated confidence allows, the part that normal errors may use up; the rest is for what is not
normal or not exactly known: sampling error, its size, products of errors."""


@dataclass(frozen=True)
class Estimate:
    """A value, or a difference of values, with an interval that holds with the stated confidence."""

    value: float
    low: float
    high: float
    deviation: float
    confidence: float

    def around(self, guess: float) -> Estimate:
        """The same interval around another estimate."""
        return replace(self, value=min(max(guess, self.low), self.high))

    def sure(self) -> bool:
        """Whether the interval lies above zero: of a difference, whether it can be said that it is better."""
        return self.low > 0


@dataclass(frozen=True)
class Difference:
    """Estimate of a gain: its variances by sampling and by noise, and by how much it may be off in any case.

    guess: the same if the model is right about what the release cannot carry, instead of the middle of what is possible.
    """

    value: float
    luck: float
    noise: float
    unknown: float
    guess: float = 0.0

    def lower(self, confidence: float = 0.95) -> float:
        """What the gain is at least, with that confidence."""
        return self.value - quantile(confidence) * math.sqrt(self.luck + self.noise) - self.unknown


def estimate(value: float, deviation: float, off: float, confidence: float, bounds: tuple[float, float]) -> Estimate:
    """A normal estimate, `off` in any case by so much, cut to the bounds of what is possible."""
    sure = validation.between("confidence", confidence, 0.5, 1 - 1e-9)
    width = quantile(sure) * deviation + off
    inside = [min(max(bound, bounds[0]), bounds[1]) for bound in (value, value - width, value + width)]
    return Estimate(inside[0], inside[1], inside[2], deviation, sure)


def quantile(confidence: float) -> float:
    """How many deviations an interval reaches to both sides."""
    return normal_quantile(1 - (1 - confidence) * SPENT / 2)


def enough_people(more: Difference, people: float, confidence: float = 0.95) -> float | None:
    """From how many people on the difference would be surely above zero, if it is what it is estimated to be; None if never.

    With n instead of N people sampling error has N/n and noise (N/n)^2 times its variance; what is unknown is taken to stay so.
    """
    room = more.value - more.unknown
    if room <= 0:
        return None
    limit = (room / quantile(confidence)) ** 2
    if more.noise > 0:
        ratio = 2 * limit / (more.luck + math.sqrt(more.luck**2 + 4 * more.noise * limit))
    else:
        ratio = limit / more.luck if more.luck > 0 else math.inf
    return float(math.ceil(people / ratio)) if math.isfinite(ratio) else 1.0
