"""Both noise sources against closed-form probabilities, and the compiled sampler bit by bit."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binomtest, chi2, chi2_contingency, kstest, laplace, norm

from confide.errors import InvalidInput
from confide.mechanisms import plain, sampler
from confide.mechanisms.noise import (
    LARGEST_SCALE,
    PLAIN_CELLS,
    SMALLEST_ROUNDED_SIGMA,
    NoiseSource,
    OpenDPNoise,
    ReplayableNoise,
    SecureNoise,
    _bernoulli,
    _integers,
    curator_noise,
    release_noise,
    require_secure,
)
from tests.refusals import refused

FALSE_ALARM = 1e-7
"""How often each comparison with secure noise fails although nothing is wrong."""

Integers = NDArray[np.int64]

LAWS = [("laplace", 0.4), ("laplace", 1.0), ("laplace", 6.0), ("gaussian", 0.5), ("gaussian", 1.3), ("gaussian", 7.0)]
SOURCES: dict[str, tuple[Callable[[], NoiseSource], int]] = {
    "plain": (SecureNoise, PLAIN_CELLS),
    "opendp": (OpenDPNoise, PLAIN_CELLS),
    "compiled": (SecureNoise, 10 * PLAIN_CELLS),
    "replayable": (lambda: ReplayableNoise(1), 10 * PLAIN_CELLS),
}


def pmf(law: str, scale: float) -> Callable[[Integers], NDArray[np.float64]]:
    def weight(x: Integers) -> NDArray[np.float64]:
        return np.exp(-np.abs(x) / scale if law == "laplace" else -((x / scale) ** 2) / 2)

    reach = math.ceil(50 * scale)
    total = weight(np.arange(-reach, reach + 1)).sum()
    return lambda x: weight(x) / total


def draw(noise: NoiseSource, law: str, scale: float, shape: int | tuple[int, ...]) -> Integers:
    return noise.discrete_laplace(scale, shape) if law == "laplace" else noise.discrete_gaussian(scale, shape)


def counts(draws: Integers, last: int) -> Integers:
    """How often each integer occurs, all beyond `last` counted with it on either side."""
    return np.bincount(np.clip(draws, -last, last) + last, minlength=2 * last + 1)


def last_bin(law: str, scale: float, size: int) -> int:
    """The largest integer that is expected a hundred times: with such bins the chi-square tail holds down to 1e-7."""
    x = np.arange(1, 1000)
    return max(1, int((size * pmf(law, scale)(x) >= 100).sum()))


def p_value(law: str, scale: float, draws: Integers) -> float:
    last = last_bin(law, scale, draws.size)
    expected = draws.size * pmf(law, scale)(np.arange(-last, last + 1))
    expected[[0, -1]] += (draws.size - expected.sum()) / 2
    return float(chi2.sf(((counts(draws, last) - expected) ** 2 / expected).sum(), 2 * last))


# The laws.


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("law", "scale"), LAWS)
def test_draws_follow_the_exact_law_and_no_other_scale(source: str, law: str, scale: float) -> None:
    make, cells = SOURCES[source]
    noise = make()
    draws = draw(noise, law, scale, cells)
    assert noise.drawn_by == source
    assert p_value(law, scale, draws) > FALSE_ALARM
    assert p_value(law, scale * 2 / 3, draws) < FALSE_ALARM
    assert p_value(law, scale * 3 / 2, draws) < FALSE_ALARM


@pytest.mark.parametrize(("law", "scale"), LAWS)
@pytest.mark.parametrize("cells", [PLAIN_CELLS, 5 * PLAIN_CELLS])
def test_opendp_and_our_own_samplers_agree(law: str, scale: float, cells: int) -> None:
    """Plain and compiled ones."""
    last = last_bin(law, scale, PLAIN_CELLS)
    small = counts(draw(OpenDPNoise(), law, scale, PLAIN_CELLS), last)

    def agreement(own_scale: float) -> float:
        large = counts(np.concatenate([draw(SecureNoise(), law, own_scale, cells) for _ in range(3)]), last)
        return float(chi2_contingency(np.array([small, large])).pvalue)

    assert agreement(scale) > FALSE_ALARM
    assert agreement(scale * 2 / 3) < FALSE_ALARM
    assert agreement(scale * 3 / 2) < FALSE_ALARM


@pytest.mark.parametrize(
    ("law", "scale"), [("laplace", 12345.678), ("laplace", 2.0**53), ("gaussian", 12345.678), ("gaussian", 2.0**26)]
)
def test_large_scales_follow_the_continuous_law_and_reach_every_integer(law: str, scale: float) -> None:
    noise = SecureNoise()
    draws = draw(noise, law, scale, 5 * PLAIN_CELLS)
    assert noise.drawn_by == "compiled"
    continuous = laplace if law == "laplace" else norm
    assert kstest(draws / scale, continuous.cdf).pvalue > FALSE_ALARM
    for factor in (2 / 3, 3 / 2):
        assert kstest(draws / (factor * scale), continuous.cdf).pvalue < FALSE_ALARM
    for bit in range(4):
        ones = int(((draws >> bit) & 1).sum())
        assert binomtest(ones, draws.size).pvalue > FALSE_ALARM


@pytest.mark.parametrize("sigma", [SMALLEST_ROUNDED_SIGMA, 3 * SMALLEST_ROUNDED_SIGMA])
def test_a_rounded_normal_is_close_to_the_law(sigma: float) -> None:
    x = np.arange(-20 * int(sigma), 20 * int(sigma) + 1)
    rounded = ndtr((x + 0.5) / sigma) - ndtr((x - 0.5) / sigma)
    assert np.abs(rounded - pmf("gaussian", sigma)(x)).sum() / 2 < 1e-3
    draws = ReplayableNoise(2).discrete_gaussian(sigma, 100_000)
    assert p_value("gaussian", sigma, draws) > FALSE_ALARM
    assert p_value("gaussian", sigma * 2 / 3, draws) < FALSE_ALARM
    assert p_value("gaussian", sigma * 3 / 2, draws) < FALSE_ALARM


@pytest.mark.parametrize("noise", [SecureNoise(), ReplayableNoise(3)], ids=["secure", "replayable"])
def test_bernoulli_and_integers(noise: NoiseSource) -> None:
    heads = int(noise.bernoulli(0.3, 20_000).sum())
    assert binomtest(heads, 20_000, 0.3).pvalue > FALSE_ALARM
    assert binomtest(heads, 20_000, 0.2).pvalue < FALSE_ALARM
    assert binomtest(heads, 20_000, 0.45).pvalue < FALSE_ALARM
    assert not noise.bernoulli(0.0, 1000).any()
    assert noise.bernoulli(1.0, 1000).all()

    faces = np.bincount(noise.integers(6, 20_000), minlength=6)
    assert faces.size == 6
    assert chi2.sf(((faces - 20_000 / 6) ** 2 / (20_000 / 6)).sum(), 5) > FALSE_ALARM
    # A remainder would make the lower third twice as likely as each of the other two.
    high = 3 * 2**61
    lower = int((noise.integers(high, 20_000) < high // 3).sum())
    assert binomtest(lower, 20_000, 1 / 3).pvalue > FALSE_ALARM
    assert binomtest(lower, 20_000, 1 / 2).pvalue < FALSE_ALARM
    assert not noise.integers(1, 100).any()
    assert noise.integers(2**63, 1000).min() >= 0


def scripted(*answers: list[int]) -> sampler.Words:
    """A word source that gives the listed words and insists on being asked for exactly as many."""
    pieces = iter(answers)

    def words(count: int) -> NDArray[np.uint64]:
        piece = np.array(next(pieces), dtype=np.uint64)
        assert piece.size == count
        return piece

    return words


def test_a_bernoulli_tie_is_decided_by_the_next_word() -> None:
    words = scripted([0, 1, 2, 1], [2**63 - 1, 2**63])
    assert _bernoulli(words, 1.5 * 2.0**-64, 4).tolist() == [True, True, False, False]


def test_an_integer_that_is_too_large_is_drawn_again() -> None:
    assert _integers(scripted([7, 2, 6], [15, 4], [8]), 5, 3).tolist() == [0, 2, 4]


# The compiled sampler, bit by bit.


def fixed_words(seed: int) -> sampler.Words:
    generator = np.random.PCG64(seed)
    return lambda count: np.atleast_1d(generator.random_raw(count))


GOLDEN = {
    ("laplace", 1.5): [0, 0, -1, 0, -6, 0, -2, 0, -1, -2, -3, -1, 0, 1, 1, 1],
    ("laplace", 100.1): [-159, -256, -258, -248, -456, 63, 5, -79, 115, -7, 33, 53, -51, -338, 0, 10],
    ("gaussian", 1.5): [-6, -2, -2, -1, 1, -1, -1, -3, -2, 3, -1, -1, -1, 2, 0, 3],
    ("gaussian", 100.1): [101, -53, -65, -21, -47, 36, 64, 63, 63, 122, 224, 57, -251, -43, 0, 51],
}


@pytest.mark.parametrize(("law", "scale"), GOLDEN)
def test_the_same_words_give_the_same_draws(law: sampler.LawName, scale: float) -> None:
    assert sampler.draw(fixed_words(2020), 16, law, scale).tolist() == GOLDEN[law, scale]


@pytest.mark.parametrize("piece", [1, 2, 7])
@pytest.mark.parametrize(("law", "scale"), GOLDEN)
def test_draws_do_not_depend_on_the_pieces_in_which_words_arrive(
    law: sampler.LawName, scale: float, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sampler.draw(fixed_words(5), 500, law, scale)
    monkeypatch.setattr(sampler, "_MOST_WORDS", piece)
    assert (sampler.draw(fixed_words(5), 500, law, scale) == whole).all()


def outcomes(function: Callable[..., int], *arguments: int) -> tuple[dict[int, float], float]:
    """The probability of each answer among those that the first 16 bits decide, and that of all others: no sampling."""
    decided: dict[int, float] = {}
    undecided = [0]
    for length in range(1, 17):
        prefixes, undecided = [prefix | bit << (length - 1) for prefix in undecided for bit in (0, 1)], []
        for prefix in prefixes:
            word = np.array([prefix << (64 - length)], dtype=np.uint64).view(np.int64)
            cursor = np.array([64 - length])
            answer = function(word, cursor, *arguments)
            if cursor[0] > 64:
                undecided.append(prefix)
            else:
                assert cursor[0] == 64
                decided[answer] = decided.get(answer, 0.0) + 2.0**-length
    return decided, len(undecided) * 2.0**-16


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 7), (1, 2), (1, 3), (5, 7), (2**53 - 1, 2**53)])
def test_every_bit_string_gives_bernoulli_its_probability(numerator: int, denominator: int) -> None:
    decided, undecided = outcomes(sampler._bernoulli, numerator, denominator)
    assert undecided == 2.0**-16
    assert 0 <= numerator / denominator - decided.get(True, 0) <= undecided


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_every_bit_string_gives_uniform_its_probabilities(size: int) -> None:
    decided, undecided = outcomes(sampler._uniform, size)
    assert sorted(decided) == list(range(size))
    assert len(set(decided.values())) == 1
    assert undecided < 0.02
    assert sum(decided.values()) + undecided == 1


@pytest.mark.parametrize(
    ("numerator", "denominator", "power", "divisor"),
    [(1, 1, 0, 1), (1, 1, 0, 2), (0, 3, 1, 1), (2, 3, 1, 1), (6, 7, 1, 1), (1, 3, 2, 2), (6, 7, 2, 2)],
)
def test_every_bit_string_gives_exponentials_their_probability(
    numerator: int, denominator: int, power: int, divisor: int
) -> None:
    decided, undecided = outcomes(sampler._bernoulli_exp, numerator, denominator, power, divisor)
    exact = math.exp(-((numerator / denominator) ** power) / divisor)
    assert undecided < 0.02
    assert 0 <= exact - decided[True] <= undecided
    twice, more_undecided = outcomes(sampler._all_exp, 2, numerator, denominator, power, divisor)
    assert more_undecided < 0.1
    assert 0 <= exact**2 - twice[True] <= more_undecided


def saying(answer: bool, numerator: int, denominator: int) -> list[int]:
    """The shortest bits with which a comparison with numerator / denominator gives the answer."""
    bits, rest = [], Fraction(numerator, denominator)
    if rest >= 1:
        assert answer
        return bits
    while True:
        digit, rest = divmod(rest * 2, 1)
        bits.append(int(not answer) if digit == answer else digit)
        if digit == answer:
            return bits


def extreme_laplace(p: int) -> list[int]:
    """Bits for the largest magnitude that the cap allows, 256 p - 1, with a minus sign."""
    uniform = [(p - 1) >> place & 1 for place in range((p - 1).bit_length())]
    first_event_fails = saying(False, p - 1, p)
    second_happens_third_fails = saying(True, 1, 2) + saying(False, 1, 3)
    return uniform + first_event_fails + 255 * second_happens_third_fails + saying(True, 1, 2)


def read(bits: list[int], cell: Callable[..., int], p: int, q: int) -> tuple[int, int]:
    """What a compiled function makes of the bits, and how many of them it reads."""
    padded = np.zeros(-(-len(bits) // 64) * 64 + 64, dtype=np.uint8)
    padded[: len(bits)] = bits
    words = np.packbits(padded, bitorder="little").view(np.int64)
    cursor = np.zeros(1, dtype=np.int64)
    return cell(words, cursor, p, q), int(cursor[0])


@pytest.mark.parametrize("p", [1, 2, 2**26 + 1, 2**53 - 1, 2**53])
def test_the_largest_laplace_does_not_overflow(p: int) -> None:
    bits = extreme_laplace(p)
    assert p <= plain.RANGES["laplace"][1]
    assert read(bits, sampler._laplace, p, 1) == (-(256 * p - 1), len(bits))
    assert read(bits, sampler._laplace, p, 3) == (-((256 * p - 1) // 3), len(bits))


@pytest.mark.parametrize(
    ("p", "q"), [(2**26, 1), (2**26 - 1, 1), (2**26, 3), (2**26, 2**26), (2**26 - 1, 2**26), (2**24 - 1, 2**26)]
)
def test_the_largest_gaussian_does_not_overflow(p: int, q: int) -> None:
    """Bits that make the largest Laplace magnitude and accept it, every factor of the acceptance exact."""
    sigma = Fraction(p, q)
    t = math.floor(sigma) + 1
    ratio = abs((256 * t - 1) - sigma**2 / t) / sigma
    whole, rest = divmod(ratio, 1)
    bits = extreme_laplace(t)
    bits += whole**2 * saying(False, 1, 2) + whole * saying(False, rest.numerator, rest.denominator)
    bits += saying(False, 1, 2)
    assert read(bits, sampler._gaussian, p, q) == (-(256 * t - 1), len(bits))


def test_a_rejected_draw_and_a_negative_zero_start_again() -> None:
    zero = saying(False, 0, 1) + saying(False, 1, 2)
    bits = zero + saying(True, 1, 2) + zero + saying(False, 1, 2)
    assert read(bits, sampler._laplace, 1, 1) == (0, len(bits))


# Scales.


@pytest.mark.parametrize(("law", "limit"), [("laplace", 2**53), ("gaussian", 2**26)])
@given(data=st.data())
def test_a_rational_scale_is_never_smaller_and_hardly_larger(
    law: sampler.LawName, limit: int, data: st.DataObject
) -> None:
    low, high = plain.RANGES[law]
    scale = data.draw(st.floats(low, high) | st.floats(low, 2 * low) | st.floats(low, 100.0))
    fraction = plain.rational(law, scale)
    assert fraction is not None
    p, q = fraction
    asked = Fraction(scale)
    assert asked <= Fraction(p, q) <= asked * (1 + Fraction(plain.RELATIVE_EXCESS) + Fraction(1, 10**15))
    assert plain.RELATIVE_EXCESS <= 1e-6
    assert max(p, q) <= limit


@pytest.mark.parametrize(("law", "limit"), [("laplace", 2**53), ("gaussian", 2**26)])
def test_the_smallest_scales_stay_within_the_limit(law: sampler.LawName, limit: int) -> None:
    for ulps in range(100):
        low = plain.RANGES[law][0]
        fraction = plain.rational(law, low + ulps * math.ulp(low))
        assert fraction is not None
        assert max(fraction) <= limit


def test_rational_scales_end_where_arithmetic_would_overflow() -> None:
    assert plain.rational("gaussian", 10.0) == (10, 1)
    assert plain.rational("gaussian", 0.5) == (1, 2)
    assert plain.rational("gaussian", 2.0**26) == (2**26, 1)
    assert plain.rational("gaussian", 2.0**26 + 1) is None
    assert plain.rational("gaussian", 0.01) is None
    assert plain.rational("laplace", 2.0**53) == (2**53, 1)
    assert plain.rational("laplace", 2.0**54) is None
    assert plain.rational("laplace", 1e-12) is None
    assert plain.rational("laplace", 5e-324) is None
    with pytest.raises(InvalidInput, match=r"between 0\.015625 and"):
        sampler.draw(fixed_words(0), 10, "gaussian", 2.0**27)


@pytest.mark.parametrize("make", [SecureNoise, OpenDPNoise])
def test_scales_beyond_64_bits_are_drawn_too(make: Callable[[], SecureNoise]) -> None:
    noise = make()
    sigma = 1.5 * 2.0**26
    draws = noise.discrete_gaussian(sigma, (37, 41))
    assert draws.shape == (37, 41) and noise.drawn_by in ("plain", "opendp")
    assert kstest(draws.ravel() / sigma, norm.cdf).pvalue > FALSE_ALARM
    assert kstest(draws.ravel() / sigma * 2 / 3, norm.cdf).pvalue < FALSE_ALARM
    assert kstest(draws.ravel() / sigma * 3 / 2, norm.cdf).pvalue < FALSE_ALARM
    assert not noise.discrete_gaussian(1e-3, 200).any() and not noise.discrete_laplace(1e-12, 200).any()


@pytest.mark.parametrize(("law", "scale"), LAWS)
def test_whole_numbers_of_any_length_follow_the_law(law: str, scale: float) -> None:
    draws = plain.drawn_at_any_scale(SecureNoise()._words, 4000, law, scale)  # type: ignore[arg-type]
    assert p_value(law, scale, draws) > FALSE_ALARM
    assert p_value(law, scale * 2 / 3, draws) < FALSE_ALARM
    assert p_value(law, scale * 3 / 2, draws) < FALSE_ALARM


# The interface.


def test_who_drew_is_remembered() -> None:
    noise = SecureNoise()
    noise.discrete_laplace(1.0, PLAIN_CELLS)
    assert noise.drawn_by == "plain"
    noise.discrete_laplace(1.0, PLAIN_CELLS + 1)
    assert noise.drawn_by == "compiled"
    noise.discrete_laplace(1.0, 3)
    assert noise.drawn_by == "compiled"
    coin = SecureNoise()
    coin.bernoulli(0.5, 3)
    assert coin.drawn_by == "plain"
    theirs = OpenDPNoise()
    theirs.discrete_laplace(1.0, PLAIN_CELLS + 1)
    assert theirs.drawn_by == "opendp"
    theirs.bernoulli(0.5, 3)
    assert theirs.drawn_by == "plain", "which OpenDP does not offer"


def test_opendp_draws_for_releases_where_that_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(release_noise()) is SecureNoise
    monkeypatch.setenv("CONFIDE_NOISE", "opendp")
    assert type(release_noise()) is OpenDPNoise and type(curator_noise()) is OpenDPNoise
    monkeypatch.setenv("CONFIDE_NOISE", "OpenDP")
    with pytest.raises(InvalidInput):
        release_noise()
    monkeypatch.setenv("CONFIDE_NOISE", "opendp")
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(InvalidInput) as refused:
        release_noise()
    assert refused.value.code == "opendp-missing"


@pytest.mark.parametrize("noise", [SecureNoise(), ReplayableNoise(4)], ids=["secure", "replayable"])
@pytest.mark.parametrize("shape", [0, 1, 7, (), (3,), (2, 3), (2, 0, 5), (101, 100)])
def test_shapes_and_types(noise: NoiseSource, shape: int | tuple[int, ...]) -> None:
    wanted = (shape,) if isinstance(shape, int) else shape
    assert isinstance(noise, NoiseSource)
    for sigma in (2.0, 20.0):
        for integers in (noise.discrete_laplace(sigma, shape), noise.discrete_gaussian(sigma, shape)):
            assert (integers.shape, integers.dtype) == (wanted, np.int64)
    uniform, coins = noise.integers(5, shape), noise.bernoulli(0.5, shape)
    assert (uniform.shape, uniform.dtype) == (wanted, np.int64)
    assert (coins.shape, coins.dtype) == (wanted, np.bool_)


@pytest.mark.parametrize("noise", [SecureNoise(), ReplayableNoise(5)], ids=["secure", "replayable"])
def test_bad_input_is_refused_by_name(noise: NoiseSource) -> None:
    for bad in (0, -1.0, math.nan, math.inf, "wide", None, 2 * LARGEST_SCALE):
        with pytest.raises(InvalidInput, match="scale must be"):
            noise.discrete_laplace(bad, 2)
        with pytest.raises(InvalidInput, match="sigma must be"):
            noise.discrete_gaussian(bad, 2)
    for bad in (-0.1, 1.1, math.nan, None):
        with pytest.raises(InvalidInput, match="probability must be"):
            noise.bernoulli(bad, 2)
    for bad in (0, -3, 2.5, 2**63 + 1, True, None):
        with pytest.raises(InvalidInput, match="high must be"):
            noise.integers(bad, 2)
    for bad in (-1, 1.5, (2, -1), (2, None), "3"):
        with pytest.raises(InvalidInput, match="shape must be"):
            noise.discrete_laplace(1.0, bad)


def all_draws(noise: ReplayableNoise) -> Iterator[NDArray]:
    yield noise.discrete_laplace(3.0, (4, 25))
    yield noise.discrete_gaussian(3.0, (4, 25))
    yield noise.discrete_gaussian(30.0, (4, 25))
    yield noise.bernoulli(0.4, 100)
    yield noise.integers(1000, 100)


def test_a_seed_replays_its_draws_and_another_does_not() -> None:
    for first, again, other in zip(*(all_draws(ReplayableNoise(seed)) for seed in (8, 8, 9)), strict=True):
        assert (first == again).all()
        assert (first != other).any()
    with pytest.raises(InvalidInput, match="seed must be"):
        ReplayableNoise(-1)
    with pytest.raises(InvalidInput, match="seed must be"):
        ReplayableNoise(1.5)  # type: ignore[arg-type]


def test_spawned_streams_are_independent_and_recorded() -> None:
    parent, untouched = ReplayableNoise(10), ReplayableNoise(10)
    children = parent.spawn(3) + parent.spawn(1)
    assert parent.seed == 10
    assert [child.spawn_key for child in children] == [(0,), (1,), (2,), (3,)]
    cells = 40_000
    draws = np.array([noise.discrete_gaussian(50.0, cells) for noise in [parent, *children]])
    assert (draws[0] == untouched.discrete_gaussian(50.0, cells)).all()
    correlations = np.corrcoef(draws)[np.triu_indices(len(draws), 1)]
    assert np.abs(correlations).max() < norm.isf(FALSE_ALARM) / math.sqrt(cells)
    recorded = children[2]
    again = ReplayableNoise(np.random.SeedSequence(recorded.seed, spawn_key=recorded.spawn_key))
    assert (again.discrete_gaussian(50.0, cells) == draws[3]).all()
    assert parent.spawn(0) == []
    with pytest.raises(InvalidInput, match="count must be"):
        parent.spawn(-1)


def test_secure_noise_takes_no_seed_and_never_repeats() -> None:
    with pytest.raises(TypeError):
        SecureNoise(1)  # type: ignore[call-arg]
    for law in ("laplace", "gaussian"):
        for cells in (50, PLAIN_CELLS + 1):
            assert (draw(SecureNoise(), law, 1000.0, cells) != draw(SecureNoise(), law, 1000.0, cells)).any()


def test_replayable_noise_is_refused_where_real_data_is_touched() -> None:
    secure = SecureNoise()
    assert require_secure(secure, "fit") is secure
    with refused("noise-not-secure"):
        require_secure(ReplayableNoise(1), "fit")
