"""Gaussian noise: the profile on fine and coarse grids, laws of what is sent and summed, joint allocation, radii."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri
from scipy.stats import ks_2samp, kstest, norm

from confide import privacy
from confide.errors import InvalidInput, UnsafeNoise
from confide.mechanisms.gaussian import (
    FINE,
    Gaussian,
    JointGaussian,
    effective_sigma,
    gaussian_loss,
    sigma_for,
)
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.privacy import Central, Concentrated, Local, Sensitivity, keeps, rho_of
from confide.privacy.conversion import gaussian_delta, gaussian_mu
from tests.refusals import refused

FALSE_ALARM = 1e-7
"""How often each comparison with secure noise fails although nothing is wrong."""

NONE = np.zeros(0, dtype=np.int64)
CHANGE = Sensitivity(l1=6.0, l2=3.0, shifts=((1.0, 6),), cells=6)


def discrete(sigma: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The discrete Gaussian over the integers, out to 38 sigma."""
    reach = math.ceil(38 * sigma)
    x = np.arange(-reach, reach + 1)
    law = np.exp(-((x / sigma) ** 2) / 2)
    return x, law / law.sum()


def exact_delta(sigma: float, shifts: tuple[int, ...], epsilon: float) -> float:
    """delta of independent discrete Gaussians over the integers, each moved by its shift, summed over all outcomes.

    The privacy loss is (sum of shift z + |shifts|^2/2)/sigma^2, z the noises, so the law of one integer is enough.
    """
    x, law = discrete(sigma)
    mass = np.ones(1)
    for shift in map(abs, shifts):
        spread = np.zeros(2 * x[-1] * shift + 1)
        spread[:: max(shift, 1)] = law if shift else 1.0
        mass = np.convolve(mass, spread)
    total = np.arange(len(mass)) - len(mass) // 2
    loss = (total + sum(shift**2 for shift in shifts) / 2) / sigma**2
    return float((mass * np.maximum(-np.expm1(np.minimum(epsilon - loss, 1.0)), 0)).sum())


# The profile on a grid.


@pytest.mark.parametrize("ratio", [16, 64])
@pytest.mark.parametrize("steps", [1, 3, 16, 40, 100])
def test_on_a_fine_grid_the_profile_is_that_of_the_effective_sigma(ratio: int, steps: int) -> None:
    """sigma = `ratio` grids, shift = `steps` grids: the exact delta stays below, and only just, what is certified."""
    loss = gaussian_loss(float(steps), float(ratio), 1.0)
    assert isinstance(loss, privacy.GaussianLoss)
    for epsilon in (0.0, 0.05, 0.3, 1.0, 3.0, 8.0):
        exact, certified = exact_delta(float(ratio), (steps,), epsilon), loss.delta(epsilon)
        assert exact <= certified * (1 + 1e-9) + 1e-15
        assert exact >= 0.9 * gaussian_delta(steps / ratio, epsilon) - 1e-15


@pytest.mark.parametrize("shifts", [(1, 1), (3, 4), (16, 1), (12, -20), (0, 16)])
def test_in_two_dimensions_it_holds_in_every_direction(shifts: tuple[int, int]) -> None:
    certified = gaussian_loss(math.hypot(*shifts), 16.0, 1.0)
    for epsilon in (0.02, 0.3, 1.0, 3.0):
        exact = exact_delta(16.0, shifts, epsilon)
        assert exact <= certified.delta(epsilon) * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize(
    ("shifts", "epsilon", "wrong"),
    [((2, 2, 2, 2, 1, 1), 20.0, 0.102), ((1,), privacy.GaussianLoss(1.25).epsilon(0.1), 0.126)],
)
def test_on_a_coarse_grid_the_continuous_profile_is_wrong_so_zcdp_is_used(
    shifts: tuple[int, ...], epsilon: float, wrong: float
) -> None:
    """sigma = .8 on the integers, where the continuous profile claims delta = .1; first, all counts of H = 2."""
    l2 = math.sqrt(sum(shift**2 for shift in shifts))
    sigma = 0.8 if len(shifts) == 1 else l2 / gaussian_mu(20.0, 0.1)
    assert sigma == pytest.approx(0.8, abs=0.01)
    assert gaussian_delta(l2 / sigma, epsilon) == pytest.approx(0.1, rel=1e-6)
    assert exact_delta(sigma, shifts, epsilon) == pytest.approx(wrong, abs=6e-4)
    loss = gaussian_loss(l2, sigma, 1.0)
    assert loss == Concentrated(l2**2 / (2 * sigma**2))
    for at in (epsilon / 2, epsilon, 2 * epsilon):
        assert exact_delta(sigma, shifts, at) <= loss.delta(at)


