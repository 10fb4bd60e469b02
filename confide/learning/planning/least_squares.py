"""Ridge regression from noisy Gram matrices, block by block: factors, solves, and what to say when there are none.

Noise can take a Gram matrix L = sum X X' out of the positive definite ones. If the noise has spectral radius at most G,
two remedies keep every eigenvalue of Sigma at rho = ridge + G or above:

* `shift`: Sigma = L + noise + (ridge + 2 G) I (Shariff and Sheffet, 2018; Liao, He and Gu, 2021);
* `floor`: Sigma = L + noise + ridge I with every eigenvalue below rho raised to it, so that what exceeds the
  noise is not shrunk.

Everything is solved by Cholesky factors; no inverse is formed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ...errors import InvalidInput
from ...mdp import MixtureFeatures

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

SHIFT, FLOOR = "shift", "floor"


class Sparse(NamedTuple):
    """Features as compiled code takes them: of map u the entries starts[u] .. starts[u+1] that are not zero.

    Pairs (s, a) lie at s A + a; `order` sorts them by block, and those of block b are order[bounds[b] : bounds[b+1]].
    """

    starts: Integers  # (U + 1,)
    following: Integers  # next state of each entry
    coordinate: Integers  # coordinate of each entry
    weight: Array  # value of each entry
    which: Integers  # (S A,) map of each pair
    block: Integers  # (S A,)
    order: Integers  # (S A,)
    bounds: Integers  # (blocks + 1,)


def sparse(features: MixtureFeatures) -> Sparse:
    """The features, zeros left out."""
    table, following, coordinate = np.nonzero(features.maps)
    block = features.block.ravel()
    return Sparse(
        np.searchsorted(table, np.arange(len(features.maps) + 1)),
        following,
        coordinate,
        features.maps[table, following, coordinate],
        features.which.ravel().copy(),
        block.copy(),
        np.argsort(block, kind="stable"),
        np.searchsorted(np.sort(block), np.arange(features.blocks + 1)),
    )


@compiled
def weigh(features: Sparse, pair: int, values: Array, out: Array, column: int) -> None:
    """out[:, column] = phi_V of a pair, in the coordinates of its block."""
    for i in range(out.shape[0]):
        out[i, column] = 0.0
    table = features.which[pair]
    for entry in range(features.starts[table], features.starts[table + 1]):
        out[features.coordinate[entry], column] += features.weight[entry] * values[features.following[entry]]


@compiled
def unpack_block(cells: Array, diagonal: float, matrix: Array, vector: Array) -> None:
    """The cells of one block, upper triangle row by row and vector, as a lower triangle and the vector."""
    size = vector.size
    at = 0
    for i in range(size):
        matrix[i, i] = cells[at] / diagonal
        for j in range(i + 1, size):
            matrix[j, i] = cells[at + j - i]
        at += size - i
    for i in range(size):
        vector[i] = cells[at + i]


@compiled
def add_outer(x: Array, column: int, y: float, diagonal: float, cells: Array) -> None:
    """Add X X' and X y to the cells of one block, for X = x[:, column]: a symmetric rank-one update."""
    size = x.shape[0]
    at = 0
    for i in range(size):
        xi = x[i, column]
        cells[at] += diagonal * xi * xi
        for j in range(i + 1, size):
            cells[at + j - i] += xi * x[j, column]
        at += size - i
    for i in range(size):
        cells[at + i] += x[i, column] * y


@compiled
def factor(matrix: Array, shift: float, column: Array) -> bool:
    """Replace the lower triangle of a matrix by the Cholesky factor of matrix + shift I; False if there is none."""
    size = column.size
    for i in range(size):
        matrix[i, i] += shift
    for j in range(size):
        pivot = matrix[j, j]
        if not (pivot > 0.0 and math.isfinite(pivot)):
            return False
        root = math.sqrt(pivot)
        matrix[j, j] = root
        for i in range(j + 1, size):
            matrix[i, j] /= root
            column[i] = matrix[i, j]
        for i in range(j + 1, size):
            entry = column[i]
            for k in range(j + 1, i + 1):
                matrix[i, k] -= entry * column[k]
    return True


@compiled
def raise_eigenvalues(matrix: Array, ridge: float, least: float) -> None:
    """Add ridge I to the symmetric matrix of a lower triangle, and raise its eigenvalues to `least`."""
    size = matrix.shape[0]
    for i in range(size):
        matrix[i, i] += ridge
        for j in range(i + 1, size):
            matrix[i, j] = matrix[j, i]
    eigenvalues, vectors = np.linalg.eigh(matrix)
    if eigenvalues[0] >= least:
        return
    for i in range(size):
        for j in range(i + 1):
            total = 0.0
            for k in range(size):
                total += vectors[i, k] * vectors[j, k] * max(eigenvalues[k], least)
            matrix[i, j] = total


@compiled
def forward(lower: Array, right: Array, columns: int) -> None:
    """Solve lower Z = right for the first `columns` columns, in place."""
    size = lower.shape[0]
    for i in range(size):
        for j in range(i):
            entry = lower[i, j]
            for c in range(columns):
                right[i, c] -= entry * right[j, c]
        scale = 1.0 / lower[i, i]
        for c in range(columns):
            right[i, c] *= scale


@compiled
def solve(lower: Array, vector: Array) -> None:
    """Solve lower lower' theta = vector in place, by two triangular solves."""
    size = vector.size
    for i in range(size):
        total = vector[i]
        for j in range(i):
            total -= lower[i, j] * vector[j]
        vector[i] = total / lower[i, i]
    for i in range(size - 1, -1, -1):
        vector[i] /= lower[i, i]
        for j in range(i):
            vector[j] -= lower[i, j] * vector[i]


@compiled
def log_determinant(lower: Array) -> float:
    """log det of lower lower'."""
    total = 0.0
    for i in range(lower.shape[0]):
        total += math.log(lower[i, i])
    return 2.0 * total


def explain(failed: int, blocks: int, users: float, ridge: float, radius: float) -> InvalidInput:
    """Why there is no regression: `failed` counts the blocks of all steps from 0."""
    step, block = divmod(failed, blocks)
    if ridge <= 0:
        way_out = "Give a ridge above 0: without one the matrix is singular until every direction was seen."
    elif radius > 0:
        way_out = "The noise is larger than its stated radius: ask for a smaller failure probability, or use floor."
    else:
        way_out = "The release is not a sum of squares, or not finite: check where it comes from."
    return InvalidInput(
        "gram-not-definite",
        f"The Gram matrix of step {step + 1}, block {block}, must be positive definite to be solved. It is not after "
        f"{users:,.0f} people, with ridge {ridge:g} and radius {radius:.4g}. {way_out}",
    )
