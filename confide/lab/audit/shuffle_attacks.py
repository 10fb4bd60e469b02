"""Two attacks on what is claimed of shuffling, each an event on what others see, and how often it happens in two worlds.

**The history** shuffled anew before every episode (Garcelon, Perchet, Pike-Burke, Pirotta 2021, Theorem 6). One state, two
actions, one step, p = 1/2. After a burn-in the real SHUFFLED-OBI chooses for persons k-1, k and k+1. Person k's rewards are
(0, 1) or (1, 0); the event is that k-1 is given the first action and k+1 the second, so it is about *others*. One release
changes by one flipped bit among thousands; but the two releases before and after k differ by two reports only, and a policy
that changed between them tells of these. (Any epsilon and delta that hold for one release fail for the pair.)

**The visible report.** Whole reports in random order: a person whose bits are unlike everyone else's is the only one whose
report has them all. Others are alike; she is like the first of two people or like the second, who share nothing with
each other or with the others. The event is that the likelihood ratio of the shuffled reports exceeds e^epsilon.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...compiled import compiled, specialise
from ...learning import learners
from ...learning.learners import Context
from ...learning.learners.learner import Memory, Plan, plan
from ...mdp import Spec
from ...privacy import Guarantee, Schedule, Shuffle
from ...privacy.shuffled_bits import calibrated
from ...privacy.shuffling import ShuffledCrowd, shuffled_loss
from ...protocol.design import PAPER, Request, make
from ...protocol.kinds import CountQuestion
from ...protocol.releases.release import Array, Counts, Noise
from ...protocol.shuffled_obi import bits_a_step
from ...protocol.trusts.mixing import Mixing
from ..simulation.draws import estimates_of
from .auditing import CONFIDENCE, Finding
from .bound import event_bound, largest_chance, least_chance
from .sources import SIMULATED

SPEC = Spec(1, 2, 1)
PEOPLE = 10_000
FLIP = 0.25
DELTA = 1e-6
# Bits in which two people differ: two steps, one reward bit.
VISIBLE_BITS = 10


@dataclass(frozen=True)
class Breach:
    """An event that happened `hits` times in one world and `other_hits` times in the other, of `trials` each."""

    name: str
    event: str
    claimed: Guarantee
    hits: int
    other_hits: int
    trials: int
    seconds: float
    confidence: float = CONFIDENCE

    @property
    def log_ratio(self) -> float:
        """log of the ratio of how often; an estimate, not a bound."""
        return math.log(self.hits / self.other_hits) if self.other_hits else math.inf

    def least_epsilon(self, delta: float) -> float:
        """No smaller epsilon is true at `delta`, with the stated confidence."""
        return float(event_bound(self.hits, self.other_hits, self.trials, 1 - self.confidence, delta))

    def least_delta(self, epsilon: float) -> float:
        """No smaller delta is true at `epsilon`, with the stated confidence."""
        failure = (1 - self.confidence) / 2
        p, q = least_chance(self.hits, self.trials, failure), largest_chance(self.other_hits, self.trials, failure)
        return max(0.0, float(p - math.exp(epsilon) * q))

    def finding(self) -> Finding:
        """The breach as a finding of the audit: what is claimed stands where a certificate would stand."""
        epsilon, delta = self.claimed.epsilon or math.inf, self.claimed.delta
        bound = self.least_epsilon(delta)
        details = (self.confidence, self.trials, self.seconds, self.event)
        return Finding(self.name, self.claimed.trust, PAPER, epsilon, delta, bound, bound, *details, drawn_by=SIMULATED)


@compiled
def send(action: int, paid: bool, flip: float, rng: np.random.Generator, bits: NDArray[np.int64]) -> None:
    """Add one person's flipped bits: visits of both actions, then rewards of both."""
    for a in range(2):
        bits[a] += (a == action) != (rng.random() < flip)
        bits[2 + a] += (a == action and paid) != (rng.random() < flip)


