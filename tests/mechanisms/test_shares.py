"""Shares of noise by a table: the law of their sum, its account against the definition, and which shares are refused."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from confide.mechanisms import shares as shares_module
from confide.mechanisms.shares import FLOOR, TabledShares, law_of_sum
from confide.privacy import Disclosed, Sensitivity
from examples.own_shares import CoinShare, CoinShares
from tests.refusals import refused

FAR = Sensitivity(3.0, math.sqrt(5), ((2.0, 1), (1.0, 1)), 2)
EPSILONS = (0.0, 0.3, 1.0, 2.5)


def exact_sum(share: CoinShare, people: int) -> list[Fraction]:
    """The law of the sum in fractions, coin by coin."""
    moved = Fraction(share.rate, share.people * share.coins)
    table = [Fraction(1)]
    for _ in range(people * share.coins):
        wide = [Fraction(0), Fraction(0), *table, Fraction(0), Fraction(0)]
        table = [(wide[k - 1] + wide[k + 1]) * moved / 2 + wide[k] * (1 - moved) for k in range(1, len(wide) - 1)]
    return table


@pytest.mark.parametrize(("rate", "honest", "people"), [(3, 7, 1), (3, 7, 6), (10, 4, 5), (1, 9, 9)])
def test_the_law_of_a_sum_is_that_of_its_coins(rate: int, honest: int, people: int) -> None:
    """In fractions, within the error that is stated of it."""
    share = CoinShares(rate, (honest,), 1).share(honest)
    law, exact = law_of_sum(share, people), exact_sum(share, people)
    assert len(law.table) == len(exact) == 2 * people * share.coins + 1 and law.lost == 0.0
    off = max(abs(Fraction(float(found)) / true - 1) for found, true in zip(law.table, exact, strict=True))
    assert off <= law.error < 1e-11


def test_the_law_of_a_crowd_is_a_binomial() -> None:
    """Coins that move half of the time are two fair ones: to the far tail, within the error that is stated of it."""
    people = 3000
    law = law_of_sum(CoinShare(people // 2, people, 1), people)
    used = law.table >= FLOOR
    true = binom.logpmf(np.arange(-law.most, law.most + 1)[used] + people, 2 * people, 0.5)
    assert np.abs(np.log(law.table[used]) - true).max() <= law.error + law.lost / FLOOR + 1e-9
    assert law.error < 1e-8 and law.lost < 1e-50 and 1e-60 <= law.table.min() < FLOOR


def hockey_stick(law: NDArray[np.float64], shifts: tuple[int, ...], epsilon: float) -> float:
    """delta of several cells that are shifted by this many grids, from the definition."""
    here, there = np.ones(1), np.ones(1)
    for shift in shifts:
        wide = np.zeros(len(law) + shift)
        wide[: len(law)] = law
        here, there = np.outer(here, wide).ravel(), np.outer(there, np.roll(wide, shift)).ravel()
    return float(np.maximum(here - math.exp(epsilon) * there, 0.0).sum())


@pytest.mark.parametrize("made", [CoinShares(12, (10,), 2), CoinShares(200, (40,), 2)], ids=["few", "many"])
def test_no_change_of_these_sizes_is_worse_than_the_account(made: CoinShares) -> None:
    """All vectors of two cells that are no further apart; and the account is no more than twice what the worst of them needs."""
    law, loss = law_of_sum(made.share(made.honest[0]), made.honest[0]).table, made.loss(FAR)
    vectors = [
        vector
        for vector in itertools.product(range(3), repeat=2)
        if 0 < sum(vector) <= FAR.l1 and sum(each**2 for each in vector) <= FAR.l2**2 + 1e-9
    ]
    assert (2, 1) in vectors
    for epsilon in EPSILONS:
        worst = max(hockey_stick(law, vector, epsilon) for vector in vectors)
        assert worst <= loss.delta(epsilon)
    needed = next(e for e in np.arange(0, 20, 0.01) if hockey_stick(law, (2, 1), float(e)) <= 1e-5)
    assert needed <= loss.epsilon(1e-5) <= 2 * needed


def test_where_the_noise_ends_a_change_shows_and_delta_pays_for_it() -> None:
    """Two coins of either of two people: 5 values a cell, and a shift by 2 shows with the probability of the two largest."""
    made = CoinShares(2, (2,), 1)
    law, moved = law_of_sum(made.share(2), 2).table, Sensitivity(2.0, 2.0, ((2.0, 1),), 1)
    assert len(law) == 2 * 2 * 2 + 1
    shows = float(law[-2:].sum())
    assert made.loss(moved).delta(8.0) >= hockey_stick(law, (2,), 8.0) >= shows > 1e-3
    assert made.loss(moved.scaled(9.0)) == Disclosed(), "no two outputs in common"


def test_fewer_honest_people_hide_less_and_the_worst_size_counts() -> None:
    made = CoinShares(40, (20, 80), 3)
    both = made.loss(FAR).epsilon(1e-6)
    alone = [CoinShares(40, (honest,), 3).loss(FAR).epsilon(1e-6) for honest in made.honest]
    assert both == pytest.approx(max(alone), rel=1e-6) and made.apart and made.people == (20, 80)
    assert made.loss_among((10, 40), FAR).epsilon(1e-6) > 1.3 * both
    assert made.loss_among((20, 40), FAR).epsilon(1e-6) > 1.3 * both, "one size is enough"
    assert made.local_loss(FAR) == Disclosed()
    halves = replace(made, grid=0.5)
    assert halves.loss(FAR).epsilon(1e-6) > 1.7 * both, "the same counts are twice as many grids"


@dataclass(frozen=True)
class Holed(CoinShares):
    """Shares that are never 0."""

    def share(self, people: int) -> CoinShare:
        return CoinShare(people, people, 1)


def test_what_has_no_account_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("noise-not-log-concave"):
        Holed(1, (10,), 1).loss(FAR)
    monkeypatch.setattr(shares_module, "WIDEST", 64)
    wide: TabledShares = CoinShares(3000, (101,), 1)
    with refused("shares-too-wide"):
        wide.loss(FAR)
