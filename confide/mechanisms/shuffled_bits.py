"""Randomised bits of which only sums over a batch are ever seen: M_sh of Garcelon, Perchet, Pike-Burke, Pirotta (2021), summed.

On a device every bit is flipped with probability q = p/2 (`RandomizedResponse` for the bits of a whole episode, symmetric
`SampledStep` for those of one step drawn at random). A shuffler adds up the bits of each counter over a batch and gives out
nothing else. To the shuffler a person who may change `changed` bits gives away changed * log((1-q)/q), pure; to everyone
else only what `privacy.shuffling` finds.

A person who reports to several shufflers, each with a batch of its own, flips afresh for each of them. Where batches are `apart`
every user is in one of them alone, which one being known beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import validation
from ..privacy import Loss, Pure, Sensitivity
from ..privacy.shuffling import ShuffledCrowd, local_epsilon, shuffled_loss
from ..validation import Json
from .mechanism import Shares
from .randomized_response import RandomizedResponse
from .unary import SYMMETRIC, SampledStep


@dataclass(frozen=True)
class ShuffledBits(Shares):
    """Sums of flipped bits over each of `crowds`.

    Sensitivities are in bits: l1 is how many bits one person may change in each batch. `missing` is the probability with
    which a batch may be smaller than stated. `categories` is 0 if a report tells of the whole episode, else of how many
    categories a sampled step is. `apart`: a person is in one of the batches, not in each.
    """

    crowds: tuple[ShuffledCrowd, ...]
    missing: float = 0.0
    categories: int = 0
    apart: bool = False

    def __post_init__(self) -> None:
        if not self.crowds:
            raise validation.refusal("batch-sizes-missing", "batch sizes", "at least one", self.crowds)
        validation.delta("missing", self.missing)

    @property
    def name(self) -> str:
        """`shuffled-bits`, or `shuffled-step` where one sampled step is reported."""
        return "shuffled-step" if self.categories else "shuffled-bits"

    @property
    def grid(self) -> float:
        """1: bits are whole."""
        return 1.0

    @property
    def flips(self) -> tuple[float, ...]:
        """The flip probability of each batch."""
        return tuple(crowd.flip for crowd in self.crowds)

    @property
    def people(self) -> tuple[int, ...]:
        """How many honest people are in the sums of each batch."""
        return tuple(crowd.people for crowd in self.crowds)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The privacy loss of the sums, which are all that leaves the shufflers."""
        return self.loss_among(self.people, sensitivity)

    def loss_among(self, people: tuple[int, ...], sensitivity: Sensitivity) -> Loss:
        """The loss of the sums if this many people of each batch are honest."""
        crowds = tuple(ShuffledCrowd(crowd.flip, each) for crowd, each in zip(self.crowds, people, strict=True))
        return shuffled_loss(crowds, round(sensitivity.l1), self.missing, self.apart)

    def local_loss(self, sensitivity: Sensitivity) -> Loss:
        """The privacy loss of the reports themselves, if the shufflers kept them."""
        return Pure(local_epsilon(self.crowds, round(sensitivity.l1), self.apart))

    def describe(self) -> dict[str, Json]:
        """Name, flip probability and honest people; lists of them for several batches."""
        flips = [crowd.flip for crowd in self.crowds]
        people = [crowd.people for crowd in self.crowds]
        alone = len(self.crowds) == 1
        return {
            "name": self.name,
            "flip": flips[0] if alone else flips,
            "honest_people": people[0] if alone else people,
        }

    def on_device(self) -> tuple[RandomizedResponse | SampledStep, ...]:
        """How a report to each of the shufflers is randomised. A sampled step has two bits that may change."""
        if self.categories:
            return tuple(SampledStep(2 * crowd.bit_epsilon, self.categories, SYMMETRIC) for crowd in self.crowds)
        return tuple(RandomizedResponse(crowd.bit_epsilon) for crowd in self.crowds)
