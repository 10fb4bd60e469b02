"""A bound in its own form: two terms fitted to measured means by least squares, with intervals, and how far the fit is off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...analysis.reporting.intervals import SeedInterval, student_interval
from .part import PartResult

Array = NDArray[np.float64]
HOLDS = 0.10
"""A bound's form is said to hold where no mean is further from the fit than this share of itself."""


@dataclass(frozen=True)
class Terms:
    """The two terms of a bound as functions of what grows, up to one constant each; names as a formula writes them."""

    names: tuple[str, str]
    first: Callable[[Array], Array]
    second: Callable[[Array], Array]


class TermsFit(NamedTuple):
    """Coefficients of the two terms, and the largest distance of a mean from the fit, as a share of that mean."""

    first: SeedInterval
    second: SeedInterval
    misfit: float

    @property
    def holds(self) -> bool:
        """Whether the form describes the means to within `HOLDS`."""
        return self.misfit <= HOLDS

    def text(self, terms: Terms) -> str:
        """The fit as a formula, with the intervals of its coefficients; a term with coefficient 0 is left out."""
        parts = [
            f"{coefficient.text('.2g')}{'' if name == ONE else f' {name}'}"
            for coefficient, name in zip((self.first, self.second), terms.names, strict=True)
            if coefficient.value > 0
        ]
        return " + ".join(parts)


ROUNDING = 1e-12
"""Of a mean: a term that adds less to each of them is none."""


def fitted(result: PartResult, terms: Terms) -> TermsFit:
    """The two terms of a bound, fitted to the means of a part: see `fitted_values`."""
    return fitted_values(result.rows, terms.first(result.x), terms.second(result.x))


def fitted_values(rows: Array, first: Array, second: Array) -> TermsFit:
    """Coefficients a, b >= 0 of least sum of (a u_j + b v_j - m_j)^2/m_j^2 over the means m_j of the columns of `rows`.

    rows: (seeds, C); first, second: (C,) the two terms. Each coefficient is linear in the means once it is known which of
    them are 0, so the intervals are Student's, of the coefficients of single seeds by the same weights.
    """
    from scipy.optimize import nnls

    means = rows.mean(axis=0)
    table = np.stack([first, second], axis=1) / means[:, None]
    coefficients, _ = nnls(table, np.ones(len(means)))
    used = coefficients * np.abs(table).max(axis=0) > ROUNDING  # of ones
    misfit = float(np.abs(table @ coefficients - 1).max())
    weights = np.zeros((2, len(means)))
    weights[used] = np.linalg.pinv(table[:, used])
    single = (rows / means) @ weights.T  # (seeds, 2)
    return TermsFit(student_interval(single[:, 0]), student_interval(single[:, 1]), misfit)


def above(result: PartResult, least: float) -> PartResult:
    """The places of a part whose mean is above `least`: what is below is rounding, and no power of anything."""
    shown = result.mean > least
    return replace(result, x=result.x[shown], rows=result.rows[:, shown])


def power_misfit(result: PartResult) -> float:
    """The largest distance of a mean from the power of x that fits best, as a share of that mean."""
    slope, start = np.polyfit(np.log(result.x), np.log(result.mean), 1)
    return float(np.abs(np.exp(start) * result.x**slope / result.mean - 1).max())


class Departure(NamedTuple):
    """What of a sweep is not as a bound's form has it: a kind, and what was measured."""

    kind: str
    measured: str


SEEDS = "the seeds leave the means so wide that the form lies within every interval of 95 %"
STRETCH = "it holds on a stretch, and not outside of it"
POWER = "regret is another power throughout"
STEPS = "what is measured falls in steps: it stays for a while, then falls faster than either term"
OUTSIDE = "at some places it grows faster, or slower, than either term"
BENT = "the power falls with what grows, where that of a sum of two powers can only rise"
LEAST_PLACES = 3
"""Fewer places than these are described by two constants whatever they are."""
FLAT = 0.15
"""A power of at most this size is none."""


