"""Ours with default settings against the published algorithms tuned per world, over held-out worlds.

For every world and guarantee: ours with default settings; the published algorithm made sound, with the scale of its bonus that did
best in that world on other seeds; and the two mixtures of published and our own noise and planner; under two of the guarantees
also our policy optimisation, with default settings. Without privacy: ours, and the published one, as printed and at its best; and
ours again with enough seeds to see one bad run in 500. The published algorithm counts apart by step, as papers print it, or pools
over steps, whichever does better in that world on other seeds: tables say which.

The text over many worlds, and one small table, with every number from the results.

Worlds on which constants may be chosen, and worlds on which nothing was ever chosen: two lists without a world in common.

A world of the first list may be looked at as often as one likes. One of the second is run when a result is to be reported, and
a change of a constant because of what was seen there moves the world to the first. Horizons are those the worlds are registered
with, unless a tuning world says otherwise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ... import validation
from ...analysis.results import Run
from ...errors import InvalidInput
from ...learning.learners import listing
from ...privacy import Guarantee, Joint, Local, NoPrivacy, Shuffle
from ...protocol.papers import AUTHORS, POOLED, pools
from ...validation import Json
from ..environments import make
from ..simulation import prepare, run
from .experiment import Experiment
from .part import PAPER, ExperimentPart, PartResult, people_at
from .world_view import (
    BAD,
    MANY,
    OPEN,
    OUR_NOISE,
    OUR_PLANNER,
    OURS,
    POLICY,
    PRINTED,
    SOUND,
    Newcomer,
    Sides,
    TableRow,
    Worlds,
    bad,
    behind_text,
    by_promise,
    geometric,
    named,
    pooled,
    random_loss,
    ratios,
    share_lost,
    split,
    stuck,
)

FRESH = (
    "inventory/6x3",
    "inventory/9x4?demand=0.45",
    "replacement/6",
    "replacement/10?wear=0.45",
    "queue/6x3",
    "queue/9x4?arrivals=0.6",
    "churn/5x3",
    "churn/7x4?leaving=0.45",
    "pricing/5x3",
    "pricing/7x5?steep=3.0",
    "garnet/6x3?seed=31",
    "garnet/10x3?branching=3&seed=32",
    "tutoring/5x3",
    "tutoring/8x4?forgetting=0.15",
    "courier/4?seed=33",
    "courier/6?seed=34",
)
"""Entered before anything was run on them or on others of their families; those of prices and couriers change by the step."""

EVALUATION = (
    "random/2x2?seed=17",
    "random/3x2?seed=12",
    "random/4x3?seed=13",
    "random/6x2?seed=14",
    "random/8x3?seed=15",
    "random/10x4?seed=16",
    "chain/4",
    "chain/5",
    "chain/6",
    "chain/8",
    "grid/2x2",
    "grid/2x3",
    "grid/3x3",
    "grid/3x4",
    "riverswim/4",
    "riverswim/7",
    "riverswim/8",
    "riverswim/10",
    "riverswim-inhomogeneous/3",
    "riverswim-inhomogeneous/4",
    "riverswim-inhomogeneous/5",
    "clinic",
    "gymnasium:FrozenLake-v1",
    "gymnasium:FrozenLake-v1?is_slippery=false",
    *FRESH,
)

TUNING = (
    ("riverswim/3", 12),
    ("riverswim/5", 20),
    ("riverswim/6", 20),
    ("lower-bound/9x2?episodes=1000", 8),
    ("random/5x3", 20),
    *((f"random/2x2?seed={seed}", 2) for seed in range(100, 106)),
    *((f"random/3x2?seed={seed}", 6) for seed in range(100, 106)),
    *((f"random/5x3?seed={seed}", 20) for seed in range(100, 106)),
    *((f"random/8x2?seed={seed}", 10) for seed in range(100, 106)),
    *((f"random/6x4?seed={seed}", 12) for seed in range(100, 106)),
    *((f"random/2x2?seed={seed}", 2) for seed in range(8)),
    ("illness/5x3?seed=1", 8),
    ("illness/6x2?seed=2", 12),
    ("illness/7x3?seed=3", 10),
    ("illness/6x4?seed=4", 6),
    ("illness/4x3?seed=5", 10),
    ("illness/8x2?seed=6", 14),
    *(
        (f"illness/{size}?seed={seed}", horizon)
        for first in (20, 26)
        for seed, (size, horizon) in enumerate(
            (("6x3", 8), ("5x3", 8), ("7x3", 10), ("4x4", 8), ("6x2", 6), ("5x4", 12)), first
        )
    ),
    ("climb/5?slip=0.2&rest=0.2", 16),
    ("climb/7?slip=0.15&rest=0.1", 24),
    ("climb/9?slip=0.1&rest=0.15", 36),
    ("climb/6?slip=0.1&rest=0.1", 18),
    ("climb/8?slip=0.2&rest=0.05", 24),
    ("climb/4?slip=0.3&rest=0.3", 20),
)
"""With their horizons."""


def family(world: str) -> str:
    """The family of a world: its name without sizes and options."""
    return world.partition("?")[0].partition("/")[0].partition(":")[0]


HEAD = (
    "guarantee",
    "worlds, people, seeds",
    "ours / sound at its best scale",
    "worlds where ours is behind",
    "share of random's loss, median: ours; sound",
    "stuck runs: ours; sound",
    "ours / ours without privacy",
    "policy optimisation / ours",
)


def headline(results: Sequence[PartResult]) -> list[TableRow]:
    """The rows of the headline, for each guarantee: what was run, geometric means of ratios, where ours is behind, who is
    stuck, what privacy costs."""
    table = by_promise(results)
    without = {world: sides[OURS] for world, sides in table.get(OPEN, {}).items() if OURS in sides}
    rows: list[TableRow] = [HEAD]
    for promise, worlds in table.items():
        vs_sound = ratios(worlds, OURS, SOUND)
        if promise == OPEN or not vs_sound:
            continue
        known = {world: {**sides, OPEN: without[world]} for world, sides in worlds.items() if world in without}
        pooling = sum(bool(pooled(worlds[world][SOUND])) for world in vs_sound)
        rows.append(
            (
                promise,
                _ran([worlds[world] for world in vs_sound]),
                f"{geometric(vs_sound):.2g}" + (f", {POOLED} in {pooling}" if pooling else ""),
                behind_text(vs_sound, names=True),
                f"{share_lost(worlds, OURS)}; {share_lost(worlds, SOUND)}",
                f"{stuck(worlds, OURS)}; {stuck(worlds, SOUND)}",
                _mean(known, OURS, OPEN),
                _mean(worlds, POLICY, OURS),
            )
        )
    return rows


def world_words(results: Sequence[PartResult]) -> str:
    """The text: which worlds were run, and how ours does without privacy."""
    table = by_promise(results)
    worlds = list(dict.fromkeys(world for each in table.values() for world in each))
    sentences = [
        f"Run were {len(worlds)} of {len(EVALUATION)} worlds, of {len({family(world) for world in worlds})} families."
    ]
    for promise, ran in table.items():
        vs_sound = ratios(ran, OURS, SOUND)
        if promise != OPEN and vs_sound:
            sentences.append(
                f"{promise[0].upper()}{promise[1:]}: {geometric(vs_sound):.2g} times as much, behind in {behind_text(vs_sound)}."
            )
        policy = ratios(ran, POLICY, OURS)
        if policy:
            sentences.append(
                f"There policy optimisation, with default settings too, loses {geometric(policy):.2g} times what ours does, in "
                f"{len(policy)} worlds."
            )
    without = table.get(OPEN, {})
    if ratios(without, OURS, OURS):
        named = ((SOUND, "UCB-VI at its best scale"), (PRINTED, "UCB-VI as printed"))
        beside = [f"{_mean(without, OURS, side)} times {name}" for side, name in named if ratios(without, OURS, side)]
        sentences.append(f"Without privacy: {', '.join([f'{stuck(without, OURS)} runs stuck', *beside])}.")
    many, runs, largest, where = bad(without)
    if runs:
        sentences.append(
            f"{many} of {runs} runs without privacy lose over {BAD:.0%} of what as many users lose who act at random; the "
            f"worst loses {largest:.2%}, in {where}."
        )
    return " ".join(sentences)


def _ran(sides: Sequence[Sides]) -> str:
    people = {float(side[OURS].x[0]) for side in sides}
    seeds = {float(len(side[which].rows)) for side in sides for which in (OURS, SOUND)}
    return f"{len(sides)}, {_numbers(people)}, {_numbers(seeds)}"


def _mean(worlds: dict[str, Sides], side: str, other: str) -> str:
    by_world = ratios(worlds, side, other)
    return (
        f"{geometric(by_world):.2g}" + (f" in {len(by_world)}" if len(by_world) < len(worlds) else "")
        if by_world
        else "not run"
    )


def _numbers(values: set[float]) -> str:
    return " or ".join(f"{value:g}" for value in sorted(values))


SCALES = tuple(round(10 ** (half / 2), 5) for half in range(-6, 3))
"""10^-3 to 10^1 in half decades."""

QUICK_SCALES = (0.001, 0.01, 0.1)

TUNING_ROOT, FIRST_SHARE, FINALISTS = 500, 5, 3
"""Scales are compared on seeds of another root, as many as are reported: all on a fifth of them, and the best three on all."""


@dataclass(frozen=True)
class Contender(ExperimentPart):
    """One side in one world under one guarantee. With scales, it has the one that did best on other seeds, and where it may count
    otherwise (`pooled`: over steps, what its paper counts apart), the better way with its best scale.

    Its rows are (seeds, 2): final regret, and what the last policy loses as a share of what acting at random loses; its places
    are the number of people, and the scale; that it pools is said with its guarantee. whole: it is asked for as much epsilon as
    makes its true one what is guaranteed, where the noise that its paper prints keeps more than it claims.
    """

    label: str
    learner: str
    world: str
    privacy: Guarantee
    people: float
    choices: Mapping[str, Json] = field(default_factory=dict)
    scales: tuple[float, ...] = ()
    whole: bool = False
    pooled: tuple[bool, ...] = field(default=(False,), repr=False)

    def promise(self) -> str:
        """The guarantee that was asked for, which sound and tight keep, in words."""
        return str(self.privacy)

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Choose a scale if there is one to choose, and run."""
        people, scales = people_at(scale, self.people), self.scales
        many = (max(1, seeds // FIRST_SHARE), seeds)
        if scale != PAPER:
            scales, many = QUICK_SCALES if scales else (), (1, 1)
        tried = [(pooled, bonus_scale) for pooled in self.pooled for bonus_scale in scales or (None,)]
        for count in many if len(tried) > 1 else ():
            losses = {each: self._run(people, count, *each, TUNING_ROOT).regret[:, -1].mean() for each in tried}
            tried = sorted(losses, key=lambda each: losses[each])[: FINALISTS if count < many[1] else 1]
        ((pooled, chosen),) = tried
        done = self._run(people, seeds, pooled, chosen, 0)
        lost = (done.optimal_value - done.final_value) / random_loss(self.world)
        guarantee = "; ".join(str(promise.true) for promise in done.certificate.promises)
        guarantee += f" ({POOLED})" if pooled else ""
        places = np.array([people, math.nan if chosen is None else chosen])
        return PartResult(self.label, places, np.stack([done.regret[:, -1], lost], axis=1), guarantee, done.seconds)

    def _run(self, people: float, seeds: int, pooled: bool, scale: float | None, root: int) -> Run:
        choices: dict[str, Json] = {**self.choices, **({} if scale is None else {"bonus_scale": scale})}
        choices |= ALL_STEPS if pooled else {}
        promise = self._asked(people, choices) if self.whole else self.privacy
        return run(prepare(self.learner, self.world, promise, people, seeds=seeds, seed=root, **choices))

    def _asked(self, people: float, choices: dict[str, Json]) -> Guarantee:
        """The guarantee to ask for: true epsilon is in proportion to what printed scales are divided by."""
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


GROWTH, ALL_STEPS = {"schedule": "growth:1.01"}, {"model": "stationary"}
PROMISES: dict[str, tuple[Guarantee, float, str, str, dict[str, Json]]] = {
    "joint": (Joint(1.0, 1e-6), 1e6, "ucbvi", "private", {"mechanism": "tree-gaussian", **GROWTH}),
    "local 1": (Local(1.0), 1e7, "obi", "paper", {"mechanism": "laplace", **GROWTH}),
    "local 4": (Local(4.0), 1e7, "obi", "paper", {"mechanism": "laplace", **GROWTH}),
    "shuffle": (Shuffle(1.0, 1e-6), 1e6, "obi", "paper", {}),
}
"""By name: the guarantee, how many people, the published learner and its bonus, and its noise and schedule."""
EVERYBODY_HONEST = {"shuffle": {"honest": 1.0, "claimed": True}}
"""What contenders under a guarantee have in common: papers assume honest users, and a shuffler of another operator."""

BY_POLICY = ("joint", "local 4")
"""The guarantees under which policy optimisation is run too."""


def contenders(world: str) -> list[Contender]:
    """All contenders in one world."""
    entrants, spec = [], make(world).spec
    for name, (promise, people, learner, bonus, printed) in PROMISES.items():
        sides: dict[str, tuple[dict[str, Json], tuple[float, ...]]] = {
            OURS: ({}, ()),
            SOUND: ({"calibration": "sound", **printed}, SCALES),
            OUR_PLANNER: ({"calibration": "sound", "bonus": "tight", **printed}, ()),
            OUR_NOISE: ({"bonus": bonus}, SCALES),
        }
        entrants += [
            Contender(
                named(name, world, side),
                learner,
                world,
                promise,
                people,
                {**EVERYBODY_HONEST.get(name, {}), **choices},
                scales,
                whole=promise.pure and "calibration" in choices,
                pooled=(False, True)
                if pools(AUTHORS[learner], str(choices.get("calibration", "tight")), spec)
                else (False,),
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
    """The contenders under a guarantee, by side."""
    sides = [(split(entrant.label), entrant) for entrant in entrants]
    return {side: entrant for (name, _, side), entrant in sides if name == promise}


def joined(learner: str, promises: tuple[str, ...] = ()) -> Experiment:
    """The same worlds for a learner of your own, at its default, under some of the guarantees or all."""
    if listing(learner).logged:
        raise InvalidInput(
            "worlds-learner-offline",
            f"Learner {learner!r} learns from logged people, and these worlds are learned in online.",
        )
    wanted = [validation.choice("guarantee", name, PROMISES) for name in promises] or list(PROMISES)
    parts = []
    for name in wanted:
        promise, people, *_ = PROMISES[name]
        for world in EVALUATION:
            known = by_side(name, contenders(world))
            parts += [known[SOUND], known[OURS]]
            parts.append(Contender(named(name, world, learner), learner, world, promise, people))
    return Experiment(
        f"yours/{learner}",
        f"{learner} in held-out worlds",
        "How does a new learner with default settings compare with the published algorithm made sound, its bonus scale "
        "tuned per world, and with ours?",
        "Each dot of the picture is a world.",
        f"{len(EVALUATION)} worlds, users and seeds as in ours/worlds",
        60.0 * len(wanted),
        tuple(parts),
        10,
        Newcomer(f"Regret of {learner} over that of ours, both with default settings", learner),
        quick_seeds=1,
    )


EXPERIMENTS = (
    Experiment(
        "ours/worlds",
        "Ours with default settings against the published algorithms tuned per world, over held-out worlds",
        "What is the regret of ours with default settings, in worlds on which nothing was tuned? The published algorithm, "
        "made sound, has the bonus scale that does best in each world, on other seeds, and its counts are apart by step "
        f"or {POOLED}, whichever does better; ours has no scale.",
        lambda facts: f"Each dot of the picture is a world. {world_words(facts.results)}",
        f"{len(EVALUATION)} worlds of {len({family(world) for world in EVALUATION})} families, "
        "10^6 users (joint, shuffle, no privacy) or 10^7 (local), 10 seeds and 10 others for scales",
        175.0,
        parts(),
        10,
        Worlds("Regret of ours with default settings over that of the published algorithm made sound, tuned per world"),
        quick_seeds=2,
        headline=headline,
    ),
)
