"""Which cases of a long test are run every day."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_of(cases: Iterable[Any]) -> list[Any]:
    """The cases of a test that compares whole laws: the first is run every day, the others with `./run test --all`."""
    first, *others = cases
    return [first, *(pytest.param(case, marks=pytest.mark.law) for case in others)]