def departure(result: PartResult, terms: Terms, random: Array | float | None = None) -> Departure | None:
    """What differs where the form does not describe the means to within `HOLDS`; None where it does. The first that is true of
    `SEEDS`, `STRETCH`, `POWER`, `STEPS` and `OUTSIDE`; else `BENT`: on logarithmic axes a sum of powers with constants that are
    not negative is convex.

    random: what acting at random loses at each place, if that is known: where regret is a good part of it learning has only begun,
    of which a bound says nothing.
    """
    if fitted(result, terms).holds:
        return None
    found = _within_seeds(result, terms) or _on_a_stretch(result, terms) or _other_power(result) or _bent(result, terms)
    return found if random is None else _beside_random(found, result, random)


def _beside_random(found: Departure, result: PartResult, random: Array | float) -> Departure:
    """The same, with the share that regret has of what acting at random loses, from the first place to the last."""
    shares = result.mean / random
    return found._replace(
        measured=f"{found.measured}; of what acting at random loses regret is {shares[0]:.2g} at the first place, "
        f"{shares[-1]:.2g} at the last"
    )


def told(found: Departure | None) -> str:
    """What differs as the end of a sentence; nothing where nothing does."""
    return "" if found is None else f": {found.kind} ({found.measured})"


def _within_seeds(result: PartResult, terms: Terms) -> Departure | None:
    if len(result.rows) < LEAST_PLACES:
        return None
    fit = fitted(result, terms)
    form = fit.first.value * terms.first(result.x) + fit.second.value * terms.second(result.x)
    intervals = [student_interval(column) for column in result.rows.T]
    if not all((each.low or 0.0) <= value <= (each.high or 0.0) for each, value in zip(intervals, form, strict=True)):
        return None
    widest = max((each.high or 0.0) / each.value for each in intervals)
    return Departure(SEEDS, f"ends of the intervals are up to {widest:.2g} times the means of {len(result.rows)} seeds")


def _on_a_stretch(result: PartResult, terms: Terms) -> Departure | None:
    places = len(result.x)
    for many in range(places - 1, LEAST_PLACES - 1, -1):
        for first in range(places - many, -1, -1):
            part = replace(result, x=result.x[first : first + many], rows=result.rows[:, first : first + many])
            if (fit := fitted(part, terms)).holds:
                outside = _outside(_local_powers(result), first, many)
                return Departure(
                    STRETCH,
                    f"it holds from {part.x[0]:.3g} to {part.x[-1]:.3g} (off by {fit.misfit:.0%}); {outside}",
                )
    return None


def _outside(powers: Array, first: int, many: int) -> str:
    """The powers on both sides of a stretch, in words."""
    said = []
    for side, some in (("before", powers[:first]), ("after", powers[first + many - 1 :])):
        if some.size:
            said.append(f"{side} that the power is {_span(some)}")
    return " and ".join(said)


def _other_power(result: PartResult) -> Departure | None:
    off = power_misfit(result)
    if off > HOLDS or len(result.x) < LEAST_PLACES:
        return None
    slope = np.polyfit(np.log(result.x), np.log(result.mean), 1)[0]
    return Departure(POWER, f"it is the power {slope:.2f} throughout (off by {off:.0%})")


def _bent(result: PartResult, terms: Terms) -> Departure:
    allowed = np.concatenate(
        [np.diff(np.log(term(result.x))) / np.diff(np.log(result.x)) for term in (terms.first, terms.second)]
    )
    powers = _local_powers(result)
    outside = bool((powers < allowed.min()).any() or (powers > allowed.max()).any())
    steps = bool((np.abs(powers) < FLAT).any()) and allowed.max() < -FLAT and powers.min() < allowed.min()
    kind = STEPS if steps else OUTSIDE if outside else BENT
    return Departure(kind, f"place by place the power is {_listed(powers)}, that of the terms {_span(allowed)}")


def _listed(powers: Array) -> str:
    return ", ".join(_span(powers[index : index + 1]) for index in range(len(powers)))


def _local_powers(result: PartResult) -> Array:
    return np.asarray(np.diff(np.log(result.mean)) / np.diff(np.log(result.x)))


def _span(powers: Array) -> str:
    low, high = (f"{value + 0.0:.2f}".replace("-0.00", "0.00") for value in (powers.min(), powers.max()))
    return low if low == high else f"{low} to {high}"


ONE = "1"
ROOT_OF_PEOPLE = Terms((ONE, "sqrt(K)"), np.ones_like, np.sqrt)
OVER_EPSILON = Terms((ONE, "/epsilon"), np.ones_like, lambda epsilon: 1 / epsilon)
