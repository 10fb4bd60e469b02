"""Log-likelihoods of each mechanism's outputs, and the exact loss of two given inputs.

Written from the papers' densities and not from the mechanisms' code, so that the two can disagree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.bounded import Bounded, BoundedByPart
from ...mechanisms.gaussian import Gaussian
from ...mechanisms.laplace import Laplace
from ...mechanisms.mechanism import NoiseMechanism
from ...mechanisms.privunit import PrivUnit
from ...mechanisms.randomized_response import RandomizedResponse
from ...mechanisms.randomizer import CategoryRandomizer
from ...privacy import Loss, Pure, Sensitivity, Tabulated, compose, repeat
from ...privacy.loss import RESOLUTION
from .directed import Directed, composed
from .events import Array, Statistic

if TYPE_CHECKING:
    from ...privacy import Mechanism

Trials = NDArray[np.int64]

Told = tuple[float, Sequence[int], Sequence[int]]
"""A row of which a message may tell: how likely it is to, and the categories of either person, each as likely as any other."""
ONE_OF_TWO: Told = (1.0, (0,), (1,))

# Stand for a probability of zero, and for its logarithm where densities may be smaller: so that differences stay finite.
LEAST = 1e-300
IMPOSSIBLE = -1e4
# No number of samples tells a larger loss from an infinite one, so it needs no table.
OBVIOUS = 30.0
# No sum of so small a log-probability is met in any number of samples.
OBVIOUSLY_RARE = -60.0
# A change of this many grids is as well hidden as by continuous noise.
FINE = 64


@singledispatch
def log_likelihood(mechanism: Mechanism, cells: Array, trials: Trials) -> Statistic | None:
    """The log-likelihood of messages (n, cells) given the counts (cells,), up to a constant; None if not known.

    That of another mechanism is entered with `log_likelihood.register`.
    """
    return None


@log_likelihood.register
def _(mechanism: Laplace, cells: Array, trials: Trials) -> Statistic:
    return lambda messages: np.asarray(-np.abs(messages - cells).sum(axis=1) / mechanism.scale)


@log_likelihood.register
def _(mechanism: Gaussian, cells: Array, trials: Trials) -> Statistic:
    return lambda messages: np.asarray(-((messages - cells) ** 2).sum(axis=1) / (2 * mechanism.sigma**2))


@log_likelihood.register
def _(mechanism: Bounded, cells: Array, trials: Trials) -> Statistic:
    reach = mechanism.cells * mechanism.grid
    return lambda messages: _bump((messages - cells) / reach).sum(axis=1)


@log_likelihood.register
def _(mechanism: PrivUnit, cells: Array, trials: Trials) -> Statistic:
    """The candidate u of a message is as likely as its rank among others is to be favoured. Of its last coordinate, which is not
    sent, the size is known, and the sign is not."""
    from scipy.special import betainc
    from scipy.stats import binom

    first = cells / mechanism.bound
    last = math.sqrt(max(0.0, 1 - float(first @ first)))
    half = len(cells) / 2

    def favoured(product: Array) -> Array:
        above = betainc(half, half, (1 - np.clip(product, -1, 1)) / 2)
        chance = binom.cdf(mechanism.favoured - 1, mechanism.candidates - 1, above)
        return np.asarray(1 + math.expm1(min(mechanism.epsilon, 700.0)) * chance)

    def statistic(messages: Array) -> Array:
        u = messages / mechanism.length
        hidden = last * np.sqrt(np.maximum(0.0, 1 - (u**2).sum(axis=1)))
        return np.asarray(np.log(favoured(u @ first + hidden) + favoured(u @ first - hidden)))

    return statistic


@log_likelihood.register
def _(mechanism: RandomizedResponse, cells: Array, trials: Trials) -> Statistic:
    tables = [_flipped(mechanism.flip, int(ones), int(most)) for ones, most in zip(cells, trials, strict=True)]
    return lambda messages: _looked_up(tables, messages)


def log_likelihood_ratio(mechanism: Mechanism, inputs: tuple[Array, Array], trials: Trials) -> Statistic | None:
    """The privacy loss of messages (n, cells): first input over second; None if not known."""
    if type(mechanism) is BoundedByPart:
        ratios = [(cells, log_likelihood_ratio(*part)) for cells, part in _by_part(mechanism, inputs, trials)]
        return lambda messages: np.asarray(sum(ratio(messages[:, cells]) for cells, ratio in ratios if ratio))
    whole = type(mechanism) is PrivUnit  # whose cells all tell of a difference in one
    differ = (inputs[0] != inputs[1]) | whole
    first, second = (log_likelihood(mechanism, cells[differ], trials[differ]) for cells in inputs)
    if first is None or second is None:
        return None
    return lambda messages: np.asarray(first(messages[:, differ]) - second(messages[:, differ]))


def _by_part(
    mechanism: BoundedByPart, inputs: tuple[Array, Array], trials: Trials
) -> list[tuple[slice, tuple[NoiseMechanism, tuple[Array, Array], Trials]]]:
    """Which cells have noise of either size, and that noise with the inputs and trials of those cells."""
    cut = slice(0, mechanism.first), slice(mechanism.first, None)
    return [
        (cells, (part, (inputs[0][cells], inputs[1][cells]), trials[cells]))
        for cells, part in zip(cut, mechanism.parts, strict=True)
    ]


def category_log_likelihood(mechanism: CategoryRandomizer, messages: Array, category: int) -> Array:
    """(n,) log-likelihood of messages (n, k) given the category, up to a constant."""
    included = messages[:, category]
    p, q = mechanism.hit, mechanism.miss
    if mechanism.ones is not None:  # how much likelier a set of names is that holds the category than one that does not
        rest = (mechanism.categories - mechanism.ones) / mechanism.ones
        return np.asarray(included * (_log(p) - _log((1 - p) / rest)))
    return np.asarray(included * (_log(p) - _log(q)) + (1 - included) * (_log(1 - p) - _log(1 - q)))


def exact_loss(mechanism: Mechanism, inputs: tuple[Array, Array], trials: Trials) -> Loss | None:
    """The loss of telling two vectors of counts apart; None if not known."""
    differ = inputs[0] != inputs[1]
    if not differ.any():
        return Pure(0.0)
    if type(mechanism) is BoundedByPart:
        losses = [exact_loss(*part) for cells, part in _by_part(mechanism, inputs, trials) if differ[cells].any()]
        return compose([loss for loss in losses if loss is not None])
    if type(mechanism) is RandomizedResponse:
        return flipped_loss(mechanism, (inputs[0][differ], inputs[1][differ]), trials[differ])
    return loss_of_shifts(mechanism, np.abs(inputs[0] - inputs[1])[differ], trials)


@singledispatch
def loss_of_shifts(mechanism: Mechanism, shifts: Array, trials: Trials) -> Loss | None:
    """The loss of distinguishing two vectors that differ by so much in this many cells; None if not known."""
    return None


@loss_of_shifts.register
def _(mechanism: Laplace, shifts: Array, trials: Trials) -> Loss:
    return laplace_loss(mechanism.scale, mechanism.grid, shifts.tolist())


@loss_of_shifts.register(Gaussian)
@loss_of_shifts.register(Bounded)
def _(mechanism: Gaussian | Bounded, shifts: Array, trials: Trials) -> Loss:
    sizes, many = np.unique(shifts, return_counts=True)
    pairs = tuple((float(size), int(count)) for size, count in zip(sizes, many, strict=True))
    l1, l2 = float(shifts.sum()), float(np.sqrt((shifts**2).sum()))
    return mechanism.loss(Sensitivity(l1, l2, pairs, shifts.size))


def flipped_loss(mechanism: RandomizedResponse, inputs: tuple[Array, Array], trials: Trials) -> Loss:
    """The loss of sums of flipped bits, this many of which are ones before they are flipped."""

    def table(ones: tuple[int, int], most: int) -> Directed:
        laws = [_flipped(mechanism.flip, each, most) for each in ones]
        likely = [{index: float(chance) for index, chance in enumerate(law) if chance > OBVIOUSLY_RARE} for law in laws]
        both = set(likely[0]) & set(likely[1])
        first, second = ({index: law[index] for index in both} for law in likely)
        return both_ways(first, second)

    total = mechanism.bit_epsilon * float(np.abs(inputs[0] - inputs[1]).sum())
    if total > OBVIOUS:
        return Pure(total)
    cells = [((int(one), int(other)), int(most)) for one, other, most in zip(inputs[0], inputs[1], trials, strict=True)]
    tables = [(table(*cell), cells.count(cell)) for cell in sorted(set(cells))]
    return composed([Directed(repeat(law.there, many), repeat(law.back, many)) for law, many in tables])


def both_ways(first: dict[int, float], second: dict[int, float]) -> Directed:
    """The loss of two laws given as log-probabilities, in either order."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    def ratio(likelier: dict[int, float], other: dict[int, float]) -> Loss:
        return Tabulated(
            pld.from_two_probability_mass_functions(other, likelier, value_discretization_interval=RESOLUTION)
        )

    return Directed(ratio(first, second), ratio(second, first))


