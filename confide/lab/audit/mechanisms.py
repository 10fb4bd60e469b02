"""Targets made of a mechanism alone: vectors, categories, symmetric matrices.

Each takes two inputs. Cells in which they agree cost the attack nothing, and show noise that is shared between cells.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.bounded import Bounded, BoundedByPart
from ...mechanisms.gaussian import Gaussian, JointGaussian
from ...mechanisms.laplace import Laplace
from ...mechanisms.mechanism import NoiseMechanism
from ...mechanisms.noise import NoiseSource
from ...mechanisms.randomized_response import RandomizedResponse
from ...mechanisms.randomizer import Randomizer
from ...mechanisms.symmetric import SymmetricGaussian
from ...mechanisms.unary import SampledStep
from ...privacy import GaussianLoss, Loss, Sensitivity
from ...privacy.guarantee import CENTRAL
from ...validation import Json
from .auditing import Target
from .events import Array
from .likelihood import Trials, category_log_likelihood, category_loss, exact_loss, log_likelihood_ratio
from .sources import SIMULATED

# Known to treat every cell by itself, so that many messages may be drawn as one long one. Any other kind, and any
# subclass, is asked for one message at a time.
CELL_BY_CELL = (Laplace, Gaussian, RandomizedResponse, Bounded, BoundedByPart)
# Of these, those whose cells have noise of several sizes: each message is a row.
BY_PART = (BoundedByPart,)


class Standing:
    """A mechanism that draws many times and stands for another, whose words and loss it has."""

    inner: NoiseMechanism

    @property
    def name(self) -> str:
        """That of the mechanism."""
        return self.inner.name

    @property
    def grid(self) -> float:
        """That of the mechanism."""
        return self.inner.grid

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """That of the mechanism."""
        return self.inner.loss(sensitivity)

    def describe(self) -> dict[str, Json]:
        """The mechanism, described."""
        return self.inner.describe()


def messages(mechanism: Randomizer, cells: Array, trials: Trials, count: int, noise: NoiseSource) -> Array:
    """(count, cells) independent messages about the same counts.

    Continuous noise is refused for a person, so it is drawn as the simulator does: as a sum over one person.
    """
    if type(mechanism) not in CELL_BY_CELL:
        return np.stack([mechanism.randomize(cells, trials, noise) for _ in range(count)])
    if type(mechanism) in BY_PART:
        return mechanism.randomize(np.tile(cells, (count, 1)), np.tile(trials, (count, 1)), noise)
    repeated, many = np.tile(cells, count), np.tile(trials, count)
    if mechanism.grid:
        return mechanism.randomize(repeated, many, noise).reshape(count, -1)
    rng = np.random.default_rng(noise.integers(1 << 62, 4).tolist())
    return mechanism.sum_of(repeated, 1, many, rng).reshape(count, -1)


def randomizer_target(
    name: str,
    mechanism: Randomizer,
    loss: Loss,
    inputs: tuple[Array, Array],
    trials: Trials | None = None,
) -> Target:
    """The target of a vector of counts and the message a device makes of it. A mechanism of your own needs no known likelihood."""
    most = np.ones(len(inputs[0]), dtype=np.int64) if trials is None else trials

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        return messages(mechanism, inputs[world], most, count, noise)

    claimed, exact = log_likelihood_ratio(mechanism, inputs, most), exact_loss(mechanism, inputs, most)
    drawn_by = "" if mechanism.grid else SIMULATED
    return Target(name, loss, sample, claimed, exact, grid=mechanism.grid or 1.0, drawn_by=drawn_by)


def category_target(name: str, mechanism: SampledStep, loss: Loss, categories: tuple[int, int]) -> Target:
    """The target of one category and the message made of it."""

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        drawn = [mechanism.encoded(categories[world], noise) for _ in range(count)]
        return np.stack(drawn).astype(np.float64)

    def claimed(outputs: Array) -> Array:
        first, second = (category_log_likelihood(mechanism, outputs, category) for category in categories)
        return first - second

    return Target(name, loss, sample, claimed, category_loss(mechanism))


def several_target(name: str, mechanism: JointGaussian, loss: Loss, changes: Sequence[Array]) -> Target:
    """The target of several statistics released together: all zero in world 0, changed in world 1."""
    sizes = [len(change) for change in changes]
    weights = np.concatenate([change / sigma**2 for change, sigma in zip(changes, mechanism.sigmas, strict=True)])
    square = float(weights @ np.concatenate(list(changes)))

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        drawn = mechanism.randomize([np.tile(world * change, count) for change in changes], noise)
        return np.concatenate([part.reshape(count, size) for part, size in zip(drawn, sizes, strict=True)], axis=1)

    def claimed(outputs: Array) -> Array:
        return np.asarray(square / 2 - outputs @ weights)

    return Target(name, loss, sample, claimed, GaussianLoss(float(np.sqrt(square))), grid=mechanism.grid)


def symmetric_target(name: str, mechanism: SymmetricGaussian, loss: Loss, change: NDArray[np.int64]) -> Target:
    """The target of a symmetric matrix: zero in world 0, `change` grids more in world 1. All of it is seen, mirror image
    included."""
    moved = mechanism.grid * change
    mu = float(np.linalg.norm(moved)) / (np.sqrt(2) * mechanism.sigma)

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        matrices = np.broadcast_to(world * change, (count, *change.shape))
        return mechanism.add(matrices, noise).reshape(count, -1)

    def claimed(outputs: Array) -> Array:
        return np.asarray(mu**2 / 2 - (outputs @ moved.ravel()) / (2 * mechanism.sigma**2))

    return Target(name, loss, sample, claimed, GaussianLoss(mu), CENTRAL, grid=mechanism.grid)
