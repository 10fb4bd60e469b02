"""Figure 2 of Liao, He and Gu (2021): LDP-UCRL-VTR and UCRL-VTR in two RiverSwims, S in {3, 5}.

What the paper shows: cumulative regret over K = 10^4 episodes is sublinear, and nearer to that of UCRL-VTR the larger epsilon
is; 10 runs, H = 2S, delta = .1, the constant c of every curve chosen by grid search. Here the c of every published curve was chosen
on seeds of a root of its own (`python -m tools.tuning`); the grids and the choices stand below as data. Ours, under local privacy
and under joint privacy, which the paper does not have, has its default settings. Schedules are the default ones: a plan for every
person without privacy and in `sound`, as in the paper; at every 1 % of growth in `tight`; batches under joint privacy. Without
privacy there are two curves: UCRL-VTR with the radius as its section 6 prints it, in which c multiplies sqrt(d_1) alone, and with
the radius that is derived in `learning/learners/vtr.py`, in which it multiplies all.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...learning.learners.vtr import PUBLISHED
from ...privacy import Guarantee, Joint, Local, NoPrivacy
from ...protocol.kinds.mixture import ONE_STEP
from ...validation import Json
from .curve import Curve, Sweep, scheduled
from .experiment import Experiment
from .facts import Claim, Facts, number
from .ldp_obi_bounds import privacy_shows
from .part import ExperimentPart
from .reference import LEARNERS, REFERENCE, Best, reference_of, sweep_reference
from .view import Over, Regret, surely_less

EPISODES, SEEDS, DELTA = 10_000, 10, 0.1
ROOT = 20211019
"""The root of the reported seeds, which nothing was chosen by: neither c, nor the defaults of the learner."""

EPSILONS = (0.1, 1.0, 10.0)
BOUND_EPSILON, BOUND_SEEDS = 0.1, 30
"""Of the lower bounds' instances; at 1 their actions differ by so little that privacy cannot show."""

BOUND_D, BOUND_H, BOUND_PEOPLE = 5, 6, (10_000, 100_000, 1_000_000)
BANDIT_PEOPLE, BANDIT_SEEDS = (10_000, 100_000, 1_000_000), 60