def laplace_loss(scale: float, grid: float, shifts: Sequence[float]) -> Loss:
    """The loss of independent Laplace noise, continuous (grid 0) or on a grid, on cells that are shifted by so much each."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    def table(shift: float) -> Loss:
        if not grid or shift > FINE * grid:
            return Tabulated(pld.from_laplace_mechanism(scale, shift, value_discretization_interval=RESOLUTION))
        steps = round(shift / grid)
        return Tabulated(
            pld.from_discrete_laplace_mechanism(grid / scale, steps, value_discretization_interval=RESOLUTION)
        )

    if sum(shifts) / scale > OBVIOUS:
        return Pure(sum(shifts) / scale)
    return compose([repeat(table(shift), shifts.count(shift)) for shift in sorted(set(shifts))])


def category_loss(
    mechanism: CategoryRandomizer,
    rows: Sequence[Told] = (ONE_OF_TWO,),
    others: Sequence[tuple[CategoryRandomizer, Told]] = (),
) -> Loss:
    """The loss of a message about one of several rows, which is known: exact, by all that it can say of their categories.

    others: rows that are randomised by other mechanisms, of the same epsilon.
    """
    every = [*((mechanism, row) for row in rows), *others]
    if all(sorted(first) == sorted(second) for _, (_, first, second) in every):
        return Pure(0.0)
    if mechanism.epsilon > OBVIOUS:
        return Pure(mechanism.epsilon)
    laws: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for device, (share, *both) in every:
        named = sorted({category for categories in both for category in categories})
        start = len(laws[0])
        for law, categories in zip(laws, both, strict=True):
            chances = sum(_said(device, named, category) for category in categories) / len(categories)
            logs = np.log(np.maximum(share * chances, LEAST)).tolist()
            law.update(enumerate(logs, start=start))
    possible = [index for index in laws[0] if max(law[index] for law in laws) > math.log(LEAST)]
    first, second = ({index: law[index] for index in possible} for law in laws)
    return both_ways(first, second)


def _said(mechanism: CategoryRandomizer, named: Sequence[int], category: int) -> Array:
    """(2^n,) how likely a message about the category is to name these n categories or not, in all combinations."""
    bits: Array = np.indices((2,) * len(named)).reshape(len(named), -1).astype(np.float64)
    hers, p, q = bits[named.index(category)], mechanism.hit, mechanism.miss
    if mechanism.ones is None:
        others = q ** (bits.sum(axis=0) - hers) * (1 - q) ** (len(named) - 1 - bits.sum(axis=0) + hers)
        return np.asarray(np.where(hers, p, 1 - p) * others)
    size, rest = mechanism.ones, mechanism.categories - 1
    ways = [math.comb(rest + 1 - len(named), size - int(many)) if many <= size else 0 for many in bits.sum(axis=0)]
    each = np.where(hers, p / math.comb(rest, size - 1), (1 - p) / math.comb(rest, size))
    return np.asarray(np.array(ways, dtype=np.float64) * each)


def _bump(x: Array) -> Array:
    """log of exp(-exp(1/(1 - x^2))), the density of bounded noise on (-1, 1)."""
    within = np.abs(x) < 1
    density = -np.exp(np.minimum(1 / np.where(within, 1 - x**2, 1.0), math.log(-IMPOSSIBLE)))
    return np.where(within, density, IMPOSSIBLE)


def _log(chance: float) -> float:
    return math.log(max(chance, LEAST))


def _flipped(flip: float, ones: int, trials: int) -> Array:
    """(trials + 1,) log-probabilities of Binomial(ones, 1 - flip) + Binomial(trials - ones, flip)."""
    chances = np.ones(1)
    for bit in range(trials):
        stays = 1 - flip if bit < ones else flip
        chances = np.convolve(chances, [1 - stays, stays])
    return np.log(np.maximum(chances, LEAST))


def _looked_up(tables: list[Array], messages: Array) -> Array:
    columns = zip(tables, messages.T.astype(np.int64), strict=True)
    return sum((table[column] for table, column in columns), start=np.zeros(len(messages)))
