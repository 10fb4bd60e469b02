"""Bounded noise: radii against the formula sheet and an independent account, its law, and its sub-Gaussian tails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.stats import ks_2samp, kstest

from confide.errors import InvalidInput
from confide.mechanisms.bounded import EXACT_SUM, FINENESS, Bounded
from confide.mechanisms.gaussian import Gaussian
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.privacy import Central, Guarantee, Local, Sensitivity, keeps
from tests.refusals import refused

FALSE_ALARM = 1e-7
"""How often each comparison with secure noise fails although nothing is wrong."""

NONE = np.zeros(0, dtype=np.int64)
H = 2
POOLED = Sensitivity(6 * H - 2, math.sqrt(6 * H**2 - 4 * H + 2), ((2.0, 2), (2.0, 2), (1.0, 2)), 10)
"""Visits, rewards and transitions of two steps, the last transition dropped."""

SHEET = {
    (0.2, 0.1): 18.8,
    (1.0, 0.1): 9.61,
    (2.0, 0.1): 7.04,
    (20.0, 0.1): 3.38,
    (0.2, 1e-5): 319,
    (1.0, 1e-5): 83.6,
    (2.0, 1e-5): 49.1,
    (20.0, 1e-5): 12.7,
}
"""R/H that is known to suffice, by (epsilon, delta)."""

QUICK = {(0.2, 1e-5), (1.0, 1e-5)}


def law_of(mechanism: Bounded) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points and probabilities, from the density that is printed in the paper."""
    cells = mechanism.cells
    x = np.arange(1 - cells, cells) / cells
    density = np.exp(math.e - np.exp(1 / (1 - x**2)))
    return x * cells * mechanism.grid, density / density.sum()


def accounted_delta(mechanism: Bounded, change: Sensitivity, epsilon: float, step: float = 5e-4) -> float:
    """delta by convolving privacy losses, rounded up to multiples of `step`: written independently of the package."""
    _, law = law_of(mechanism)
    reach = round(40 / step)
    certain, total, middle = 1.0, np.ones(1), 0
    for size, many in change.shifts:
        moved = round(size / mechanism.grid)
        here, there = np.append(np.zeros(moved), law), np.append(law, np.zeros(moved))
        both = (here > 0) & (there > 0)
        losses = np.ceil((np.log(here[both]) - np.log(there[both])) / step)
        seen = losses <= reach
        table = np.bincount(
            np.maximum(losses[seen], -reach).astype(int) + reach, weights=here[both][seen], minlength=2 * reach + 1
        )
        for _ in range(many):
            total, middle, certain = fftconvolve(total, table), middle + reach, certain * float(table.sum())
    loss = (np.arange(len(total)) - middle) * step
    return 1 - certain + float((np.maximum(total, 0) * -np.expm1(np.minimum(epsilon - loss, 0))).sum())


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [pytest.param(*key, marks=() if key in QUICK else pytest.mark.slow) for key in SHEET],
)
def test_the_radius_keeps_the_promise_and_is_no_larger_than_known_to_suffice(epsilon: float, delta: float) -> None:
    promise = Local(epsilon, delta)
    result = Bounded.keeping(promise, POOLED, 1.0)
    assert keeps(result.loss(POOLED), promise)
    assert 0.94 * SHEET[epsilon, delta] < result.bound / H < 1.001 * SHEET[epsilon, delta]
    assert accounted_delta(result, POOLED, epsilon) <= delta
    smaller = Bounded(result.bound * 0.98, 1.0)
    assert accounted_delta(smaller, POOLED, epsilon) > delta
    # "Never better than the tight Gaussian (1.1 to 5.9 times its standard deviation)."
    ratio = math.sqrt(result.variance()) / Gaussian.keeping(promise, POOLED, 1.0).sigma
    assert 1.05 < ratio < 6.0


def test_the_loss_dominates_an_independent_account_and_hardly_more() -> None:
    mechanism, change = Bounded(20.0, 1.0), Sensitivity(3.0, math.sqrt(5), ((2.0, 1), (1.0, 1)), 2)
    loss = mechanism.loss(change)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        exact = accounted_delta(mechanism, change, epsilon, step=1e-4)
        assert exact * 0.999 <= loss.delta(epsilon) <= exact * 1.05 + 1e-9


def test_a_shift_beyond_the_radius_is_noticed_for_sure() -> None:
    assert Bounded(4.0, 1.0).loss(Sensitivity(8.0, 8.0, ((8.0, 1),), 1)).delta(100.0) == pytest.approx(1.0)


