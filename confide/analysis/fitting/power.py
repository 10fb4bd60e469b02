"""The power of a release: which gain over current practice a fit of its size and noise would have found, had there been one.

Found means called sure. Worlds are drawn in which the actions of a state differ by a chosen amount (`planning.dispersed`); nothing
that the release says about which action is better enters. In each, people are logged as often as in the release, the part of it
that chooses is drawn with its luck and its noise, and the learner chooses a policy by it. The part that judges is independent of
that, and its estimate is normal given the policy, with the variances and the doubt that `planning.ope` states. So the chance that
the policy's gain is called sure is

    Phi((gain + shift - unknown) / deviation - quantile(confidence)).

In each world the size is sought at which this chance is 80 %, and the gain of the best policy at that size. Where differences lie
matters, so worlds differ in it: the stated gain is the one that is enough in nine of ten. Seeds are fixed: the same release gives
the same numbers. No data is touched, so nothing is spent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...learning.learners.apvi import Apvi, Judge, OfflinePlan
from ...learning.planning.dispersed import best_value, dispersed
from ...learning.planning.estimates import quantile
from ...learning.planning.ope import extended, foreseen, policy_values, replica, worth
from ...learning.planning.parting import TAU
from ...learning.planning.practice import Practice
from ...protocol.kinds.counts import DROPPED
from ...protocol.releases import CountRelease
from ...protocol.releases.release import Radius

CHANCE, CONFIDENCE = 0.8, 0.95
"""With which chance a gain is to be found, and with which confidence it must then be above zero."""

FIRST, LARGEST = 0.5, 1.0
"""The size of worlds that are tried first, and of those in which actions differ as much as they can."""

WORLDS = 0.9
"""In which share of worlds the stated gain is enough."""

EFFORT = ((5_000, 10, 6), (100_000, 5, 5), (10**9, 1, 3))
"""Up to how many cells how many worlds are drawn, and how many sizes of each are tried."""


class Found(NamedTuple):
    """In a world of some size: the chance that a gain is called sure, and the gain of the best policy."""

    size: float
    chance: float
    gain: float


NOTHING = Found(FIRST, 0.0, math.inf)
"""Of a world in which no gain is found often enough, whatever its size."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What is rehearsed: a learner, with a factor on its pessimism, on releases like this one, of which it made that plan."""

    learner: Apvi
    release: CountRelease
    plan: OfflinePlan
    practice: Practice
    scale: float | None = None

    def found(self, noise_ratio: float = 1.0) -> float | None:
        """The gain that is found with `CHANCE`; None if none is. noise_ratio: of the noise to the release's; 0 is no privacy."""
        _, draws, rounds = next(row for row in EFFORT if self.plan.model.rows.size <= row[0])
        worlds = [NOTHING]
        for draw in range(draws):  # each is begun where the one before it ended
            worlds.append(self._sought(draw, worlds[-1].size, noise_ratio, rounds))
        gain = sorted(world.gain for world in worlds[1:])[math.ceil(WORLDS * draws) - 1]
        return gain if math.isfinite(gain) else None

    def _sought(self, draw: int, size: float, noise_ratio: float, rounds: int) -> Found:
        """The size at which a gain is found with `CHANCE`, in the world of that number, and the gain.

        Phi^-1(chance) + quantile is about proportional to the size, by which the next one is guessed: one at which the chance is a
        little more than enough, so that sizes close in from both sides.
        """
        from scipy.special import ndtri

        wanted, seen = quantile(CONFIDENCE) + float(ndtri(CHANCE + 0.05)), list[Found]()
        for _ in range(rounds):
            seen.append(Found(size, *self._one(size, noise_ratio, np.random.default_rng(draw))))
            strength = quantile(CONFIDENCE) + float(ndtri(min(max(seen[-1].chance, 0.02), 1 - 1e-9)))
            size = min(max(size * wanted / max(strength, 1e-9), size / 4), min(LARGEST, size * 1.7))
            if size == seen[-1].size:
                break
        return _crossing(sorted(seen))

    def _one(self, size: float, noise_ratio: float, rng: np.random.Generator) -> tuple[float, float]:
        """The chance that a gain is called sure in one world, and the gain of its best policy."""
        from scipy.special import ndtr

        horizon, release = self.plan.model.knowledge.spec.horizon, self.release
        followed = 0 if horizon == 1 else horizon - (release.question.last == DROPPED)
        world = dispersed(self.plan.model, size, followed, self.practice.episodes, rng)
        values = policy_values(world, extended(world, None))[0]
        usual = float(world.initial @ values[0])
        choosing = replica(release, world, rng, noise_ratio, math.sqrt(1 + TAU**2))
        radius = Radius(*(noise_ratio * math.sqrt(1 + 1 / TAU**2) * size for size in release.radius))
        judging = replace(choosing, radius=radius, visited=None)
        practice = replace(self.practice, mean=usual, noise=noise_ratio**2 * self.practice.noise)
        judge = Judge(judging, practice)
        chosen, evidence = self.learner.chosen(choosing, judge, self.scale, world.initial, values)
        expected = foreseen(evidence, chosen.extended)
        deviation = math.sqrt(expected.luck + expected.noise)
        gain, best = worth(world, chosen.extended) - usual, best_value(world) - usual
        if deviation == 0:  # it is current practice throughout
            return 0.0, best
        shifted = gain + expected.value - expected.guess
        return float(ndtr((shifted - expected.unknown) / deviation - quantile(CONFIDENCE))), best


def _crossing(seen: list[Found]) -> Found:
    """The size and gain at which the chance is `CHANCE`, between the sizes tried that are next to it; NOTHING if it never is."""
    enough = next((number for number, one in enumerate(seen) if one.chance >= CHANCE), None)
    if enough is None:
        return NOTHING
    above = seen[enough]
    if enough == 0:
        return above
    below = seen[enough - 1]
    share = (CHANCE - below.chance) / (above.chance - below.chance)
    size, gain = (
        before + share * (after - before) for before, after in ((below.size, above.size), (below.gain, above.gain))
    )
    return Found(size, CHANCE, gain)
