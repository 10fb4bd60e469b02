"""Targets made of a whole shuffled design: what shufflers give out, with one person among others who are all alike."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...mechanisms.noise import NoiseSource
from ...mechanisms.randomizer import Additive, Tabled
from ...mechanisms.skellam import SkellamShare
from ...privacy import Loss, Pure, repeat
from ...protocol.design import Design
from ...protocol.kinds import bits
from ...protocol.kinds.categories import naming
from ...protocol.kinds.step import KIND as STEPS
from ...protocol.trusts.mixing import Mixing
from .auditing import Target
from .directed import Directed, composed
from .events import Array, Statistic
from .likelihood import LEAST, OBVIOUSLY_RARE, both_ways, exact_loss, log_likelihood_ratio
from .people import Pair, categories, exact_message
from .sources import SIMULATED

Integers = NDArray[np.int64]


def shuffle_target(name: str, design: Design, people: Pair) -> Target:
    """The target of the sums of all batches that one person is in, in which all others are like the first; she is, or like
    the second.

    Of whole episodes outputs are what devices send, added up: the device's mechanism flips all bits of a counter at once, for
    each shuffler of a tree anew; where batches widen she is in one of the largest. Of shares of noise outputs are the shares of
    as many honest devices as there are, added up, in the cells in which the two differ: of Poisson variables one device draws its
    own share, and those of the others are drawn at once. Of sampled steps they are sums of as many
    people's bits, drawn at once from their law; that devices send such bits is for whole runs to see.
    """
    if design.mixing is None:
        raise InvalidInput("design-without-shufflers", "This design has no shufflers. Make one under trust shuffle.")
    if design.question.kind == STEPS:
        return _of_steps(name, design, people, design.mixing)
    return (_of_bits if design.question.kind == bits.KIND else _of_shares)(name, design, people, design.mixing)


def _honest(mixing: Mixing, level: int) -> int:
    """How many people hide one: the honest share of this many batches, counted here and not as the design counts them."""
    share = mixing.honest if mixing.honest <= 1 else mixing.honest / mixing.batch
    return math.floor(share * (mixing.batch << level) + 1e-9)


def _of_steps(name: str, design: Design, people: Pair, mixing: Mixing) -> Target:
    """The target of sampled steps: every user draws a step. Those who drew the same one, or per step all, are in one sum."""
    question, device = design.question, design.devices[0]
    horizon, rows, width = question.spec.horizon, question.rows, question.width
    other_people = _honest(mixing, 0) - 1
    categories_by_person = [categories(design.counts, person) for person in people]

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        rng = np.random.default_rng(noise.integers(1 << 62, 4).tolist())
        drawn = rng.multinomial(other_people, np.full(horizon, 1 / horizon), size=count)
        hers = np.eye(horizon, dtype=np.int64)[rng.integers(horizon, size=count)]
        totals = np.zeros((count, rows, width))
        for step in range(horizon):
            row = step if rows > 1 else 0
            totals[:, row, categories_by_person[0][step]] += drawn[:, step]
            totals[:, row, categories_by_person[world][step]] += hers[:, step]
        many = totals.sum(axis=2, keepdims=True).astype(np.int64)
        sums = device.sum_of(totals, many, question.trials, rng)
        return np.concatenate([sums.reshape(count, -1), many.reshape(count, -1)], axis=1)

    known = rows > 1 or len(set(categories_by_person[0])) == 1  # else what others tell in one sum varies
    hidden = OneOfSteps(naming(device).miss, other_people + 1, rows, width, categories_by_person) if known else None
    claimed, exact = (None, None) if hidden is None else (hidden.claimed, hidden.loss())
    described = claimed, exact, design.trust, design.calibration
    return Target(name, design.act.loss, sample, *described, drawn_by=SIMULATED)


class OneOfSteps:
    """Sums of bits, flipped with probability q, of people who each tell of one step; the last of them is one of two.

    Given the sums she is as likely as any user to be among the m whose bits make up a row, and given such a sum of s ones her
    bit is a one with probability s/m. So if she is like the second, what was seen is as much likelier as on average over her
    bits: a one is (1-q)/q times as likely where the second has one and the others none, and q/(1-q) times in the opposite case.
    """

    def __init__(self, flip: float, people: int, rows: int, width: int, exact_message: list[list[int]]) -> None:
        self.people, self.rows, self.width = people, rows, width
        self.flip, self.odds, self.horizon = flip, (1 - flip) / flip, len(exact_message[0])
        self.steps = [(step if rows > 1 else 0, *both) for step, both in enumerate(zip(*exact_message, strict=True))]

    def _likelier(self, sums: Mapping[tuple[int, int], Array], many: Array | tuple[int, ...]) -> Array:
        """How much likelier sums[row, category] are, of this many people a row, if she is like the second."""
        likelihood = np.zeros(())
        for row, first, second in self.steps:
            in_row = np.asarray(many[row], dtype=np.float64)
            share = in_row / self.people if self.rows > 1 else 1 / self.horizon
            ratio = np.ones(())
            if first != second:
                for category, odds in ((first, 1 / self.odds), (second, self.odds)):
                    hers = sums[row, category] / np.maximum(in_row, 1)
                    ratio = ratio * (hers * odds + (1 - hers) / odds)
            likelihood = likelihood + share * ratio
        return likelihood

    def claimed(self, outputs: Array) -> Array:
        """(n,) log-likelihood ratio, first over second, of outputs as they are sampled."""
        cells = outputs[:, : self.rows * self.width].reshape(-1, self.rows, self.width)
        sums = {(row, each): cells[:, row, each] for row, *both in self.steps for each in both}
        return np.asarray(-np.log(self._likelier(sums, outputs[:, self.rows * self.width :].T)))

    def loss(self) -> Loss:
        """Of all that can be seen, one by one."""
        from scipy.stats import binom, multinomial

        seen = sorted({(row, each) for row, *both in self.steps for each in both})
        usual = {(row, first) for row, first, _ in self.steps}
        exact_message: list[dict[int, float]] = [{}, {}]
        for many in itertools.product(range(self.people + 1), repeat=self.rows):
            if sum(many) != self.people:
                continue
            sums: dict[tuple[int, int], Array] = {}
            logs = multinomial.logpmf(many, self.people, [1 / self.rows] * self.rows)
            for axis, (row, category) in enumerate(seen):
                ones = np.arange(many[row] + 1).reshape([-1 if at == axis else 1 for at in range(len(seen))])
                chance = 1 - self.flip if (row, category) in usual else self.flip
                sums[row, category], logs = ones, logs + binom.logpmf(ones, many[row], chance)
            both = np.broadcast_arrays(logs, logs + np.log(self._likelier(sums, many)))
            start = len(exact_message[0])
            for law, values in zip(exact_message, both, strict=True):
                law.update(enumerate(np.maximum(values, OBVIOUSLY_RARE).ravel().tolist(), start=start))
        return both_ways(*(_normal(law) for law in exact_message))


def _normal(law: dict[int, float]) -> dict[int, float]:
    """Log-probabilities that add up to one, as rounding made them add up to a little more."""
    total = math.log(math.fsum(map(math.exp, law.values())))
    return {index: chance - total for index, chance in law.items()}


def _of_bits(name: str, design: Design, people: Pair, mixing: Mixing) -> Target:
    question = design.question
    attacked = range(len(design.devices))[-1:] if mixing.widening else range(len(design.devices))
    devices = [design.devices[level] for level in attacked]
    first, second = (exact_message(design, person, 1.0) for person in people)
    crowds = [_honest(mixing, level) for level in attacked]
    totals = [(honest * first, (honest - 1) * first + second) for honest in crowds]
    width = question.width

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        sums = []
        for device, honest, pair in zip(devices, crowds, totals, strict=True):
            ones, trials = np.tile(pair[world], count), np.tile(question.trials * honest, count)
            sums.append(device.randomize(ones, trials, noise).reshape(count, width))
        return np.concatenate(sums, axis=1)

    levels = [
        (device, pair, question.trials * honest) for device, honest, pair in zip(devices, crowds, totals, strict=True)
    ]
    claimed = _added([ratio for level in levels if (ratio := log_likelihood_ratio(*level)) is not None], width)
    exact = composed([loss for level in levels if (loss := exact_loss(*level)) is not None])
    return Target(name, design.act.loss, sample, claimed, exact, design.trust, design.calibration)


def _of_shares(name: str, design: Design, people: Pair, mixing: Mixing) -> Target:
    level = len(design.devices) - 1
    device, honest = design.devices[level].additive(), _honest(mixing, level)
    assert device is not None  # shares are added
    first, second = (np.rint(exact_message(design, person, device.grid) / device.grid) for person in people)
    differ = first != second
    differ[0] |= not differ.any()  # two who cannot be distinguished still give something to look at
    sums = honest * first[differ], (honest - 1) * first[differ] + second[differ]
    width = int(differ.sum())
    law = log_law_of_sum(device, honest)

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        shares = sum_of_noise(device, honest, count * width, noise).reshape(count, width)
        return np.asarray(sums[world] + shares, dtype=np.float64)

    def claimed(outputs: Array) -> Array:
        logs = [law(outputs - each).sum(axis=1) for each in sums]
        return np.asarray(logs[0] - logs[1])

    deviation = math.sqrt(honest * device.variance()) / device.grid
    exact = shares_loss(law, deviation, np.abs(first - second)[first != second].astype(np.int64).tolist())
    return Target(name, design.act.loss, sample, claimed, exact, design.trust, design.calibration)


@singledispatch
def sum_of_noise(device: Additive, honest: int, many: int, noise: NoiseSource) -> Integers:
    """(many,) sums of this many devices' noise, in multiples of the grid, each device drawing its own. A law whose sums can be
    drawn at once is entered with `sum_of_noise.register`."""
    return np.asarray(device.steps(noise, (honest, many)).sum(axis=0))


@sum_of_noise.register
def _(device: SkellamShare, honest: int, many: int, noise: NoiseSource) -> Integers:
    """Poisson variables add up, so that the sum of all others is one: a device alone draws as many of mean 1 as its mean has
    parts."""
    rng = np.random.default_rng(noise.integers(1 << 62, 4).tolist())
    up, down = (rng.poisson((honest - 1) * device.mean, many) for _ in range(2))
    return np.asarray(device.steps(noise, (many,)) + up - down)


@singledispatch
def log_law_of_sum(device: Additive, honest: int) -> Statistic:
    """The logarithm of the probability of whole numbers as the sum of this many devices' noise, cell by cell. That of another law
    is entered with `log_law_of_sum.register`."""
    raise InvalidInput("shares-law-unknown", f"Nothing is known of sums of {type(device).__name__}. Enter their law.")


@log_law_of_sum.register
def _(device: Tabled, honest: int) -> Statistic:
    """By convolution, one device after the other."""
    table = np.ones(1)
    for _ in range(honest):
        table = np.convolve(table, device.table())
    middle, logs = len(table) // 2, np.log(np.maximum(table, LEAST))

    def law(places: Array) -> Array:
        inside = np.clip(np.rint(places).astype(np.int64) + middle, 0, len(logs) - 1)
        return np.asarray(np.where(np.abs(places) <= middle, logs[inside], math.log(LEAST)))

    return law


@log_law_of_sum.register
def _(device: SkellamShare, honest: int) -> Statistic:
    from scipy.stats import skellam

    mean = honest * device.rate / device.people
    return lambda places: np.asarray(skellam.logpmf(places, mean, mean))


def shares_loss(law: Statistic, deviation: float, shifts: list[int]) -> Loss:
    """The exact loss of noise of this law, on cells that are shifted by this many whole numbers each."""
    if not shifts:
        return Pure(0.0)

    def table(shift: int) -> Directed:
        far = int(12 * deviation) + 30 + shift
        places = np.arange(-far, far + 1, dtype=np.float64)
        laws = [dict(enumerate(law(places - moved).tolist())) for moved in (0, shift)]
        likely = {at for at in laws[0] if min(law[at] for law in laws) > OBVIOUSLY_RARE}
        return both_ways(*(_normal({at: law[at] for at in likely}) for law in laws))

    tables = [(table(shift), shifts.count(shift)) for shift in sorted(set(shifts))]
    return composed([Directed(repeat(law.there, many), repeat(law.back, many)) for law, many in tables])


def _added(ratios: list[Statistic], width: int) -> Statistic:
    """The log-likelihood ratio of the sums of several shufflers, whose bits were flipped anew for each."""

    def claimed(outputs: Array) -> Array:
        parts = (outputs[:, level * width : (level + 1) * width] for level in range(len(ratios)))
        return np.asarray(sum(ratio(part) for ratio, part in zip(ratios, parts, strict=True)))

    return claimed
