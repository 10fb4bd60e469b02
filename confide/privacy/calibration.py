"""From a guarantee to noise: the least noise that keeps it, and the guarantee that given noise keeps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ..errors import InvalidInput, PrivacyError
from .conversion import bisect, gaussian_epsilon
from .guarantee import NONE, Guarantee
from .loss import Loss, Mechanism, Pure, Sensitivity, rho_of

M = TypeVar("M", bound=Mechanism)


def keeps(loss: Loss, guarantee: Guarantee) -> bool:
    """Whether a loss stays within a guarantee."""
    if guarantee.rho is not None:
        rho = rho_of(loss)
        return rho is not None and rho <= guarantee.rho
    if guarantee.epsilon is None:
        return True
    if guarantee.delta == 0:
        return isinstance(loss, Pure) and loss.value <= guarantee.epsilon
    return loss.delta(guarantee.epsilon) <= guarantee.delta


def least_noise(
    make: Callable[[float], M],
    sensitivity: Sensitivity,
    guarantee: Guarantee,
    start: float = 1.0,
    tolerance: float = 1e-9,
) -> M:
    """The mechanism `make(size)` of least size that keeps the guarantee; `make` must lose less as its size grows.

    Knows no mechanism: it only asks for the loss. The result is verified, so an error of the search costs noise, never
    privacy.
    """

    def excess(size: float) -> float:
        return 1.0 if keeps(make(size).loss(sensitivity), guarantee) else -1.0

    low = high = start
    while excess(high) < 0:
        low, high = high, high * 4
        if high > 1e15:
            raise InvalidInput(
                "no-noise-keeps",
                f"No noise keeps {guarantee} with this mechanism. Choose another mechanism, or give a delta.",
            )
    while low == high or excess(low) > 0:
        low, high = low / 4, low
        if low < 1e-15:
            break
    while high / low > 1 + tolerance:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    chosen = make(high)
    if not keeps(chosen.loss(sensitivity), guarantee):
        raise calibration_failed(guarantee)
    return chosen


def calibration_failed(guarantee: Guarantee) -> PrivacyError:
    """The error for noise that does not keep what was asked for, which only a mistake in the code can cause."""
    return PrivacyError(
        "calibration-failed", f"Calibration failed to keep {guarantee}; nothing was released. Please report this."
    )


def settled(size: float, good: Callable[[float], bool], towards: float) -> float:
    """The first float from `size` in one direction that is good: division and roots leave a last digit to settle."""
    while not good(size):
        size = math.nextafter(size, towards)
    return size


def one_of(promise: Guarantee, times: int, *, gaussian: bool = False, pure: bool = False) -> Guarantee:
    """The guarantee of each of `times` reports of one user that together keep the requested one.

    rho, and epsilon without delta, are shared. With delta, mu^2 of Gaussian noise is; of pure noise the largest epsilon that keeps
    the guarantee as exactly composed (`Pure`); of any other noise epsilon and delta are shared, which always holds.
    """
    if times == 1:
        return promise
    if promise.rho is not None:
        whole = promise.rho
        return replace(promise, rho=settled(whole / times, lambda rho: rho * times <= whole, 0.0))
    epsilon = promise.epsilon or 0.0
    if promise.delta and gaussian:
        alone = gaussian_epsilon(promise.mu(1 / times), promise.delta) * (1 - 1e-9)
        if alone > 0:
            return replace(promise, epsilon=alone)
    if promise.delta and pure:
        least, _ = bisect(
            lambda one: Pure(one * times, times).delta(epsilon), promise.delta, epsilon / times / 2, epsilon
        )
        return replace(promise, epsilon=least, delta=0.0)
    share = settled(epsilon / times, lambda one: one * times <= epsilon, 0.0)
    return replace(promise, epsilon=share, delta=promise.delta / times)


def true_guarantee(loss: Loss, requested: Guarantee) -> Guarantee:
    """The guarantee that a loss keeps, in the currency that was requested: the epsilon at that delta, or the rho.

    An infinite epsilon at that delta cannot be written as a guarantee, so the delta at the requested epsilon is given; where
    that is 1, nothing is guaranteed, and the guarantee is that of no privacy.
    """
    if requested.rho is not None:
        rho = rho_of(loss)
        if rho is None:
            raise InvalidInput(
                "mechanism-without-rho", f"This mechanism has no rho. Ask for epsilon and delta instead of {requested}."
            )
        return replace(requested, rho=rho)
    if requested.epsilon is None:
        return requested
    epsilon = loss.epsilon(requested.delta)
    if math.isfinite(epsilon):
        return replace(requested, epsilon=max(epsilon, 1e-12))
    delta = loss.delta(requested.epsilon)
    if delta >= 1:
        return Guarantee(NONE, unit=requested.unit, neighbours=requested.neighbours)
    return replace(requested, delta=delta)
