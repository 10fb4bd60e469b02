"""Gaussian and Laplace noise on symmetric matrices, for Gram sums.

Gaussian: above the diagonal N(0, sigma^2), on it N(0, 2 sigma^2), below it the mirror image. Then the density depends on a
symmetric change D through its Frobenius norm alone:

    mu^2 = sum_{i<j} D_ij^2 / sigma^2 + sum_i D_ii^2 / (2 sigma^2) = ||D||_F^2 / (2 sigma^2),

so that one number, the Frobenius sensitivity, prices a matrix, and mu = ||D||_F / (sqrt(2) sigma). (Noise of one
variance in the whole upper triangle would charge the diagonal double.) On a fine grid both sigmas shrink as
`gaussian` says; the one off the diagonal shrinks more, so charging its share everywhere is safe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..privacy import Loss, Sensitivity
from ..privacy.quantiles import chi_square_radius, normal_quantile
from ..validation import Json
from .counter import COUPLING_DISTANCE
from .gaussian import effective_sigma, gaussian_loss
from .noise import NoiseSource


@dataclass(frozen=True)
class SymmetricGaussian:
    """Symmetric noise with standard deviation sigma off the diagonal and sqrt(2) sigma on it, on a grid."""

    sigma: float
    grid: float

    def __post_init__(self) -> None:
        validation.positive("sigma", self.sigma)
        validation.positive("grid", self.grid)

    @property
    def name(self) -> str:
        """`symmetric-gaussian`."""
        return "symmetric-gaussian"

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """mu = l2 / (sqrt(2) sigma), where l2 is the largest Frobenius norm of a change of the matrix on the grid."""
        return gaussian_loss(sensitivity.l2 / math.sqrt(2), self.sigma, self.grid)

    def describe(self) -> dict[str, Json]:
        """Name, sigma and grid."""
        return {"name": self.name, "sigma": self.sigma, "grid": self.grid}

    def add(self, matrix: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.float64]:
        """Symmetric matrices (..., d, d) in multiples of the grid, with noise of their own each; exactly symmetric."""
        matrix = _symmetric(matrix)
        lead, size = matrix.shape[:-2], matrix.shape[-1]
        above, beside = np.triu_indices(size, 1)
        diagonal = np.arange(size)
        drawn = np.empty(matrix.shape, dtype=np.int64)
        drawn[..., above, beside] = noise.discrete_gaussian(self.sigma / self.grid, (*lead, above.size))
        drawn[..., beside, above] = drawn[..., above, beside]
        drawn[..., diagonal, diagonal] = noise.discrete_gaussian(math.sqrt(2) * self.sigma / self.grid, (*lead, size))
        return (matrix + drawn) * np.float64(self.grid)

    def spectral_radius(self, dimension: int, failure: float) -> float:
        """t with P(an eigenvalue of the noise lies outside [-t, t]) <= failure.

        The smaller of two bounds for normal entries:
        - The largest eigenvalue is max over unit u of u'Zu. Compared with 2 sigma <g, u> (Sudakov and Fernique) its
          mean is at most 2 sigma E||g||. It is a convex function of the entries with Lipschitz constant sqrt(2) sigma,
          so its median is at most its mean, and its tail above the median at most that of N(0, 2 sigma^2). Half the
          failure goes to each end.
        - ||Z||_F^2 = 2 sigma^2 chi^2 with d (d+1)/2 degrees of freedom: exact for d = 1.

        A fine grid moves every entry by at most 0.6 grids, hence an eigenvalue by 0.6 d grids. On a coarse grid the
        entries are only known to be sub-Gaussian, and the matrix Chernoff bound (Tropp 2012) is
        sigma sqrt(2 (d+1) log(2 d / failure)).
        """
        d = validation.integer("dimension", dimension, 1)
        validation.failure(failure)
        if effective_sigma(self.sigma, self.grid) is None:
            return self.sigma * math.sqrt(2 * (d + 1) * math.log(2 * d / failure))
        mean = 2 * math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))
        concentration = mean - math.sqrt(2) * normal_quantile(failure / 2)
        frobenius = math.sqrt(2 * chi_square_radius(d * (d + 1) / 2, failure))
        return self.sigma * min(concentration, frobenius) + COUPLING_DISTANCE * self.grid * d


@dataclass(frozen=True)
class SymmetricLaplace:
    """Symmetric noise of one scale on and above the diagonal, mirrored below it, on a grid.

    Matrices whose triangles, diagonal included, differ by c in l1 are distinguished by an epsilon of c/scale.
    """

    scale: float
    grid: float

    def __post_init__(self) -> None:
        validation.positive("scale", self.scale)
        validation.positive("grid", self.grid)

    def add(self, matrix: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.float64]:
        """Symmetric matrices (..., d, d) in multiples of the grid, with noise of their own each; exactly symmetric."""
        matrix = _symmetric(matrix)
        row, column = np.triu_indices(matrix.shape[-1])
        triangle = noise.discrete_laplace(self.scale / self.grid, (*matrix.shape[:-2], row.size))
        drawn = np.empty(matrix.shape, dtype=np.int64)
        drawn[..., row, column] = triangle
        drawn[..., column, row] = triangle
        return (matrix + drawn) * np.float64(self.grid)


def _symmetric(matrix: NDArray[np.int64]) -> NDArray[np.int64]:
    """The matrices (..., d, d), of whole numbers and symmetric; others are refused."""
    matrix = np.asarray(matrix)
    square = matrix.ndim >= 2 and matrix.shape[-1] == matrix.shape[-2]
    if matrix.dtype.kind not in "iu" or not square:
        got = f"{matrix.dtype} of shape {matrix.shape}"
        raise validation.refusal(
            "matrix-form", "matrix", "square, of whole numbers", got, "Give multiples of the grid as integers."
        )
    if not np.array_equal(matrix, np.swapaxes(matrix, -1, -2)):
        raise validation.refusal(
            "matrix-not-symmetric",
            "matrix",
            "symmetric",
            "one that is not",
            "Round it to the grid before mirroring it.",
        )
    return matrix
