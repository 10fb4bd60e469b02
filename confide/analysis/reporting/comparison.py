"""Is one learner better than another? A stated test between two runs, and Holm's correction where several are made at once.

The test is Student's on the means of the final regrets: on the differences seed by seed where both sides had the same seeds,
and so the same random numbers (`paired`), which is exact for normal differences whatever the two have in common; else Welch's. Two
sides of one law have symmetric differences, for which the test errs on the side of saying nothing. Of m tests, Holm's method
compares the i-th smallest p-value with level/(m - i + 1): with probability at least 1 - level no equal pair is said to differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .intervals import SeedInterval, SeedValues, paired_ratio_interval, ratio_interval

LEVEL = 0.05
"""The probability with which any equal pair of a comparison may be said to differ."""

PAIRED, WELCH = "paired t-test", "Welch's t-test"


@dataclass(frozen=True)
class Contrast:
    """One side against another in one place. ratio: of mean final regrets, with its interval. p: of the test; adjusted: by Holm
    over all contrasts that were made together. None where there is one seed only.
    """

    place: str
    one: str
    other: str
    ratio: SeedInterval
    test: str
    p: float | None
    adjusted: float | None = None

    @property
    def verdict(self) -> str:
        """Which side has less regret, by the adjusted p-value; or that the seeds do not tell."""
        if self.adjusted is None or self.adjusted > LEVEL:
            return "the seeds do not tell"
        return f"{self.one if self.ratio.value < 1 else self.other} has less regret"


def contrast(
    sides: tuple[str, str], values: SeedValues, others: SeedValues, *, paired: bool, place: str = ""
) -> Contrast:
    """The test between the final regrets of two sides, one value a seed."""
    ratio = paired_ratio_interval(values, others) if paired else ratio_interval(values, others)
    test = PAIRED if paired else WELCH
    return Contrast(place, *sides, ratio, test, _paired_p(values - others) if paired else _welch_p(values, others))


def _paired_p(differences: SeedValues) -> float | None:
    """Two-sided, of mean 0."""
    count = len(differences)
    return None if count == 1 else _p(float(differences.mean()), float(differences.var(ddof=1)) / count, count - 1.0)


def _welch_p(values: SeedValues, others: SeedValues) -> float | None:
    """Two-sided, of equal means, with Satterthwaite's degrees of freedom."""
    if min(len(values), len(others)) == 1:
        return None
    parts = [(float(side.var(ddof=1)) / len(side), len(side) - 1) for side in (values, others)]
    total = sum(part for part, _ in parts)
    freedom = total**2 / sum(part**2 / many for part, many in parts) if total > 0 else math.inf
    return _p(float(values.mean() - others.mean()), total, freedom)


def _p(difference: float, variance: float, freedom: float) -> float:
    from scipy.special import stdtr

    if variance == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * stdtr(freedom, -abs(difference) / math.sqrt(variance)))


def holm(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """The contrasts with adjusted p-values: max over the smaller ones of (m - i + 1) p_(i), at most 1."""
    tested = [index for index, each in enumerate(contrasts) if each.p is not None]
    order = sorted(tested, key=lambda index: contrasts[index].p or 0.0)
    factors = np.arange(len(order), 0, -1)
    raised = np.maximum.accumulate(
        [factor * (contrasts[index].p or 0.0) for factor, index in zip(factors, order, strict=True)]
    )
    adjusted = {index: min(1.0, float(value)) for index, value in zip(order, raised, strict=True)}
    return [
        Contrast(each.place, each.one, each.other, each.ratio, each.test, each.p, adjusted.get(index))
        for index, each in enumerate(contrasts)
    ]
