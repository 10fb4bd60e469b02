"""The power of a release: which gain over current practice a fit of its size and noise would have found, had there been one;
and how well it covers the problem.

Found means called sure. Worlds are drawn in which the actions of a state differ by a chosen amount (`planning.dispersed`); nothing
that the release says about which action is better enters. In each, people are logged as often as in the release, the part of it
that chooses is drawn with its sampling error and its noise, and the learner chooses a policy by it. The part that judges is
independent of that, and its estimate is normal given the policy, with the variances and the doubt that `planning.ope` states. So
the chance that the policy's gain is called sure is

    Phi((gain + shift - unknown) / deviation - quantile(confidence)).

In each world the size is sought at which this chance is 80 %, and the gain of the best policy at that size. Where differences lie
matters: an action that is rarely chosen must be better by more to be found. So in these worlds the better an action is the less
often it is chosen (`planning.dispersed`), as in a log whose practice avoids what is best; where all are chosen alike that changes
nothing. The stated gain is the one that is enough in two of three such worlds, so that a gain of this size is found with 80 %
chance or more unless it lies in yet rarer places. Seeds are fixed: the same release gives the same numbers. No data is touched, so
nothing is spent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...learning.learners.apvi import Apvi, Judge, OfflinePlan, apvi_of
from ...learning.planning.dispersed import best_value, dispersed
from ...learning.planning.estimates import quantile
from ...learning.planning.ope import extended, foreseen, policy_values, replica, worth
from ...learning.planning.practice import Practice
from ...learning.planning.thinning import TAU
from ...privacy import Guarantee
from ...privacy.conversion import gaussian_epsilon, gaussian_mu
from ...protocol.kinds.counts import DROPPED
from ...protocol.releases import CountRelease
from ...protocol.releases.release import Radius
from ..reporting.stated import Findings, FoundGain, OtherGuarantee, Power, StatedCoverage

CHANCE, CONFIDENCE = 0.8, 0.95
"""With which chance a gain is to be found, and with which confidence it must then be above zero."""

FIRST, LARGEST = 0.5, 1.0
"""The size of worlds that are tried first, and of those in which actions differ as much as they can."""

REHEARSED = 5_000
"""How many episodes are walked to see which share of visits a budget counts: fewer than for the policy itself, since hundreds of
releases are rehearsed, and the gain that is stated moves by no more than 1 % for it."""

WORLDS = 2 / 3
"""In which share of worlds the stated gain is enough."""

EFFORT = ((5_000, 10, 6), (100_000, 5, 5), (10**9, 1, 3))
"""Up to how many cells how many worlds are drawn, and how many sizes of each are tried."""


FACTORS = (0.1, 1.0, 10.0)
"""Between guarantees that are compared, in the inverse variance of their noise."""

LARGE = 10**5
"""From this many cells on other guarantees are not rehearsed, but for none at all."""


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
        model = self.plan.model
        valued = policy_values(model, extended(model, None))[0].mean(axis=0)
        world = dispersed(model, size, followed, self.practice.episodes, rng, valued)
        values = policy_values(world, extended(world, None))[0]
        usual = world.at_start(values[0])
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


def prospects(
    learner: object, release: CountRelease, plan: OfflinePlan, scale: float | None, in_units: Callable[[float], float]
) -> Findings:
    """`coverage` and `power`, plain numbers; empty for learners without a model of the log. in_units: converts a gain into people's
    units, cut to what can be gained over current practice.

    power: the `gain` that would have been found with this `chance`; null if not even the `largest` possible one. `guarantees`:
    the same under other guarantees; null is no privacy.
    """
    ours = apvi_of(learner)
    if ours is None or plan.evidence is None:
        return {}
    rehearsal = Rehearsal(replace(ours, walkers=REHEARSED), release, plan, plan.evidence.practice, scale)
    largest, found = in_units(math.inf), dict[float, float | None]()

    def stated(ratio: float) -> float | None:
        """The gain that is found at a ratio of noise; None where it is not below the largest there can be."""
        gain = rehearsal.found(ratio)
        return None if gain is None or in_units(gain) >= largest else in_units(gain)

    ratios = {} if plan.model.noise == 0 else {factor: 1 / math.sqrt(factor) for factor in FACTORS}
    if plan.model.rows.size >= LARGE:
        ratios = {factor: ratio for factor, ratio in ratios.items() if factor == 1}
    for ratio in sorted({1.0, 0.0, *ratios.values()}):
        # More noise finds no smaller gain; what chance says against that is chance.
        known = [found[less] for less in found if less < ratio]
        gain = None if None in known else stated(ratio)
        found[ratio] = None if gain is None else max([gain, *(one for one in known if one is not None)])
    rows: list[FoundGain] = [
        {"guarantee": _other(release.guarantee, factor), "gain": found[ratio]}
        for factor, ratio in sorted(ratios.items())
    ]
    rows += [{"guarantee": None, "gain": found[0.0]}] if rows else []
    power: Power = {"chance": CHANCE, "gain": found[1.0], "largest": largest, "guarantees": rows}
    return {"coverage": coverage(plan), "power": power}


def coverage(plan: OfflinePlan) -> StatedCoverage:
    """Shares: of allowed pairs that are known to have been tried, of current practice that lies in them, and of the
    policy's steps that keep to current practice.
    """
    model = plan.model
    knowledge = model.knowledge
    pairs = np.broadcast_to(knowledge.allowed, model.covered.shape).copy()
    if knowledge.end is not None:
        pairs[:, knowledge.end] = False
    seen = np.where(pairs, model.visits / model.counted, 0.0)
    here, staying, moving = model.initial, 0.0, 0.0
    for h in range(len(plan.extended)):
        layer = h if len(model.rows) > 1 else 0
        here_now = here if knowledge.end is None else np.where(np.arange(len(here)) == knowledge.end, 0.0, here)
        staying += float(
            (here_now * plan.extended[h, :, 0]).sum()
        )  # added up as below, so that all is 1 to the last digit
        moving += float(here_now.sum())
        here = model.rows.flow(layer, here[:, None] * plan.extended[h])
    return {
        "pairs": float(model.covered[pairs].mean()),
        "practice": float(seen[model.covered].sum() / max(seen.sum(), 1e-300)),
        "kept": staying / max(moving, 1e-300),
    }


def _other(promise: Guarantee, factor: float) -> OtherGuarantee:
    """The guarantee whose noise has variance 1/factor of this one's."""
    if promise.rho is not None:
        return {"rho": promise.rho * factor, "epsilon": None, "delta": 0.0}
    epsilon = promise.epsilon or 0.0
    if promise.delta == 0:
        return {"rho": None, "epsilon": epsilon * math.sqrt(factor), "delta": 0.0}
    mu = gaussian_mu(epsilon, promise.delta) * math.sqrt(factor)
    return {"rho": None, "epsilon": gaussian_epsilon(mu, promise.delta), "delta": promise.delta}
