"""Conversions against dp-accounting, high-precision arithmetic and closed forms; errors fall on the private side."""

from __future__ import annotations

import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.privacy.conversion import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)

EPSILONS = st.floats(1e-4, 200)
DELTAS = st.floats(1e-12, 0.5)


def exact_gaussian_delta(mu: float, epsilon: float) -> mpmath.mpf:
    """Balle and Wang 2018, Theorem 8, with 60 digits."""
    with mpmath.workdps(60):
        ratio, half, power = mpmath.mpf(epsilon) / mpmath.mpf(mu), mpmath.mpf(mu) / 2, mpmath.exp(mpmath.mpf(epsilon))
        return mpmath.ncdf(half - ratio) - power * mpmath.ncdf(-half - ratio)


def grid_zcdp_delta(rho: float, epsilon: float) -> float:
    """The infimum over orders, by looking at very many of them."""
    log_excess = np.linspace(-25, 25, 200_001)
    excess = np.exp(log_excess)
    alpha = 1 + excess
    logs = excess * (alpha * rho - epsilon) - alpha * np.log1p(1 / excess) - log_excess
    return float(np.exp(min(logs.min(), 0.0)))


def test_the_known_mu() -> None:
    assert gaussian_mu(1, 1e-6) == pytest.approx(0.2367, abs=5e-5)


@pytest.mark.parametrize("mu", [1e-12, 1e-8, 1e-4, 0.01, 0.2367, 1.0, 9.06, 50.0, 1e3])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-3, 0.1, 1.0, 20.0, 1e3, 1e5])
def test_the_gaussian_delta_is_exact_and_never_too_small(mu: float, epsilon: float) -> None:
    exact = exact_gaussian_delta(mu, epsilon)
    result = gaussian_delta(mu, epsilon)
    if exact < 1e-300:
        assert result < 1e-299
        return
    assert result >= min(exact, 1.0)
    assert result <= exact * (1 + 1e-7) + 1e-14


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 1e-3, 0.1])
def test_the_gaussian_agrees_with_dp_accounting(epsilon: float, delta: float) -> None:
    sigma = dp_accounting.get_sigma_gaussian(epsilon, delta)
    assert gaussian_mu(epsilon, delta) == pytest.approx(1 / sigma, rel=1e-6)
    assert gaussian_epsilon(1 / sigma, delta) == pytest.approx(epsilon, rel=1e-6)


@given(EPSILONS, DELTAS)
def test_a_calibrated_mu_keeps_the_promise_and_hardly_less(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert exact_gaussian_delta(mu, epsilon) <= delta
    assert exact_gaussian_delta(mu * (1 + 1e-5), epsilon) > delta


@given(st.floats(1e-3, 30), DELTAS)
def test_an_epsilon_of_a_gaussian_is_kept_and_hardly_less(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    assert exact_gaussian_delta(mu, epsilon) <= delta
    if epsilon > 0:
        assert exact_gaussian_delta(mu, epsilon * (1 - 1e-6)) > delta


@given(EPSILONS, DELTAS)
def test_round_trips_lose_on_the_private_side(epsilon: float, delta: float) -> None:
    back = gaussian_epsilon(gaussian_mu(epsilon, delta), delta)
    assert back == pytest.approx(epsilon, rel=1e-4, abs=1e-8)
    rho = zcdp_rho(epsilon, delta)
    assert zcdp_delta(rho, epsilon) <= delta
    assert zcdp_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-4, abs=1e-6)


@given(st.floats(-6, 6), st.floats(-300, -0.01))
def test_far_out_the_promise_is_still_kept(log_epsilon: float, log_delta: float) -> None:
    """Where the two terms of the profile all but cancel, rounding must not tip the balance."""
    epsilon, delta = 10.0**log_epsilon, 10.0**log_delta
    mu, rho = gaussian_mu(epsilon, delta), zcdp_rho(epsilon, delta)
    assert 0 < gaussian_delta(mu, epsilon) <= delta
    assert exact_gaussian_delta(mu, epsilon) <= delta
    assert zcdp_delta(rho, epsilon) <= delta
    assert rho <= mu**2 / 2
    assert gaussian_delta(mu, gaussian_epsilon(mu, delta)) <= delta
    assert zcdp_delta(rho, zcdp_epsilon(rho, delta)) <= delta


@given(st.floats(-12, 12), st.floats(-12, 12))
def test_zcdp_over_twenty_four_orders_of_magnitude(log_rho: float, log_epsilon: float) -> None:
    assert 0 <= zcdp_delta(10.0**log_rho, 10.0**log_epsilon) <= 1


@given(st.floats(1e-3, 20), st.floats(1.0001, 5), EPSILONS)
def test_more_mu_or_rho_is_less_private_and_more_epsilon_less_delta(mu: float, factor: float, epsilon: float) -> None:
    assert gaussian_delta(mu * factor, epsilon) >= gaussian_delta(mu, epsilon)
    assert gaussian_delta(mu, epsilon * factor) <= gaussian_delta(mu, epsilon)
    assert zcdp_delta(mu * factor, epsilon) >= zcdp_delta(mu, epsilon) * (1 - 1e-7)
    assert zcdp_delta(mu, epsilon * factor) <= zcdp_delta(mu, epsilon) * (1 + 1e-7)


@pytest.mark.parametrize("rho", [1e-8, 1e-3, 0.03, 0.5, 3.0, 50.0, 1e4])
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.1, 1.0, 5.0, 50.0, 1e3, 1e5])
def test_the_zcdp_delta_is_the_infimum_over_orders(rho: float, epsilon: float) -> None:
    exact = grid_zcdp_delta(rho, epsilon)
    result = zcdp_delta(rho, epsilon)
    if exact > 1e-290:
        assert result == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("rho", [0.001, 0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 1e-2])