def episodes(
    world: int,
    trials: int,
    before: int,
    flip: float,
    radii: Array,
    constants: Array,
    memory: Memory,
    rng: np.random.Generator,
    counts: Counts,
    policy: Array,
    values: Array,
) -> int:
    """How often k-1 is given the first action and k+1 the second, when k's rewards are (0, 1) (world 0) or (1, 0).

    The `before` people of the burn-in act at random, all others are never paid. radii: (3, 5), before k-1, k and k+1.
    """
    happened = 0
    noise = Noise(1.0, 0.0, 0.0, 1.0, 0.0)
    bits, actions = np.zeros(4, dtype=np.int64), np.zeros(3, dtype=np.int64)
    for _ in range(trials):
        first = rng.binomial(before, 0.5)
        for a in range(2):
            chosen = first if a == 0 else before - first
            bits[a] = rng.binomial(chosen, 1 - flip) + rng.binomial(before - chosen, flip)
            bits[2 + a] = rng.binomial(before, flip)
        for i in range(3):
            users = before + i
            for a in range(2):
                counts.visits[0, 0, a] = (bits[a] - users * flip) / (1 - 2 * flip)
                counts.rewards[0, 0, a] = (bits[2 + a] - users * flip) / (1 - 2 * flip)
            estimates = estimates_of(counts, radii[i], noise, float(users))
            plan(estimates, constants, memory, rng, policy, values)
            actions[i] = 0 if policy[0, 0, 0] > policy[0, 0, 1] else 1
            send(actions[i], i == 1 and actions[i] != world, flip, rng, bits)
        happened += actions[0] == 0 and actions[2] == 1
    return happened


@cache
def _compiled(name: str, the_plan: Plan) -> Callable[..., int]:
    return specialise(episodes, name, plan=the_plan)


def shuffled_history(trials: int = 1_000_000, seed: int = 0, people: int = PEOPLE) -> Breach:
    """The attack on SHUFFLED-OBI's joint guarantee. `claimed` is what one release, looked at alone, truly keeps."""
    started = time.perf_counter()
    before = people - 2
    bit = ShuffledCrowd(FLIP, 2).bit_epsilon
    mixing = Mixing(2, local_epsilon=bit * bits_a_step() * SPEC.horizon, burn_in=before)
    learner = learners.make("obi", bonus="paper")
    question, promise = CountQuestion(SPEC, last="dropped"), Shuffle(1.0, DELTA)
    protocol = make(Request(question, promise, Schedule.every(people), PAPER, mixing=mixing))
    flip, context = validation.number("flip", protocol.mechanism.describe()["flip"]), Context(SPEC, people)
    run = _compiled(learner.plan.__name__, learner.plan)
    pairs = (1, 1, 2)
    hits = [
        run(
            world,
            trials,
            before,
            flip,
            protocol.radii(before + np.arange(3)),
            learner.constants(context),
            learner.memory(context),
            np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(world,))),
            Counts(np.zeros(pairs), np.zeros(pairs), np.zeros(pairs), np.zeros((*pairs, 1))),
            np.zeros((1, 1, 2)),
            np.zeros((2, 1)),
        )
        for world in (0, 1)
    ]
    alone = shuffled_loss((ShuffledCrowd(flip, before),), 1).epsilon(DELTA)
    event = "event that the person before is given action 1 and the person after action 2"
    seconds = time.perf_counter() - started
    return Breach("shuffled history", event, Shuffle(alone, DELTA), hits[0], hits[1], trials, seconds)


def visible_reports(people: int = 1000, seed: int = 0) -> Breach:
    """The attack on whole reports of two steps, with the noise for which *sums* over this many people keep (1, 1e-6)."""
    promise = Shuffle(1.0, DELTA)
    (crowd,) = calibrated((people,), VISIBLE_BITS, 1.0, DELTA)
    return visible_report(crowd.flip, people, VISIBLE_BITS, promise, seed=seed)


def visible_report(
    flip: float, people: int, changed: int, claimed: Guarantee, trials: int = 2000, seed: int = 0
) -> Breach:
    """The attack on whole reports in random order; two people differ in `changed` bits, half of them ones of either."""
    started = time.perf_counter()
    rng, half = np.random.default_rng(seed), changed // 2
    weight, threshold = 2 * (math.log1p(-flip) - math.log(flip)), claimed.epsilon or 0.0

    def happened(world: int) -> int:
        """Likelihood ratios against "like the others", summed over reports, tell how likely each of the two people is."""
        count = 0
        for _ in range(trials):
            usual = rng.binomial(half, 1 - flip, people)
            hers = rng.binomial(half, flip, (2, people))
            usual[0], hers[world, 0] = rng.binomial(half, flip), rng.binomial(half, 1 - flip)
            first, second = np.exp(weight * (hers - usual)).sum(axis=1)
            count += bool(first > math.exp(threshold) * second)
        return count

    hits = happened(0), happened(1)
    event = f"event that the likelihood ratio of the shuffled reports exceeds e^{threshold:g}"
    seconds = time.perf_counter() - started
    return Breach("visible report", event, claimed, hits[0], hits[1], trials, seconds)
