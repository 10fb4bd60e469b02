"""Targets of every mechanism alone, calibrated to a guarantee for a change of one, on its worst inputs and on others besides."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...mechanisms.bounded import Bounded
from ...mechanisms.buffered import BufferedToeplitzCounter
from ...mechanisms.counter import Counter
from ...mechanisms.gaussian import Gaussian, JointGaussian, sigma_for
from ...mechanisms.laplace import Laplace
from ...mechanisms.privunit import PrivUnit
from ...mechanisms.randomized_response import RandomizedResponse
from ...mechanisms.randomizer import Randomizer
from ...mechanisms.symmetric import SymmetricGaussian
from ...mechanisms.toeplitz import ToeplitzCounter
from ...mechanisms.tree import TreeCounter
from ...mechanisms.unary import KARY, SUBSET, SYMMETRIC, UNARY, SampledStep
from ...privacy import Guarantee, Sensitivity
from ...privacy.conversion import gaussian_mu
from ...privacy.guarantee import CENTRAL, JOINT, LOCAL
from .auditing import Target
from .counters import counter_target
from .events import Array
from .mechanisms import category_target, randomizer_target, several_target, symmetric_target

Targets = Callable[[Guarantee], Sequence[Target]]

ONE = Sensitivity(1.0, 1.0, ((1.0, 1),), 1)
CATEGORIES = 8
RELEASES = 4
LEVELS = RELEASES.bit_length()
# Grid points a standard deviation, at least; a factored counter also rounds its reports, which must cost next to nothing.
FINENESS, REPORT_FINENESS = 64, 2048

# Two vectors, of counts and of bits, in which one cell changes by one: all zero, and drawn at random once.
COUNTS = (np.zeros(3), np.array([4.0, 7.0, 2.0]))
BITS = (np.zeros(3), np.array([0.0, 1.0, 1.0]))


def vector(mechanism: Randomizer, bases: Sequence[Array] = COUNTS) -> list[Target]:
    """Targets of a vector mechanism: the first cell is one more in world 1."""
    more = np.array([1.0, 0.0, 0.0])
    loss = mechanism.loss(ONE)
    return [randomizer_target(mechanism.name, mechanism, loss, (base, base + more)) for base in bases]


def opposite(mechanism: PrivUnit) -> list[Target]:
    """Targets of vectors: two that are opposite, as long as they may be, and two at a right angle, one of them short."""
    loss, unit = mechanism.loss(ONE), np.eye(mechanism.vector)
    inputs = ((unit[0], -unit[0]), (unit[0] / 2, unit[1]))
    return [randomizer_target(mechanism.name, mechanism, loss, both) for both in inputs]


def sampled(mechanism: SampledStep) -> list[Target]:
    """Targets of a mechanism for categories: two different ones."""
    loss = mechanism.loss(ONE)
    return [category_target(mechanism.name, mechanism, loss, categories) for categories in ((0, 1), (6, 2))]


def joint(mechanism: JointGaussian) -> list[Target]:
    """A target of two statistics; one person moves the first by one and the second by two."""
    changes = [np.array([1.0, 0.0]), np.array([0.0, 2.0])]
    return [several_target(mechanism.name, mechanism, mechanism.loss(ONE), changes)]


def symmetric(mechanism: SymmetricGaussian) -> list[Target]:
    """Targets of a symmetric matrix with changes of Frobenius norm sqrt(2): beside the diagonal, on it, and both."""
    unit, some = round(1 / mechanism.grid), math.floor(math.sqrt(0.5) / mechanism.grid)
    changes = ([[0, unit], [unit, 0]], [[unit, 0], [0, -unit]], [[some, some], [some, -some]])
    loss = mechanism.loss(Sensitivity(2.0, math.sqrt(2), ((1.0, 2),), 2))
    return [symmetric_target(mechanism.name, mechanism, loss, np.array(change)) for change in changes]


def counter(mechanism: Counter) -> list[Target]:
    """Targets of a counter, one cell of two: one person in the first batch, which weighs most, or in the third, an odd change."""
    unit = round(1 / mechanism.grid)
    changes = ((unit, 1), (max(unit - 1, 1), 3))
    loss = mechanism.loss(ONE)
    return [counter_target(mechanism.name, mechanism, loss, np.array([size, 0]), batch) for size, batch in changes]


def factored(kind: type[ToeplitzCounter] | type[BufferedToeplitzCounter], promise: Guarantee) -> Counter:
    """A factored counter for a guarantee."""
    mu, grid = gaussian_mu(_epsilon(promise), promise.delta), fine_grid(promise, REPORT_FINENESS)
    return kind(RELEASES, kind.sigma_for(mu, ONE, RELEASES, grid), grid)


def fine_grid(promise: Guarantee, fineness: int = FINENESS) -> float:
    """A power of two that divides one, and the noise that keeps the guarantee for a change of one, finely."""
    return 2.0 ** min(0, math.floor(math.log2(sigma_for(promise, 1.0, 0.0) / fineness)))


def several(promise: Guarantee) -> JointGaussian:
    """The mechanism for two statistics that one person moves by one and by two."""
    return JointGaussian.keeping(promise, (1.0, 2.0), (1.0, 1.0), fine_grid(promise))


def matrix(promise: Guarantee) -> SymmetricGaussian:
    """The mechanism for a matrix that one person moves by sqrt(2) in the Frobenius norm."""
    grid = fine_grid(promise)
    return SymmetricGaussian(sigma_for(promise, 1.0, grid), grid)


def gaussian_tree(promise: Guarantee, releases: int = RELEASES) -> TreeCounter:
    """A tree with Gaussian nodes."""
    grid = fine_grid(promise)
    return TreeCounter(releases, "gaussian", sigma_for(promise, math.sqrt(releases.bit_length()), grid), grid)


def _epsilon(promise: Guarantee) -> float:
    return promise.epsilon or math.inf


ALONE: dict[str, dict[str, Targets]] = {
    LOCAL: {
        "laplace": lambda promise: vector(Laplace(1 / _epsilon(promise))),
        "discrete-laplace": lambda promise: vector(Laplace(1 / _epsilon(promise), 1.0)),
        "gaussian": lambda promise: vector(Gaussian(sigma_for(promise, 1.0, 0.0))),
        "discrete-gaussian": lambda promise: vector(Gaussian.keeping(promise, ONE, 1.0)),
        "joint-gaussian": lambda promise: joint(several(promise)),
        "bounded": lambda promise: vector(Bounded.keeping(promise, ONE)),
        "randomised-response": lambda promise: vector(RandomizedResponse(_epsilon(promise)), BITS),
        "privunit": lambda promise: opposite(PrivUnit.best(_epsilon(promise), 3, 1.0, candidates=16)),
        "unary": lambda promise: sampled(SampledStep(_epsilon(promise), CATEGORIES, UNARY)),
        "symmetric-unary": lambda promise: sampled(SampledStep(_epsilon(promise), CATEGORIES, SYMMETRIC)),
        "k-ary": lambda promise: sampled(SampledStep(_epsilon(promise), CATEGORIES, KARY)),
        "subset": lambda promise: sampled(SampledStep(_epsilon(promise), CATEGORIES, SUBSET)),
    },
    JOINT: {
        "tree-laplace": lambda promise: counter(TreeCounter(RELEASES, "laplace", LEVELS / _epsilon(promise), 1.0)),
        "tree-gaussian": lambda promise: counter(gaussian_tree(promise)),
        "toeplitz": lambda promise: counter(factored(ToeplitzCounter, promise)),
        "buffered-toeplitz": lambda promise: counter(factored(BufferedToeplitzCounter, promise)),
    },
    CENTRAL: {
        "symmetric-gaussian": lambda promise: symmetric(matrix(promise)),
    },
}
"""The functions that make the targets of a mechanism, by trust model and name."""

NEED_DELTA = frozenset(
    {
        "gaussian",
        "discrete-gaussian",
        "joint-gaussian",
        "symmetric-gaussian",
        "shuffled-bits",
        "shuffled-step",
        "gram",
        "bounded",
        "tree-gaussian",
        "toeplitz",
        "buffered-toeplitz",
    }
)
"""The mechanisms that keep no pure epsilon."""

MORE: dict[str, float] = {
    "unary": 0.5,
    "symmetric-unary": 0.5,
    "k-ary": 0.5,
    "subset": 0.5,
    "privunit": 0.3,
    "gaussian": 3,
    "discrete-gaussian": 3,
    "joint-gaussian": 3,
    "symmetric-gaussian": 3,
    "tree-gaussian": 3,
    "toeplitz": 3,
    "buffered-toeplitz": 3,
    "bounded": 10,
}
"""How many times the usual samples an audit takes of a mechanism alone: at a delta above 0 events must be seen more often."""
