"""The account of Skellam noise: against its law written down directly, the published bound, and exact losses."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import skellam

from confide.errors import InvalidInput
from confide.lab.audit.shufflers import log_law_of_sum, shares_loss
from confide.mechanisms.skellam import SkellamShare
from confide.privacy import Disclosed
from confide.privacy.conversion import gaussian_mu
from confide.privacy.skellam import ORDERS, RenyiLoss, divergence, least_rate, log_law, log_moment, skellam_loss

VARIANCES = (8.0, 25.0, 400.0)


def published(variance: float, l1: float, l2: float, order: int) -> float:
    """Agarwal, Kairouz and Liu (2021), Theorem 3.5."""
    more = min(((2 * order - 1) * l2**2 + 6 * l1) / (4 * variance**2), 3 * l1 / (2 * variance))
    return order * l2**2 / (2 * variance) + more


@pytest.mark.parametrize("variance", VARIANCES)
def test_the_law_is_that_of_two_poisson_variables(variance: float) -> None:
    law = log_law(variance, 400).values
    expected = skellam.logpmf(np.arange(-400, 401), variance / 2, variance / 2)
    likely = expected > -200
    np.testing.assert_allclose(law[likely], expected[likely], rtol=1e-9)
    assert math.fsum(np.exp(law)) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("order", [2, 5, 16])
def test_a_divergence_is_what_its_sum_says(variance: float, shift: int, order: int) -> None:
    far = int(order * shift + 30 * math.sqrt(variance)) + 100
    places = np.arange(-far, far + 1)
    law = log_law(variance, far + shift).values
    here, moved = law[shift:-shift], law[: len(law) - 2 * shift]
    assert len(here) == len(places)
    direct = float(logsumexp(order * moved - (order - 1) * here)) / (order - 1)
    assert direct <= divergence(variance, shift, order) <= direct + 1e-8
    assert divergence(variance, shift, order) <= published(variance, shift, shift, order) + 1e-8


@pytest.mark.parametrize("variance", [8.0, 30.0, 1000.0])
def test_ratios_of_neighbours_lie_between_two_roots(variance: float) -> None:
    """By which tails are bounded: asinh(k/m) <= -log p(k+1)/p(k) <= asinh((k+1)/m), for negative k too; and they fall in k."""
    law, k = log_law(variance, 500).values, np.arange(-500, 500)
    falls = -np.diff(law)
    assert (np.arcsinh(k / variance) <= falls + 1e-11).all()
    assert (falls <= np.arcsinh((k + 1) / variance) + 1e-11).all()
    assert (np.diff(falls) > -1e-11).all()


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize(("shift", "order"), [(1, 2), (3, 2), (1, 9), (3, 9), (9, 3)])
def test_a_table_that_is_too_short_never_tells_too_little(variance: float, shift: int, order: int) -> None:
    """What lies beyond the table is charged: the bound holds however early it ends, and is what the sum is once it is long."""
    far = int(order * shift + 20 * math.sqrt(variance)) + 100
    wide = log_law(variance, far + shift)
    exact = log_moment(wide, shift, order, far)
    bounds = [log_moment(wide, shift, order, most) for most in range(far)]
    own = [log_moment(log_law(variance, most + shift), shift, order, most) for most in range(0, far, 7)]
    assert min(*bounds, *own) >= exact - 1e-9
    finite = np.isfinite(bounds)
    first = int(finite.argmax())
    assert finite[first:].all() and first >= shift, "once terms fall they go on falling"
    assert bounds[first] > exact + 0.01, "the first table is short indeed"
    assert bounds[first + int(12 * math.sqrt(variance)) + 30] <= exact + 1e-9


@pytest.mark.parametrize("variance", [8.0, 400.0])
def test_rounding_is_as_little_as_is_charged(variance: float) -> None:
    most = 300
    law = log_law(variance, most)
    with mpmath.workdps(60):
        exact = [mpmath.log(mpmath.besseli(k, variance)) for k in range(most + 1)]
        whole = mpmath.log(mpmath.exp(exact[0]) + 2 * sum(map(mpmath.exp, exact[1:])))
        for k in range(most):
            step = law.values[most + k + 1] - law.values[most + k]
            assert abs(step - (exact[k + 1] - exact[k])) <= law.one + 4e-16 * abs(law.values[most + k])
            assert abs(law.values[most + k] - (exact[k] - whole)) <= law.whole
    assert 0 < law.one < 1e-12 and law.whole < 1e-9, "and no more than that"


def test_cells_that_share_a_change_are_no_worse_than_the_bound() -> None:
    """Whatever vector within l1 and l2: its divergences, cell by cell, add up to no more than is charged."""
    rng, variance = np.random.default_rng(0), 30.0
    l1, l2 = 12.0, math.sqrt(30.0)
    curve = dict(skellam_loss(variance, l1, l2).curve)
    tried = 0
    for _ in range(3000):
        vector = rng.integers(-5, 6, size=rng.integers(1, 9))
        if 0 < np.abs(vector).sum() <= l1 and (vector**2).sum() <= l2**2:
            tried += 1
            for order in (2, 8, 32):
                told = sum(divergence(variance, int(abs(each)), order) for each in vector if each)
                assert told <= curve[order] + 1e-7
    assert tried > 100


@pytest.mark.parametrize(
    ("epsilon", "delta", "shifts"), [(1.0, 1e-6, [2, 2, 1]), (0.5, 1e-4, [1] * 6), (3.0, 1e-6, [4])]
)
def test_the_exact_loss_of_two_vectors_keeps_what_is_promised(epsilon: float, delta: float, shifts: list[int]) -> None:
    l1, l2 = float(sum(shifts)), math.sqrt(sum(each**2 for each in shifts))
    rate = least_rate(epsilon, delta, l1, l2)

    def exact(people: int) -> float:
        """With the noise of one of this many devices that share it."""
        law = log_law_of_sum(SkellamShare(rate, people), 1)
        return shares_loss(law, math.sqrt(2 * rate / people), shifts).delta(epsilon)

    assert exact(1) <= delta
    assert exact(2) > delta, "half the noise would not do"


def test_noise_is_little_more_than_a_gaussians() -> None:
    """RiverSwim of 6 states, 20 steps, a budget of 40, on a grid of halves: 49.6 counts, where a Gaussian takes 46.3."""
    l1, l2 = 2 * 80.0, 2 * math.sqrt(120.0)
    deviation = math.sqrt(2 * least_rate(1.0, 1e-6, l1, l2)) / 2
    assert deviation == pytest.approx(49.6, abs=0.2)
    assert math.sqrt(120.0) / gaussian_mu(1.0, 1e-6) == pytest.approx(46.28, abs=0.01)


def test_what_is_cut_off_is_charged() -> None:
    bare, cut = skellam_loss(100.0, 2.0, 2.0), skellam_loss(100.0, 2.0, 2.0, 1e-8)
    assert cut.delta(1.0) - bare.delta(1.0) == pytest.approx((1 + math.e) * 1e-8)
    assert cut.epsilon(1e-6) > bare.epsilon(1e-6)
    assert cut.epsilon(1e-9) == math.inf and bare.epsilon(0.0) == math.inf


def test_epsilon_and_delta_belong_together() -> None:
    loss = skellam_loss(500.0, 6.0, 4.0)
    epsilon = loss.epsilon(1e-6)
    assert loss.delta(epsilon) <= 1e-6 < loss.delta(epsilon * (1 - 1e-6))
    gaussian = RenyiLoss(tuple((order, order * 16 / 1000) for order in ORDERS))
    assert gaussian.epsilon(1e-6) <= epsilon * (1 + 1e-9)


def test_too_little_noise_is_refused() -> None:
    with pytest.raises(InvalidInput):
        skellam_loss(1.0, 1.0, 1.0)
    assert Disclosed().delta(1.0) == 1.0
    with pytest.raises(TypeError):
        skellam_loss(100.0, 1.0, 1.0).distribution()
