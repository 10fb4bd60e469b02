"""The samplers whose noise is really drawn: by devices in Python, and by servers. Those of pages: js/test/laws.cases.js."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from confide.mechanisms.noise import PLAIN_CELLS, SecureNoise, curator_noise, device_noise
from confide.mechanisms.plain import Bits
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.symmetric import SymmetricGaussian
from confide.mechanisms.unary import KARY, SUBSET, SYMMETRIC, UNARY, SampledStep, any_subset

from .laws import Integers, assert_law, binned, folded, looks_like, noise_law

MANY = 100_000
LAWS = [(law, scale) for law in ("laplace", "gaussian") for scale in (0.8, 3.3, 17.25)]
SOURCES = {"plain": (device_noise, MANY), "compiled": (curator_noise, MANY)}


def draw(noise: SecureNoise, law: str, scale: float, cells: int) -> Integers:
    return noise.discrete_laplace(scale, cells) if law == "laplace" else noise.discrete_gaussian(scale, cells)


@pytest.mark.parametrize(("law", "scale"), LAWS)
@pytest.mark.parametrize("source", SOURCES)
def test_noise_has_its_law_and_none_of_those_that_a_mistake_would_give_it(source: str, law: str, scale: float) -> None:
    noise = SOURCES[source][0]()
    draws = draw(noise, law, scale, MANY)
    assert noise.drawn_by == source
    assert_law(draws, law, scale)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_so_have_the_few_draws_of_a_release(law: str) -> None:
    """Which are plain."""
    noise = curator_noise()
    draws = np.concatenate([draw(noise, law, 3.3, PLAIN_CELLS) for _ in range(3)])
    assert noise.drawn_by == "plain"
    assert_law(draws, law, 3.3)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_so_have_the_few_draws_of_a_report(law: str) -> None:
    """A hundred cells at a time, as devices draw them. No two of them, and no two reports, share anything."""
    noise = device_noise()
    drawn = np.stack([draw(noise, law, 3.3, 100) for _ in range(260)])
    assert_law(drawn, law, 3.3)
    assert_law(drawn.T, law, 3.3)


@pytest.mark.parametrize("x", [(0, 3), (1, 3), (6, 7), (1, 1)])
def test_an_exponential_chance_of_a_device(x: tuple[int, int]) -> None:
    """exp(-x) and exp(-3 x), and exp(-x^2/2): not those of two thirds or three halves of x."""
    bits, draws = Bits(device_noise()._words), 40_000  # type: ignore[attr-defined]
    above, below = (np.full(draws, part) for part in x)
    three = np.full(draws, 3)
    for happened, power in (
        (bits.exp(above, below, 1, 1), x[0] / x[1]),
        (bits.all_exp(three, above, below, 1, 1), 3 * x[0] / x[1]),
        (bits.exp(above, below, 2, 2), (x[0] / x[1]) ** 2 / 2),
    ):
        assert _often(happened, float(np.exp(-power)))
        assert not x[0] or not any(_often(happened, float(np.exp(-power * by))) for by in (2 / 3, 3 / 2))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 33])
def test_uniform_numbers_and_coins_of_a_device(size: int) -> None:
    bits, noise = Bits(device_noise()._words), device_noise()  # type: ignore[attr-defined]
    for drawn in (bits.below(size, 40_000), noise.integers(size, 40_000)):
        counts = np.bincount(drawn, minlength=size)
        assert looks_like(counts, np.full(size, 1 / size))
        lopsided = np.r_[1.5, np.ones(size - 1)] / (size + 0.5)
        assert size == 1 or not looks_like(counts, lopsided)
    coins = bits.flips(39_999).reshape(-1, 3)
    triples = np.bincount(coins @ [1, 2, 4], minlength=8)
    assert looks_like(triples, np.full(8, 1 / 8))
    assert not looks_like(np.bincount(coins[:, :1] @ [7], minlength=8), np.full(8, 1 / 8))


def _often(happened: np.ndarray, chance: float) -> bool:
    hits = int(happened.sum())
    return looks_like(np.array([happened.size - hits, hits]), np.array([1 - chance, chance]))


ENCODINGS = [UNARY, SYMMETRIC, KARY, SUBSET]
PEOPLE = 8000


def told(encoding: str, epsilon: float) -> Integers:
    mechanism, noise = SampledStep(epsilon, 8, encoding), device_noise()
    return np.stack([mechanism.encoded(3, noise) for _ in range(PEOPLE)])


def chances(encoding: str, epsilon: float, size: int) -> tuple[float, float]:
    """How likely the true category is named, and any other, in closed form. size: of a subset."""
    often = np.exp(epsilon)
    if encoding == UNARY:
        return 0.5, 1 / (often + 1)
    if encoding == SYMMETRIC:
        return np.sqrt(often) / (np.sqrt(often) + 1), 1 / (np.sqrt(often) + 1)
    hit = size * often / (size * often + 8 - size)
    return hit, (size - hit) / 7


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_categories_are_told_as_often_as_they_should_be(encoding: str) -> None:
    """Every bit, and how many there are: bits that share a draw would make many of them, or few, too often."""
    epsilon = 1.0
    messages, size = told(encoding, epsilon), {KARY: 1, SUBSET: 2}.get(encoding, 0)

    def alike(by: float) -> bool:
        hit, miss = chances(encoding, by * epsilon, size)
        expected = np.where(np.arange(8) == 3, hit, miss)
        return all(_often(messages[:, at], float(expected[at])) for at in range(8))

    assert alike(1)
    assert not alike(2 / 3) and not alike(3 / 2)
    many = np.bincount(messages.sum(axis=1), minlength=9)
    if size:
        assert many[size] == PEOPLE, "another number of categories is named"
        pairs = messages[:, [0, 1, 2, 4, 5, 6, 7]]
        assert size == 1 or not (pairs.T @ pairs == 0).any(), "two of the others are never named together"
        return
    hit, miss = chances(encoding, epsilon, size)
    others = binom.pmf(np.arange(8), 7, miss)
    assert looks_like(many, np.convolve(others, [1 - hit, hit]))
    assert not looks_like(many, np.r_[1 - miss, np.zeros(7), miss])


def test_every_set_of_others_is_as_likely_as_any() -> None:
    noise, sets = device_noise(), list(itertools.combinations(range(5), 2))
    drawn = [tuple(sorted(any_subset(5, 2, noise).tolist())) for _ in range(PEOPLE)]
    counts = np.array([drawn.count(one) for one in sets])
    assert counts.sum() == PEOPLE
    assert looks_like(counts, np.full(10, 0.1))
    assert not looks_like(counts, np.array([0.15, *[0.85 / 9] * 9]))


def test_bits_are_flipped_each_by_itself() -> None:
    mechanism, noise = RandomizedResponse(1.0), device_noise()
    counts, trials = np.array([0.0, 1.0, 2.0, 3.0]), np.full(4, 3)
    messages = np.stack([mechanism.randomize(counts, trials, noise) for _ in range(PEOPLE)]).astype(np.int64)

    def alike(epsilon: float) -> bool:
        flip = 1 / (np.exp(epsilon) + 1)
        laws = [
            np.convolve(binom.pmf(range(one + 1), one, 1 - flip), binom.pmf(range(4 - one), 3 - one, flip))
            for one in range(4)
        ]
        together = np.convolve(np.convolve(laws[0], laws[1]), np.convolve(laws[2], laws[3]))
        each = [looks_like(np.bincount(messages[:, at], minlength=4), laws[at]) for at in range(4)]
        return all(each) and looks_like(np.bincount(messages.sum(axis=1), minlength=13), together)

    assert alike(1.0)
    assert not alike(2 / 3) and not alike(1.5)


def test_a_matrix_is_noisier_on_its_diagonal_and_the_same_on_both_sides_of_it() -> None:
    mechanism = SymmetricGaussian(3.3, 1.0)
    drawn = mechanism.add(np.zeros((20_000, 3, 3), dtype=np.int64), curator_noise()).astype(np.int64)
    assert np.array_equal(drawn, drawn.swapaxes(1, 2))
    wide = 3.3 * np.sqrt(2)
    for cells, scale, other in (
        (drawn[:, [0, 0, 1], [1, 2, 2]], 3.3, wide),
        (drawn[:, [0, 1, 2], [0, 1, 2]], wide, 3.3),
    ):
        assert_law(cells, "gaussian", scale)
        assert not looks_like(binned(cells, "gaussian", other), folded(noise_law("gaussian", other), "gaussian", other))
