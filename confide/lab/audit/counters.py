"""Targets made of a continual counter: everything it ever releases is one output.

What a counter releases is B y: a lower triangular matrix of public numbers times the noisy numbers y behind the
releases. Of a tree these are its nodes, and B adds up those in use; of a factored counter they are its reports. So
releases and y tell the same. One unit in a batch moves the releases by its running sum, hence y by B^-1 of that.
"""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.buffered import BufferedToeplitzCounter, best_factors
from ...mechanisms.counter import Counter
from ...mechanisms.noise import NoiseSource
from ...mechanisms.toeplitz import ToeplitzCounter, square_root_coefficients
from ...mechanisms.tree import TreeCounter
from ...privacy import GaussianLoss, Loss
from ...privacy.guarantee import JOINT
from .auditing import Target
from .events import Array, Statistic
from .likelihood import laplace_loss


def counter_target(name: str, counter: Counter, loss: Loss, change: NDArray[np.int64], batch: int) -> Target:
    """The target of a counter: a stream of zeros (world 0), and the same with `change` (cells,), in grids, in one batch (world 1),
    or in as many as one user may be in.

    Outputs are the (n, releases * cells) numbers behind the releases, or of an unknown counter the releases themselves.
    Counters treat every cell by itself, so n streams run side by side.
    """
    moved = change * np.float64(counter.grid)
    mixed = mixing(counter)
    unmix = None if mixed is None else _inverse(mixed)

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        state, released = counter.init(count * change.size), []
        for release in range(1, counter.releases + 1):
            increment = np.tile(change * (world == 1 and release in batches_from(counter, batch)), count)
            state, cells = counter.next(state, increment, noise)
            released.append(cells.reshape(count, change.size))
        together = np.stack(released, axis=1)
        return (together if unmix is None else _unmixed(unmix, together)).reshape(count, -1)

    claimed = None if mixed is None else stream_loss(counter, np.eye(counter.releases), moved, batch)
    return Target(name, loss, sample, claimed, exact_stream_loss(counter, moved, batch), JOINT, grid=counter.grid)


class NoiseModel(NamedTuple):
    """The numbers behind a counter's releases: B (releases, releases), and the noise of y, its size and its law."""

    mixed: Array
    size: float
    laplace: bool = False


@singledispatch
def noise_model(counter: Counter) -> NoiseModel | None:
    """The model of a counter's noise; None for an unknown counter. Another one is entered with `noise_model.register`."""
    return None


@noise_model.register
def _(counter: TreeCounter) -> NoiseModel:
    """Node `end` covers as many batches as its lowest binary digit says, and is in use for as many releases."""
    release, end = np.arange(1, counter.releases + 1)[:, None], np.arange(1, counter.releases + 1)
    covered = end & -end
    mixed = ((end <= release) & (release < end + covered)).astype(np.float64)
    return NoiseModel(mixed, counter.scale, counter.node == "laplace")


@noise_model.register
def _(counter: BufferedToeplitzCounter) -> NoiseModel:
    _, outer = best_factors(counter.releases, counter.buffers)
    powers = (1 - outer.decays) ** np.arange(counter.releases)[:, None]
    return NoiseModel(_toeplitz((outer.weights * powers).sum(axis=1)), counter.sigma)


@noise_model.register
def _(counter: ToeplitzCounter) -> NoiseModel:
    """B is the running sum times the inverse of C, whose columns are square-root coefficients, up to the last band."""
    size = counter.releases
    column = square_root_coefficients(size) * (np.arange(size) < (counter.bands or size))
    return NoiseModel(np.tril(np.ones((size, size))) @ _inverse(_toeplitz(column)), counter.sigma)


def _toeplitz(column: Array) -> Array:
    back = np.subtract.outer(np.arange(len(column)), np.arange(len(column)))
    return np.where(back >= 0, column[np.maximum(back, 0)], 0.0)


def mixing(counter: Counter) -> Array | None:
    """(releases, releases) B, or None for an unknown counter."""
    model = noise_model(counter)
    return None if model is None else model.mixed


def stream_loss(counter: Counter, mixed: Array, change: Array, batch: int) -> Statistic:
    """The log-likelihood ratio, unchanged over changed, of outputs (n, releases * cells) that are `mixed` times y."""
    differ, known = np.flatnonzero(change), _known(counter)
    unmix, shifts = _inverse(mixed), np.multiply.outer(moved_by(counter, batch), change[differ])

    def ratio(outputs: Array) -> Array:
        numbers = _unmixed(unmix, outputs.reshape(len(outputs), counter.releases, -1)[:, :, differ])
        if known.laplace:
            return np.asarray((np.abs(numbers - shifts) - np.abs(numbers)).sum(axis=(1, 2)) / known.size)
        return np.asarray(((numbers - shifts) ** 2 - numbers**2).sum(axis=(1, 2)) / (2 * known.size**2))

    return ratio


def exact_stream_loss(counter: Counter, change: Array, batch: int) -> Loss | None:
    """The loss of telling the two streams apart; the rounding of reports, far below their noise, is left out."""
    known = noise_model(counter)
    if known is None:
        return None
    shifts = np.abs(np.multiply.outer(moved_by(counter, batch), change[change != 0])).ravel()
    if known.laplace:
        return laplace_loss(known.size, counter.grid, shifts[shifts > 0].tolist())
    return GaussianLoss(float(np.linalg.norm(shifts)) / known.size)


def moved_by(counter: Counter, batch: int) -> Array:
    """(releases,) how far one unit in a batch, and in those after it that one user may be in, moves the numbers behind the
    releases; zeros are exact."""
    mixed = _known(counter).mixed
    batches = batches_from(counter, batch)
    running = sum((np.arange(1, counter.releases + 1) >= each).astype(np.float64) for each in batches)
    moved = np.linalg.solve(mixed, running)
    rounded = np.rint(moved)
    return np.asarray(rounded if np.allclose(moved, rounded, rtol=0, atol=1e-9) else moved)


def batches_from(counter: Counter, first: int) -> range:
    """The batches of a user who takes part from the first on, as often and as soon as the counter allows."""
    return range(first, counter.releases + 1, counter.separation)[: counter.participations]


def _known(counter: Counter) -> NoiseModel:
    model = noise_model(counter)
    if model is None:
        raise TypeError(f"what is behind the releases of {counter.name} is not known")
    return model


def _inverse(matrix: Array) -> Array:
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _unmixed(inverse: Array, outputs: Array) -> Array:
    return np.asarray(np.einsum("st,ntc->nsc", inverse, outputs))
