"""A forecast from a design alone: after how many people the average statistic exceeds its noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .design import Array, Design

TYPICAL = 0.5
"""Half of all releases have a larger error than the typical one."""


def typical_error(design: Design, people: ArrayLike) -> Array:
    """The error that half of all releases about so many people exceed, as a share of the average count. At 1 it stands out."""
    which, signal = design.reading.signal(design.question)
    numbers = np.asarray(people, dtype=np.float64)
    return np.asarray(design.radii(numbers, TYPICAL)[..., which] / (signal * numbers))


def people_needed(design: Design, failure: float = TYPICAL) -> float:
    """After about how many people the average statistic exceeds its error; 0 without privacy.

    Where everybody adds noise of their own the error grows like sqrt(n), so n >= (error(n)/sqrt(n)/signal)^2; a
    curator's, and that of a tree of shufflers, does not grow, or hardly. Which it is, the noise itself tells.
    """
    users = design.schedule.users
    which, signal = design.reading.signal(design.question)
    count = users if design.mixing is not None else max(users, 10**6)
    error = float(design.radii(count, failure)[which])
    if error == 0:
        return 0.0
    quarter = float(design.law(max(count // 4, 1)).variance())
    grows = quarter > 0 and float(design.law(count).variance()) > 2 * quarter
    return (error / signal) ** 2 / count if grows else error / signal
