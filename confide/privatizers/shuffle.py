"""The wall with a shuffler in between: an episode in, randomised bits out; a server sees sums over full batches only.

**Disjoint batches** (`sound`, `tight`). Each person is in exactly one batch, and the policy changes only between batches. Why
this is jointly private: what others are recommended is a function of the sums and of their own data (billboard lemma). Given
all sums before hers, everyone in her batch does the same whatever her data are, so her batch's sums are bits of one changed
person among fixed others, which `privacy.shuffling` bounds for *any* others; later sums depend on her through these alone.

**A tree of shufflers.** A person of base batch t also reports, with fresh flips, to the shuffler of every level l whose node of 2^l
base batches that contains t is a left child. Running counts add up the nodes of the binary digits of t, so their noise grows with
the logarithm of t and not with its root. She is in at most floor(log2 M) + 1 nodes of M base batches, all of which are charged.

**The paper's protocol** (`paper`): see `reshuffled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..errors import PrivacyError
from ..mdp import Spec
from ..mechanisms.counter import checked_failure
from ..mechanisms.noise import NoiseSource, SecureNoise, require_secure
from ..mechanisms.shuffled_bits import ShuffledBits
from ..privacy import Act, Certificate, Guarantee, Promise, Schedule, true_guarantee
from ..privacy.guarantee import LOCAL
from ..privacy.shuffling import Crowd, shuffled_loss
from ..releases import CountQuestion, CountRelease
from ..releases.bits import weights
from ..releases.papers import Radii
from ..releases.reading import LocalMechanism
from ..releases.shuffler import ShuffledSums, Shuffler, Submission
from ..releases.sums import read_sums, sums_radii
from ..trajectories import Trajectory
from .local import randomized


@dataclass(frozen=True)
class Mixing:
    """How people are mixed. Public, and fixed before the first person arrives.

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


