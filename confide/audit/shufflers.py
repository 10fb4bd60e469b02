"""Targets made of a whole shuffled privatizer: the sums of one batch, with one person among others who are all alike."""

from __future__ import annotations

import numpy as np

from ..errors import InvalidInput
from ..mechanisms.noise import NoiseSource
from ..mechanisms.randomized_response import RandomizedResponse
from ..privatizers import ShufflePrivatizer
from ..releases.bits import bits, weights
from .auditing import Target
from .events import Array
from .likelihood import log_likelihood_ratio
from .people import Pair, counts


def shuffle_target(name: str, privatizer: ShufflePrivatizer, people: Pair) -> Target:
    """The sums over a batch in which all but one are like the first person; she is, or she is like the second.

    Outputs are what devices send, added up: the device's mechanism flips all bits of a counter at once. An output is what
    the first shuffler gives out.
    """
    question, device = privatizer.question, privatizer.devices[0]
    if not isinstance(device, RandomizedResponse):
        raise InvalidInput("Sums of whole episodes are audited here. Choose the mechanism shuffled-bits.")
    honest = privatizer.mixing.honest_in(privatizer.mixing.batch)
    heads, told = bits(question) * honest, weights(question)
    first, second = (counts(question, person) * told for person in people)
    totals = (honest * first, (honest - 1) * first + second)

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        ones, trials = np.tile(totals[world], count), np.tile(heads, count)
        return device.randomize(ones, trials, noise).reshape(count, question.cells)

    claimed = log_likelihood_ratio(device, totals, heads)
    return Target(name, privatizer.act.loss, sample, claimed, None, privatizer.asked.trust, privatizer.calibration)