def test_zcdp_is_no_worse_than_the_renyi_accountant(rho: float, delta: float) -> None:
    accountant = dp_accounting.rdp.RdpAccountant(orders=(1 + np.exp(np.linspace(-6, 8, 4000))).tolist())
    accountant.compose(dp_accounting.GaussianDpEvent(1 / math.sqrt(2 * rho)))
    theirs = accountant.get_epsilon(delta)
    ours = zcdp_epsilon(rho, delta)
    assert ours <= theirs * (1 + 1e-7)
    assert ours == pytest.approx(theirs, rel=2e-3)


@pytest.mark.parametrize("rho", [0.001, 0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 1e-2])
def test_zcdp_never_promises_more_than_a_gaussian_of_that_rho_keeps(rho: float, delta: float) -> None:
    assert zcdp_epsilon(rho, delta) >= gaussian_epsilon(math.sqrt(2 * rho), delta)
    assert zcdp_rho(1.0, delta) <= gaussian_mu(1.0, delta) ** 2 / 2


def test_the_ends_in_closed_form() -> None:
    assert gaussian_delta(0.0, 0.0) == gaussian_epsilon(0.0, 1e-9) == 0.0
    assert zcdp_delta(0.0, 0.0) == zcdp_epsilon(0.0, 1e-9) == 0.0
    # epsilon -> 0: total variation 2 Phi(mu/2) - 1; epsilon -> infinity: nothing.
    assert gaussian_delta(1.0, 0.0) == pytest.approx(math.erf(1 / math.sqrt(8)), rel=1e-12)
    assert gaussian_delta(1.0, 1e4) == 0.0
    assert gaussian_delta(1e4, 1.0) == 1.0
    assert zcdp_delta(1e4, 1.0) == pytest.approx(1.0)
    # mu -> infinity: epsilon ~ mu^2/2; no delta, no guarantee.
    assert gaussian_epsilon(1e3, 0.5) == pytest.approx(1e6 / 2, rel=1e-3)
    assert gaussian_epsilon(1.0, 0.0) == zcdp_epsilon(1.0, 0.0) == math.inf
    assert gaussian_mu(1.0, 0.0) == zcdp_rho(1.0, 0.0) == 0.0
    assert gaussian_epsilon(1e-5, 1e-3) == 0.0
    assert zcdp_epsilon(0.01, 0.99) < 1e-9
    # Large epsilon: rho ~ epsilon, mu ~ sqrt(2 epsilon).
    assert zcdp_rho(1e5, 1e-6) == pytest.approx(1e5, rel=0.05)
    assert gaussian_mu(1e5, 1e-6) == pytest.approx(math.sqrt(2e5), rel=0.05)
