"""Symmetric Gaussian matrices: their law, their price and their eigenvalues."""

from __future__ import annotations

import math

import numpy as np
import pytest

from confide.errors import InvalidInput
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.mechanisms.symmetric import SymmetricGaussian
from confide.privacy import Concentrated, GaussianLoss, Sensitivity

from .test_counter import has_std


@pytest.mark.parametrize("secure", [False, True])
def test_both_standard_deviations_and_no_other(secure: bool) -> None:
    mechanism = SymmetricGaussian(5.0, 0.25)
    noise = SecureNoise() if secure else ReplayableNoise(1)
    drawn = mechanism.add(np.zeros((1_200, 4, 4), dtype=np.int64), noise)
    assert (drawn == np.swapaxes(drawn, 1, 2)).all()
    above, beside = np.triu_indices(4, 1)
    diagonal = drawn[:, np.arange(4), np.arange(4)]
    for values, std in [(drawn[:, above, beside], 5.0), (diagonal, 5.0 * math.sqrt(2))]:
        assert has_std(values, std)
        assert not has_std(values, std * 2 / 3)
        assert not has_std(values, std * 3 / 2)
    assert (drawn / 0.25 == np.rint(drawn / 0.25)).all()


def test_entries_and_matrices_are_independent() -> None:
    drawn = SymmetricGaussian(5.0, 0.25).add(np.zeros((20_000, 3, 3), dtype=np.int64), ReplayableNoise(2))
    triangle = drawn[:, *np.triu_indices(3)]
    assert np.corrcoef(triangle.T) == pytest.approx(np.eye(6), abs=0.05)
    assert np.corrcoef(triangle[1:, 0], triangle[:-1, 0])[0, 1] == pytest.approx(0, abs=0.05)


def test_the_matrix_is_kept() -> None:
    matrix = np.array([[8, -3], [-3, 1_000_000]])
    drawn = SymmetricGaussian(1.0, 0.25).add(matrix, ReplayableNoise(3))
    assert np.abs(drawn - 0.25 * matrix).max() < 10
    assert matrix.tolist() == [[8, -3], [-3, 1_000_000]]


def test_loss_is_that_of_the_vector_of_independent_entries() -> None:
    rng = np.random.default_rng(4)
    change = rng.normal(size=(5, 5))
    change += change.T
    above = np.triu_indices(5, 1)
    mu = math.sqrt(((change[above] / 3.0) ** 2).sum() + (np.diag(change) ** 2 / (2 * 3.0**2)).sum())
    frobenius = float(np.linalg.norm(change))
    sensitivity = Sensitivity(l1=np.abs(change).sum(), l2=frobenius, shifts=((frobenius, 1),), cells=25)
    loss = SymmetricGaussian(3.0, 1e-4).loss(sensitivity)
    assert isinstance(loss, GaussianLoss)
    assert loss.mu == pytest.approx(mu, rel=1e-6)
    assert loss.mu == pytest.approx(frobenius / (math.sqrt(2) * 3.0), rel=1e-6)
    coarse = SymmetricGaussian(3.0, 1.0).loss(sensitivity)
    assert coarse == Concentrated(pytest.approx(frobenius**2 / (4 * 3.0**2)))


def test_a_published_figure() -> None:
    """UCRL-VTR, H = 6, (1, 1e-5): D^2 = 4 sum_h (H-h)^4 over the doubled-diagonal noise makes sigma = 233."""
    frobenius = math.sqrt(2 * 4 * sum((6 - h) ** 4 for h in range(1, 7)))
    sensitivity = Sensitivity(l1=frobenius, l2=frobenius, shifts=((frobenius, 1),), cells=1)
    loss = SymmetricGaussian(233.0, 0.1).loss(sensitivity)
    assert loss.delta(1.0) == pytest.approx(1e-5, rel=0.05)


@pytest.mark.parametrize("dimension", [1, 2, 5, 30])
@pytest.mark.parametrize("grid", [0.05, 2.0])
def test_spectral_radius_holds_and_is_not_wasteful(dimension: int, grid: float) -> None:
    mechanism, failure = SymmetricGaussian(5.0, grid), 0.05
    drawn = mechanism.add(np.zeros((3_000, dimension, dimension), dtype=np.int64), ReplayableNoise(5))
    norms = np.abs(np.linalg.eigvalsh(drawn)).max(axis=1)
    radius = mechanism.spectral_radius(dimension, failure)
    assert np.mean(norms > radius) <= failure * 1.15
    fine = grid < 1
    assert radius < (1.5 if fine else 3) * np.quantile(norms, 1 - failure)
    if dimension == 1 and fine:
        assert np.mean(norms > radius) == pytest.approx(failure, abs=0.015)


def test_bad_matrices_are_refused() -> None:
    mechanism, noise = SymmetricGaussian(5.0, 1.0), ReplayableNoise(6)
    for bad in (
        np.zeros((2, 3), dtype=np.int64),
        np.zeros((2, 2)),
        np.array([[0, 1], [2, 0]]),
        np.zeros(4, dtype=np.int64),
    ):
        with pytest.raises(InvalidInput, match="matrix must be"):
            mechanism.add(bad, noise)
    for sigma, grid in [(0.0, 1.0), (1.0, 0.0), (math.inf, 1.0)]:
        with pytest.raises(InvalidInput, match="must be"):
            SymmetricGaussian(sigma, grid)
    with pytest.raises(InvalidInput, match="failure"):
        mechanism.spectral_radius(3, 1.0)
