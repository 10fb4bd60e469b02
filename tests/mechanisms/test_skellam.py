"""Shares of noise: exact Poisson draws, sums that have the law of the account, and what is cut off."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2
from scipy.stats import poisson as poisson_law

from confide.errors import FormatError
from confide.mechanisms.catalogue import from_parameters, parameters, word
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.mechanisms.skellam import CUT, SkellamShare, SkellamShares, poisson, poisson_ones
from confide.privacy import Disclosed, Sensitivity, Shuffle

FALSE_ALARM = 1e-6
"""With the operating system's randomness each test below fails this often although all is well."""


def misfit(drawn: np.ndarray, mean: float) -> tuple[float, int]:
    """Pearson's statistic of draws against a Poisson law, and its degrees of freedom; rare values are taken together."""
    most = int(poisson_law.ppf(1 - 50 / drawn.size, mean))
    seen = np.bincount(np.minimum(drawn, most), minlength=most + 1)
    expected = drawn.size * np.append(poisson_law.pmf(np.arange(most), mean), poisson_law.sf(most - 1, mean))
    common = expected >= 20
    pooled = lambda values: np.append(values[common], values[~common].sum())  # noqa: E731
    seen, expected = pooled(seen), np.maximum(pooled(expected), 1e-9)
    return float(((seen - expected) ** 2 / expected)[expected > 1].sum()), int((expected > 1).sum()) - 1


@pytest.mark.parametrize(("rate", "people"), [(1, 1), (3, 7), (5, 2), (1, 50)])
def test_draws_have_the_law_and_no_other(rate: int, people: int) -> None:
    drawn = poisson(SecureNoise(), rate, people, 60_000)
    statistic, freedom = misfit(drawn, rate / people)
    assert statistic < chi2.isf(FALSE_ALARM, freedom)
    for wrong in (2 / 3, 3 / 2):
        other, freedom = misfit(drawn, wrong * rate / people)
        assert other > chi2.isf(FALSE_ALARM, freedom)


def test_the_chances_of_the_rejection_by_hand() -> None:
    """n heads, then kept: 2^-(n+1) 2^(n-1)/n! = 1/(4 n!); of a draw e/4 is kept."""
    kept = [2.0 ** -(n + 1) * (0.5 if n == 0 else math.prod(2 / i for i in range(3, n + 1))) for n in range(20)]
    assert kept == pytest.approx([1 / (4 * math.factorial(n)) for n in range(20)])
    assert sum(kept) == pytest.approx(math.e / 4)
    assert poisson_ones(ReplayableNoise(1), 0).size == 0


@pytest.mark.parametrize(("rate", "people"), [(40, 30), (9, 12)])
def test_the_shares_of_honest_people_add_up_to_the_noise_of_the_account(rate: int, people: int) -> None:
    """Variance 2 rate, by Chebyshev's cousin for chi-squares: five standard errors at 4,000 sums and more."""
    share, many = SkellamShare(rate, people), 4000
    sums = share.steps(ReplayableNoise(5), (people, many)).sum(axis=0).astype(np.float64)
    kurtosis = 3 + 1 / (2 * rate)
    error = math.sqrt((kurtosis - 1) / many)
    assert abs(float((sums**2).mean()) / (2 * rate) - 1) < 5 * error
    for wrong in (2 / 3, 3 / 2):
        assert abs(float((sums**2).mean()) / (2 * rate * wrong) - 1) > 5 * error
    at_once = share.sum_of(np.zeros(many), people, np.ones(many, dtype=np.int64), np.random.default_rng(6))
    assert abs(float((at_once**2).mean()) / (2 * rate) - 1) < 5 * error
    assert share.variance() * people == pytest.approx(2 * rate)


def test_a_share_goes_no_further_than_its_reach() -> None:
    for rate, people in ((3, 1000), (40, 30), (5000, 600), (10_000, 2)):
        share = SkellamShare(rate, people)
        beyond = poisson_law.sf(share.reach(), share.mean) * 2
        assert beyond <= CUT
        assert SkellamShare(rate, people, 0.5).reach() == share.reach() / 2
    assert SkellamShare(3, 1000).reach() < 64, "a report has one byte a cell"


def test_more_honest_people_only_help_and_fewer_are_told() -> None:
    shares, size = SkellamShares(500, (100, 200), 30, 0.5), Sensitivity(4.0, 2.0, ((4.0, 1),), 4)
    usual = shares.loss(size).epsilon(1e-6)
    assert shares.loss_among((100, 200), size).epsilon(1e-6) == usual
    assert shares.loss_among((50, 100), size).epsilon(1e-6) > usual > shares.loss_among((200, 400), size).epsilon(1e-6)
    assert isinstance(shares.loss_among((0, 0), size), Disclosed) and isinstance(shares.local_loss(size), Disclosed)
    assert shares.people == (100, 200) and shares.apart and shares.missing == 0.0


def test_parameters_survive_and_others_are_refused() -> None:
    shares, size = SkellamShares(500, (100, 200), 30, 0.5), Sensitivity(4.0, 2.0, ((4.0, 1),), 4)
    values = parameters(shares)
    assert word(values) == "skellam" and from_parameters(values, size, Shuffle(1.0, 1e-6), 0.5) == shares
    for change in ({"rate": 0}, {"rate": 2.5}, {"honest": []}, {"honest": [1]}, {"width": 0}, {"grid": 0}, {"more": 1}):
        with pytest.raises(FormatError):
            from_parameters({**values, **change}, size, Shuffle(1.0, 1e-6), 0.5)
