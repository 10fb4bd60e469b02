"""Targets made of a whole shuffled design: what shufflers give out, with one person among others who are all alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..designs import Design
from ..errors import InvalidInput
from ..mechanisms.noise import NoiseSource
from ..privacy import compose
from ..questions import bits
from .auditing import Target
from .events import Array, Statistic
from .likelihood import exact_loss, log_likelihood_ratio
from .people import Pair, categories, told


def shuffle_target(name: str, design: Design, people: Pair) -> Target:
    """The sums of all batches that one person is in, in which all others are like the first; she is, or like the second.

    Of whole episodes outputs are what devices send, added up: the device's mechanism flips all bits of a counter at once, for
    each shuffler of a tree anew. Of sampled steps they are sums of as many people's bits, drawn at once from their law; that
    devices send such bits is for whole runs to see.
    """
    if design.mixing is None:
        raise InvalidInput("This design has no shufflers. Make one under trust shuffle.")
    return (_of_bits if design.question.kind == bits.KIND else _of_steps)(name, design, people)


def _of_steps(name: str, design: Design, people: Pair) -> Target:
    """Everybody draws a step. Those who drew the same one, or per step all, are in one sum."""
    question, device, mixing = design.question, design.devices[0], design.mixing
    horizon, rows, width = question.spec.horizon, question.rows, question.width
    others = (mixing.honest_in(mixing.batch) if mixing else 1) - 1
    told_of = [categories(question.counts, person) for person in people]

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        rng = np.random.default_rng(noise.integers(1 << 62, 4).tolist())
        drawn = rng.multinomial(others, np.full(horizon, 1 / horizon), size=count)
        hers = np.eye(horizon, dtype=np.int64)[rng.integers(horizon, size=count)]
        totals = np.zeros((count, rows, width))
        for step in range(horizon):
            row = step if rows > 1 else 0
            totals[:, row, told_of[0][step]] += drawn[:, step]
            totals[:, row, told_of[world][step]] += hers[:, step]
        many: Any = totals.sum(axis=2, keepdims=True).astype(np.int64)
        sums = device.sum_of(totals, many, question.trials, rng)
        return np.concatenate([sums.reshape(count, -1), many.reshape(count, -1)], axis=1)

    return Target(name, design.act.loss, sample, None, None, design.trust, design.calibration)


def _of_bits(name: str, design: Design, people: Pair) -> Target:
    question, devices, mixing = design.question, design.devices, design.mixing
    first, second = (told(design, person, 1.0) for person in people)
    crowds = [mixing.honest_in(mixing.batch << level) for level in range(len(devices))] if mixing else []
    totals = [(honest * first, (honest - 1) * first + second) for honest in crowds]
    width = question.width

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        sums = []
        for device, honest, both in zip(devices, crowds, totals, strict=True):
            ones, trials = np.tile(both[world], count), np.tile(question.trials * honest, count)
            sums.append(device.randomize(ones, trials, noise).reshape(count, width))
        return np.concatenate(sums, axis=1)

    levels = [
        (device, both, question.trials * honest) for device, honest, both in zip(devices, crowds, totals, strict=True)
    ]
    claimed = _added([ratio for level in levels if (ratio := log_likelihood_ratio(*level)) is not None], width)
    exact = compose([loss for level in levels if (loss := exact_loss(*level)) is not None])
    return Target(name, design.act.loss, sample, claimed, exact, design.trust, design.calibration)


def _added(ratios: list[Statistic], width: int) -> Statistic:
    """The log-likelihood ratio of the sums of several shufflers, whose bits were flipped anew for each."""

    def claimed(outputs: Array) -> Array:
        parts = (outputs[:, level * width : (level + 1) * width] for level in range(len(ratios)))
        return np.asarray(sum(ratio(part) for ratio, part in zip(ratios, parts, strict=True)))

    return claimed
