"""How people are mixed by shufflers: public, and fixed before the first person arrives."""

from __future__ import annotations

from dataclasses import dataclass

from .. import validation
from ..mdp import Spec


@dataclass(frozen=True)
class Mixing:
    """How a shuffler mixes people.

    batch: how many people a base batch has. honest: how many of them are assumed to follow the protocol, as a share of the
    batch, or as a number if above 1. local_epsilon: the noise of the devices, if it is to be this; else the least that
    keeps the promise. reward_bits: m, by how many bits a reward is told. tree: shufflers for nodes of several batches
    besides. burn_in: for how many people the paper's protocol acts at random first.
    """

    batch: int
    honest: float = 1.0
    local_epsilon: float | None = None
    reward_bits: int = 1
    tree: bool = False
    burn_in: int = 0

    def __post_init__(self) -> None:
        batch = validation.integer("batch", self.batch, 2, way_out="A batch of one hides nobody; choose trust local.")
        object.__setattr__(self, "batch", batch)
        honest = validation.positive("honest", self.honest)
        if honest > batch:
            raise validation.refusal("honest", f"at most the batch of {batch}", self.honest)
        if self.honest_in(batch) < 2:
            raise validation.refusal("honest", "at least 2 people of a batch", self.honest, "One alone is not hidden.")
        if self.local_epsilon is not None:
            object.__setattr__(self, "local_epsilon", validation.positive("local_epsilon", self.local_epsilon))
        way_out = "1 is enough for rewards of 0 and 1."
        object.__setattr__(
            self, "reward_bits", validation.integer("reward_bits", self.reward_bits, 1, 1 << 12, way_out)
        )
        object.__setattr__(self, "burn_in", validation.integer("burn_in", self.burn_in, 0))

    @property
    def share(self) -> float:
        """The share of people that is assumed to be honest."""
        return self.honest if self.honest <= 1 else self.honest / self.batch

    def honest_in(self, people: int) -> int:
        """How many of so many people are assumed to be honest."""
        return int(self.share * people + 1e-9)


def people_in_sum(honest: int, spec: Spec, sampled: bool, missing: float) -> int:
    """How many of so many honest people are in one sum: all of them, or those who drew the same step.

    Steps are drawn uniformly, so the latter are 1 + Binomial(honest - 1, 1/H), and fewer than this with probability at
    most `missing`.
    """
    if not sampled or spec.layers == 1:
        return honest
    from scipy.stats import binom

    return 1 + int(binom.ppf(missing, honest - 1, 1 / spec.horizon))
