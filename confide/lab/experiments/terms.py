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


ONE = "1"
ROOT_OF_PEOPLE = Terms((ONE, "sqrt(K)"), np.ones_like, np.sqrt)
OVER_EPSILON = Terms((ONE, "/epsilon"), np.ones_like, lambda epsilon: 1 / epsilon)
