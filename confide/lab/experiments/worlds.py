"""Ours as it comes against the published algorithms at their best, over worlds that nobody tuned on.

For every world and promise: ours at its default; the published algorithm made sound, with the scale of its bonus that did best in
that very world on other seeds; and the two mixtures of published and our own noise and planner; under two of the promises also
our policy optimisation, as it comes. Without privacy: ours, and the published one, as printed and at its best; and ours again with
so many seeds that one bad run in 500 would be seen. Under joint privacy the published algorithm pools counts over steps, which its
paper counts apart: its labels say so.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import validation
from ...errors import InvalidInput
from ...learning.learners import listing
from ...learning.planning.evaluation import flow_value, optimal_value
from ...privacy import Guarantee, Joint, Local, NoPrivacy, Shuffle
from ...protocol.papers import POOLED
from ...validation import Json
from ..environments import make
from ..simulation import prepare, simulate
from .experiment import Experiment
from .part import PAPER, PartResult, people_at
from .world_lists import EVALUATION, family
from .world_view import (
    MANY,
    OPEN,
    OUR_NOISE,
    OUR_PLANNER,
    OURS,
    POLICY,
    PRINTED,
    SOUND,
    Newcomer,
    Worlds,
    named,
    split,
)
from .world_words import headline, world_words

SCALES = tuple(round(10 ** (half / 2), 5) for half in range(-6, 3))
"""10^-3 to 10^1 in half decades."""

QUICK_SCALES = (0.001, 0.01, 0.1)

TUNING_ROOT, FIRST_SHARE, FINALISTS = 500, 5, 3
"""Scales are compared on seeds of another root, as many as are reported: all on a fifth of them, and the best three on all."""


@dataclass(frozen=True)
class Contender:
    """One side in one world under one promise. With scales, it has the one that did best on other seeds.

    Its rows are (seeds, 2): final regret, and what the last policy loses as a share of what acting at random loses; its places
    are the number of people, and the scale. whole: it is asked for as much epsilon as makes its true one what is promised, where
    the noise that its paper prints keeps more than it claims.
    """

    label: str
    learner: str
    world: str
    privacy: Guarantee
    people: float
    choices: dict[str, Any] = field(default_factory=dict)
    scales: tuple[float, ...] = ()
    whole: bool = False

    def promise(self) -> str:
        """The guarantee that was asked for, which sound and tight keep, in words."""
        return str(self.privacy)

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Choose a scale if there is one to choose, and run."""
        people, scales = people_at(scale, self.people), self.scales
        many = (max(1, seeds // FIRST_SHARE), seeds)
        if scale != PAPER:
            scales, many = QUICK_SCALES if scales else (), (1, 1)
        for count in many if len(scales) > 1 else ():
            tried = {
                bonus_scale: self._run(people, count, bonus_scale, TUNING_ROOT).regret[:, -1].mean()
                for bonus_scale in scales
            }
            scales = tuple(
                sorted(tried, key=lambda bonus_scale: tried[bonus_scale])[: FINALISTS if count < many[1] else 1]
            )
        run = self._run(people, seeds, scales[0] if scales else None, 0)
        lost = (run.optimal_value - run.final_value) / random_loss(self.world)
        guarantee = "; ".join(str(promise.true) for promise in run.certificate.promises)
        places = np.array([people, scales[0] if scales else math.nan])
        return PartResult(self.label, places, np.stack([run.regret[:, -1], lost], axis=1), guarantee, run.seconds)

    def _run(self, people: float, seeds: int, scale: float | None, root: int) -> Any:
        choices: dict[str, Any] = {**self.choices, **({} if scale is None else {"bonus_scale": scale})}
        promise = self._asked(people, choices) if self.whole else self.privacy
        return simulate(self.learner, self.world, promise, people, seeds, seed=root, **choices)

    def _asked(self, people: float, choices: dict[str, Any]) -> Guarantee:
        """The promise to ask for: true epsilon is in proportion to what printed scales are divided by."""
        asked = self.privacy.epsilon or 0.0
        while True:
            promise = replace(self.privacy, epsilon=asked)
            true_epsilon = (
                prepare(self.learner, self.world, promise, people, **choices).design.guarantee.epsilon or asked
            )
            if self.privacy.epsilon is None or 0 <= self.privacy.epsilon - true_epsilon <= 1e-9:
                return promise
            asked *= self.privacy.epsilon / true_epsilon if true_epsilon < self.privacy.epsilon else 1 - 1e-12


@dataclass(frozen=True)
class ManyRuns(Contender):
    """A contender with more seeds than the others; the third of its places is what acting at random loses over all people."""

    seeds: int = 21

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Run, and say what acting at random loses."""
        result = super().compute(scale, seeds)
        at_random = random_loss(self.world) * result.x[0]
        places = np.append(result.x, at_random)
        return replace(result, x=places, rows=np.column_stack([result.rows, result.rows[:, 0] / at_random]))


def random_loss(world: str, horizon: int | None = None) -> float:
    """How much less than the best policy one who acts at random earns a person."""
    model = make(world, horizon).model
    assert model is not None  # all listed worlds are known
    spec = model.spec
    policy = np.full((spec.horizon, spec.states, spec.actions), 1 / spec.actions)
    flow = np.empty((2, spec.states))
    return float(optimal_value(model) - flow_value(model.transitions, model.rewards, model.initial, policy, flow))


GROWTH, ALL_STEPS = {"schedule": "growth:1.01"}, {"model": "stationary"}
PROMISES: dict[str, tuple[Guarantee, float, str, str, dict[str, Any]]] = {
    "joint": (Joint(1.0, 1e-6), 1e6, "ucbvi", "private", {"mechanism": "tree-gaussian", **GROWTH, **ALL_STEPS}),
    "local 1": (Local(1.0), 1e7, "obi", "paper", {"mechanism": "laplace", **GROWTH}),
    "local 4": (Local(4.0), 1e7, "obi", "paper", {"mechanism": "laplace", **GROWTH}),
    "shuffle": (Shuffle(1.0, 1e-6), 1e6, "obi", "paper", {}),
}
"""By name: the promise, how many people, the published learner and its bonus, and its noise and schedule."""
EVERYBODY_HONEST = {"shuffle": {"honest": 1.0}}
"""What all contenders under a promise have in common: papers assume that nobody lies to a shuffler."""

BY_POLICY = ("joint", "local 4")
"""The promises under which policy optimisation is run too."""


def contenders(world: str) -> list[Contender]:
    """All contenders in one world."""
    entrants = []
    for name, (promise, people, learner, bonus, printed) in PROMISES.items():
        sides: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
            OURS: ({}, ()),
            SOUND: ({"calibration": "sound", **printed}, SCALES),
            OUR_PLANNER: ({"calibration": "sound", "bonus": "tight", **printed}, ()),
            OUR_NOISE: ({"bonus": bonus}, SCALES),
        }
        entrants += [
            Contender(
                named(name, world, side + (f", {POOLED}" if ALL_STEPS.items() <= choices.items() else "")),
                learner,
                world,
                promise,
                people,
                {**EVERYBODY_HONEST.get(name, {}), **choices},
                scales,
                whole=promise.pure and "calibration" in choices,
            )
            for side, (choices, scales) in sides.items()
        ]
    for name in BY_POLICY:
        promise, people, *_ = PROMISES[name]
        entrants.append(Contender(named(name, world, POLICY), "po", world, promise, people))
    open_sides: dict[str, tuple[dict[str, Json], tuple[float, ...]]] = {
        OURS: ({}, ()),
        PRINTED: ({"bonus": "private", **GROWTH}, ()),
        SOUND: ({"bonus": "private", **GROWTH}, SCALES),
    }
    entrants += [
        Contender(named(OPEN, world, side), "ucbvi", world, NoPrivacy(), 1e6, choices, scales)
        for side, (choices, scales) in open_sides.items()
    ]
    return [*entrants, ManyRuns(named(OPEN, world, MANY), "ucbvi", world, NoPrivacy(), 1e6)]


SIDES = {OURS: 0, SOUND: 0, MANY: 1, POLICY: 1, PRINTED: 1, OUR_PLANNER: 2, OUR_NOISE: 2}
"""In the order in which they are run: what the headline needs comes first."""


def parts() -> tuple[Contender, ...]:
    """All contenders in all worlds: first those whom the headline needs, and of every family one world after the other."""
    seen: Counter[str] = Counter()
    ordered: list[tuple[int, int, Contender]] = []
    for world in EVALUATION:
        seen[family(world)] += 1
        ordered += [
            (SIDES[split(contender.label)[2]], seen[family(world)], contender) for contender in contenders(world)
        ]
    return tuple(contender for _, _, contender in sorted(ordered, key=lambda each: each[:2]))


def by_side(promise: str, entrants: list[Contender]) -> dict[str, Contender]:
    """The contenders under a promise, by side."""
    sides = [(split(entrant.label), entrant) for entrant in entrants]
    return {side: entrant for (name, _, side), entrant in sides if name == promise}


def joined(learner: str, promises: tuple[str, ...] = ()) -> Experiment:
    """The same worlds for a learner of your own, at its default, under some of the promises or all."""
    if listing(learner).logged:
        raise InvalidInput(
            "worlds-learner-offline",
            f"Learner {learner!r} learns from logged people, and these worlds are learned in online.",
        )
    wanted = [validation.choice("promise", name, PROMISES) for name in promises] or list(PROMISES)
    parts = []
    for name in wanted:
        promise, people, *_ = PROMISES[name]
        for world in EVALUATION:
            known = by_side(name, contenders(world))
            parts += [known[SOUND], known[OURS]]
            parts.append(Contender(named(name, world, learner), learner, world, promise, people))
    return Experiment(
        f"yours/{learner}",
        f"{learner} in worlds that nobody tuned on",
        "How does a new learner, as it comes, stand beside the published algorithm made sound, at the bonus "
        "scale that does best "
        "in that very world, and beside ours?",
        "Each dot of the picture is a world.",
        f"{len(EVALUATION)} worlds, people and seeds as in ours/worlds",
        60.0 * len(wanted),
        tuple(parts),
        10,
        Newcomer(f"Regret of {learner} over that of ours, both as they come", learner),
        quick_seeds=1,
    )


EXPERIMENTS = (
    Experiment(
        "ours/worlds",
        "Ours as it comes, against the published at their best, over worlds that nobody tuned on",
        "What does one lose who takes ours as it comes, in a world that it was never tuned on? The published "
        "algorithm made "
        "sound has the bonus scale that does best in that very world, on other seeds; ours has no scale. Under joint privacy "
        f"both have counts {POOLED}, which the paper of the published one counts apart.",
        lambda facts: f"Each dot of the picture is a world. {world_words(facts.results)}",
        "24 worlds of 7 families, 10^6 people (joint, shuffle, no privacy) or 10^7 (local), 10 seeds and 10 "
        "others for scales",
        175.0,
        parts(),
        10,
        Worlds("Regret of ours, as it comes, over that of the published algorithm made sound, at its best scale"),
        quick_seeds=2,
        headline=headline,
    ),
)