def test_how_fine_a_grid_must_be() -> None:
    assert effective_sigma(16.0, 1.0) == pytest.approx(math.sqrt(256 - 2.25))
    assert effective_sigma(16.0, 1.0 + 1e-9) is None
    assert effective_sigma(5.0, 0.0) == 5.0


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0, 16.0])
def test_rho_on_any_grid_is_that_of_the_continuous_gaussian(sigma: float) -> None:
    """Renyi divergences of the discrete Gaussian moved by 3, summed over all outcomes, against alpha rho."""
    rho = rho_of(gaussian_loss(3.0, sigma, 1.0))
    assert rho == 9 / (2 * sigma**2)
    x = np.arange(-2000, 2001)
    total = np.exp(-((x / sigma) ** 2) / 2).sum()
    for order in (1.01, 1.5, 2.0, 5.0, 50.0):
        logs = (-order * (x - 3) ** 2 - (1 - order) * x**2) / (2 * sigma**2)
        divergence = (float(logsumexp(logs)) - math.log(total)) / (order - 1)
        assert divergence <= order * rho * (1 + 1e-9)


# Calibration.


@given(st.floats(0.01, 100), st.floats(1e-10, 0.3), st.floats(0.1, 100), st.sampled_from([1.0, 0.5, 1 / 3, 1 / 49]))
def test_calibrated_noise_keeps_its_promise_and_hardly_less(
    epsilon: float, delta: float, l2: float, unit: float
) -> None:
    promise = Local(epsilon, delta)
    change = Sensitivity(l2, l2, ((l2, 1),), 1)
    result = Gaussian.keeping(promise, change, unit)
    assert keeps(result.loss(change), promise)
    assert isinstance(result.loss(change), privacy.GaussianLoss)
    assert not keeps(Gaussian(result.sigma * (1 - 1e-6), result.grid).loss(change), promise)
    assert result.sigma <= l2 / gaussian_mu(epsilon, delta) * 1.0004  # what the grid costs
    assert math.log2(unit / result.grid) == round(math.log2(unit / result.grid))


@given(st.floats(1e-4, 100), st.floats(0.1, 100))
def test_noise_for_rho_is_exact(rho: float, l2: float) -> None:
    change = Sensitivity(l2, l2, ((l2, 1),), 1)
    result = Gaussian.keeping(Central(rho=rho), change, 0.5)
    assert keeps(result.loss(change), Central(rho=rho))
    assert result.sigma == pytest.approx(l2 / math.sqrt(2 * rho), rel=1e-14)


def test_gaussian_noise_needs_delta() -> None:
    with pytest.raises(InvalidInput, match="needs delta above 0"):
        sigma_for(Local(1.0), 1.0, 0.0)
    with pytest.raises(InvalidInput, match="needs delta above 0"):
        Gaussian.keeping(Local(1.0), CHANGE, 1.0)


def test_the_figure_of_the_formula_sheet() -> None:
    """H = 2, pooled counts (l2^2 = 18), epsilon 20, delta .1: what c^2 = 4 ln(24/delta) gives."""
    sigma = 2 * math.sqrt(math.log(240)) * 2 / 20
    assert gaussian_delta(math.sqrt(18) / sigma, 20.0) == pytest.approx(0.986, abs=5e-4)


# The law.


@pytest.mark.parametrize("source", [SecureNoise(), ReplayableNoise(1)])
def test_messages_have_the_stated_sigma_and_no_other(source: NoiseSource) -> None:
    cells = np.arange(6000) % 7 * 0.5
    noise = Gaussian(30.0, 0.25).randomize(cells, NONE, source) - cells
    assert np.array_equal(noise * 4, np.rint(noise * 4))
    smooth = noise + np.random.default_rng(0).uniform(-0.125, 0.125, noise.size)
    assert kstest(smooth, norm(scale=30.0).cdf).pvalue > FALSE_ALARM
    for factor in (2 / 3, 3 / 2):
        assert kstest(smooth, norm(scale=30.0 * factor).cdf).pvalue < FALSE_ALARM


@pytest.mark.parametrize("users", [1, 100])
def test_a_sum_drawn_at_once_has_the_law_of_summed_messages(users: int) -> None:
    mechanism, rng, noise = Gaussian(4.0, 2.0**-8), np.random.default_rng(users), ReplayableNoise(users)
    summed = sum(mechanism.randomize(np.zeros(3000), NONE, noise) for _ in range(users))
    at_once = mechanism.sum_of(np.zeros(3000), users, NONE, rng)
    assert ks_2samp(at_once, summed, method="asymp").pvalue > FALSE_ALARM
    for factor in (2 / 3, 3 / 2):
        assert ks_2samp(factor * at_once, summed, method="asymp").pvalue < FALSE_ALARM
    assert mechanism.variance() * users == pytest.approx(at_once.var(), rel=0.2)
    assert mechanism.estimate(at_once, users, NONE) is at_once


