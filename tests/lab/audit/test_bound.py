"""Bounds from counts: exact, covering, and the best that can be hoped for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from confide.lab.audit.bound import (
    best_stake,
    bet_bound,
    event_bound,
    expected_pairs,
    ideal_bound,
    largest_chance,
    least_chance,
)
from confide.lab.audit.likelihood import laplace_loss
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


@pytest.mark.parametrize("stake", [0.1, 0.3])
@pytest.mark.parametrize(("p", "q", "delta"), [(0.5, 0.5 / math.e, 0.0), (0.3, 0.1, 0.05), (0.02, 0.01, 0.0)])
def test_a_bet_exceeds_the_truth_no_more_often_than_allowed(p: float, q: float, delta: float, stake: float) -> None:
    """All outcomes of a few pairs, weighted by their exact probability; also with one event."""
    trials, failure, truth = 6, 0.2, math.log((p - delta) / q)
    for events, shares in ((2, expected_pairs((p, q), (p, q))), (1, expected_pairs((p, q), (0.0, 0.0)))):
        seen: dict[tuple[int, ...], float] = {(0,) * 9: 1.0}
        for _ in range(trials):
            following: dict[tuple[int, ...], float] = {}
            for counts, chance in seen.items():
                for cell in np.flatnonzero(shares):
                    more = tuple(count + (at == cell) for at, count in enumerate(counts))
                    following[more] = following.get(more, 0.0) + chance * float(shares.ravel()[cell])
            seen = following
        tables = np.array(list(seen)).reshape(-1, 3, 3).astype(np.float64)
        wrong = bet_bound(tables, [stake], events, failure, delta)[:, 0] > truth
        assert float(np.array(list(seen.values()))[wrong].sum()) <= failure
        assert sum(seen.values()) == pytest.approx(1)


def test_a_bet_on_nothing_proves_nothing_and_one_that_always_wins_a_lot() -> None:
    never, always = np.zeros((3, 3)), np.zeros((3, 3))
    never[0, 0] = always[2, 0] = 1000
    assert bet_bound(never, [0.1], 2, 1e-3, 0.0) == 0
    assert 3 < bet_bound(always, [best_stake(always, 2, 1e-3, 0.0)], 2, 1e-3, 0.0) < math.log(1000)


def test_a_bet_proves_with_fewer_outputs_what_an_event_does() -> None:
    """Half lines of a Gaussian at delta 0.01: a bet on both with two fifths of the trials."""
    from scipy.stats import norm

    trials, failure, delta, mu = 80_000, 1e-3, 0.01, 0.5325
    cuts = np.linspace(-1, 2, 301)
    p, q = norm.cdf(-cuts + mu), norm.cdf(-cuts)
    event = event_bound(trials * p, trials * q, trials, failure, delta).max()
    bets = bet_bound(0.4 * trials * expected_pairs((p, q), (p, q)), np.geomspace(1e-3, 0.1, 30), 2, failure, delta)
    assert event < bets.max() < 1
    assert ideal_bound(GaussianLoss(mu), int(0.4 * trials), failure, delta) == pytest.approx(
        float(bets.max()), rel=3e-3
    )


def test_shares_of_pairs_are_those_of_two_outputs() -> None:
    """A happens to 0.5 and 0.2, B to 0.4 and 0.3, in one output never both."""
    shares = expected_pairs((0.5, 0.2), (0.4, 0.3))
    assert shares.sum() == pytest.approx(1)
    assert shares[2, 0] == pytest.approx(0.5 * 0.4) and shares[0, 2] == pytest.approx(0.3 * 0.2)
    won, lost = np.indices((3, 3))
    assert (shares * won).sum() == pytest.approx(0.9) and (shares * lost).sum() == pytest.approx(0.5)


def test_the_ideal_bound_of_randomised_response() -> None:
    """Its best events are the true answers: e^eps/(1 + e^eps) against 1/(1 + e^eps)."""
    trials, failure = 10_000, 1e-3
    share = math.e / (1 + math.e)
    pairs = trials * expected_pairs((share, 1 - share), (share, 1 - share))
    stake = best_stake(pairs, 2, failure, 0.0)
    expected = bet_bound(pairs, [stake], 2, failure, 0.0)[0]
    assert ideal_bound(Pure(1.0), trials, failure, 0.0) == pytest.approx(expected, rel=1e-6)


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
