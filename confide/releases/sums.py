"""From the sums that shufflers give out to a release: public post-processing, run by any server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import InvalidInput
from ..mechanisms.randomized_response import RandomizedResponse
from ..mechanisms.unary import SampledStep
from .bits import bits_estimate, bits_radii
from .question import CountQuestion
from .reading import Array, LocalMechanism, estimated_cells, radii
from .release import CountRelease, Radius, unpack
from .shuffler import ShuffledSums

Kept = tuple[ShuffledSums, ...]


def keep(kept: Kept, new: ShuffledSums) -> Kept:
    """The sums that cover everybody so far once each, with the least noise: what the new one covers is dropped.

    Neighbours that were randomised alike are added up.
    """
    rest = tuple(one for one in kept if one.last <= new.first)
    if rest and rest[-1].last == new.first and rest[-1].mechanism == new.mechanism:
        before = rest[-1]
        joined = replace(new, first=before.first, cells=before.cells + new.cells, users=before.users + new.users)
        return (*rest[:-1], joined)
    return (*rest, new)


def read_sums(kept: Kept, failure: float, radius: Radius | None = None) -> CountRelease:
    """A release about everybody in the sums, with our error radius unless another is given."""
    covered = [0, *(one.last for one in kept)]
    if not kept or any(one.first != before for one, before in zip(kept, covered, strict=False)):
        raise InvalidInput(
            "These sums do not cover all batches from the first one on, once each. Collect them with keep."
        )
    question, people = kept[0].question, [int(one.users.sum()) for one in kept]
    cells = np.sum([_estimate(one) for one in kept], axis=0)
    found = radius or Radius(*sums_radii(question, [one.mechanism for one in kept], people, failure).tolist())
    return CountRelease(question, sum(people), unpack(question, cells), found, failure, kept[0].guarantee)


def _estimate(one: ShuffledSums) -> Array:
    ones = one.cells.astype(np.float64)
    if isinstance(one.mechanism, RandomizedResponse):
        return bits_estimate(one.question, one.mechanism, ones, int(one.users.sum()))
    return estimated_cells(one.question, one.mechanism, ones, one.users)


def sums_radii(
    question: CountQuestion, mechanisms: Sequence[LocalMechanism], people: Sequence[Array | int], failure: float
) -> Array:
    """(..., 5) error radii of counts estimated from sums, each over so many people whose reports were randomised so."""
    flipped = [one for one in mechanisms if isinstance(one, RandomizedResponse)]
    if len(flipped) == len(mechanisms):
        return bits_radii(question, flipped, people, failure)
    if len(mechanisms) > 1 or not isinstance(mechanisms[0], SampledStep):
        raise InvalidInput("Sums of sampled steps are read only where all steps were reported alike.")
    return radii(question, mechanisms[0], people[0], failure)
