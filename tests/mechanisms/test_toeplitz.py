"""The two Toeplitz counters against dense matrices, brute-forced sensitivities, exact arithmetic and known figures."""

from __future__ import annotations

import itertools
import math
import time
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from confide.errors import InvalidInput
from confide.mechanisms import buffered
from confide.mechanisms.buffered import FRACTION_BITS, BufferedToeplitzCounter, Geometric, best_factors
from confide.mechanisms.counter import LARGEST_TOTAL
from confide.mechanisms.noise import ReplayableNoise
from confide.mechanisms.toeplitz import (
    UNIT_ROUNDOFF,
    FactoredCounter,
    ToeplitzCounter,
    square_root_coefficients,
)
from confide.privacy import Concentrated, GaussianLoss, Sensitivity
from confide.privacy.conversion import gaussian_mu

from .test_counter import Silence, has_std, run

H = 20
PER_STEP = Sensitivity(l1=6 * H, l2=math.sqrt(6 * H), shifts=((1.0, 6 * H),), cells=6 * H)
ONE = Sensitivity(1.0, 1.0, ((1.0, 1),), 1)
BOTH = [ToeplitzCounter, BufferedToeplitzCounter]


def lower_toeplitz(first_column: NDArray[np.float64]) -> NDArray[np.float64]:
    size = len(first_column)
    lag = np.arange(size)[:, None] - np.arange(size)
    return np.where(lag >= 0, first_column[np.abs(lag)], 0.0)


def factors(counter: FactoredCounter) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """B and C as dense matrices, from the definitions."""
    size = counter.releases
    if isinstance(counter, ToeplitzCounter):
        binomial = [math.comb(2 * k, k) / 4**k for k in range(size)]  # (1-z)^(-1/2)
        return lower_toeplitz(np.array(binomial)), lower_toeplitz(np.array(binomial))
    assert isinstance(counter, BufferedToeplitzCounter)
    inner, _ = best_factors(size, counter.buffers)
    powers = (1 - inner.decays) ** np.arange(size - 1)[:, None]
    c = lower_toeplitz(np.concatenate(([1.0], powers @ inner.weights)))
    return np.tril(np.ones((size, size))) @ np.linalg.inv(c), c


