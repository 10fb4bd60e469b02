"""What all continual counters guarantee, whatever their noise looks like."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from confide.errors import InvalidInput, PrivacyError
from confide.mechanisms.buffered import BufferedToeplitzCounter
from confide.mechanisms.counter import COUPLING_DISTANCE, LARGEST_TOTAL, Counter, discrete_gaussian_radius
from confide.mechanisms.gaussian import FINE
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.mechanisms.toeplitz import ToeplitzCounter
from confide.mechanisms.tree import TreeCounter

FALSE_ALARM = 1e-9
"""How often `has_std` rejects the true standard deviation, at most: matters for secure noise only."""

MAKERS: dict[str, Callable[[int, float, float], Counter]] = {
    "tree-laplace": lambda releases, scale, grid: TreeCounter(releases, "laplace", scale, grid),
    "tree-gaussian": lambda releases, scale, grid: TreeCounter(releases, "gaussian", scale, grid),
    "toeplitz": ToeplitzCounter,
    "buffered-toeplitz": BufferedToeplitzCounter,
}


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Callable[[int, float, float], Counter]:
    return MAKERS[request.param]


def run(counter: Counter, increments: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.float64]:
    """All releases of a stream (releases, cells)."""
    state = counter.init(increments.shape[1])
    out = []
    for increment in increments:
        state, released = counter.next(state, increment, noise)
        out.append(released)
    return np.array(out)


def has_std(errors: NDArray[np.float64], std: float) -> bool:
    """Whether independent errors may have this std. No law here has a kurtosis above 6, that of the Laplace law; the
    factor 100 makes room for the skewness of its squares, a factor of about 20 in the far tail for 4,000 errors."""
    margin = -ndtri(FALSE_ALARM / 2 / 100) * math.sqrt((6 - 1) / (4 * errors.size))
    return bool(abs(math.sqrt(float(np.mean(errors**2))) / std - 1) < margin < 1 / 4)


class Silence:
    """A source without noise: what remains is what the counter itself does to the sums."""

    secure = False
    drawn_by = "replayable"

    def discrete_laplace(self, scale: float, shape: int) -> NDArray[np.int64]:
        return np.zeros(shape, dtype=np.int64)

    discrete_gaussian = discrete_laplace


@pytest.mark.parametrize("factor", [2 / 3, 1.0, 3 / 2])
def test_the_noise_has_its_std_at_every_release_and_no_other(
    make: Callable[[int, float, float], Counter], factor: float
) -> None:
    claimed, drawn = make(11, 9.0, 0.25), make(11, 9.0 * factor, 0.25)
    increments = np.random.default_rng(1).integers(-50, 50, (11, 20_000))
    errors = run(drawn, increments, ReplayableNoise(2)) - 0.25 * increments.cumsum(axis=0)
    for release in range(1, 12):
        assert has_std(errors[release - 1], claimed.std(release)) == (factor == 1.0)


def test_secure_noise_has_the_std(make: Callable[[int, float, float], Counter]) -> None:
    counter = make(2, 9.0, 0.25)
    errors = run(counter, np.zeros((2, 9_000), dtype=np.int64), SecureNoise())
    assert has_std(errors[1], counter.std(2))
    assert not has_std(errors[1], counter.std(2) * 2 / 3)
    assert not has_std(errors[1], counter.std(2) * 3 / 2)


def test_cells_are_independent(make: Callable[[int, float, float], Counter]) -> None:
    errors = run(make(5, 9.0, 0.25), np.zeros((5, 20_000), dtype=np.int64), ReplayableNoise(3))[-1]
    assert len(np.unique(errors)) > 100
    for lag in (1, 2, 64):
        assert abs(np.corrcoef(errors[:-lag], errors[lag:])[0, 1]) < 0.04


def test_an_adaptive_stream_is_summed_like_any_other(make: Callable[[int, float, float], Counter]) -> None:
    counter, noise = make(40, 9.0, 0.25), ReplayableNoise(4)
    state = counter.init(20_000)
    increment, total = np.zeros(20_000, dtype=np.int64), np.zeros(20_000, dtype=np.int64)
    for _ in range(40):
        total += increment
        state, released = counter.next(state, increment, noise)
        increment = np.where(released > 0, 7, 30)  # what people do next depends on what was released
    assert has_std(released - 0.25 * total, counter.std(40))


def test_the_radius_holds_and_is_not_wasteful(make: Callable[[int, float, float], Counter]) -> None:
    counter = make(7, 9.0, 0.25)
    errors = run(counter, np.zeros((7, 60_000), dtype=np.int64), ReplayableNoise(5))
    for release, failure in [(1, 0.01), (7, 0.01), (7, 0.2)]:
        missed = np.mean(np.abs(errors[release - 1]) > counter.radius(release, failure))
        assert 0.6 * failure < missed < 1.2 * failure
    sums = errors[6].reshape(-1, 6).sum(axis=1)
    assert 0.004 < np.mean(np.abs(sums) > counter.radius(7, 0.02, cells=6)) < 0.03


def test_without_noise_the_running_sum_remains(make: Callable[[int, float, float], Counter]) -> None:
    counter = make(300, 9.0, 0.25)
    increments = np.random.default_rng(6).integers(-5, 100, (300, 50))
    errors = np.abs(run(counter, increments, Silence()) - 0.25 * increments.cumsum(axis=0)).max(axis=1)
    bounds = [counter.rounding(t) if hasattr(counter, "rounding") else 0.0 for t in range(1, 301)]
    assert (errors <= bounds).all()


def test_it_refuses_more_releases_than_it_was_made_for(make: Callable[[int, float, float], Counter]) -> None:
    counter, nothing = make(3, 9.0, 1.0), np.zeros(2, dtype=np.int64)
    state = counter.init(2)
    for _ in range(3):
        state, _ = counter.next(state, nothing, Silence())
    with pytest.raises(PrivacyError, match="made for 3 releases"):
        counter.next(state, nothing, Silence())
    with pytest.raises(InvalidInput, match="release must be"):
        counter.std(4)


def test_a_state_is_good_for_one_use(make: Callable[[int, float, float], Counter]) -> None:
    counter = make(5, 9.0, 1.0)
    first = counter.init(2)
    second, _ = counter.next(first, np.array([1, 2]), Silence())
    with pytest.raises(PrivacyError, match="used before"):
        counter.next(first, np.array([1, 2]), Silence())
    _, released = counter.next(second, np.array([1, 2]), Silence())
    assert released == pytest.approx([2.0, 4.0], abs=1.1)


def test_bad_increments_are_refused_without_being_shown_and_do_not_spend_the_state(
    make: Callable[[int, float, float], Counter],
) -> None:
    counter = make(5, 9.0, 1.0)
    state = counter.init(2)
    too_large = np.array([0, -LARGEST_TOTAL - 12_345])
    for bad in (np.array([1.0, 2.0]), np.array([1, 2, 3]), too_large):
        with pytest.raises(InvalidInput) as refused:
            counter.next(state, bad, Silence())
        assert str(too_large[1]).strip("-") not in str(refused.value)
    assert "12345" not in repr(state)
    state, _ = counter.next(state, np.array([0, 1 - LARGEST_TOTAL]), Silence())
    with pytest.raises(InvalidInput, match="coarser grid"):
        counter.next(state, np.array([2, 0]), Silence())


def test_earlier_releases_stay_as_they_were(make: Callable[[int, float, float], Counter]) -> None:
    counter, noise = make(4, 9.0, 1.0), ReplayableNoise(7)
    state, first = counter.next(counter.init(3), np.array([1, 2, 3]), noise)
    kept = first.copy()
    counter.next(state, np.array([50, 60, 70]), noise)
    assert (first == kept).all()


def test_memory_is_what_it_says(make: Callable[[int, float, float], Counter]) -> None:
    counter = make(16, 9.0, 1.0)
    state = counter.init(100)
    for _ in range(16):
        state, _ = counter.next(state, np.zeros(100, dtype=np.int64), ReplayableNoise(8))
    assert sum(array.nbytes for array in state.arrays) == 8 * 100 * counter.memory()


def test_no_cells_no_trouble(make: Callable[[int, float, float], Counter]) -> None:
    assert run(make(3, 9.0, 1.0), np.zeros((3, 0), dtype=np.int64), ReplayableNoise(9)).shape == (3, 0)


def test_bad_parameters_are_refused(make: Callable[[int, float, float], Counter]) -> None:
    for bad in [(0, 1.0, 1.0), (2.5, 1.0, 1.0), (4, 0.0, 1.0), (4, math.nan, 1.0), (4, 1.0, 0.0), (4, 1.0, -1.0)]:
        with pytest.raises(InvalidInput, match="must be"):
            make(*bad)
    with pytest.raises(InvalidInput, match="failure must be"):
        make(4, 1.0, 1.0).radius(1, 0.0)
    assert make(1e3, 1.0, 1.0).releases == 1000  # type: ignore[arg-type]


def test_a_discrete_gaussian_on_a_fine_grid_is_near_a_normal() -> None:
    """P(z >= k) lies between P(N >= k - 0.5) and P(N >= k - 0.4) for every k from 1 to 38 sigma, in logarithms."""
    for sigma in (float(FINE), 40.0):
        log_mass = -((np.arange(int(60 * sigma)) / sigma) ** 2) / 2
        log_tail = np.logaddexp.accumulate(log_mass[::-1])[::-1] - math.log(2 * np.exp(log_mass).sum() - 1)
        k = np.arange(1, int(38 * sigma))
        assert (log_tail[k] <= log_ndtr(-(k - 0.5) / sigma) + 1e-12).all()
        assert (log_tail[k] >= log_ndtr(-(k - 1 + COUPLING_DISTANCE) / sigma)).all()


def test_the_gaussian_radius_holds_exactly_on_any_grid() -> None:
    for sigma in (0.5, 2.0, 16.0, 100.0):
        k = np.arange(-int(45 * sigma) - 5, int(45 * sigma) + 6)
        mass = np.exp(-((k / sigma) ** 2) / 2)
        mass /= mass.sum()
        for failure in (0.5, 0.1, 1e-3, 1e-9, 1e-30):
            radius = discrete_gaussian_radius(sigma, 1.0, 1.0, 1.0, failure)
            assert mass[np.abs(k) > radius].sum() <= failure
        assert discrete_gaussian_radius(100.0, 1.0, 1.0, 1.0, 1e-3) < 100 * 3.3