def test_continuous_noise_is_not_drawn_for_a_person() -> None:
    with pytest.raises(UnsafeNoise, match="Choose a grid"):
        Gaussian(1.0).randomize(np.zeros(2), NONE, SecureNoise())


@pytest.mark.parametrize(("sigma", "grid"), [(0, 1), (-1, 1), (math.nan, 1), (1, -1), (1, 1.5)])
def test_bad_parameters_are_refused(sigma: float, grid: float) -> None:
    with pytest.raises(InvalidInput):
        Gaussian(sigma, grid)


def test_how_it_describes_itself() -> None:
    assert Gaussian(2.0, 0.5).describe() == {"name": "discrete-gaussian", "sigma": 2.0, "grid": 0.5}
    assert Gaussian(2.0).describe()["name"] == "gaussian"


# Radii.


@pytest.mark.parametrize("failure", [0.3, 0.05, 1e-4, 1e-9])
@pytest.mark.parametrize("ratio", [16, 64])
def test_the_radius_holds_on_the_grid(failure: float, ratio: int) -> None:
    x, law = discrete(float(ratio))
    radius = float(Gaussian(1.0, 1 / ratio).radius(1, failure)) * ratio
    failing = law[np.abs(x) > radius + 1e-6].sum()
    assert 0.6 * failure <= failing <= failure


def test_the_radius_of_many_is_the_normal_quantile() -> None:
    assert float(Gaussian(2.0).radius(100, 0.05)) == pytest.approx(-2 * 10 * ndtri(0.025))
    result = Gaussian(2.0, 1 / 64).radius([0, 1, 10**8], 1e-6, cells=4)
    assert result[0] == 0
    assert result[2] == pytest.approx(-2 * 2e4 * ndtri(5e-7), rel=1e-6)


# Several statistics at once.


@given(
    st.lists(st.tuples(st.floats(0.1, 50), st.floats(0.01, 100)), min_size=1, max_size=5),
    st.sampled_from([Local(1.0, 1e-6), Central(rho=0.3), Local(10.0, 1e-3)]),
)
def test_a_joint_allocation_keeps_the_promise_and_is_optimal(
    parts: list[tuple[float, float]], promise: privacy.Guarantee
) -> None:
    l2s, weights = (tuple(column) for column in zip(*parts, strict=True))
    result = JointGaussian.keeping(promise, l2s, weights, 1e-6)
    assert keeps(result.loss(CHANGE), promise)
    # Lagrange: at the optimum weight sigma^4 / l2^2 is the same for all parts.
    multipliers = [w * s**4 / d**2 for d, w, s in zip(l2s, weights, result.sigmas, strict=True)]
    assert max(multipliers) == pytest.approx(min(multipliers), rel=1e-6)
    smaller = JointGaussian(tuple(s * (1 - 1e-6) for s in result.sigmas), l2s, 1e-6)
    assert not keeps(smaller.loss(CHANGE), promise)


def test_a_joint_gaussian_is_one_gaussian_of_the_whole() -> None:
    loss = JointGaussian((2.0, 4.0), (6.0, 16.0)).loss(CHANGE)
    assert loss == privacy.GaussianLoss(5.0)


def test_a_joint_gaussian_draws_each_part_with_its_own_sigma() -> None:
    mechanism = JointGaussian((10.0, 40.0), (1.0, 1.0), 0.25)
    small, large = mechanism.randomize([np.zeros(4000), np.ones(4000)], ReplayableNoise(0))
    assert small.std() == pytest.approx(10, rel=0.05)
    assert large.std() == pytest.approx(40, rel=0.05)
    assert large.mean() == pytest.approx(1, abs=3)
    assert mechanism.describe() == {"name": "joint-gaussian", "sigmas": [10.0, 40.0], "grid": 0.25}


def test_a_grid_too_coarse_for_one_part_is_refused() -> None:
    with refused("gaussian-grid-coarse"):
        JointGaussian.keeping(Local(20.0, 0.1), (1.0, 1.0), (1.0, 1e9), 0.25)
    with pytest.raises(InvalidInput, match="positive"):
        JointGaussian.keeping(Local(1.0, 0.1), (1.0, 0.0), (1.0, 1.0), 0.25)
    assert FINE == 16