def reports_of(counter: FactoredCounter, increments: NDArray[np.int64]) -> NDArray[np.int64]:
    """Reports without noise, in grids: one counter keeps them all, the other their sum."""
    state = counter.init(increments.shape[1])
    sums = []
    for increment in increments:
        state, _ = counter.next(state, increment, Silence())
        if isinstance(counter, BufferedToeplitzCounter):
            sums.append(state.arrays[1][0].copy())
    if isinstance(counter, ToeplitzCounter):
        return state.arrays[1][: len(increments)]
    return np.diff(np.array(sums), axis=0, prepend=0.0).astype(np.int64)


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("releases", [1, 2, 7, 50])
def test_streaming_agrees_with_dense_matrices(make: type[FactoredCounter], releases: int) -> None:
    counter = make(releases, 30.0, 0.5)
    b, c = factors(counter)
    assert b @ c == pytest.approx(np.tril(np.ones((releases, releases))), abs=1e-9)
    assert counter.column_norm == pytest.approx(np.linalg.norm(c[:, 0]), rel=1e-9)
    for t in (1, (releases + 1) // 2, releases):
        assert counter.row_norms(t) == pytest.approx((np.linalg.norm(b[t - 1]), np.abs(b[t - 1]).sum()), rel=1e-8)

    increments = np.random.default_rng(1).integers(-40, 60, (releases, 6))
    reports, again = reports_of(counter, increments), ReplayableNoise(2)
    assert np.abs(reports - c @ increments).max() <= counter.report_error
    z = np.array([again.discrete_gaussian(60.0, 6) for _ in range(releases)])
    released = run(counter, increments, ReplayableNoise(2))
    assert released == pytest.approx(0.5 * (b @ (reports + z)), abs=1e-6)
    rounding = np.abs(released - 0.5 * (increments.cumsum(axis=0) + b @ z)).max(axis=1)
    assert (rounding <= [counter.rounding(t) for t in range(1, releases + 1)]).all()


@pytest.mark.parametrize("make", BOTH)
def test_the_noise_is_correlated_over_time_as_it_should(make: type[FactoredCounter]) -> None:
    counter = make(6, 30.0, 0.5)
    errors = run(counter, np.zeros((6, 40_000), dtype=np.int64), ReplayableNoise(3))
    b, _ = factors(counter)
    whitened = np.linalg.solve(b, errors) / 30.0
    assert whitened @ whitened.T / 40_000 == pytest.approx(np.eye(6), abs=0.04)
    assert has_std(errors[5] - errors[2], 30.0 * float(np.linalg.norm(b[5] - b[2])))


@pytest.mark.parametrize("make", BOTH)
def test_sensitivity_by_brute_force_and_rounding_must_be_charged(make: type[FactoredCounter]) -> None:
    counter = make(30, 30.0, 1.0)
    rng = np.random.default_rng(4)
    others = rng.integers(0, 5, (30, 2_000))
    worst, unrounded = 0.0, counter.column_norm * ONE.l2
    base = reports_of(counter, others)
    for batch in range(30):
        hers = others.copy()
        hers[batch] += 1
        moved = np.sqrt(((reports_of(counter, hers) - base) ** 2).sum(axis=0))
        worst = max(worst, float(moved.max()))
    assert unrounded < worst <= counter.report_sensitivity(ONE)


@pytest.mark.parametrize("make", BOTH)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_reports_are_within_their_error_up_to_the_largest_totals(
    make: type[FactoredCounter], data: st.DataObject
) -> None:
    """Against rational arithmetic on the very floats that the counter uses."""
    size = 12
    limit = LARGEST_TOTAL // size
    draw = st.integers(-limit, limit) | st.sampled_from([-limit, limit])
    stream = np.array(data.draw(st.lists(draw, min_size=size, max_size=size)), dtype=np.int64)
    counter = make(size, 30.0, 1.0)
    if isinstance(counter, ToeplitzCounter):
        column = [Fraction(float(f)) for f in square_root_coefficients(size)]
    else:
        inner, _ = best_factors(size, 4)
        pairs = [(Fraction(float(w)), 1 - Fraction(float(a))) for w, a in zip(inner.weights, inner.decays, strict=True)]
        column = [Fraction(1)] + [sum((w * p**k for w, p in pairs), Fraction(0)) for k in range(size - 1)]
    got = reports_of(counter, stream[:, None])[:, 0]
    for t in range(size):
        exact = sum((column[t - k] * int(stream[k]) for k in range(t + 1)), Fraction(0))
        assert abs(int(got[t]) - exact) <= counter.report_error


@pytest.mark.parametrize("largest", [3, LARGEST_TOTAL // 3_000])
def test_buffers_stay_within_their_error_over_a_long_stream(largest: int) -> None:
    """3,000 batches, small ones and such as use up the largest total, against 200-bit fixed-point arithmetic."""
    size, bits = 3_000, 200
    counter = BufferedToeplitzCounter(size, 30.0, 1.0)
    inner, _ = best_factors(size, 4)
    stream = np.random.default_rng(5).integers(0, largest, (size, 1))
    weights = [int(Fraction(float(w)) * 2**bits) for w in inner.weights]
    poles = [int((1 - Fraction(float(a))) * 2**bits) for a in inner.decays]
    state, exact, worst = counter.init(1), [0] * 4, 0.0
    for increment in stream:
        x, before = int(increment[0]) << bits, int(state.arrays[1][0, 0])
        state, _ = counter.next(state, increment, Silence())
        remembered, reported = state.arrays
        report = (int(reported[0, 0]) - before) << bits
        exact_report = x + sum(w * s >> bits for w, s in zip(weights, exact, strict=True))
        worst = max(worst, abs(report - exact_report) / 2**bits)
        exact = [(p * s >> bits) + x for p, s in zip(poles, exact, strict=True)]
        for i, decay in enumerate(inner.decays):
            units = abs(int(remembered[i, 0]) - (exact[i] >> bits - FRACTION_BITS))
            assert units <= 1 / (2 * decay) + 2 * UNIT_ROUNDOFF * int(remembered[:, 0].max()) + 1
    assert 0.49 < worst <= counter.report_error < 0.6


def test_square_root_figures() -> None:
    """Std after the last release at (1, 1e-6), H = 20, D^2 = 6 H; and the largest at 1-zCDP over 2^16 releases."""
    mu = gaussian_mu(1.0, 1e-6)
    assert mu == pytest.approx(0.2367, abs=5e-5)
    for releases, std in [(16, 90), (500, 141), (2600, 165), (50_000, 209)]:
        counter = ToeplitzCounter(releases, 1.0, 1e-6)
        sigma = ToeplitzCounter.sigma_for(mu, PER_STEP, releases, 1e-6)
        assert sigma * counter.std(releases) == pytest.approx(std, abs=0.5)
    sigma = ToeplitzCounter.sigma_for(math.sqrt(2), ONE, 2**16, 1e-6)
    assert ToeplitzCounter(2**16, sigma, 1e-6).std(2**16) == pytest.approx(3.25, abs=0.005)


def test_asymptotic_norm() -> None:
    norm = ToeplitzCounter(100_000, 1.0, 1.0).column_norm
    assert norm**2 == pytest.approx((math.log(100_000) + np.euler_gamma + math.log(16)) / math.pi, rel=1e-5)


def test_buffered_figures_and_time() -> None:
    """4 buffers come within half a percent of the square root over 2^16 releases, and take no time to find."""
    for releases, seconds in [(2**16, 2.0), (10**6, 5.0)]:
        best_factors.cache_clear()
        started = time.process_time()
        sigma = BufferedToeplitzCounter.sigma_for(math.sqrt(2), ONE, releases, 1e-7)
        assert time.process_time() - started < seconds
        std = BufferedToeplitzCounter(releases, sigma, 1e-7).std(releases)
        root = ToeplitzCounter(releases, 1.0, 1.0).column_norm ** 2 / math.sqrt(2)
        assert root < std < 1.02 * root
        if releases == 2**16:
            assert std == pytest.approx(3.265, abs=0.006)


def in_steps(inner: Geometric, outer: Geometric) -> list[int]:
    """The whole numbers that the search found, again."""
    decays = np.empty(2 * inner.decays.size)
    decays[0::2], decays[1::2] = inner.decays, outer.decays[1:]
    logs = -np.log(decays[::-1])
    return [round(1024 * math.log(gap)) for gap in np.diff(logs, prepend=0.0)]


@pytest.mark.parametrize(
    ("releases", "found"),
    [
        (8, [-2160, -1065, -581, -321, -271, 95, -7163, -3761]),
        (4096, [-1188, -240, 23, 105, 132, 156, 221, 495]),
    ],
)
def test_factors_are_the_same_on_every_machine(releases: int, found: list[int]) -> None:
    """Found once: what a contract was priced with must be found again wherever it is read, to the last digit that counts."""
    assert in_steps(*best_factors(releases, 4)) == found


@pytest.mark.parametrize("releases", [2, 8, 154, 4096, 10**6])
@pytest.mark.parametrize("buffers", [1, 4])
def test_factors_are_nearly_what_a_smooth_search_finds(releases: int, buffers: int) -> None:
    def variance(gaps: NDArray[np.float64]) -> float:
        inner, outer = buffered._factors(gaps)
        return math.log1p(inner.squares(releases - 1)) + math.log(outer.squares(releases))

    start = np.full(2 * buffers, math.log(math.log(releases + 2) / (2 * buffers)))
    smooth = minimize(variance, start, method="BFGS", options={"gtol": 1e-6}).fun
    inner, outer = best_factors(releases, buffers)
    assert math.log1p(inner.squares(releases - 1)) + math.log(outer.squares(releases)) < smooth + 1e-4


def test_more_buffers_are_never_worse() -> None:
    def size(buffers: int) -> float:
        counter = BufferedToeplitzCounter(2600, 1.0, 1e-6, buffers)
        return counter.column_norm * counter.std(2600)

    sizes = [size(buffers) for buffers in range(1, 9)]
    assert all(after <= before * (1 + 1e-6) for before, after in itertools.pairwise(sizes))
    assert sizes[-1] == pytest.approx(ToeplitzCounter(2600, 1.0, 1e-6).column_norm ** 2, rel=1e-4)


@pytest.mark.parametrize("releases", [1, 2, 3, 8, 100, 10**6])
@pytest.mark.parametrize("buffers", [1, 4, 8])
def test_factors_are_positive_and_multiply_to_the_running_sum(releases: int, buffers: int) -> None:
    inner, outer = best_factors(releases, buffers)
    for part in (inner, outer):
        assert (part.weights > 0).all()
        assert ((part.decays >= 0) & (part.decays < 1)).all()
    # c_k falls and c_0 = 1 is the largest, b_0 = 1.
    assert inner.weights.sum() < 1
    assert outer.weights.sum() == pytest.approx(1, rel=1e-12)
    # sum_j c_j b_(k-j) = 1: at k the geometric sequences are convolved in closed form.
    for k in sorted({1, releases // 2 + 1, releases}):
        theta, pole = 1 - inner.decays, 1 - outer.decays
        apart = inner.decays[:, None] - outer.decays
        convolved = (pole**k - theta[:, None] ** k) / apart  # sum_{j=1..k} theta^(j-1) pole^(k-j)
        assert outer.weights @ pole**k + inner.weights @ convolved @ outer.weights == pytest.approx(1, rel=1e-8)


@pytest.mark.parametrize("make", BOTH)
def test_loss_charges_rounding_and_grid(make: type[FactoredCounter]) -> None:
    counter = make(500, 40.0, 0.01)
    loss = counter.loss(PER_STEP)
    assert isinstance(loss, GaussianLoss)
    exact = PER_STEP.l2 * counter.column_norm + 0.01 * math.sqrt(500 * PER_STEP.cells)
    assert exact < loss.mu * 40.0 < 1.01 * exact
    coarse = make(500, 40.0, 4.0).loss(PER_STEP)
    assert isinstance(coarse, Concentrated)
    assert coarse.rho == pytest.approx(make(500, 40.0, 4.0).report_sensitivity(PER_STEP) ** 2 / (2 * 40.0**2))


@pytest.mark.parametrize("make", BOTH)
def test_sigma_for_is_the_least(make: type[FactoredCounter]) -> None:
    for mu, grid in [(0.2367, 0.01), (1.4, 2**-10), (5.0, 0.25), (1e3, 0.5)]:
        sigma = make.sigma_for(mu, PER_STEP, 500, grid)
        loss, less = make(500, sigma, grid).loss(PER_STEP), make(500, sigma * (1 - 1e-9), grid).loss(PER_STEP)
        assert isinstance(loss, GaussianLoss)
        assert loss.mu <= mu
        assert isinstance(less, Concentrated) or less.mu > mu
    with pytest.raises(InvalidInput, match="mu must be"):
        make.sigma_for(0.0, PER_STEP, 500, 0.01)


def test_buffered_memory_does_not_grow() -> None:
    """9 arrays are kept; a step makes one, the release, and small pieces besides."""
    cells = 200_000
    counter, noise = BufferedToeplitzCounter(10**6, 30.0, 0.25), ReplayableNoise(6)
    assert counter.memory() == 9
    increment = np.ones(cells, dtype=np.int64)
    state, _ = counter.next(counter.init(cells), increment, noise)
    tracemalloc.start()
    try:
        for _ in range(5):
            state, _ = counter.next(state, increment, noise)
        peak = tracemalloc.get_traced_memory()[1] / (8 * cells)
    finally:
        tracemalloc.stop()
    assert sum(array.nbytes for array in state.arrays) == 9 * 8 * cells
    assert peak < 4  # two releases, noise of one piece and its work space


def test_pieces_make_no_seams() -> None:
    """Cells beyond one piece are counted like the first ones."""
    cells = 150_001
    counter = BufferedToeplitzCounter(9, 30.0, 0.5)
    increments = np.arange(cells) % 97 * np.ones((9, 1), dtype=np.int64)
    released = run(counter, increments, Silence())
    assert np.abs(released - 0.5 * increments.cumsum(axis=0)).max() <= counter.rounding(9)
    errors = run(counter, increments, ReplayableNoise(7))[-1] - 0.5 * increments.sum(axis=0)
    for part in np.array_split(errors, 5):
        assert has_std(part, counter.std(9))


def test_too_many_buffers() -> None:
    with pytest.raises(InvalidInput, match="buffers must be"):
        BufferedToeplitzCounter(10, 1.0, 1.0, 9)


def test_descriptions_are_plain() -> None:
    assert ToeplitzCounter(5, 2.0, 0.1).describe() == {"name": "toeplitz", "releases": 5, "sigma": 2.0, "grid": 0.1}
    assert BufferedToeplitzCounter(5, 2.0, 0.1).describe()["buffers"] == 4
