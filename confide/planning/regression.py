"""Weighted ridge regression from Gram sums, noise and all: the estimate, and how far it may be off.

`paper`: Algorithm 2 of Qiao and Wang (2023): the matrix is made positive by adding lambda and a bound on the eigenvalues
of its noise, about 2 sqrt(d) + 2.8 times its deviation s. `tight`: lambda + 5 s is added, and no eigenvalue may fall below
that. Where data is, more would only bias; where none is, the answer is noise, and centred targets shrink to mid-range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..releases.gram import GramRelease
from ..releases.release import Array

SHIFT = 5.0
"""What `tight` adds to the matrix, in deviations of its noise: the best of 0, 1, 3, 5 and 8 on linear-mdp, on seeds apart."""

FAILURE = 0.05
"""With which probability the eigenvalues of a noise matrix may exceed their bound."""


class Regression(NamedTuple):
    """coefficients: (m, B, d); inverse: (B, d, d), of the matrix that was used; noise: as in the release."""

    coefficients: Array
    inverse: Array
    matrix_noise: float
    vector_noise: Array

    def doubt(self, luck: float = 1.0, which: int = 0) -> Array:
        """(B, d, d) the D for which phi'D phi is the variance of a prediction, if residuals have variance `luck`.

        With u = Lambda^-1 phi, noise t in the vector and s in the matrix it is
        luck phi'u + t^2 |u|^2 + s^2 (|u|^2 |w|^2 + (u.w)^2), to first order in the noise.
        """
        weight = self.coefficients[which]
        reach = np.einsum("bij,bj->bi", self.inverse, weight)
        noise = self.vector_noise[which] ** 2 + self.matrix_noise**2 * (weight**2).sum(axis=-1)
        squared = self.inverse @ self.inverse
        outer = reach[:, :, None] * reach[:, None, :]
        return np.asarray(luck * self.inverse + noise[:, None, None] * squared + self.matrix_noise**2 * outer)


def regress(release: GramRelease, ridge: float, paper: bool) -> Regression:
    """Solve for every vector, the matrix shifted as the paper does it, or as we do."""
    size = release.matrix.shape[-1]
    shift = spectral_bound(release.matrix_noise, size) if paper else SHIFT * release.matrix_noise
    values, vectors = np.linalg.eigh(release.matrix + (ridge + shift) * np.eye(size))
    kept = np.maximum(values, ridge if paper else ridge + shift)
    inverse = (vectors / kept[:, None, :]) @ np.swapaxes(vectors, -1, -2)
    coefficients = np.einsum("mbi,bij->mbj", release.vectors, inverse)
    return Regression(coefficients, inverse, release.matrix_noise, release.vector_noise)


def spectral_bound(noise: float, size: int) -> float:
    """What no eigenvalue of the noise exceeds, with probability 1 - FAILURE: 2 sqrt(d) and a normal tail, times its size.

    The largest eigenvalue of such a matrix has mean at most 2 sqrt(d) and a tail of a normal with deviation sqrt 2.
    """
    from scipy.special import ndtri

    return float(noise * (2 * np.sqrt(size) - np.sqrt(2) * ndtri(FAILURE / 2))) if noise else 0.0
