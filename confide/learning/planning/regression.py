"""Weighted ridge regression from Gram sums, noise and all: the estimate, and how far it may be off.

By how much more than lambda the matrix is raised, s the deviation of its noise:

`printed`: E/2 of Algorithm 2 of Qiao and Wang (2023). `quantile`: what no eigenvalue of the noise exceeds but once in twenty
times, about (2 sqrt(d) + 2.8) s, which is less. With both no eigenvalue stays below lambda.
`floor`: 5 s, ours; no eigenvalue may fall below lambda + 5 s. Where data is, more would only bias; where none is, the answer
is noise, and centred targets shrink to mid-range.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...protocol.kinds.gram import GramRelease
from ...protocol.releases.release import Array

PRINTED, QUANTILE, FLOOR = "printed", "quantile", "floor"

SHIFT = 5.0
"""What `floor` adds to the matrix, in deviations of its noise: the best of 0, 1, 3, 5 and 8 on linear-mdp, on seeds apart."""

FAILURE = 0.05
"""With which probability the eigenvalues of a noise matrix may exceed their bound."""


class Regression(NamedTuple):
    """coefficients: (m, B, d); inverse: (B, d, d), of the matrix that was used; noise: as in the release."""

    coefficients: Array
    inverse: Array
    matrix_noise: float
    vector_noise: Array

    def covariance(self, residual_variance: float = 1.0, which: int = 0) -> Array:
        """(B, d, d) the D for which phi'D phi is the variance of a prediction, if residuals have variance `residual_variance`.

        With u = Lambda^-1 phi, noise t in the vector and s in the matrix it is
        residual_variance phi'u + t^2 |u|^2 + s^2 (|u|^2 |w|^2 + (u.w)^2), to first order in the noise.
        """
        weight = self.coefficients[which]
        reach = np.einsum("bij,bj->bi", self.inverse, weight)
        noise = self.vector_noise[which] ** 2 + self.matrix_noise**2 * (weight**2).sum(axis=-1)
        squared = self.inverse @ self.inverse
        outer = reach[:, :, None] * reach[:, None, :]
        return np.asarray(
            residual_variance * self.inverse + noise[:, None, None] * squared + self.matrix_noise**2 * outer
        )


def regress(release: GramRelease, ridge: float, shift: str, failure: float = 0.1) -> Regression:
    """Solve for every vector, the matrix raised by one of the three shifts."""
    size, noise = release.matrix.shape[-1], release.matrix_noise
    horizon = release.question.form.horizon
    added = {
        PRINTED: printed_shift(noise, size, horizon, failure),
        QUANTILE: spectral_bound(noise, size),
        FLOOR: SHIFT * noise,
    }[shift]
    values, vectors = np.linalg.eigh(release.matrix + (ridge + added) * np.eye(size))
    eigenvalues = np.maximum(values, ridge + added if shift == FLOOR else ridge)
    inverse = (vectors / eigenvalues[:, None, :]) @ np.swapaxes(vectors, -1, -2)
    coefficients = np.einsum("mbi,bij->mbj", release.vectors, inverse)
    return Regression(coefficients, inverse, release.matrix_noise, release.vector_noise)


def printed_shift(noise: float, size: int, horizon: int, failure: float) -> float:
    """E/2 for E = sqrt(10 H d/rho) (2 + (log(5 H/failure)/d)^(2/3)), universal constants 1.

    In terms of the noise s = sqrt(5 H/(4 rho)) of the matrix it is s sqrt(2 d) (2 + (log(5 H/failure)/d)^(2/3)).
    """
    tail = math.pow(math.log(5 * horizon / failure) / size, 2 / 3)
    return noise * math.sqrt(2 * size) * (2 + tail)


def printed_remainder(release: GramRelease, kappa: float, failure: float) -> float:
    """D of Algorithm 2: H^2 L/kappa + H^4 E sqrt(d)/kappa^(3/2) + 2 H^3 sqrt(d), hidden constants 1.

    L = 2 H sqrt(5 H d log(10 H d/failure)/rho) is t sqrt(2 d log(10 H d/failure)) for noise t in the vector; E is twice the
    shift. The last term is that of VAPVI without privacy, by equation (11).
    """
    horizon, size = float(release.question.form.horizon), int(release.matrix.shape[-1])
    reach = float(release.vector_noise[0]) * math.sqrt(2 * size * math.log(10 * horizon * size / failure))
    error = 2 * printed_shift(release.matrix_noise, size, int(horizon), failure)
    private = horizon**2 * reach / kappa + horizon**4 * error * math.sqrt(size) / math.pow(kappa, 1.5)
    return float(private + 2 * horizon**3 * math.sqrt(size))


def spectral_bound(noise: float, size: int) -> float:
    """A bound on the noise's eigenvalues with probability 1 - FAILURE: 2 sqrt(d) and a normal tail, times its size.

    The largest eigenvalue of such a matrix has mean at most 2 sqrt(d) and a tail of a normal with deviation sqrt 2.
    """
    from scipy.special import ndtri

    return float(noise * (2 * np.sqrt(size) - np.sqrt(2) * ndtri(FAILURE / 2))) if noise else 0.0