GRIDS: dict[str, tuple[float, ...]] = {
    "no privacy": (0.0, 0.03, 0.1, 0.15, 0.2, 0.3, 1.0),
    "as printed": (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    "sound": (0.0, 0.01, 0.1, 1.0, 10.0, 100.0),
}
"""What was tried for each kind of side."""
TUNING_ROOT, TUNING_SEEDS = 20211020, 3
GROWTH = "growth:1.2"
"""The schedule of bandits: plans at every fifth of growth, so that large numbers of people can be had."""

# Chosen by tuning: without privacy, then in `sound` for each epsilon.
CONSTANTS: dict[str, tuple[float, tuple[float, ...]]] = {
    "riverswim-mixture/3": (0.15, (1.0, 1.0, 0.1)),
    "riverswim-mixture/3?inhomogeneous=true": (0.15, (1.0, 1.0, 0.1)),
    "riverswim-mixture/5": (0.1, (0.01, 0.01, 0.0)),
    "riverswim-mixture/5?inhomogeneous=true": (0.15, (0.0, 0.0, 1.0)),
}

# The same for the printed radius without privacy, of which c multiplies one term.
PRINTED: dict[str, float] = {
    "riverswim-mixture/3": 0.1,
    "riverswim-mixture/3?inhomogeneous=true": 0.0,
    "riverswim-mixture/5": 0.01,
    "riverswim-mixture/5?inhomogeneous=true": 0.0,
}
OPEN, OPEN_PRINTED = "UCRL-VTR, no privacy, derived radius", "UCRL-VTR, no privacy, radius as printed"


CALM = ("batches:100", "batches:200", "batches:500")
"""Schedules of the reference beside a plan for every person, after which one run in ten stays with a wrong river."""


def _curve(world: str, label: str, privacy: Guarantee, calibration: str, c: float | None, **options: Json) -> Curve:
    tuned = {} if c is None else {"c": c}
    choices: dict[str, Json] = {"calibration": calibration, **tuned, "seed": ROOT, **options}
    return Curve(label, "ucrl-vtr", world, privacy, EPISODES, choices)


def _name(world: str) -> str:
    """The panel of a world."""
    return world.removeprefix("riverswim-mixture/").replace("?inhomogeneous=true", "-inhomogeneous")


def _address(world: str) -> str:
    return f"ldp-ucrl-vtr/figure-2-{_name(world)}"


def _published(world: str, label: str, c: float) -> Curve:
    """A published side of a panel at a constant c."""
    if label == OPEN:
        return _curve(world, OPEN, NoPrivacy(), "tight", c)
    if label == OPEN_PRINTED:
        return _curve(world, OPEN_PRINTED, NoPrivacy(), "tight", c, beta=PUBLISHED)
    epsilon = float(label.rpartition(" ")[2])
    return _curve(world, label, Local(epsilon, DELTA), "sound", c)


def _reference(world: str) -> Best:
    """No privacy by whichever of our learners loses least; `ucrl-vtr` also in batches, where early plans mislead less."""
    curve = _curve(world, "", NoPrivacy(), "tight", None)
    late = (scheduled(curve, batches) for batches in CALM)
    return Best(REFERENCE, (*reference_of(curve, LEARNERS).parts, *late))


def tuned_sides() -> dict[str, float]:
    """The constant c of every published side, by its page and label."""
    sides: dict[str, float] = {}
    for world, (exact, tuned) in CONSTANTS.items():
        labels = {OPEN: exact, OPEN_PRINTED: PRINTED[world]}
        labels |= {f"sound, epsilon {epsilon:g}": c for epsilon, c in zip(EPSILONS, tuned, strict=True)}
        sides |= {f"{_address(world)}: {label}": c for label, c in labels.items()}
    return sides


def grid_of(side: str) -> tuple[float, ...]:
    """The constants that were tried for a side of a page."""
    kind = {OPEN: "no privacy", OPEN_PRINTED: "as printed"}.get(side.partition(": ")[2], "sound")
    return GRIDS[kind]


def tuning_side(side: str, c: float) -> Curve:
    """A side of a page at a constant, on the seeds of tuning."""
    address, _, label = side.partition(": ")
    world = next(world for world in CONSTANTS if _address(world) == address)
    curve = _published(world, label, c)
    return replace(curve, choices={**curve.choices, "seed": TUNING_ROOT})


def _finals(facts: Facts, kind: str) -> list[float]:
    """Final regret at each epsilon."""
    return [facts.at(f"{kind}, epsilon {epsilon:g}") for epsilon in EPSILONS]


def _seen_small(facts: Facts) -> list[Claim | str]:
    sound, tight, joint = (_finals(facts, kind) for kind in ("sound", "tight", "joint"))
    return [
        facts.of_paper(
            "With the printed noise regret is ordered by epsilon, nearer to that without privacy the larger it is",
            sound == sorted(sound, reverse=True) and max(sound) >= 1.2 * min(sound),
            f"{', '.join(map(number, sound))}: the matrix is shifted by 2 Gamma, which exceeds every eigenvalue that people add",
        ),
        facts.judged(
            "Ours, which asks for counts in a table, and joint privacy, which the paper does not have, are ordered so",
            tight == sorted(tight, reverse=True) and joint == sorted(joint, reverse=True),
            f"{', '.join(map(number, tight))} (local); {', '.join(map(number, joint))} (joint)",
        ),
        "The printed noise is also far more than is needed: the table says what it keeps. How the published curves came about "
        "with this shift we do not know.",
        *_said_printed(facts),
    ]


def _said_printed(facts: Facts) -> list[Claim | str]:
    """What the printed radius does without privacy, beside the derived one."""
    printed, derived = facts.at(OPEN_PRINTED), facts.at(OPEN)
    curve = facts.of(OPEN_PRINTED)
    first_half = float(np.interp(curve.x[-1] / 2, curve.x, curve.mean))
    reference, joint = facts.at(REFERENCE), facts.at(f"joint, epsilon {EPSILONS[-1]:g}")
    return [
        f"Without privacy confide with default settings has {number(reference)}, which is what the cost of privacy is measured "
        f"against: joint privacy at epsilon {EPSILONS[-1]:g} costs {number(joint / reference)} times that.",
        facts.judged(
            "Without privacy UCRL-VTR with the radius as it is printed, of which the tuned c multiplies sqrt(d_1) alone, stops to "
            "lose",
            printed <= 5 * derived or first_half >= 0.6 * printed,
            f"it has {number(printed)}, and {number(derived)} with the derived radius, of which c scales all. The rest of the "
            "printed one, H - h + 1 times a root of logarithms, stays as it is where values are normalised by H",
        ),
    ]


def _seen_large(facts: Facts) -> list[Claim | str]:
    sound, tight, joint = (_finals(facts, kind) for kind in ("sound", "tight", "joint"))
    return [
        facts.judged(
            "Five states are harder: under local privacy 10,000 people do not suffice at epsilon 0.1, and do from 1 on, with our "
            "noise",
            tight[0] > 0.9 * sound[0] and tight[2] < tight[1] < 0.9 * sound[1],
            f"ours has {', '.join(f'{ours / theirs:.2g}' for ours, theirs in zip(tight, sound, strict=True))} of the regret that "
            "the printed noise has, with which nothing is learned at any epsilon (see three states)",
        ),
        facts.judged(
            "Joint privacy learns at every epsilon",
            all(regret < other / 2 for regret, other in zip(joint, sound, strict=True)),
            f"its regret is {', '.join(map(number, joint))}, with the printed local noise {', '.join(map(number, sound))}",
        ),
        *_said_printed(facts),
    ]


def needed_rounds(d: int, horizon: int, epsilon: float) -> float:
    """T from which on the lower bounds are stated: 4 d^2 H/(min(4, e^(2 epsilon))(e^epsilon - 1)^2); H = 1 in Lemma 5.5."""
    return 4 * d**2 * horizon / (min(4.0, math.exp(2 * epsilon)) * math.expm1(epsilon) ** 2)


def _stated(facts: Facts, least: float, steps: int) -> Claim:
    """Whether the hypothesis of a lower bound holds at the numbers of people that are shown."""
    fewest = float(min(result.x[0] for result in facts.results)) * steps
    return facts.judged(
        "The bound is stated for all numbers of people that are shown",
        fewest >= least,
        f"it takes T of at least {least:,.0f}, and the least is {fewest:,.0f}",
    )


AT_RANDOM = math.sqrt(1 / 3) * (BOUND_D - 1) / BOUND_D
"""What acting at random has of the order of Lemma 5.5 on its instance: (d-1) Delta a round."""


def _seen_bandit(facts: Facts) -> list[Claim]:
    printed, ours, joint, none = (facts.of(label) for label in (ZHENG, "ours, local", "ours, joint", REFERENCE))
    spans = {
        result.label: f"{result.mean.min():.3f} to {result.mean.max():.3f}" for result in (printed, ours, joint, none)
    }
    return [
        _stated(facts, needed_rounds(BOUND_D, 1, BOUND_EPSILON), 1),
        facts.judged(
            "Local privacy costs more than joint privacy and than none, at every number of people",
            bool((np.minimum(ours.mean, printed.mean) > np.maximum(joint.mean, none.mean)).all()),
            f"local, ours, has {spans[ours.label]} of the order, joint {spans[joint.label]}, no privacy {spans[none.label]}",
        ),
        facts.judged(
            "The reference without privacy loses no more than joint privacy, beyond the error of seeds",
            not surely_less(joint, none),
            f"it has {', '.join(f'{one / other:.2f}' for one, other in zip(none.mean, joint.mean, strict=True))} of its regret",
        ),
        facts.judged(
            "With the noise that is printed these users teach nothing: regret is that of acting at random to within a tenth",
            bool((np.abs(printed.mean / AT_RANDOM - 1) < 0.1).all()),
            f"{spans[printed.label]}, where acting at random has {AT_RANDOM:.3f}; as printed the noise keeps {printed.guarantee}",
        ),
        facts.judged(
            "Ours, with the noise that the claim needs, loses less than with the printed noise",
            bool((ours.mean < printed.mean).all()),
            f"{spans[ours.label]}, at {ours.guarantee}",
        ),
    ]


def _seen_bound(facts: Facts) -> list[Claim]:
    kinds = (REFERENCE, "ours, joint", "ours, local")
    spans = ", ".join(f"{kind} {facts.of(kind).mean.min():.3f} to {facts.of(kind).mean.max():.3f}" for kind in kinds)
    local = [facts.of(name) for name in ("LDP-UCRL-VTR, sound", "ours, local")]
    least = min(float(result.mean.min()) for result in local)
    return [
        _stated(facts, needed_rounds(BOUND_D, BOUND_H, BOUND_EPSILON), BOUND_H),
        *privacy_shows(facts, BOUND_EPSILON, kinds, spans),
        facts.judged(
            "The constant of Theorem 5.6, which is not stated, is at most a fifth on this instance",
            least < 0.2,
            f"the least that a local learner has of the order is {least:.3f}",
        ),
    ]


def _panel(world: str) -> Experiment:
    """One panel of the figure: no privacy, twice; local, sound and tight; joint."""
    exact, tuned = CONSTANTS[world]
    curves: list[ExperimentPart] = [
        _published(world, OPEN, exact),
        _published(world, OPEN_PRINTED, PRINTED[world]),
        _reference(world),
    ]
    for kind, promise in (("sound", Local), ("tight", Local), ("joint", Joint)):
        calibration = "tight" if kind == "joint" else kind
        curves += [
            _curve(world, f"{kind}, epsilon {epsilon:g}", promise(epsilon, DELTA), calibration, c)
            for epsilon, c in zip(EPSILONS, tuned if kind == "sound" else (None,) * len(EPSILONS), strict=True)
        ]
    name = _name(world)
    many, first = len(EPSILONS), len(curves) - 3 * len(EPSILONS)
    title = f"LDP-UCRL-VTR in RiverSwim, {world.removeprefix('riverswim-mixture/')[0]} states"
    return Experiment(
        f"ldp-ucrl-vtr/figure-2-{name}",
        title + (", a river of its own at every step" if "inhomogeneous" in name else ""),
        "Cumulative regret of LDP-UCRL-VTR is sublinear, and nearer to that of UCRL-VTR the larger epsilon is.",
        _seen_small if name.startswith("3") else _seen_large,
        f"H = 2S, {EPISODES:,} people, epsilon 0.1, 1 and 10, delta 0.1, {SEEDS} seeds",
        3.5 if "5" in name else 0.5,
        tuple(curves),
        SEEDS,
        Regret(title, tuple((first + i, first + many + i) for i in range(many)), log=False),
        quick_seeds=2,
    )


def _lower_bound() -> Experiment:
    """Theorem 5.6 on its own instance: measured regret over d H sqrt(T)/(min(2, e^epsilon)(e^epsilon - 1))."""
    d, horizon, epsilon, people = BOUND_D, BOUND_H, BOUND_EPSILON, BOUND_PEOPLE
    unit = tuple(
        d * horizon * math.sqrt(many * horizon) / (min(2.0, math.exp(epsilon)) * math.expm1(epsilon)) for many in people
    )

    def sweep(label: str, privacy: Guarantee, **choices: Json) -> Sweep:
        worlds = [f"hard-mixture/d{d}h{horizon}?episodes={many}&epsilon={epsilon:g}" for many in people]
        options: dict[str, Json] = {"schedule": "growth:1.01", "seed": ROOT, **choices}
        if options["schedule"] is None:  # the default one
            del options["schedule"]
        curves = (
            Curve(label, "ucrl-vtr", world, privacy, many, options) for world, many in zip(worlds, people, strict=True)
        )
        return Sweep(label, tuple(map(float, people)), tuple(curves), unit)

    return Experiment(
        "ldp-ucrl-vtr/lower-bound",
        "The lower bound on its own instance, beside what learners do there",
        "Theorem 5.6: under epsilon-LDP every learner has regret of at least order d H sqrt(T)/(min(2, "
        "e^epsilon)(e^epsilon - 1)) in some linear mixture, T = KH. The hard instance hides which of its actions is a "
        "hair better.",
        _seen_bound,
        f"d = {d}, H = {horizon}, epsilon {epsilon:g}, delta {DELTA:g}, 10^4 to 10^6 people, an instance for each number, "
        f"{BOUND_SEEDS} seeds",
        0.6,
        (
            sweep("LDP-UCRL-VTR, sound", Local(epsilon, DELTA), calibration="sound"),
            sweep("ours, local", Local(epsilon, DELTA)),
            sweep("ours, joint", Joint(epsilon, DELTA), schedule=None),
            sweep_reference(sweep("", NoPrivacy()), LEARNERS),
        ),
        BOUND_SEEDS,
        Over(
            f"The hard mixture, d = {d}, H = {horizon}, epsilon {epsilon:g}",
            "people",
            "regret / (d H sqrt(T)/(min(2, e^epsilon)(e^epsilon - 1)))",
            "lower-bound",
        ),
    )


ZHENG = "linear bandits of Zheng et al., as printed"


def _bandit() -> Experiment:
    """Lemma 5.5 on its own instance: measured regret over d sqrt(T)/(min(2, e^epsilon)(e^epsilon - 1))."""
    d, epsilon, people = BOUND_D, BOUND_EPSILON, BANDIT_PEOPLE
    unit = tuple(d * math.sqrt(many) / (min(2.0, math.exp(epsilon)) * math.expm1(epsilon)) for many in people)

    def sweep(label: str, privacy: Guarantee, **choices: Json) -> Sweep:
        options: dict[str, Json] = {"schedule": GROWTH, "seed": ROOT, **choices}
        curves = (
            Curve(label, "ucrl-vtr", f"hard-bandit/d{d}?episodes={many}&epsilon={epsilon:g}", privacy, many, options)
            for many in people
        )
        return Sweep(label, tuple(map(float, people)), tuple(curves), unit)

    return Experiment(
        "ldp-ucrl-vtr/lemma-5.5",
        "One step: linear bandits under local privacy, and their lower bound",
        "With H = 1 LDP-UCRL-VTR is the algorithm of Zheng et al. (2020) for linear bandits. Lemma 5.5: every epsilon-LDP learner "
        "has regret of at least order d sqrt(T)/(min(2, e^epsilon)(e^epsilon - 1)) on some linear bandit.",
        _seen_bandit,
        f"d = {d}, epsilon {epsilon:g}, delta {DELTA:g}, 10^4 to 10^6 people, an instance for each number, {BANDIT_SEEDS} seeds",
        0.5,
        (
            sweep(ZHENG, Local(epsilon, DELTA), calibration="paper", printing=ONE_STEP),
            sweep("ours, local", Local(epsilon, DELTA)),
            sweep("ours, joint", Joint(epsilon, DELTA)),
            sweep_reference(sweep("", NoPrivacy()), LEARNERS, calm=CALM),
        ),
        BANDIT_SEEDS,
        Over(
            f"The hard linear bandit, d = {d}, epsilon {epsilon:g}",
            "people",
            "regret / (d sqrt(T)/(min(2, e^epsilon)(e^epsilon - 1)))",
            "lower-bound",
        ),
    )


EXPERIMENTS = (*map(_panel, CONSTANTS), _lower_bound(), _bandit())
