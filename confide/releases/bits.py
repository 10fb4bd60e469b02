"""Counts told in bits: how many bits each counter has, and what a sum of flipped bits says about it.

A visit or a transition is one bit a step; a reward is m = levels bits, of which as many are one as it has parts of 1/m.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..mechanisms.randomized_response import RandomizedResponse
from ..mechanisms.randomizer import bernstein_radius
from .question import REWARDS, TRANSITIONS, VISITS, CountQuestion
from .reading import Array, derived_radii, statements, trials


def require_bits(question: CountQuestion) -> CountQuestion:
    """The question, refused if its counts are not sums of bits."""
    if not set(question.parts) <= {VISITS, REWARDS, TRANSITIONS}:
        raise InvalidInput(
            f"Only visits, rewards and transitions are told in bits. Got {', '.join(question.parts)}. Ask for these."
        )
    return question


def weights(question: CountQuestion) -> NDArray[np.int64]:
    """(cells,) by how many bits one count is told: m for rewards, one for the others."""
    result = np.ones(require_bits(question).cells, dtype=np.int64)
    if REWARDS in question.slices:
        result[question.slices[REWARDS]] = question.levels
    return result


def bits(question: CountQuestion) -> NDArray[np.int64]:
    """(cells,) how many bits one person sends for each counter."""
    return trials(question) * weights(question)


def bits_estimate(question: CountQuestion, mechanism: RandomizedResponse, ones: Array, people: int) -> Array:
    """Unbiased counts from the number of ones in the bits of `people` people."""
    return np.asarray(mechanism.estimate(ones, people, bits(question)) / weights(question))


def bits_radii(
    question: CountQuestion, mechanisms: Sequence[RandomizedResponse], people: Sequence[Array | int], failure: float
) -> Array:
    """(..., 5) error radii, in the order of `Radius`, of a sum of estimates, each from so many people's bits.

    Bernstein's bound for independent flips of different chances; together true with probability 1 - failure.
    """
    share = failure / statements(question)
    spread = np.asarray(
        sum(np.asarray(many, dtype=np.float64) * one.variance() for many, one in zip(people, mechanisms, strict=True))
    )
    largest = max((1 - one.flip) / (1 - 2 * one.flip) for one in mechanisms)

    def of(heads: float, cells: float) -> Array:
        return np.where(spread * cells > 0, bernstein_radius(spread * heads * cells, largest, share), 0.0)

    found = derived_radii(question, of)
    if question.levels > 1 and REWARDS in question.parts:
        pooled = question.spec.horizon if question.spec.layers == 1 else 1
        found[..., 1] = found[..., 2] = of(question.levels * pooled, 1.0) / question.levels
    return found
