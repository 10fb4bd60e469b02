"""Intervals over seeds: what they are in closed form, and how often they hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, t

from confide.analysis.reporting.intervals import (
    CONFIDENCE,
    DASH,
    SeedInterval,
    mean_interval,
    power_interval,
    ratio_interval,
)

GROUPS, ALARM = 2000, 1e-6
"""Groups of seeds that are drawn, and the false-alarm rate: how often a bound below fails although all is right."""

LEAST_COVERAGE, MOST_BEHIND = 0.93, 0.03
"""The goals, which are tested two-sidedly: intervals that hold less often must fail."""


def drawn(seeds: int, seed: int) -> np.ndarray:
    """(GROUPS, seeds) values that are skewed as regrets are: lognormal, of mean 1 and deviation 0.3."""
    deviation = math.sqrt(math.log(1 + 0.3**2))
    return np.random.default_rng(seed).lognormal(-(deviation**2) / 2, deviation, (GROUPS, seeds))


@pytest.mark.parametrize("seeds", [2, 3, 5, 10, 20])
def test_the_mean_is_covered(seeds: int) -> None:
    """Seeds are fixed; with others it would fail with probability `ALARM`, if coverage is what is stated. An interval that is
    not given holds nothing, and says nothing wrong; from five seeds on there are none."""
    found = [mean_interval(group) for group in drawn(seeds, 1)]
    given = [each for each in found if each.low is not None and each.high is not None]
    missed = sum(not each.low <= 1 <= each.high for each in given)  # type: ignore[operator]
    assert missed <= binom.isf(ALARM, GROUPS, 1 - CONFIDENCE) and missed <= (1 - LEAST_COVERAGE) * GROUPS
    assert len(given) > {2: 0.9, 3: 0.99, 5: 0.999, 10: 0.999, 20: 0.999}[seeds] * GROUPS


@pytest.mark.parametrize("seeds", [2, 3, 5, 10, 20])
def test_equal_sides_are_seldom_said_to_differ(seeds: int) -> None:
    found = [ratio_interval(*both) for both in zip(drawn(seeds, 2), drawn(seeds, 3), strict=True)]
    behind, ahead = sum(each.above_one for each in found), sum(each.below_one for each in found)
    assert max(behind, ahead) <= min(MOST_BEHIND * GROUPS, binom.isf(ALARM, GROUPS, (1 - CONFIDENCE) / 2))


@pytest.mark.parametrize(("seeds", "factor"), [(5, 0.3), (10, 0.5), (20, 0.65)])
def test_sides_that_differ_are_told_apart(seeds: int, factor: float) -> None:
    """An interval that says nothing would pass the tests above."""
    found = [ratio_interval(factor * one, other) for one, other in zip(drawn(seeds, 2), drawn(seeds, 3), strict=True)]
    assert sum(each.below_one for each in found) > 0.8 * GROUPS


def test_a_percentile_bootstrap_would_be_noticed() -> None:
    """The tests above can fail: what was printed before covers 75 % at three seeds."""
    groups = drawn(3, 1)[:400]
    picks = np.random.default_rng(0).integers(3, size=(1000, 3))
    ends = [np.quantile(group[picks].mean(axis=1), (0.025, 0.975)) for group in groups]
    assert np.mean([low <= 1 <= high for low, high in ends]) < 0.85


def moderated(*groups: np.ndarray) -> tuple[float, float]:
    """Variance of the sum of the means of relative deviations, and degrees of freedom, written out with the constants of the
    page: six seeds of deviation 0.4."""
    parts = [
        (6 * 0.16 + (len(group) - 1) * (group / group.mean()).var(ddof=1)) / (len(group) + 5) / len(group)
        for group in groups
    ]
    free = sum(parts) ** 2 / sum(part**2 / (len(group) + 5) for part, group in zip(parts, groups, strict=True))
    return sum(parts), free


def test_the_mean_has_students_interval_below_and_that_of_its_reciprocal_above() -> None:
    values = np.array([2.0, 3.0, 4.0, 3.0])
    variance, free = moderated(values)
    assert (variance, free) == (pytest.approx((0.96 + 3 * (2 / 27)) / 9 / 4), pytest.approx(9.0)), "by hand"
    error = t.ppf(0.985, free) * math.sqrt(variance)
    assert mean_interval(values) == pytest.approx((3.0, 3 * (1 - error), 3 / (1 - error)))
    assert mean_interval(np.array([1.0, 1.0, 16.0])) == SeedInterval(6.0), "of which seeds do not tell the size"


def test_seeds_that_happen_to_be_equal_have_a_width_that_fades() -> None:
    widths = [mean_interval(np.full(count, 7.0)).high for count in (2, 3, 5, 10, 20, 1000)]
    assert widths == sorted(widths, reverse=True)  # type: ignore[type-var]
    assert widths[1] == pytest.approx(7 / (1 - t.ppf(0.985, 8) * math.sqrt(0.96 / 8 / 3))) and widths[-1] < 7.02  # type: ignore[operator]


def test_a_mean_without_logarithm_has_students_interval() -> None:
    values = np.array([-1.0, 0.5, 1.0, 3.5])
    half = t.ppf(0.99, 3) * values.std(ddof=1) / 2
    assert mean_interval(values) == pytest.approx((1.0, 1 - half, 1 + half))
    assert mean_interval(np.zeros(4)) == (0.0, 0.0, 0.0)


def test_the_ratio_has_welchs_interval_with_moderated_variances() -> None:
    one, other = np.array([0.8, 1.0, 1.2, 1.0]), np.array([0.9, 1.2, 0.9])
    found = ratio_interval(one, other)
    variance, free = moderated(one, other)
    error = t.ppf(0.985, free) * math.sqrt(variance)
    assert found == pytest.approx((1.0, 1 - error, 1 / (1 - error)))
    swapped, scaled = ratio_interval(other, one), ratio_interval(7 * one, other)
    assert (swapped.low, swapped.high) == pytest.approx((1 / found.high, 1 / found.low))  # type: ignore[operator]
    assert scaled == pytest.approx([7 * end for end in found])  # type: ignore[operator]


def test_what_is_below_the_least_counts_as_the_least() -> None:
    nothing, much = np.zeros(3), np.array([20.0, 22.0, 18.0])
    equal = ratio_interval(nothing, nothing, 1.0)
    assert equal.value == 1 and not equal.above_one and not equal.below_one
    assert ratio_interval(much, nothing, 1.0).above_one
    assert ratio_interval(much, nothing)[1:] == (None, None) and math.isinf(ratio_interval(much, nothing).value)


def test_a_power_has_the_interval_of_its_slope() -> None:
    places = np.array([1.0, 10.0, 100.0])
    rows = np.outer([1.0, 1.3, 0.7], places**0.5)
    assert power_interval(places, rows) == pytest.approx((0.5, 0.5, 0.5)), "a factor that a seed has at all places"
    bent = rows * np.array([[1.0, 1.0, 1.2], [1.0, 1.0, 0.8], [1.0, 1.0, 1.0]])
    means, weights = bent.mean(axis=0), np.array([-0.5, 0.0, 0.5]) / math.log(10)
    scores = (bent / means * weights).sum(axis=1)
    half = t.ppf(0.99, 2) * scores.std(ddof=1) / math.sqrt(3)
    found = power_interval(places, bent)
    assert found.value == pytest.approx((weights * np.log(means)).sum())
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))


def test_one_seed_has_no_interval_and_no_verdict() -> None:
    one, two = np.array([5.0]), np.array([1.0, 1.1])
    found = [mean_interval(one), ratio_interval(one, two), ratio_interval(two, one), power_interval(two, two[None])]
    for each in found:
        assert each[1:] == (None, None) and not each.above_one and not each.below_one and each.ends(".3g") == DASH
    assert found[0].text() == "5 (-)" and SeedInterval(2.0, 1.5, 3.0).text() == "2 (1.5 to 3)"
