"""Targets made of a whole shuffled design: the sums of one batch, with one person among others who are all alike."""

from __future__ import annotations

import numpy as np

from ..designs import Design
from ..errors import InvalidInput
from ..mechanisms.noise import NoiseSource
from ..questions import bits
from .auditing import Target
from .events import Array
from .likelihood import log_likelihood_ratio
from .people import Pair, told


def shuffle_target(name: str, design: Design, people: Pair) -> Target:
    """The sums over a batch in which all but one are like the first person; she is, or she is like the second.

    Outputs are what devices send, added up: the device's mechanism flips all bits of a counter at once. An output is what
    the first shuffler gives out.
    """
    question, device, mixing = design.question, design.devices[0], design.mixing
    if question.kind != bits.KIND or mixing is None:
        raise InvalidInput("Sums of whole episodes are audited here. Choose the mechanism shuffled-bits.")
    honest = mixing.honest_in(mixing.batch)
    heads = question.trials * honest
    first, second = (told(design, person, 1.0) for person in people)
    totals = (honest * first, (honest - 1) * first + second)

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        ones, trials = np.tile(totals[world], count), np.tile(heads, count)
        return np.asarray(device.randomize(ones, trials, noise).reshape(count, question.width))

    claimed = log_likelihood_ratio(device, totals, heads)
    return Target(name, design.act.loss, sample, claimed, None, design.trust, design.calibration)
