"""Tables of losses and quantiles in numpy and the standard library, against dp-accounting and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from confide.privacy import conversion, shuffling
from confide.privacy.quantiles import chi_square_radius, normal_cdf, normal_quantile
from confide.privacy.shuffling import LEFT_OUT, LossTable, ShuffledCrowd, convolved
from confide.protocol.trusts.mixing import people_in_sum


def profile(crowd: ShuffledCrowd, width: float) -> tuple[int, np.ndarray]:
    top = math.ceil(crowd.bit_epsilon / width)
    grid = np.arange(top + 1) * width
    above = shuffling._profile(crowd, np.exp(grid), 64)
    below = -np.expm1(-grid) + np.exp(-grid) * above
    return -top, np.minimum.accumulate(np.concatenate([below[:0:-1], above]).clip(0.0, 1.0))


@pytest.mark.parametrize("times", [1, 2, 7, 40])
@pytest.mark.parametrize("crowd", [ShuffledCrowd(0.25, 100), ShuffledCrowd(0.02, 3000)])
def test_a_table_is_that_of_dp_accounting(crowd: ShuffledCrowd, times: int) -> None:
    from dp_accounting.pld import pld_pmf

    width = shuffling._width([crowd])
    lowest, deltas = profile(crowd, width)
    theirs = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(width, lowest, -lowest, deltas).to_dense_pmf()
    theirs = theirs.self_compose(times, LEFT_OUT)
    ours = LossTable.connecting(width, lowest, deltas).repeated(times, LEFT_OUT)
    both = theirs.compose(theirs, LEFT_OUT), ours.with_another(ours, LEFT_OUT)
    for their, our in ((theirs, ours), both):
        for epsilon in (0.0, 0.1, 0.5, 1.0, 3.0):
            assert our.delta(epsilon) == pytest.approx(their.get_delta_for_epsilon(epsilon), rel=1e-8, abs=1e-13)
        for delta in (1e-9, 1e-6, 1e-3, 0.5):
            assert our.epsilon(delta) == pytest.approx(their.get_epsilon_for_delta(delta), rel=1e-6, abs=1e-9)
    assert ours.distribution().get_delta_for_epsilon(0.5) == pytest.approx(ours.delta(0.5))


def test_epsilon_and_delta_belong_together_and_a_wrong_table_is_noticed() -> None:
    table = LossTable(0.25, -2, np.array([0.1, 0.2, 0.3, 0.2, 0.15]), 0.05)
    by_hand = 0.05 + 0.15 * -math.expm1(0.3 - 0.5)  # only the loss 0.5 is above 0.3
    assert table.delta(0.3) == pytest.approx(by_hand, rel=1e-14)
    for delta in (0.06, 0.1, 0.2, 0.3):
        epsilon = table.epsilon(delta)
        assert table.delta(epsilon) == pytest.approx(delta) or (epsilon == 0 and table.delta(0) <= delta)
    assert table.epsilon(0.04) == math.inf and table.epsilon(0.9) == 0
    halved = LossTable(0.125, -2, table.probabilities, 0.05)
    assert halved.delta(0.2) < 0.9 * table.delta(0.2)


def test_a_convolution_is_the_sum_of_products() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.dirichlet(np.ones(37)), rng.dirichlet(np.ones(300))
    assert np.allclose(convolved(one, other), np.convolve(one, other), atol=1e-16)


def test_quantiles_are_those_of_scipy() -> None:
    for probability in (1e-300, 1e-20, 1e-6, 0.02425, 0.3, 0.5, 0.9, 1 - 1e-9):
        assert normal_quantile(probability) == pytest.approx(special.ndtri(probability), rel=1e-12, abs=1e-15)
    assert normal_quantile(0.0) == -math.inf and normal_quantile(1.0) == math.inf
    x = np.array([-37.0, -8.0, -1.0, 0.0, 2.5])
    assert np.allclose(normal_cdf(x), special.ndtr(x), rtol=1e-12, atol=0)
    for degrees in (1, 2, 3, 10, 55.0, 1000):
        for failure in (0.5, 0.05, 1e-6, 1e-12):
            assert chi_square_radius(degrees, failure) == pytest.approx(special.chdtri(degrees, failure), rel=1e-9)


@pytest.mark.parametrize("honest", [2, 50, 5000, 10**6])
@pytest.mark.parametrize("missing", [1e-12, 1e-7, 1e-3])
def test_the_people_of_one_step_are_a_binomial_quantile(honest: int, missing: float) -> None:
    from confide.mdp import Spec

    spec = Spec(3, 2, 10, "per-step")
    assert spec.layers == 10
    assert people_in_sum(honest, spec, True, missing) == 1 + int(stats.binom.ppf(missing, honest - 1, 1 / 10))


@pytest.mark.parametrize(("rho", "epsilon"), [(0.1, 1.0), (0.5, 3.0), (1e-4, 0.05), (2.0, 30.0), (1e-6, 5.0)])
def test_the_order_of_a_conversion_is_the_best_one(rho: float, epsilon: float) -> None:
    alphas = 1 + np.exp(np.linspace(-12, 12, 200_001))
    logs = (alphas - 1) * (alphas * rho - epsilon) + alphas * np.log1p(-1 / alphas) - np.log(alphas - 1)
    best = min(1.0, math.exp(min(float(logs.min()), 0.0)))
    found = conversion.zcdp_delta(rho, epsilon)
    assert found == pytest.approx(best, rel=1e-5, abs=1e-300) and found <= best * (1 + 1e-12)
