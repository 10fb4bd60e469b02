"""Laplace noise: exact ratios on the grid, the law of what is sent and summed, and radii that hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import gammaln, kve, ndtri
from scipy.stats import ks_2samp, kstest, laplace

from confide.errors import InvalidInput, UnsafeNoise
from confide.mechanisms.laplace import Laplace, laplace_sum_radius
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.privacy import Pure, Sensitivity
from tests.refusals import refused

FALSE_ALARM = 1e-7
"""How often each comparison with secure noise fails although nothing is wrong."""

NONE = np.zeros(0, dtype=np.int64)
CHANGE = Sensitivity(l1=6.0, l2=3.0, shifts=((1.0, 6),), cells=6)


def tail(count: float, radius: float) -> float:
    """P(|sum of `count` Laplace of scale 1| > radius): the variance-gamma density, integrated."""

    def density(x: float) -> float:
        order = count - 0.5
        log = order * math.log(x / 2) + math.log(kve(order, x)) - x - 0.5 * math.log(math.pi) - gammaln(count)
        return math.exp(log)

    return 2 * float(quad(density, radius, math.inf, limit=500, epsabs=0)[0])


def discrete_sum(scale: float, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Support and exact law of the sum of `count` discrete Laplace over the integers."""
    reach = math.ceil(60 * scale) + 1
    law = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    law /= law.sum()
    total = np.ones(1)
    for _ in range(count):
        total = np.convolve(total, law)
    return np.arange(len(total)) - len(total) // 2, total


# Privacy.


@pytest.mark.parametrize(("scale", "grid"), [(3.0, 1.0), (0.5, 0.25), (7.0, 0.5)])
def test_the_worst_ratio_on_the_grid_is_exactly_the_loss(scale: float, grid: float) -> None:
    """Two cells moved by 2 and 1: the largest log-ratio of two outcomes is l1/scale, and it is reached."""
    x = np.arange(-400, 401) * grid
    worst = sum(float(np.max((np.abs(x - shift) - np.abs(x)) / scale)) for shift in (2.0, 1.0))
    loss = Laplace(scale, grid).loss(Sensitivity(3.0, math.sqrt(5), ((2.0, 1), (1.0, 1)), 2))
    assert isinstance(loss, Pure)
    assert loss.value == pytest.approx(worst, rel=1e-12)


def test_the_loss_is_l1_over_the_scale() -> None:
    assert Laplace(3.0, 1.0).loss(CHANGE) == Pure(2.0)


# The law.


def p_value(draws: NDArray[np.float64], scale: float) -> float:
    return float(kstest(draws, laplace(scale=scale).cdf).pvalue)


@pytest.mark.parametrize("source", [SecureNoise(), ReplayableNoise(1)])
def test_messages_have_the_stated_scale_and_no_other(source: NoiseSource) -> None:
    cells = np.arange(6000) % 7 * 0.5
    noise = Laplace(30.0, 0.5).randomize(cells, NONE, source) - cells
    assert np.array_equal(noise * 2, np.rint(noise * 2))
    smooth = noise + np.random.default_rng(0).uniform(-0.25, 0.25, noise.size)
    assert p_value(smooth, 30.0) > FALSE_ALARM
    assert p_value(smooth, 20.0) < FALSE_ALARM
    assert p_value(smooth, 45.0) < FALSE_ALARM


def test_every_cell_has_noise_of_its_own() -> None:
    noise = np.stack([Laplace(9.0, 1.0).randomize(np.zeros(2), NONE, ReplayableNoise(seed)) for seed in range(500)])
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.2


@pytest.mark.parametrize("users", [1, 5, 300])
def test_a_sum_drawn_at_once_has_the_law_of_summed_messages(users: int) -> None:
    mechanism, rng, noise = Laplace(4.0, 2.0**-10), np.random.default_rng(users), ReplayableNoise(users)
    size = 3000
    summed = sum(mechanism.randomize(np.zeros(size), NONE, noise) for _ in range(users))
    at_once = mechanism.sum_of(np.zeros(size), users, NONE, rng)
    assert ks_2samp(at_once, summed, method="asymp").pvalue > FALSE_ALARM
    for factor in (2 / 3, 3 / 2):
        assert ks_2samp(factor * at_once, summed, method="asymp").pvalue < FALSE_ALARM
    assert mechanism.variance() * users == pytest.approx(at_once.var(), rel=0.3)


def test_nobody_sums_to_nothing() -> None:
    totals = np.array([3.0, 1.0])
    drawn = Laplace(1.0).sum_of(totals, 0, NONE, np.random.default_rng(0))
    assert drawn.tolist() == [3.0, 1.0]
    assert drawn is not totals


def test_an_estimate_is_the_sum_itself() -> None:
    assert Laplace(1.0).estimate(np.array([2.5]), 3, NONE).tolist() == [2.5]