def test_noise_that_ends_needs_a_delta() -> None:
    for promise in (Local(1.0), Central(rho=0.5)):
        with refused("bounded-noise-guarantee"):
            Bounded.keeping(promise, POOLED, 1.0)


def test_the_standard_deviation_is_a_fixed_share_of_the_radius() -> None:
    for bound in (3.0, 100.0, 5000.0):
        mechanism = Bounded(bound)
        assert math.sqrt(mechanism.variance()) == pytest.approx(0.2863 * mechanism.cells * mechanism.grid, rel=2e-4)


@pytest.mark.parametrize("bound", [2.0, 50.0, 1000.0])
def test_it_is_strictly_sub_gaussian(bound: float) -> None:
    """log E exp(u X) <= variance u^2/2 for every u, which the radius stands on; and the law is log-concave."""
    x, law = law_of(Bounded(bound))
    variance = float(law @ x**2)
    for u in np.concatenate([np.geomspace(1e-3, 100, 400)]) / math.sqrt(variance):
        logs = u * x + np.log(np.maximum(law, 1e-320))
        cumulant = float(np.logaddexp.reduce(logs))
        assert cumulant <= variance * u**2 / 2 * (1 + 1e-9) + 1e-13
    inner = law > 1e-290
    assert (np.diff(np.log(law[inner]), 2) <= 1e-12).all()


@pytest.mark.parametrize("source", [SecureNoise(), ReplayableNoise(1)])
def test_messages_have_the_stated_law_and_no_other(source: NoiseSource) -> None:
    mechanism = Bounded(40.0, 1.0)
    cells = np.arange(4000) % 5 * 1.0
    noise = mechanism.randomize(cells, NONE, source) - cells
    x, law = law_of(mechanism)
    assert np.abs(noise).max() < 40.0
    assert np.isin(noise, x).all()
    smooth = noise + np.random.default_rng(0).uniform(-0.5, 0.5, noise.size) * mechanism.grid

    def distribution(scale: float) -> float:
        return float(kstest(smooth, lambda t: np.interp(t / scale, x + mechanism.grid / 2, np.cumsum(law))).pvalue)

    assert distribution(1.0) > FALSE_ALARM
    assert distribution(2 / 3) < FALSE_ALARM
    assert distribution(3 / 2) < FALSE_ALARM


@pytest.mark.parametrize("users", [1, 40, EXACT_SUM + 200])
def test_a_sum_drawn_at_once_has_the_law_of_summed_messages(users: int) -> None:
    mechanism, noise, size = Bounded(10.0, 1.0), ReplayableNoise(users), 1500
    summed = sum(mechanism.randomize(np.zeros(size), NONE, noise) for _ in range(users))
    at_once = mechanism.sum_of(np.zeros(size), users, NONE, np.random.default_rng(users))
    assert ks_2samp(at_once, summed, method="asymp").pvalue > FALSE_ALARM
    for factor in (2 / 3, 3 / 2):
        assert ks_2samp(factor * at_once, summed, method="asymp").pvalue < FALSE_ALARM
    assert mechanism.estimate(at_once, users, NONE) is at_once


@pytest.mark.parametrize("users", [1, 3, 10])
@pytest.mark.parametrize("failure", [0.1, 1e-3, 1e-6])
def test_the_radius_holds(users: int, failure: float) -> None:
    mechanism = Bounded(10.0, 1.0)
    _, law = law_of(mechanism)
    total = np.ones(1)
    for _ in range(users):
        total = np.convolve(total, law)
    x = (np.arange(len(total)) - len(total) // 2) * mechanism.grid
    assert total[np.abs(x) > float(mechanism.radius(users, failure))].sum() <= failure


def test_the_grid_divides_the_unit_and_is_fine() -> None:
    for bound in (0.1, 3.0, 100.0, 10_000.0):
        for unit in (1.0, 0.5, 1 / 3):
            mechanism = Bounded(bound, unit)
            halvings = math.log2(unit / mechanism.grid)
            assert halvings == pytest.approx(round(halvings), abs=1e-9)
            assert mechanism.cells >= FINENESS
            assert mechanism.cells * mechanism.grid >= bound


@pytest.mark.parametrize(("bound", "unit"), [(0, 1), (-1, 1), (math.nan, 1), (1, 0), (1, math.inf)])
def test_bad_parameters_are_refused(bound: float, unit: float) -> None:
    with pytest.raises(InvalidInput):
        Bounded(bound, unit)


def test_how_it_describes_itself() -> None:
    mechanism = Bounded(40.0, 1.0)
    assert mechanism.describe() == {"name": "bounded", "bound": 40.0, "unit": 1.0, "grid": mechanism.grid}
    assert isinstance(Local(1.0), Guarantee)
