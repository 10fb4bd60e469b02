"""Explains a saved fit: its policy's differences from current practice."""

from __future__ import annotations

from ..results.fit import Fit
from .comparing import evidence_of
from .differences import MOST, Different, differences
from .findings import Units, in_people_units
from .plan import COUNTS
from .refit import releases_of


def explain(fit: Fit, most: int = MOST) -> list[Different]:
    """The differences from current practice that matter most, the greatest first."""
    evidence, extended = evidence_of(fit)
    in_units = in_people_units(Units.of(fit.config), fit.knowledge.spec.horizon)
    release = releases_of(fit)[COUNTS]
    changes = differences(evidence, extended, release, in_units, most, judged=True)
    return [change.named(fit.states, fit.actions) for change in changes]
