"""Checks of a learner's options, so that whatever is wrong with them is found before anything is charged."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import validation
from ..errors import InvalidInput
from ..planning.pessimism import Constants

LINEAR = ("vapvi", "pevi")
LARGEST = 1e12
"""Beyond it learners overflow, and from there on every choice means the same: everything or nothing."""

CALIBRATIONS = ("tight", "sound", "paper")
OPTIONS = {
    name: ("calibration", "constant", "failure", "features", "kappa", "pessimism", "remainder", "ridge", "split")
    for name in LINEAR
}
"""What may be chosen of a linear learner; all else of it follows from the data's declaration."""


def scale(value: Any) -> float | None:
    """The factor on a learner's pessimism: a finite number of at least 0, or None for its default."""
    if value is None:
        return None
    way_out = "Use 0 for no pessimism, or leave --bonus-scale out."
    return validation.between("bonus scale", value, 0, LARGEST, way_out)


def options(learner: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The options of a named learner, checked: every number finite, in its range, and of its type."""
    known = OPTIONS.get(learner)
    for name, value in settings.items():
        if known is not None and name not in known:
            raise InvalidInput(f"learner {learner!r} does not take the option {name!r}. Known: {', '.join(known)}.")
        check = CHECKS.get(name, _finite)
        if value is not None or name in NEEDED:
            check(name, value)
    return settings


def _truth(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise validation.refusal(f"option {name}", "true or false", value)


def _at_least_0(name: str, value: Any) -> None:
    validation.between(f"option {name}", value, 0, LARGEST)


def _positive(name: str, value: Any) -> None:
    validation.between(f"option {name}", value, 1 / LARGEST, LARGEST)


def _share(name: str, value: Any) -> None:
    if not 0 < validation.number(f"option {name}", value) < 1:
        raise validation.refusal(f"option {name}", "between 0 and 1", value)


def _word(name: str, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise validation.refusal(f"option {name}", "a word", value)


def _constants(name: str, value: Any) -> None:
    if not isinstance(value, Constants):
        raise validation.refusal(f"option {name}", "Constants, which only Python can give", value, "Leave it out.")


def _calibration(name: str, value: Any) -> None:
    validation.choice(f"option {name}", value, CALIBRATIONS)


def _finite(name: str, value: Any) -> None:
    """Check that any other option, if it is a number, is a finite one."""
    if isinstance(value, float) and not math.isfinite(value):
        raise validation.refusal(f"option {name}", "a finite number", value)


NEEDED = ("told_apart", "ridge", "constant", "remainder", "failure", "split", "calibration")
"""Options that cannot be left empty."""

CHECKS: dict[str, Callable[[str, Any], None]] = {
    "told_apart": _at_least_0,
    "ridge": _positive,
    "constant": _at_least_0,
    "remainder": _at_least_0,
    "kappa": _positive,
    "failure": _share,
    "split": _truth,
    "fallback": _truth,
    "pessimism": _word,
    "calibration": _calibration,
    "constants": _constants,
}
