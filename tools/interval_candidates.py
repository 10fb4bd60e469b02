"""Intervals that were tried over seeds, for many groups at once: values are (groups, seeds), ends are (groups,).

`python -m tools.interval_coverage` measures how often each holds the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

Array: TypeAlias = NDArray[np.float64]
Ends: TypeAlias = tuple[Array, Array]
TAIL, RESAMPLES = 0.025, 500


def moments(values: Array) -> tuple[int, Array, Array]:
    """How many seeds, the mean of each group, and its standard error."""
    count = values.shape[1]
    return count, values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(count)


def resampled(values: Array, seed: int = 0) -> Array:
    """(groups, RESAMPLES, seeds) values drawn with replacement."""
    picks = np.random.default_rng(seed).integers(values.shape[1], size=(len(values), RESAMPLES, values.shape[1]))
    return np.asarray(np.take_along_axis(values[:, None, :], picks, axis=2))


def percentile(values: Array) -> Ends:
    """The middle 95 % of resampled means."""
    low, high = np.quantile(resampled(values).mean(axis=2), (TAIL, 1 - TAIL), axis=1)
    return low, high


def student(values: Array) -> Ends:
    """Student's interval."""
    count, mean, error = moments(values)
    half = stdtrit(count - 1, 1 - TAIL) * error
    return mean - half, mean + half


def student_on_logarithms(values: Array) -> Ends:
    """Student's interval of the logarithm of the mean, by the delta method."""
    count, mean, error = moments(values)
    factor = np.exp(stdtrit(count - 1, 1 - TAIL) * error / mean)
    return mean / factor, mean * factor


def student_on_logarithms_99(values: Array) -> Ends:
    """The same with the 99 % quantile at each end."""
    count, mean, error = moments(values)
    factor = np.exp(stdtrit(count - 1, 0.99) * error / mean)
    return mean / factor, mean * factor


def bootstrap_t(values: Array) -> Ends:
    """Quantiles of the studentised resampled logarithms of means in place of Student's."""
    count, mean, error = moments(values)
    again = resampled(values)
    means, errors = again.mean(axis=2), again.std(axis=2, ddof=1) / np.sqrt(count)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(errors > 0, np.log(means / mean[:, None]) * means / errors, np.nan)
    low, high = np.nanquantile(scores, (TAIL, 1 - TAIL), axis=1)
    with np.errstate(over="ignore"):
        return mean * np.exp(-high * error / mean), mean * np.exp(-low * error / mean)


def bca(values: Array) -> Ends:
    """The bootstrap that is corrected for bias and acceleration."""
    count, mean, _ = moments(values)
    means = np.sort(resampled(values).mean(axis=2), axis=1)
    below = (means < mean[:, None]).mean(axis=1) + (means == mean[:, None]).mean(axis=1) / 2
    bias = ndtri(np.clip(below, 1 / RESAMPLES, 1 - 1 / RESAMPLES))
    without = (mean[:, None] * count - values) / (count - 1)
    away = without.mean(axis=1, keepdims=True) - without
    acceleration = (away**3).sum(axis=1) / (6 * (away**2).sum(axis=1) ** 1.5)
    ends = []
    for tail in (TAIL, 1 - TAIL):
        score = bias + ndtri(tail)
        place = (RESAMPLES * ndtr(bias + score / (1 - acceleration * score))).astype(int).clip(0, RESAMPLES - 1)
        ends.append(means[np.arange(len(means)), place])
    return ends[0], ends[1]


def freedom(one: Array, other: Array, count: int) -> Array:
    """Satterthwaite's degrees of freedom of two variances of means of as many seeds."""
    return np.asarray((one + other) ** 2 / ((one**2 + other**2) / (count - 1)))


def percentile_ratio(values: Array, others: Array) -> Ends:
    """The middle 95 % of ratios of resampled means."""
    ratios = resampled(values, 1).mean(axis=2) / resampled(others, 2).mean(axis=2)
    low, high = np.quantile(ratios, (TAIL, 1 - TAIL), axis=1)
    return low, high


def welch_on_logarithms(values: Array, others: Array) -> Ends:
    """Welch's interval of the difference of the logarithms of means, by the delta method."""
    (count, mean, error), (_, mean_two, error_two) = moments(values), moments(others)
    one, two = (error / mean) ** 2, (error_two / mean_two) ** 2
    factor = np.exp(stdtrit(freedom(one, two, count), 1 - TAIL) * np.sqrt(one + two))
    return mean / mean_two / factor, mean / mean_two * factor


def fieller(values: Array, others: Array) -> Ends:
    """Fieller's set of ratios r for which mean - r mean_two is not far from 0; without end where the divisor may be 0."""
    (count, mean, error), (_, mean_two, error_two) = moments(values), moments(others)
    squared = stdtrit(freedom(error**2, error_two**2, count), 1 - TAIL) ** 2
    leading = mean_two**2 - squared * error_two**2
    root = np.sqrt(np.maximum(mean**2 * mean_two**2 - leading * (mean**2 - squared * error**2), 0.0))
    bounded = leading > 0
    safe = np.where(bounded, leading, 1.0)
    low, high = (mean * mean_two - root) / safe, (mean * mean_two + root) / safe
    return np.where(bounded, low, -np.inf), np.where(bounded, high, np.inf)


MEANS: dict[str, Callable[[Array], Ends]] = {
    "percentile bootstrap (until 0.1)": percentile,
    "BCa bootstrap": bca,
    "bootstrap-t on logarithms": bootstrap_t,
    "Student": student,
    "Student on logarithms": student_on_logarithms,
    "Student on logarithms, 99 % quantile": student_on_logarithms_99,
}
RATIOS: dict[str, Callable[[Array, Array], Ends]] = {
    "percentile bootstrap (until 0.1)": percentile_ratio,
    "Fieller": fieller,
    "Welch on logarithms": welch_on_logarithms,
}
