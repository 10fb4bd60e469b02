"""Scales as fractions that are never smaller: what exact samplers, compiled or plain, draw with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

LawName = Literal["laplace", "gaussian"]

Words = Callable[[int], NDArray[np.uint64]]
"""A source of independent uniform 64-bit words: asked for n, it gives n that it never gives again."""

RANGES: dict[LawName, tuple[float, float]] = {"laplace": (2.0**-33, 2.0**53), "gaussian": (2.0**-6, 2.0**26)}
"""The scales whose numerator and denominator stay so small (2^53 and 2^26) that 64-bit arithmetic cannot overflow."""

RELATIVE_EXCESS = 1e-6


def rational(law: LawName, scale: float) -> tuple[int, int] | None:
    """The fraction p/q with scale <= p/q <= scale (1 + RELATIVE_EXCESS) whose q is the smallest power of two.

    Never below what was asked, so never less private. Multiplying a float by a power of two is exact, so p is exactly
    ceil(q scale). None outside the law's range.
    """
    low, high = RANGES[law]
    if not low <= scale <= high:
        return None
    q = 1
    while math.ceil(scale * q) - scale * q > RELATIVE_EXCESS * scale * q:
        q *= 2
    return math.ceil(scale * q), q
