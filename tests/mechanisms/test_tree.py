"""The binary mechanism against the printed algorithm, a count of its nodes, and the papers' constants."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.errors import UnknownName
from confide.mechanisms.noise import ReplayableNoise
from confide.mechanisms.tree import TreeCounter
from confide.privacy import Concentrated, GaussianLoss, Pure, Sensitivity
from confide.privacy.conversion import gaussian_mu

H, K = 20, 50_000
PER_STEP = Sensitivity(l1=6 * H, l2=math.sqrt(6 * H), shifts=((1.0, 6 * H),), cells=6 * H)
"""Visits, rewards and transitions of one trajectory, counted step by step."""


class Recorded:
    """A source that hands out given noise, one row a call."""

    secure = False
    drawn_by = "replayable"

    def __init__(self, rows: NDArray[np.int64]) -> None:
        self.rows = list(rows)

    def discrete_laplace(self, scale: float, shape: int) -> NDArray[np.int64]:
        return self.rows.pop(0)


def printed_algorithm(stream: NDArray[np.int64], noise: NDArray[np.int64]) -> NDArray[np.int64]:
    """Chan, Shi and Song 2010, Algorithm 2, for one cell: partial sums alpha and their noisy forms."""
    levels = len(stream).bit_length()
    alpha, noisy, out = [0] * levels, [0] * levels, []
    for t, x in enumerate(stream, start=1):
        i = next(level for level in range(levels) if t >> level & 1)
        alpha[i] = sum(alpha[:i]) + x
        alpha[:i], noisy[:i] = [0] * i, [0] * i
        noisy[i] = alpha[i] + noise[t - 1]
        out.append(sum(noisy[j] for j in range(levels) if t >> j & 1))
    return np.array(out)


@pytest.mark.parametrize("releases", [1, 2, 5, 8, 37])
def test_it_is_the_printed_algorithm(releases: int) -> None:
    rng = np.random.default_rng(releases)
    stream, noise = rng.integers(-9, 9, (releases, 3)), rng.integers(-99, 99, (releases, 3))
    counter, source = TreeCounter(releases, "laplace", 1.0, 0.5), Recorded(noise)
    state = counter.init(3)
    for t in range(releases):
        state, released = counter.next(state, stream[t], source)
        for cell in range(3):
            assert released[cell] == 0.5 * printed_algorithm(stream[:, cell], noise[:, cell])[t]
    assert not source.rows  # one noise a release


@pytest.mark.parametrize("releases", range(1, 70))
def test_levels_is_the_most_nodes_a_batch_lies_in(releases: int) -> None:
    nodes = [range(t - (t & -t) + 1, t + 1) for t in range(1, releases + 1)]
    most = max(sum(batch in node for node in nodes) for batch in range(1, releases + 1))
    assert TreeCounter(releases, "laplace", 1.0, 1.0).levels == most


def test_pure_loss_of_the_papers_scale() -> None:
    """UCB prints 3 H log(K) / epsilon: the true epsilon is 2.05 times the nominal one with log2, 2.96 times with ln."""
    assert TreeCounter(K, "laplace", 1.0, 1.0).levels == 16
    for logarithm, ratio in [(math.log2(K), 2.05), (math.log(K), 2.96)]:
        loss = TreeCounter(K, "laplace", 3 * H * logarithm, 1.0).loss(PER_STEP)
        assert isinstance(loss, Pure)
        assert loss.value == pytest.approx(ratio, abs=0.005)
    assert TreeCounter(K, "laplace", 6 * H * 16, 1.0).loss(PER_STEP) == Pure(1.0)


def test_gaussian_loss_on_fine_and_coarse_grids() -> None:
    fine = TreeCounter(K, "gaussian", 200.0, 0.5).loss(PER_STEP)
    assert isinstance(fine, GaussianLoss)
    assert fine.mu == pytest.approx(math.sqrt(16 * 6 * H) / 200, rel=1e-4)
    assert fine.mu > math.sqrt(16 * 6 * H) / 200
    coarse = TreeCounter(K, "gaussian", 15.0, 1.0).loss(PER_STEP)
    assert coarse == Concentrated(pytest.approx(16 * 6 * H / (2 * 15.0**2)))


def test_known_figures() -> None:
    """Root mean square over all releases at (1, 1e-6), H = 20, K = 5e4; the largest at 1-zCDP over 2^16 releases."""

    def rms(counter: TreeCounter) -> float:
        digits = np.bitwise_count(np.arange(1, K + 1))
        return counter.std(1) * math.sqrt(float(digits.mean()))

    mu = gaussian_mu(1.0, 1e-6)
    assert rms(TreeCounter(K, "laplace", 6 * H * 16, 1.0)) == pytest.approx(7510, rel=2e-3)
    assert rms(TreeCounter(K, "gaussian", math.sqrt(6 * H * 16) / mu, 1.0)) == pytest.approx(512, rel=2e-3)
    one_zcdp = TreeCounter(2**16, "gaussian", math.sqrt(17 / 2), 2**-8)
    one = Sensitivity(1.0, 1.0, ((1.0, 1),), 1)
    loss = one_zcdp.loss(one)
    assert isinstance(loss, GaussianLoss)
    assert loss.mu == pytest.approx(math.sqrt(2), rel=1e-4)
    assert max(one_zcdp.std(t) for t in range(1, 2**16 + 1)) == pytest.approx(11.66, abs=0.005)


@pytest.mark.parametrize("scale", [0.7, 3.0, 20.0])
@pytest.mark.parametrize("draws", [1, 2, 5])
def test_laplace_radius_holds_exactly_and_is_tight(scale: float, draws: int) -> None:
    support = np.arange(-int(60 * scale) - 60, int(60 * scale) + 61)
    mass = np.exp(-np.abs(support) / scale)
    one = total = mass / mass.sum()
    for _ in range(draws - 1):
        total = np.convolve(total, one)
    middle = len(total) // 2
    counter = TreeCounter(1, "laplace", scale, 1.0)
    for failure in (0.3, 0.05, 1e-4, 1e-8):
        radius = counter.radius(1, failure, cells=draws)
        outside = total[np.abs(np.arange(len(total)) - middle) > radius].sum()
        assert outside <= failure
        assert total[np.abs(np.arange(len(total)) - middle) > 0.9 * radius - 2].sum() > failure


def test_noise_is_on_the_grid() -> None:
    counter = TreeCounter(3, "laplace", 5.0, 0.25)
    state = counter.init(1000)
    for _ in range(3):
        state, released = counter.next(state, np.ones(1000, dtype=np.int64), ReplayableNoise(1))
    assert (released / 0.25 == np.rint(released / 0.25)).all()


def test_unknown_node() -> None:
    with pytest.raises(UnknownName, match="laplace"):
        TreeCounter(3, "laplce", 1.0, 1.0)  # type: ignore[arg-type]
