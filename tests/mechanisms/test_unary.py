"""One sampled step: the likelihood ratio over every message is e^epsilon exactly; estimates, sums and variances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest, chi2_contingency

from confide.errors import InvalidInput, UnknownName
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.mechanisms.plain import enclosure, lies
from confide.mechanisms.unary import KARY, SUBSET, SYMMETRIC, UNARY, SampledStep
from confide.privacy import Pure, Sensitivity

FALSE_ALARM = 1e-7
"""How often each comparison with secure noise fails although nothing is wrong."""

ENCODINGS = (UNARY, SYMMETRIC, KARY, SUBSET)
ANY = Sensitivity(99.0, 99.0, (), 99)


def message_law(mechanism: SampledStep, category: int) -> dict[tuple[int, ...], float]:
    """The probability of every message of k bits."""
    k = mechanism.categories
    if mechanism.encoding == KARY:
        units = np.eye(k, dtype=int)
        return {tuple(units[c]): mechanism.hit if c == category else mechanism.miss for c in range(k)}
    if mechanism.encoding == SUBSET:
        # By hand: every set of w names that holds the true category is e^eps times as likely as every one that does not.
        named = [set(one) for one in itertools.combinations(range(k), mechanism.ones)]
        weights = [math.exp(mechanism.epsilon) if category in one else 1.0 for one in named]
        results = [tuple(int(c in one) for c in range(k)) for one in named]
        return {bits: weight / sum(weights) for bits, weight in zip(results, weights, strict=True)}
    law = {}
    for bits in itertools.product((0, 1), repeat=k):
        chances = [mechanism.hit if c == category else mechanism.miss for c in range(k)]
        law[bits] = math.prod(p if bit else 1 - p for bit, p in zip(bits, chances, strict=True))
    return law


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("categories", [2, 3, 5, 9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_worst_ratio_over_all_messages_is_e_to_the_epsilon(encoding: str, categories: int, epsilon: float) -> None:
    mechanism = SampledStep(epsilon, categories, encoding)
    laws = [message_law(mechanism, c) for c in range(categories)]
    for law in laws:
        assert sum(law.values()) == pytest.approx(1.0, rel=1e-12)
    worst = max(math.log(here[m] / there[m]) for here, there in itertools.permutations(laws, 2) for m in here)
    assert worst == pytest.approx(epsilon, rel=1e-12)
    assert mechanism.loss(ANY) == Pure(epsilon)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("source", [SecureNoise(), ReplayableNoise(3)])
def test_messages_have_the_stated_probabilities_and_no_other(encoding: str, source: NoiseSource) -> None:
    mechanism, category, size = SampledStep(1.0, 4, encoding), 2, 6000
    sent = np.stack([mechanism.encoded(category, source) for _ in range(size)])
    if mechanism.ones is not None:
        assert (sent.sum(axis=1) == mechanism.ones).all()
    for cell in range(4):
        chance, ones = (mechanism.hit if cell == category else mechanism.miss), int(sent[:, cell].sum())
        assert binomtest(ones, size, chance).pvalue > FALSE_ALARM
        for factor in (2 / 3, 3 / 2):
            assert binomtest(ones, size, chance * factor).pvalue < FALSE_ALARM


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_estimates_are_unbiased_and_have_the_stated_variance_exactly(encoding: str) -> None:
    mechanism = SampledStep(0.8, 4, encoding)
    inside = {0, 2}
    for category in range(4):
        law = message_law(mechanism, category)
        weights = np.array(list(law.values()))
        result = np.stack([mechanism.estimate(np.array(bits, dtype=float), 1) for bits in law])
        assert weights @ result == pytest.approx(np.eye(4)[category], abs=1e-12)
        total = result[:, sorted(inside)].sum(axis=1)
        spread = float(weights @ total**2 - (weights @ total) ** 2)
        assert spread == pytest.approx(mechanism.set_variance(2, float(category in inside)), rel=1e-9)
        empty = (category + 1) % 4
        assert float(weights @ result[:, empty] ** 2) == pytest.approx(mechanism.variance(), rel=1e-9)


def test_the_variance_of_the_formula_sheet() -> None:
    """4 e^eps/(e^eps-1)^2 for unary, (e^eps+k-2)/(e^eps-1)^2 for k-ary; k-ary wins where k - 2 < 3 e^eps."""
    e = math.e
    assert SampledStep(1.0, 50, UNARY).variance() == pytest.approx(4 * e / (e - 1) ** 2)
    assert SampledStep(1.0, 50, KARY).variance() == pytest.approx((e + 48) / (e - 1) ** 2)
    for categories in range(2, 40):
        one, other = (SampledStep(1.0, categories, encoding).variance() for encoding in (UNARY, KARY))
        assert SampledStep.best(1.0, categories).encoding == (UNARY if one <= other else KARY)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_sum_drawn_at_once_has_the_law_of_summed_messages(encoding: str) -> None:
    mechanism, rng, noise = SampledStep(2.4, 3, encoding), np.random.default_rng(0), ReplayableNoise(4)
    totals, size = np.array([3, 0, 1]), 1500
    people = np.repeat(np.arange(3), totals)
    summed = np.stack([sum(mechanism.encoded(int(c), noise) for c in people) for _ in range(size)])
    at_once = np.stack(
        [mechanism.sum_of(totals, int(totals.sum()), np.ones(len(totals), dtype=np.int64), rng) for _ in range(size)]
    )

    def agreement(other: NDArray[np.int64]) -> float:
        codes = [values @ np.array([25, 5, 1]) for values in (summed, other)]
        table = np.array([np.bincount(code.astype(np.int64), minlength=125) for code in codes])
        common = table[:, table.sum(axis=0) >= 20]
        rest = table.sum(axis=1) - common.sum(axis=1)
        return float(chi2_contingency(np.column_stack([common, rest + 1])).pvalue)

    assert agreement(at_once) > FALSE_ALARM
    for epsilon in (2.4 * 2 / 3, 2.4 * 3 / 2):
        other = SampledStep(epsilon, 3, encoding)
        assert (
            agreement(
                np.stack(
                    [
                        other.sum_of(totals, int(totals.sum()), np.ones(len(totals), dtype=np.int64), rng)
                        for _ in range(size)
                    ]
                )
            )
            < FALSE_ALARM
        )


def test_subsets_are_as_large_as_is_best_and_beat_the_others() -> None:
    """By hand at k = 13, eps 1: two numbers next to 13/(e + 1) = 3.5. Never more variance than k-ary or unary in one cell."""
    for epsilon, categories in ((1.0, 13), (0.2, 9), (3.0, 145), (0.5, 40), (8.0, 13)):
        mechanism = SampledStep(epsilon, categories, SUBSET)
        sizes = [size for size in range(1, categories)]

        def variance(size: int) -> float:
            rest = (categories - size) / size * math.exp(-epsilon)  # noqa: B023 (called in this round only)
            p = 1 / (1 + rest)
            q = (size - p) / (categories - 1)  # noqa: B023
            return q * (1 - q) / (p - q) ** 2

        best = min(sizes, key=variance)
        assert variance(mechanism.ones or 0) == pytest.approx(variance(best), rel=1e-12)
        assert mechanism.variance() == pytest.approx(variance(best))
        for other in (UNARY, KARY):
            assert mechanism.variance() <= SampledStep(epsilon, categories, other).variance() * (1 + 1e-9)
    assert SampledStep(1.0, 13, SUBSET).ones in (3, 4)


def test_sums_of_subsets_have_the_moments_of_single_ones() -> None:
    """Mean and covariance of drawn sums against those of the law of a message, over 4,000 sums of five people."""
    mechanism, rng = SampledStep(1.0, 6, SUBSET), np.random.default_rng(8)
    totals, size = np.array([2, 0, 1, 0, 0, 2]), 4_000
    mean, spread = np.zeros(6), np.zeros((6, 6))
    for category, many in enumerate(totals):
        law = message_law(mechanism, category)
        bits, weights = np.array(list(law), dtype=float), np.array(list(law.values()))
        one = weights @ bits
        mean += many * one
        spread += many * ((bits - one).T * weights) @ (bits - one)
    trials = np.ones(6, dtype=np.int64)
    drawn = np.stack([mechanism.sum_of(totals, 5, trials, rng) for _ in range(size)])
    assert (drawn.sum(axis=1) == 5 * (mechanism.ones or 0)).all()
    error = np.sqrt(np.diag(spread) / size)
    assert (np.abs(drawn.mean(axis=0) - mean) < 6 * error).all()
    assert np.abs(np.cov(drawn.T) - spread).max() < 6 * spread.max() * math.sqrt(2 / size)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_ends(encoding: str) -> None:
    sure = SampledStep(2000.0, 7, encoding)  # e^2000 is no float
    assert sure.miss == 0.0
    assert sure.encoded(5, ReplayableNoise(0))[5] in (0, 1)
    assert sure.encoded(5, ReplayableNoise(0))[[0, 1, 2, 3, 4, 6]].sum() == 0
    assert SampledStep.best(2000.0, 10**6).encoding == KARY
    if encoding != UNARY:
        assert sure.hit == 1.0
    assert sure.variance() == 0.0
    blind = SampledStep(1e-9, 7, encoding)
    assert blind.hit == pytest.approx(blind.miss, rel=1e-8)


@pytest.mark.parametrize(
    ("epsilon", "categories", "encoding"),
    [(0, 3, UNARY), (math.nan, 3, UNARY), (1.0, 1, UNARY), (1.0, 2.5, KARY), (1.0, 3, "binary")],
)
def test_bad_parameters_are_refused(epsilon: float, categories: int, encoding: str) -> None:
    with pytest.raises((InvalidInput, UnknownName)):
        SampledStep(epsilon, categories, encoding)


def test_how_it_describes_itself() -> None:
    assert SampledStep(1.0, 9).describe() == {"name": "sampled-unary", "epsilon": 1.0, "categories": 9}
    assert SampledStep(1.0, 9, KARY).name == "sampled-k-ary"


# The law that secure noise draws, exactly.


def scripted(*answers: list[int]) -> Callable[[int], NDArray[np.uint64]]:
    """A source of the listed words, which insists on being asked for exactly as many."""
    pieces = iter(answers)

    def words(count: int) -> NDArray[np.uint64]:
        piece = np.array(next(pieces), dtype=np.uint64)
        assert piece.size == count
        return piece

    return words


@pytest.mark.parametrize("epsilon", [1e-9, 0.3, 1.0, 7.25, 30.0, 36.0, 40.0, 60.0, 500.0, 2000.0])
@pytest.mark.parametrize("others", [1, 6, 10**6, Fraction(10, 3), Fraction(2, 7)])
@pytest.mark.parametrize("digits", [64, 128, 192])
def test_enclosures_contain_the_probability_and_are_narrow(epsilon: float, others: int | Fraction, digits: int) -> None:
    """Against the exponential series, summed in rational arithmetic to far more digits."""
    low, high = enclosure(epsilon, others, digits)
    assert 0 <= high - low <= 2 and low <= 2**digits
    x, term, total, k = Fraction(epsilon), Fraction(1), Fraction(0), 0
    if epsilon > 100:
        assert low == 0 or epsilon <= digits + math.ceil(others).bit_length()
        return
    while k < 4 * x + 200:  # e^epsilon: all terms are positive, and the rest is below the last one
        total += term
        k += 1
        term = Fraction(round(term * x / k * 2**1200), 2**1200)
    truth = others / (total + others) * 2**digits
    assert low <= truth <= high


def test_a_lie_is_told_with_exactly_its_probability_to_the_last_digit() -> None:
    """Words just below and just above the first 64 digits of the probability, and the tie between them."""
    low, high = enclosure(40.0, 6, 64)
    deeper, above = enclosure(40.0, 6, 128)
    assert high == low + 1
    tail, over = deeper - (low << 64), above - (low << 64)
    assert lies(scripted([low - 1, low + 1, 0]), 40.0, 6, 3).tolist() == [True, False, True]
    assert lies(scripted([low], [tail - 1]), 40.0, 6, 1).tolist() == [True]
    assert lies(scripted([low], [over]), 40.0, 6, 1).tolist() == [False]
    assert low > 0 and SampledStep(40.0, 7, KARY).hit == 1.0  # the float that stood in its place hid nothing


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_secure_messages_have_their_epsilon_where_floats_have_none(encoding: str) -> None:
    """At epsilon 80 a float's probability of truth is 1. Every message must stay possible whatever the category."""
    mechanism = SampledStep(80.0, 3, encoding)

    class Unlucky(SecureNoise):
        """Draws nothing but zeros: the unlikeliest of all, which lies wherever a lie is possible."""

        def _words(self, count: int) -> NDArray[np.uint64]:
            return np.zeros(count, dtype=np.uint64)

        def integers(self, below: int, count: int) -> NDArray[np.int64]:
            """Different numbers: what ties would be drawn again for ever."""
            return np.arange(count) % below

    class Scarce(Unlucky):
        """Zeros in the first word, and then ones: a number below 2^-64 and above 2^-65, too large for a lie."""

        def _words(self, count: int) -> NDArray[np.uint64]:
            return np.full(count, 2**64 - 1, dtype=np.uint64)

    given, true = (mechanism.encoded(1, source()).tolist() for source in (Unlucky, Scarce))
    if encoding in (KARY, SUBSET):
        assert sum(given) == 1 and given[1] == 0 and true == [0, 1, 0]
    elif encoding == SYMMETRIC:
        assert given == [1, 0, 1] and true == [0, 1, 0]
    else:
        assert given == [1, 1, 1] and true == [0, 0, 0]


