"""Returns as they are asked for: clipped to their public range, and rounded to its points."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from ...protocol.kinds.returns import ReturnsQuestion
from .tabular import round_rewards


def summed_returns(
    question: ReturnsQuestion, earned: NDArray[np.float64], uniforms: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """(3,) the sums of u, u^2 and 1 over episodes that earned (n,) each, u = N g of the question.

    Rounding is at random and without bias: by these numbers in [0, 1), or by the operating system's randomness.
    """
    if uniforms is None:
        uniforms = np.asarray((np.frombuffer(os.urandom(8 * len(earned)), dtype=np.uint64) >> np.uint64(11)) * 2.0**-53)
    shares = np.clip((earned - question.low) / (question.high - question.low), 0.0, 1.0)
    u = round_rewards(shares, question.points, uniforms) - question.points // 2
    return np.array([u.sum(), (u * u).sum(), len(u)], dtype=np.int64)
