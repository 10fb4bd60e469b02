"""Sums of randomised bits: figures, brute force over all others, and noise that is neither too little nor too much."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from confide.errors import InvalidInput
from confide.privacy import shuffling
from confide.privacy.conversion import gaussian_mu
from confide.privacy.shuffled_bits import calibrated, smallest_crowd, solve, with_local
from confide.privacy.shuffling import ShuffledCrowd, local_epsilon, shuffled_loss
from tests.refusals import refused

Probabilities = NDArray[np.float64]
EPSILONS = (0.0, 0.1, 0.3, 0.7, 1.0, 1.6)


def sum_law(ones: int, zeros: int, flip: float) -> Probabilities:
    """The law of the number of ones after flipping, written independently of the package."""
    up = binom.pmf(np.arange(ones + 1), ones, 1 - flip)
    down = binom.pmf(np.arange(zeros + 1), zeros, flip)
    return np.convolve(up, down)


def divergence(first: Probabilities, second: Probabilities, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


@pytest.mark.parametrize(("local", "epsilon"), [(1.0, 0.0357), (2.0, 0.087), (4.0, 0.315)])
def test_binary_response_in_a_crowd_of_ten_thousand(local: float, epsilon: float) -> None:
    crowd = ShuffledCrowd(1 / (math.exp(local) + 1), 10_000)
    assert shuffled_loss((crowd,), 1).epsilon(1e-6) == pytest.approx(epsilon, rel=5e-3)


@pytest.mark.parametrize(("people", "p"), [(200, 0.5455), (1000, 0.2483), (5000, 0.0691)])
def test_ten_bits_at_one_and_a_millionth(people: int, p: float) -> None:
    (crowd,) = calibrated((people,), 10, 1.0, 1e-6)
    assert 2 * crowd.flip == pytest.approx(p, rel=3e-3)
    assert math.sqrt(2 * crowd.variance) == pytest.approx(19.6, rel=3e-3)  # visits and rewards, two steps
    assert math.sqrt(crowd.variance) == pytest.approx(13.9, rel=4e-3)  # transitions
    limit = 10 / gaussian_mu(1.0, 1e-6) ** 2
    assert 1.02 < crowd.variance / limit < 1.19


@pytest.mark.parametrize(("people", "flip"), [(1, 0.2), (2, 0.1), (5, 0.3), (9, 0.05), (40, 0.2)])
def test_one_bit_is_charged_its_worst_others_and_not_more(people: int, flip: float) -> None:
    loss = shuffled_loss((ShuffledCrowd(flip, people),), 1)
    for epsilon in EPSILONS:
        exact = 0.0
        for zeros in range(people):
            ones = people - 1 - zeros
            pair = sum_law(ones + 1, zeros, flip), sum_law(ones, zeros + 1, flip)
            exact = max(exact, divergence(*pair, epsilon), divergence(*pair[::-1], epsilon))
        assert exact <= loss.delta(epsilon) <= exact * 1.01 + 1e-6


def test_several_bits_are_charged_the_worst_others_of_every_counter() -> None:
    people, flip = 4, 0.25
    loss = shuffled_loss((ShuffledCrowd(flip, people),), 3)
    for zeros in itertools.product(range(people), repeat=3):
        for up in itertools.product((True, False), repeat=3):
            worlds: list[Probabilities] = [np.ones(1), np.ones(1)]
            for some, rises in zip(zeros, up, strict=True):
                ones = people - 1 - some
                pair = [sum_law(ones + 1, some, flip), sum_law(ones, some + 1, flip)]
                worlds = [
                    np.outer(w, law).ravel() for w, law in zip(worlds, pair if rises else pair[::-1], strict=True)
                ]
            for epsilon in EPSILONS:
                assert divergence(worlds[0], worlds[1], epsilon) <= loss.delta(epsilon)


def test_counters_that_pool_steps_give_away_less() -> None:
    people, horizon, flip = 6, 3, 0.2
    loss = shuffled_loss((ShuffledCrowd(flip, people),), horizon)
    others = (people - 1) * horizon
    for ones in range(others + 1):
        first = sum_law(ones + horizon, others - ones, flip)
        second = sum_law(ones, others - ones + horizon, flip)
        for epsilon in EPSILONS:
            assert divergence(first, second, epsilon) <= loss.delta(epsilon)


@given(st.integers(0, 3000), st.sampled_from([16, 64, 256]))
def test_no_split_of_the_others_is_left_out(others: int, many: int) -> None:
    rows = shuffling._splits(others, many)
    zeros = np.arange(others + 1)[:, None]
    assert ((rows[:, 0] <= zeros) & (rows[:, 1] <= others - zeros)).any(axis=1).all()


def test_large_sums_by_fourier_transforms_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd, factors = ShuffledCrowd(0.3, 3000), np.exp(np.linspace(0.0, 0.3, 200))
    quick = shuffling._profile(crowd, factors, 16)
    monkeypatch.setattr(shuffling, "QUICK", 1 << 40)
    np.testing.assert_allclose(quick, shuffling._profile(crowd, factors, 16), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("people", [(300,), (50, 100, 200)])
def test_calibrated_noise_is_enough_and_no_more_than_enough(people: tuple[int, ...]) -> None:
    crowds = calibrated(people, 6, 0.8, 1e-5)
    assert shuffled_loss(crowds, 6).delta(0.8) <= 1e-5
    for scale in (0.99, 0.5):  # a little less, and half the variance
        less = tuple(ShuffledCrowd.of(scale * crowd.variance, crowd.people) for crowd in crowds)
        assert shuffled_loss(less, 6).delta(0.8) > 1e-5


def test_crowds_apart_each_keep_the_promise_with_hardly_more_noise_than_alone() -> None:
    people = (20, 40, 320)
    crowds = calibrated(people, 6, 0.8, 1e-5, apart=True)
    whole = shuffled_loss(crowds, 6, apart=True)
    assert whole.delta(0.8) <= 1e-5
    for crowd in crowds:
        alone = shuffled_loss((crowd,), 6)
        assert all(alone.delta(epsilon) <= whole.delta(epsilon) * (1 + 1e-9) for epsilon in EPSILONS)
    (least,) = calibrated((people[0],), 6, 0.8, 1e-5)
    assert 1 <= crowds[0].variance / least.variance < 1.03
    less = tuple(ShuffledCrowd.of(0.99 * crowd.variance, crowd.people) for crowd in crowds)
    assert shuffled_loss(less, 6, apart=True).delta(0.8) > 1e-5
    assert local_epsilon(crowds, 6, apart=True) == max(local_epsilon((crowd,), 6) for crowd in crowds)
    (first, *_, last) = with_local(people, 6, 5.4, apart=True)
    assert local_epsilon((last,), 6) == pytest.approx(5.4) and local_epsilon((first,), 6) < 5.4


@pytest.mark.parametrize("people", [2, 5])
def test_crowds_apart_cover_every_split_of_every_crowd(people: int) -> None:
    """Against sums enumerated one by one, for one changed bit."""
    crowds = (ShuffledCrowd(0.2, 2), ShuffledCrowd(0.12, 5))
    loss = shuffled_loss(crowds, 1, apart=True)
    flip, others = next(crowd.flip for crowd in crowds if crowd.people == people), people - 1
    for ones in range(others + 1):
        first = sum_law(ones + 1, others - ones, flip)
        second = sum_law(ones, others - ones + 1, flip)
        for epsilon in EPSILONS:
            assert max(divergence(first, second, epsilon), divergence(second, first, epsilon)) <= loss.delta(epsilon)


def test_more_people_or_more_flips_never_hurt_and_more_bits_or_crowds_always_do() -> None:
    base = shuffled_loss((ShuffledCrowd(0.1, 100),), 4).delta(0.5)
    assert shuffled_loss((ShuffledCrowd(0.1, 150),), 4).delta(0.5) < base
    assert shuffled_loss((ShuffledCrowd(0.15, 100),), 4).delta(0.5) < base
    assert shuffled_loss((ShuffledCrowd(0.1, 100),), 5).delta(0.5) > base
    assert shuffled_loss((ShuffledCrowd(0.1, 100), ShuffledCrowd(0.3, 100)), 4).delta(0.5) > base


def test_whoever_may_be_missing_is_charged_as_a_breach() -> None:
    crowds = (ShuffledCrowd(0.2, 500),)
    without, within = shuffled_loss(crowds, 4).delta(0.5), shuffled_loss(crowds, 4, 1e-4).delta(0.5)
    assert within == pytest.approx(1e-4 + (1 - 1e-4) * without, rel=1e-6)


def test_a_crowd_of_one_keeps_what_its_device_keeps() -> None:
    loss = shuffled_loss((ShuffledCrowd(0.2, 1),), 1)
    assert loss.epsilon(1e-12) == pytest.approx(math.log(4), rel=0.02)
    assert local_epsilon((ShuffledCrowd(0.2, 1),), 3) == pytest.approx(3 * math.log(4))


@given(st.floats(1e-6, 1e6), st.integers(1, 10**9))
def test_variance_and_flip_belong_together(variance: float, people: int) -> None:
    assert ShuffledCrowd.of(variance, people).variance == pytest.approx(variance, rel=1e-4)


def test_the_smallest_crowd_is_enough_and_one_fewer_is_not() -> None:
    people = smallest_crowd(0.9, 6, 1.0, 1e-5)
    (crowd,) = with_local((people,), 6, 5.4)
    assert local_epsilon((crowd,), 6) == pytest.approx(5.4) and local_epsilon((crowd,), 6) <= 5.4
    assert shuffled_loss((crowd,), 6).delta(1.0) <= 1e-5
    assert shuffled_loss((ShuffledCrowd(crowd.flip, people - 1),), 6).delta(1.0) > 1e-5


def test_any_one_of_three_is_found_from_the_others() -> None:
    first = solve(10, 1e-6, epsilon=1.0, people=1000)
    assert first.epsilon <= 1.0 and first.epsilon == pytest.approx(1.0, rel=1e-3)
    again = solve(10, 1e-6, people=1000, local=first.local_epsilon)
    assert again.epsilon == pytest.approx(1.0, rel=1e-3)
    third = solve(10, 1e-6, epsilon=1.0, local=first.local_epsilon)
    assert third.people == pytest.approx(1000, rel=5e-3)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"epsilon": 1.0}, "batch-two-of-three"),
        ({"epsilon": 1.0, "people": 100, "local": 5.0}, "batch-two-of-three"),
        ({"epsilon": 2.0, "local": 1.5}, "batch-local-epsilon-low"),
        ({"epsilon": 1.0, "people": 1}, "not-a-whole-number: people"),
        ({"epsilon": -1.0, "people": 10}, "not-positive: epsilon"),
        ({"epsilon": 1.0, "people": 100, "delta": 0.0}, "batch-needs-delta"),
        ({"local": 5.0, "people": 100, "delta": 0.0}, "batch-needs-delta"),
        ({"epsilon": 1.0, "local": 5.0, "delta": 0.0}, "batch-needs-delta"),
        ({"epsilon": 1e-6, "local": 300.0, "delta": 1e-12}, "batch-too-large"),
    ],
)
def test_what_cannot_be_solved_is_said(given: dict[str, float], reason: str) -> None:
    delta = given.pop("delta", 1e-6)
    with refused(reason):
        solve(10, delta, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("flip", [0.0, 0.5, 0.7, -0.1, math.nan])
def test_a_flip_is_less_likely_than_not(flip: float) -> None:
    with pytest.raises(InvalidInput, match="flip must be"):
        ShuffledCrowd(flip, 10)