@pytest.mark.parametrize("noise", [SecureNoise(), ReplayableNoise(5)], ids=["secure", "replayable"])
def test_lies_are_as_frequent_as_stated(noise: NoiseSource) -> None:
    for epsilon, others in ((1.0, 1), (3.0, 20), (0.1, 1000)):
        share = others / (math.exp(epsilon) + others)
        many = int(noise.lies(epsilon, others, 20_000).sum())
        assert binomtest(many, 20_000, share).pvalue > FALSE_ALARM
        assert binomtest(many, 20_000, share * 2 / 3).pvalue < FALSE_ALARM
        many = int(noise.lies(epsilon, others, 20_000, 3).sum())
        assert binomtest(many, 20_000, others / (3 * math.exp(epsilon) + others)).pvalue > FALSE_ALARM
    for bad in ((0.0, 1), (math.nan, 1), (1.0, 0), (1.0, 1.5)):
        with pytest.raises(InvalidInput):
            noise.lies(*bad, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_vector_with_a_one_is_its_category(encoding: str) -> None:
    """As devices call it: the message about cells is that about where their one is."""
    mechanism, trials = SampledStep(1.0, 9, encoding), np.ones(9, dtype=np.int64)
    for category in range(9):
        cells = np.eye(9)[category]
        given = mechanism.randomize(cells, trials, ReplayableNoise(category))
        np.testing.assert_array_equal(given, mechanism.encoded(category, ReplayableNoise(category)))
        if encoding == KARY:
            assert given.sum() == 1
    assert mechanism.packing == ("index" if encoding == KARY else "bits") and mechanism.reach() == 0.0
