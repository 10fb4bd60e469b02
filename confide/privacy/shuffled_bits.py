"""From a guarantee to noise and back for shuffled sums of randomised bits: how large a batch must be, or how noisy its bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from .. import validation
from ..errors import InvalidInput
from .conversion import bisect, gaussian_mu
from .shuffling import MOST_PEOPLE, ShuffledCrowd, composed, local_epsilon, shuffled_loss

# Relative accuracy of calibrated variance, always taken on the private side, and the steps of the search.
ACCURACY, STEP, LARGEST_STEP = 1e-4, 1.002, 4.0


@lru_cache(maxsize=256)
def calibrated(
    people: tuple[int, ...], changed: int, epsilon: float, delta: float, missing: float = 0.0, apart: bool = False
) -> tuple[ShuffledCrowd, ...]:
    """Batches of these sizes with equal and least variance that together, or apart each by itself, keep (epsilon, delta).

    The Gaussian limit, variance changed * batches / mu^2, only starts the search, and "everyone else equal" brings it near
    its end; the result keeps the guarantee among all others.
    """
    allowed = _above_zero(delta) - missing

    def crowds_of(variance: float) -> tuple[ShuffledCrowd, ...]:
        return tuple(ShuffledCrowd.of(variance, size) for size in people)

    def excess(variance: float, all_splits: bool) -> float:
        reached = composed(crowds_of(variance), changed, missing, apart, all_splits=all_splits).delta(epsilon)
        return math.log(max(reached, 1e-300)) - math.log(delta)

    variance = changed * (1 if apart else len(people)) / gaussian_mu(epsilon, allowed) ** 2
    for all_splits in (False, True):
        variance = _least(partial(excess, all_splits=all_splits), variance)
    return crowds_of(variance)


def _above_zero(delta: float) -> float:
    if validation.delta("delta", delta) == 0:
        way_out = "Sums of randomised bits have no pure guarantee beyond the local one; give a delta such as 1e-6."
        raise validation.refusal("batch-needs-delta", "delta", "above 0", delta, way_out)
    return delta


def _least(excess: Callable[[float], float], start: float) -> float:
    """The least size, to `ACCURACY`, whose excess is not positive; the excess falls as the size grows."""
    low = high = start
    at_low = at_high = excess(start)
    step = STEP
    while at_high > 0:
        low, at_low, high = high, at_high, high * step
        at_high, step = excess(high), min(step**4, LARGEST_STEP)
    while at_low <= 0:
        high, at_high, low = low, at_low, low / step
        at_low, step = excess(low), min(step**4, LARGEST_STEP)
    # False position, halving the weight of the end that stays (Illinois).
    while high / low > 1 + ACCURACY:
        middle = low + (high - low) * at_low / (at_low - at_high)
        middle = min(max(middle, low * (1 + ACCURACY / 2)), high * (1 - ACCURACY / 2))
        at_middle = excess(middle)
        if at_middle > 0:
            low, at_low, at_high = middle, at_middle, at_high / 2
        else:
            high, at_high, at_low = middle, at_middle, at_low / 2
    return high


@lru_cache(maxsize=256)
def smallest_crowd(bit_epsilon: float, changed: int, epsilon: float, delta: float) -> int:
    """How many honest people it takes for bits of this local epsilon to keep (epsilon, delta) once summed."""
    _above_zero(delta)
    flip = math.exp(-bit_epsilon) / (1 + math.exp(-bit_epsilon))

    def enough(people: int) -> bool:
        if people > MOST_PEOPLE:
            raise InvalidInput(
                "batch-too-large",
                f"No batch of up to {MOST_PEOPLE:g} people is enough. Ask for a larger epsilon or delta.",
            )
        return shuffled_loss((ShuffledCrowd(flip, people),), changed).delta(epsilon) <= delta

    high = max(2, math.ceil(changed / gaussian_mu(epsilon, delta) ** 2 / ShuffledCrowd(flip, 1).variance))
    low = max(1, high // 2)
    while not enough(high):
        low, high = high, math.ceil(1.25 * high) + 1
    while low > 1 and enough(low):
        low, high = low // 2, low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def with_local(people: tuple[int, ...], changed: int, local: float, apart: bool = False) -> tuple[ShuffledCrowd, ...]:
    """Batches of these sizes with equal variance in which a person gives away at most `local` to the shufflers."""

    def crowds_of(variance: float) -> tuple[ShuffledCrowd, ...]:
        return tuple(ShuffledCrowd.of(variance, size) for size in people)

    def kept(variance: float) -> float:
        return -local_epsilon(crowds_of(variance), changed, apart)

    return crowds_of(bisect(kept, -local, 1e-12, 1e30)[1])


@dataclass(frozen=True)
class Solution:
    """Local epsilon, honest people and epsilon of the sums that belong together, and the flip probability behind them."""

    local_epsilon: float
    people: int
    epsilon: float
    delta: float
    flip: float
    changed_bits: int


def solve(
    changed: int,
    delta: float,
    *,
    epsilon: float | None = None,
    people: int | None = None,
    local: float | None = None,
) -> Solution:
    """The one of three that is missing: epsilon of the sums, honest people in a batch, local epsilon.

    `changed` is how many bits one person may change: `bit_sensitivity(question).l1`.
    """
    for name, value in (("epsilon", epsilon), ("people", people), ("local epsilon", local)):
        if value is not None:
            validation.positive(name, value)
    if people is not None:
        people = validation.integer("people", people, 2, way_out="A batch of one hides no user.")
    if epsilon is not None and local is not None and local <= epsilon:
        raise InvalidInput(
            "batch-local-epsilon-low",
            f"local epsilon must be above epsilon, {epsilon:g}. Got {local:g}. Below it shuffling adds nothing.",
        )
    match (epsilon, people, local):
        case (None, int(), float() | int()):
            crowds = with_local((people,), changed, local)
        case (float() | int(), int(), None):
            crowds = calibrated((people,), changed, epsilon, delta)
        case (float() | int(), None, float() | int()):
            crowds = with_local((smallest_crowd(local / changed, changed, epsilon, delta),), changed, local)
        case _:
            raise InvalidInput(
                "batch-two-of-three", "Give two of epsilon, batch and local epsilon; the third is found."
            )
    achieved = shuffled_loss(crowds, changed).epsilon(_above_zero(delta))
    return Solution(local_epsilon(crowds, changed), crowds[0].people, achieved, delta, crowds[0].flip, changed)