@dataclass(frozen=True)
class ShufflePrivatizer:
    """Answers one question about everybody so far, through one shuffler, or a tree of them, under one guarantee."""

    question: CountQuestion
    act: Act
    asked: Guarantee
    calibration: str
    schedule: Schedule
    mixing: Mixing
    printed: tuple[Radii, float] | None = None

    @property
    def mechanism(self) -> ShuffledBits:
        """What the sums are."""
        mechanism: ShuffledBits = self.act.mechanism  # type: ignore[assignment]
        return mechanism

    @property
    def devices(self) -> tuple[LocalMechanism, ...]:
        """How a report is randomised, for each level of the tree."""
        return self.mechanism.on_device()

    @property
    def guarantee(self) -> Guarantee:
        """What the sums truly promise."""
        return true_guarantee(self.act.loss, self.asked)

    @property
    def local_guarantee(self) -> Guarantee:
        """What each device keeps by itself, whoever the shuffler works with."""
        alone = self.mechanism.local_loss(self.act.sensitivity).epsilon(0.0)
        return replace(self.asked, trust=LOCAL, epsilon=alone, delta=0.0)

    def remaining(self, honest: int) -> Guarantee:
        """What is left if only so many people of every base batch are honest: at worst what devices keep by themselves."""
        honest = validation.integer("honest", honest, 1, self.mixing.batch)
        sampled = self.mechanism.categories > 0
        crowds = tuple(
            Crowd(one.flip, heard(honest << level, self.question.spec, sampled, self.mechanism.missing))
            for level, one in enumerate(self.mechanism.crowds)
        )
        loss = shuffled_loss(crowds, round(self.act.sensitivity.l1), self.mechanism.missing)
        epsilon, alone = loss.epsilon(self.asked.delta), self.local_guarantee
        return replace(self.asked, epsilon=epsilon) if epsilon < (alone.epsilon or 0.0) else alone

    def require_honest(self, honest: int) -> None:
        """Refuse to go on with fewer honest people than were assumed, and say what is left."""
        assumed = self.mixing.honest_in(self.mixing.batch)
        if honest < assumed:
            raise PrivacyError(
                f"The promise {self.guarantee} assumes {assumed:,} honest people a batch. With {honest:,} what is left is "
                f"{self.remaining(honest)}. Assume fewer beforehand, or take larger batches."
            )

    def shufflers(self) -> tuple[Shuffler, ...]:
        """The shufflers, one for each level of the tree; without a tree there is one."""
        spans = [1 << level for level in range(len(self.devices))]
        period = 2 if self.mixing.tree else 1
        return tuple(
            Shuffler(self.question, device, self.mixing.batch * span, self.guarantee, span, span * period)
            for span, device in zip(spans, self.devices, strict=True)
        )

    def report(
        self, trajectory: Trajectory, batch: int, noise: NoiseSource | None = None, *, simulated: bool = False
    ) -> tuple[tuple[int, Submission], ...]:
        """What a person of base batch `batch` sends: (level, report) for every shuffler that is to have one."""
        noise = noise or SecureNoise()
        if not simulated:
            require_secure(noise, "a person's report")
        told = 1 if self.mechanism.categories else weights(self.question)
        sent = []
        for level, device in enumerate(self.devices):
            span = 1 << level
            if not self.mixing.tree or batch & span == 0:
                report = randomized(self.question, device, trajectory, noise, told)
                sent.append((level, Submission(batch - batch % span, report)))
        return tuple(sent)

    def radii(self, users: ArrayLike, failure: float) -> NDArray[np.float64]:
        """(..., 5) error radii after `users` people; only those in full batches are counted."""
        checked_failure(failure)
        full = np.asarray(users, dtype=np.int64) // self.mixing.batch
        nodes = [(full >> level) & 1 for level in range(len(self.devices))] if self.mixing.tree else [full]
        people = [np.asarray(many * (self.mixing.batch << level), float) for level, many in enumerate(nodes)]
        return sums_radii(self.question, self.devices, people, failure)

    def release(self, kept: Sequence[ShuffledSums], failure: float) -> CountRelease:
        """What a learner may see of the sums so far, collected with `releases.sums.keep`."""
        return read_sums(tuple(kept), checked_failure(failure))

    def certificate(self, noise: str) -> Certificate:
        """What is promised to every person, by the sums first and by each device second; `noise` says who drew."""
        described = {
            **self.mechanism.describe(),
            "changed_bits": round(self.act.sensitivity.l1),
            "schedule": self.schedule.describe(),
        }
        promises = (Promise(self.guarantee), Promise(self.local_guarantee))
        return Certificate(promises, (described,), self.calibration, noise, self.assumptions())

    def assumptions(self) -> tuple[str, ...]:
        """What the promise of the sums stands on; that of the devices stands on the last three lines alone."""
        batch, honest = self.mixing.batch, self.mixing.honest_in(self.mixing.batch)
        half = honest // 2
        nodes = f", and one of each of up to {len(self.devices) - 1} larger nodes" if self.mixing.tree else ""
        return (
            "the shuffler gives out nothing but sums of full batches, and does not work with the server",
            f"at least {honest:,} of the {batch:,} people of a batch are honest; "
            f"with {half:,} of them {self.remaining(half)} is left",
            f"each person is in one batch{nodes}; the policy changes only between batches; a short last batch is held",
            "one episode a person, at most the horizon long",
            "rewards in [0, 1]",
            "every device draws its own noise and sends each report once",
        )


def heard(honest: int, spec: Spec, sampled: bool, missing: float) -> int:
    """How many of so many honest people are in one sum: all of them, or those who drew the same step.

    Steps are drawn uniformly, so the latter are 1 + Binomial(honest - 1, 1/H), and fewer than this with probability at
    most `missing`.
    """
    if not sampled or spec.layers == 1:
        return honest
    from scipy.stats import binom

    return 1 + int(binom.ppf(missing, honest - 1, 1 / spec.horizon))
