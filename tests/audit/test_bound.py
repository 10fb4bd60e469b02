"""Bounds from counts: exact, covering, and the best that can be hoped for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from confide.audit.bound import event_bound, ideal_bound, largest_chance, least_chance
from confide.audit.likelihood import laplace_loss
from confide.privacy import GaussianLoss, Pure


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (1, 10), (5, 10), (10, 10), (3, 1000), (90_000, 100_000)])
def test_clopper_and_pearson(hits: int, trials: int) -> None:
    interval = binomtest(hits, trials).proportion_ci(0.98, method="exact")
    assert least_chance(hits, trials, 0.01) == pytest.approx(interval.low, rel=1e-9)
    assert largest_chance(hits, trials, 0.01) == pytest.approx(interval.high, rel=1e-9)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5 / math.e), (0.02, 0.01), (0.9, 0.3), (0.001, 0.0005)])
def test_a_bound_exceeds_the_truth_no_more_often_than_allowed(p: float, q: float) -> None:
    """All pairs of counts, weighted by their exact probability."""
    trials, failure = 400, 0.2
    hits = np.arange(trials + 1)
    bounds = event_bound(hits[:, None], hits[None, :], trials, failure, 0.0)
    chances = np.multiply.outer(binom.pmf(hits, trials, p), binom.pmf(hits, trials, q))
    wrong = float(chances[bounds > math.log(p / q)].sum())
    assert wrong <= failure
    assert float(chances.sum()) == pytest.approx(1)


def test_a_bound_is_not_needlessly_low() -> None:
    """Half the failure for each of the two probabilities: with certain counts the bound is close to the ratio."""
    assert event_bound(500_000, 183_940, 1_000_000, 1e-3, 0.0) == pytest.approx(1, abs=0.015)


def test_delta_is_taken_off() -> None:
    trials = 10**9
    assert event_bound(trials * 0.5, trials * 0.1, trials, 1e-6, 0.2) == pytest.approx(math.log(3), abs=1e-3)
    assert event_bound(trials * 0.5, trials * 0.1, trials, 1e-6, 0.6) == 0


def test_nothing_seen_proves_nothing() -> None:
    assert event_bound(0, 0, 1000, 0.01, 0.0) == 0
    assert event_bound(10, 10, 1000, 0.01, 0.0) == 0


def test_the_ideal_bound_of_randomised_response() -> None:
    """Its best event is the true answer: e^eps/(1 + e^eps) against 1/(1 + e^eps)."""
    trials, failure = 10_000, 1e-3
    share = math.e / (1 + math.e)
    expected = float(event_bound(trials * share, trials * (1 - share), trials, failure, 0.0))
    assert ideal_bound(Pure(1.0), trials, failure, 0.0) == pytest.approx(expected, rel=1e-6)


def test_the_ideal_bound_of_laplace_noise() -> None:
    """Its best event is half a line: 1/2 against e^-eps/2."""
    trials, failure = 80_000, 1e-3
    for epsilon in (1.0, 2.0):
        expected = float(event_bound(trials / 2, trials / 2 * math.exp(-epsilon), trials, failure, 0.0))
        assert ideal_bound(laplace_loss(1 / epsilon, 0.0, [1.0]), trials, failure, 0.0) == pytest.approx(
            expected, abs=2e-3
        )


def test_the_ideal_bound_of_a_gaussian_is_the_best_of_all_half_lines() -> None:
    from scipy.stats import norm

    trials, failure, delta, mu = 80_000, 1e-3, 0.01, 0.5325
    cuts = np.linspace(-5, 5, 20_001)
    best = event_bound(trials * norm.cdf(cuts + mu), trials * norm.cdf(cuts), trials, failure, delta).max()
    assert ideal_bound(GaussianLoss(mu), trials, failure, delta) == pytest.approx(float(best), rel=2e-3)


def test_the_ideal_bound_grows_to_the_truth() -> None:
    few, more, most = (ideal_bound(Pure(1.0), trials, 1e-6, 0.0) for trials in (10**3, 10**5, 10**12))
    assert few < more < most <= 1
    assert most == pytest.approx(1, abs=1e-4)


def test_what_one_sees_falls_fast_with_the_cells_that_differ() -> None:
    """The same epsilon, spread over more cells: only when all noises agree is the loss epsilon."""
    bounds = [ideal_bound(laplace_loss(cells, 0.0, [1.0] * cells), 10**6, 1e-3, 0.0) for cells in (1, 6, 12, 60)]
    assert sorted(bounds, reverse=True) == bounds
    assert bounds[0] > 0.98
    assert bounds[-1] < 0.4
