"""Randomised response: likelihood ratios over all messages, unbiased estimates, laws of sums, radii."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, binomtest, chi2_contingency

from confide.errors import InvalidInput
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.privacy import Pure, Sensitivity

FALSE_ALARM = 1e-7
"""How often each comparison with secure noise fails although nothing is wrong."""


def change(l1: float) -> Sensitivity:
    return Sensitivity(l1, math.sqrt(l1), ((1.0, int(l1)),), int(l1))


def message_law(mechanism: RandomizedResponse, count: int, trials: int) -> NDArray[np.float64]:
    """P(message = 0 .. trials): how many of `count` ones were kept and of the zeros flipped."""
    kept = binom.pmf(np.arange(trials + 1), count, 1 - mechanism.flip)
    flipped = binom.pmf(np.arange(trials + 1), trials - count, mechanism.flip)
    return np.convolve(kept, flipped)[: trials + 1]


@pytest.mark.parametrize("bit", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("trials", [1, 2, 3])
def test_the_worst_ratio_over_all_messages_is_exactly_the_loss(bit: float, trials: int) -> None:
    """Two counts of `trials` bits each, every pair of inputs, every message."""
    mechanism = RandomizedResponse(bit)
    inputs = list(itertools.product(range(trials + 1), repeat=2))
    laws = {cells: np.outer(*(message_law(mechanism, one, trials) for one in cells)) for cells in inputs}
    for here, there in itertools.permutations(inputs, 2):
        l1 = sum(abs(a - b) for a, b in zip(here, there, strict=True))
        worst = float(np.log(laws[here] / laws[there]).max())
        loss = mechanism.loss(change(l1))
        assert isinstance(loss, Pure)
        assert worst == pytest.approx(loss.value, rel=1e-9)


def test_the_flip_probability_at_both_ends() -> None:
    assert RandomizedResponse(1e-12).flip == pytest.approx(0.5)
    assert RandomizedResponse(math.log(3)).flip == pytest.approx(0.25)
    assert RandomizedResponse(5000.0).flip == 0.0
    sure = RandomizedResponse(5000.0).randomize(np.array([1.0, 0.0]), np.array([1, 1]), ReplayableNoise(0))
    assert sure.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("source", [SecureNoise(), ReplayableNoise(2)])
def test_bits_are_flipped_as_often_as_stated_and_no_other(source: NoiseSource) -> None:
    mechanism, size = RandomizedResponse(1.0), 20_000
    cells = (np.arange(size) % 2).astype(np.float64)
    sent = mechanism.randomize(cells, np.ones(size, dtype=np.int64), source)
    assert set(np.unique(sent)) == {0.0, 1.0}
    for truth in (0, 1):
        flipped = int((sent != cells)[cells == truth].sum())
        assert binomtest(flipped, size // 2, mechanism.flip).pvalue > FALSE_ALARM
        for factor in (2 / 3, 3 / 2):
            assert binomtest(flipped, size // 2, mechanism.flip * factor).pvalue < FALSE_ALARM


def test_estimates_are_unbiased_exactly() -> None:
    for trials in (1, 4):
        mechanism, bits = RandomizedResponse(0.7), np.array([trials])
        for count in range(trials + 1):
            law = message_law(mechanism, count, trials)
            estimates = [float(mechanism.estimate(np.array([float(m)]), 1, bits)[0]) for m in range(trials + 1)]
            assert float(law @ estimates) == pytest.approx(count, abs=1e-12)
            spread = float(law @ (np.array(estimates) - count) ** 2)
            assert spread == pytest.approx(mechanism.variance(trials), rel=1e-12)


def test_a_sum_drawn_at_once_has_the_law_of_summed_messages() -> None:
    mechanism, trials, users = RandomizedResponse(0.8), np.array([3]), 4
    rng, noise, size = np.random.default_rng(1), ReplayableNoise(1), 6000
    people = [0.0, 3.0, 1.0, 1.0]
    many = np.full(size, 3)
    summed = sum(mechanism.randomize(np.full(size, one), many, noise) for one in people)
    at_once = mechanism.sum_of(np.full(size, sum(people)), users, trials, rng)
    assert at_once.min() >= 0
    assert at_once.max() <= 12

    def agreement(other: NDArray[np.float64]) -> float:
        table = np.array([np.bincount(values.astype(int), minlength=13) for values in (summed, other)])
        return float(chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue)

    assert agreement(at_once) > FALSE_ALARM
    for bit in (0.8 * 2 / 3, 0.8 * 3 / 2):
        other = RandomizedResponse(bit).sum_of(np.full(size, sum(people)), users, trials, rng)
        assert agreement(other) < FALSE_ALARM


def test_cells_of_different_numbers_of_bits() -> None:
    """A pooled question: three visits may be counted, two transitions, and none of what cannot happen."""
    sent = RandomizedResponse(5000.0).randomize(np.array([2.0, 1.0, 0.0]), np.array([3, 2, 0]), ReplayableNoise(0))
    assert sent.tolist() == [2.0, 1.0, 0.0]
    noisy = RandomizedResponse(0.01).randomize(np.zeros(3), np.array([3, 2, 0]), ReplayableNoise(0))
    assert noisy[2] == 0


@pytest.mark.parametrize("cells", [[0.5], [-1.0], [3.0], [math.nan]])
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_what_is_no_count_of_bits_is_refused(cells: list[float]) -> None:
    with pytest.raises(InvalidInput, match="counts of bits"):
        RandomizedResponse(1.0).randomize(np.array(cells), np.array([2]), ReplayableNoise(0))


@pytest.mark.parametrize("bit", [0, -1, math.nan, math.inf])
def test_bad_parameters_are_refused(bit: float) -> None:
    with pytest.raises(InvalidInput, match="bit_epsilon"):
        RandomizedResponse(bit)


@pytest.mark.parametrize("bit", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("users", [1, 10, 1000])
@pytest.mark.parametrize("failure", [0.1, 1e-4])
def test_the_radius_holds_whatever_the_bits(bit: float, users: int, failure: float) -> None:
    mechanism, bits = RandomizedResponse(bit), users * 2
    radius = float(mechanism.radius(users, failure, trials=2))
    for ones in {0, bits // 3, bits}:
        law = message_law(mechanism, ones, bits)
        errors = (np.arange(bits + 1) - bits * mechanism.flip) / (1 - 2 * mechanism.flip) - ones
        assert law[np.abs(errors) > radius].sum() <= failure
    assert float(mechanism.radius(0, failure)) == 0


def test_how_it_describes_itself() -> None:
    mechanism = RandomizedResponse(math.log(3))
    assert mechanism.describe() == {"name": "randomised-response", "bit_epsilon": math.log(3), "flip": mechanism.flip}
    assert mechanism.grid == 1.0