# What must not happen.


def test_continuous_noise_is_not_drawn_for_a_person() -> None:
    with pytest.raises(UnsafeNoise, match="Choose a grid"):
        Laplace(1.0).randomize(np.zeros(2), NONE, SecureNoise())


def test_counts_between_the_points_of_the_grid_are_refused() -> None:
    with refused("counts-off-grid", match=r"grid 0\.5"):
        Laplace(1.0, 0.5).randomize(np.array([0.25]), NONE, ReplayableNoise(0))
    with pytest.raises(InvalidInput):
        Laplace(1.0, 1.0).randomize(np.array([np.nan]), NONE, ReplayableNoise(0))


@given(st.integers(1, 4096), st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=20))
def test_counts_on_any_public_grid_are_accepted_and_leave_no_digits(levels: int, counts: list[int]) -> None:
    """1/levels is no float and neither are its multiples; noise must not leave what floats rounded off."""
    grid = 1 / levels
    sent = Laplace(2.0, grid).randomize(np.array(counts) / levels, NONE, ReplayableNoise(0))
    whole = np.rint(sent / grid)
    assert np.array_equal(sent, grid * whole)


@pytest.mark.parametrize(
    ("scale", "grid"), [(0, 1), (-1, 1), (math.nan, 1), (math.inf, 1), (1, -0.1), (1, 2), (1, math.nan)]
)
def test_bad_parameters_are_refused(scale: float, grid: float) -> None:
    with pytest.raises(InvalidInput):
        Laplace(scale, grid)


def test_how_it_describes_itself() -> None:
    assert Laplace(2.0, 0.5).describe() == {"name": "discrete-laplace", "scale": 2.0, "grid": 0.5}
    assert Laplace(2.0).describe()["name"] == "laplace"


# Radii.


@pytest.mark.parametrize("count", [1, 1.25, 2, 5, 50, 100])
@pytest.mark.parametrize("failure", [0.5, 0.05, 1e-4, 1e-9, 1e-12])
def test_a_radius_fails_no_more_often_than_it_says_and_hardly_less(count: float, failure: float) -> None:
    failing = tail(count, float(laplace_sum_radius(1.0, count, failure)))
    assert failing <= failure * (1 + 1e-9)
    assert failing >= 0.95 * failure


@pytest.mark.parametrize("count", [1e4, 1e8, 1e12, 1e15])
@pytest.mark.parametrize("failure", [0.05, 1e-6, 1e-12])
def test_the_radius_of_very_many_is_normal(count: float, failure: float) -> None:
    normal = math.sqrt(2 * count) * -float(ndtri(failure / 2))
    assert normal < float(laplace_sum_radius(1.0, count, failure)) < 1.003 * normal


def test_the_radius_of_ten_thousand_by_drawing() -> None:
    draws = Laplace(2.0).sum_of(np.zeros(200_000), 10_000, NONE, np.random.default_rng(3))
    radius = float(laplace_sum_radius(2.0, 10_000, 0.01))
    failing = float((np.abs(draws) > radius).mean())
    assert 0.008 < failing < 0.011


def test_radii_take_arrays_and_nobody_errs_by_nothing() -> None:
    result = Laplace(2.0, 0.5).radius([0, 1, 100], 0.05)
    assert result.shape == (3,)
    assert result[0] == 0
    assert result[1] < result[2]
    assert float(Laplace(2.0).radius(4, 0.05, cells=3)) == float(laplace_sum_radius(2.0, 12, 0.05))
    assert float(Laplace(2.0).radius(4, 0.05, cells=0)) == 0


@pytest.mark.parametrize("scale", [0.3, 0.6, 2.0])
@pytest.mark.parametrize("count", [1, 2, 7, 30])
@pytest.mark.parametrize("failure", [0.1, 1e-3, 1e-6])
def test_on_a_coarse_grid_the_radius_holds_too(scale: float, count: int, failure: float) -> None:
    """At large epsilon the scale is below one grid, and a quantile of smooth noise would fall between its points."""
    support, law = discrete_sum(scale, count)
    radius = float(Laplace(scale, 1.0).radius(count, failure))
    assert radius == round(radius)
    assert law[np.abs(support) > radius].sum() <= failure


def test_the_radius_of_a_reward_derived_from_halves_holds() -> None:
    """Centred rewards plus half a row of six transitions, each with noise: priced as 1 + 6/4 cells."""
    rng, users, failure = np.random.default_rng(5), 3, 0.01
    mechanism = Laplace(1.0)
    draws = mechanism.sum_of(np.zeros((200_000, 7)), users, NONE, rng) @ np.array([1.0] + [0.5] * 6)
    radius = float(mechanism.radius(users, failure, cells=2.5))
    assert 0.5 * failure < (np.abs(draws) > radius).mean() < failure
