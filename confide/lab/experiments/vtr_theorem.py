"""Theorem 5.2 of Liao, He and Gu (2021) in its own form: the regret of LDP-UCRL-VTR over people, epsilon, steps and dimension.

Worlds are mixtures of d known models in unknown proportions, one for each seed. Noise, shift and radius are as printed; the
absolute constant of the radius, which the paper does not state, is 1, and beside it the one that did best on other worlds. With the
constant at 1 learning begins at 10^12 people. As the people between two plans are drawn at once, the numbers of people at which the
form of the bound can be seen can be had.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...privacy import Local
from ...validation import Json
from .curve import Curve, Sweep
from .experiment import Experiment
from .facts import Claim, Facts, in_own_form, number
from .instances import Instances, mean_random_loss
from .terms import ONE, Terms
from .view import Slopes

ALPHA, DELTA = 0.01, 0.1
"""The failure probability and the delta of section 6."""
D, H, EPSILON, SEEDS = 4, 3, 10.0, 40
PRINTED, TUNED_SIDE = "LDP-UCRL-VTR as printed", "LDP-UCRL-VTR, tuned"
PEOPLE = {PRINTED: 1e14, TUNED_SIDE: 1e12}
"""Of each side, where it is not people that change."""
GROWN = (1e11, 1e12, 1e13, 1e14, 1e15)
EPSILONS, STEPS, DIMENSIONS = (1.0, 3.0, 10.0, 30.0, 100.0), (3, 4, 6), (2, 4, 8)

SCALES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
TUNED: dict[str, float] = {TUNED_SIDE: 0.03}
"""The absolute constant that did best among `SCALES`, on worlds that are not shown: `python -m tools.tuning`."""
TUNING_WORLDS = 20

OURS, KEPT = "ours, over people", 0.81
"""At no more than the epsilon that the printed noise keeps where it claims `EPSILON`."""


def _world(dimension: int) -> str:
    return f"mixture/5x2x{dimension}"


def _logarithms(people: float, dimension: int, steps: int) -> float:
    """log(dT/alpha) log(H/delta)^(1/4), T = KH: what the radius and the bound share."""
    return math.log(dimension * people * steps / ALPHA) * math.pow(math.log(steps / DELTA), 0.25)


def bound(people: float, epsilon: float = EPSILON, dimension: int = D, steps: int = H) -> float:
    """d^(5/4) H^(7/4) T^(3/4) log(dT/alpha) log(H/delta)^(1/4)/sqrt(epsilon): Theorem 5.2 with its hidden constant at 1."""
    rounds = people * steps
    grown = math.pow(dimension, 1.25) * math.pow(steps, 1.75) * math.pow(rounds, 0.75)
    return grown * _logarithms(people, dimension, steps) / math.sqrt(epsilon)


def radius_side(
    constant: float,
    people: float,
    epsilon: float = EPSILON,
    dimension: int = D,
    steps: int = H,
    label: str = "",
) -> Instances:
    """The algorithm with the radius of the theorem times an absolute constant. `c` holds all of it but d, H - h + 1 and k; in the
    logarithm H stands for H - h + 1.
    """
    c = constant * _logarithms(people, dimension, steps) / math.sqrt(epsilon)
    choices: dict[str, Json] = {
        "horizon": steps,
        "schedule": "growth:1.02",
        "calibration": "paper",
        "failure": ALPHA,
        "c": c,
    }
    return Instances.of(Curve(label, "ucrl-vtr", _world(dimension), Local(epsilon, DELTA), people, choices))


def tuning_side(label: str, constant: float) -> Instances:
    """The tuned side at a constant, in worlds that no page shows."""
    return replace(radius_side(constant, PEOPLE[label], label=label), first=0)


def _sweeps(side: str, constant: float) -> tuple[Sweep, ...]:
    people = PEOPLE[side]
    over = {
        "people": (GROWN, [radius_side(constant, many, label=side) for many in GROWN]),
        "epsilon": (EPSILONS, [radius_side(constant, people, epsilon, label=side) for epsilon in EPSILONS]),
        "steps": (STEPS, [radius_side(constant, people, steps=many, label=side) for many in STEPS]),
        "dimension": (DIMENSIONS, [radius_side(constant, people, dimension=many, label=side) for many in DIMENSIONS]),
    }
    return tuple(
        Sweep(f"{side}, over {thing}", tuple(map(float, places)), tuple(curves))
        for thing, (places, curves) in over.items()
    )


def _ours() -> Sweep:
    choices: dict[str, Json] = {"horizon": H, "schedule": "growth:1.02"}
    curves = (Instances.of(Curve(OURS, "ucrl-vtr", _world(D), Local(KEPT, DELTA), many, choices)) for many in GROWN)
    return Sweep(OURS, GROWN, tuple(curves))


def _with_log(people: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(people**0.75 * np.log(D * people * H / ALPHA))


FORMS = {
    "people": Terms(("sqrt(K)", "K^(3/4) log(KC)"), np.sqrt, _with_log),
    "epsilon": Terms((ONE, "/sqrt(epsilon)"), np.ones_like, lambda epsilon: epsilon**-0.5),
    "steps": Terms(("H^2", "H^(5/2)"), np.square, lambda steps: steps**2.5),
    "dimension": Terms(("d", "d^(5/4)"), np.asarray, lambda dimension: dimension**1.25),
}
"""The term of UCRL-VTR without privacy, d sqrt(H^3 T), and that of Theorem 5.2, T = KH."""
POWERS = {"people": "0.5; 0.75", "epsilon": "0; -0.5", "steps": "2; 2.5", "dimension": "1; 1.25"}


def _random(facts: Facts, label: str) -> NDArray[np.float64] | float:
    """What acting at random loses at the places of a sweep."""
    side, _, thing = label.rpartition(", over ")
    many = len(facts.of(label).rows)
    if thing == "people":
        return facts.of(label).x * mean_random_loss(many, _world(D), H)
    if thing == "steps":
        return PEOPLE[side] * np.array([mean_random_loss(many, _world(D), steps) for steps in STEPS])
    if thing == "dimension":
        return PEOPLE[side] * np.array([mean_random_loss(many, _world(d), H) for d in DIMENSIONS])
    return PEOPLE[side] * mean_random_loss(many, _world(D), H)


def _seen(facts: Facts) -> list[Claim | str]:
    forms = {f"{side}, over {thing}": terms for side in PEOPLE for thing, terms in FORMS.items()}
    printed, tuned, ours = (
        facts.of(label) for label in (f"{PRINTED}, over people", f"{TUNED_SIDE}, over people", OURS)
    )
    limits = np.array([bound(many) for many in printed.x])
    told = printed.x[limits < H * printed.x]
    return [
        "Beyond 10^10 there are more people here than on earth: they show the form of a bound, which speaks of any number.",
        facts.judged(
            "The bound of Theorem 5.2, with its hidden constant at 1, holds at every number of people",
            bool((printed.mean <= limits).all()),
            f"it is {number(float((limits / printed.mean).min()))} to {number(float((limits / printed.mean).max()))} times what is "
            "measured as printed",
        ),
        facts.judged(
            "The bound is below the trivial one, H a person, at every number of people",
            len(told) == len(limits),
            f"it is from {told[0]:.0e} people on" if len(told) else "it is at none of them",
        ),
        *in_own_form(
            facts,
            "Regret has the form of the theorem: d sqrt(H^3 T), which is there without privacy, and d^(5/4) H^(7/4) T^(3/4) "
            "log(dT/alpha)/sqrt(epsilon), with one constant each",
            forms,
            {label: _random(facts, label) for label in forms},
        ),
        facts.judged(
            "With the constant at 1 learning goes on: at last regret grows more slowly with people than with the tuned constant",
            _last_power(tuned.x, tuned.mean) > _last_power(printed.x, printed.mean),
            f"over the last factor of ten it grows with the power {_last_power(printed.x, printed.mean):.2f} of people as printed, "
            f"and {_last_power(tuned.x, tuned.mean):.2f} with a constant of {TUNED[TUNED_SIDE]:g}, which does best at "
            f"{PEOPLE[TUNED_SIDE]:.0e} people and leaves some worlds with a wrong policy",
        ),
        facts.judged(
            "At no more than the epsilon that the printed noise truly keeps confide with default settings loses less than both "
            "sides, in the mean, at every number of people",
            bool((ours.mean < np.minimum(printed.mean, tuned.mean)).all()),
            f"at {ours.guarantee}, for {printed.guarantee} that the noise printed for epsilon {EPSILON:g} keeps, it has "
            f"{', '.join(number(float(share)) for share in ours.mean / tuned.mean)} of the regret of the tuned side",
        ),
    ]


def _last_power(people: NDArray[np.float64], regret: NDArray[np.float64]) -> float:
    return float(np.diff(np.log(regret[-2:]))[0] / np.diff(np.log(people[-2:]))[0])


EXPERIMENTS = (
    Experiment(
        "ldp-ucrl-vtr/theorem-5.2",
        "The regret bound of LDP-UCRL-VTR in its own form",
        "Theorem 5.2: with probability 1 - alpha the regret of LDP-UCRL-VTR is at most of order d^(5/4) H^(7/4) T^(3/4) "
        "log(dT/alpha) log(H/delta)^(1/4) sqrt(1/epsilon), T = KH; that of UCRL-VTR without privacy is of order d sqrt(H^3 T).",
        _seen,
        f"{SEEDS} mixtures of d models, 5 states, 2 actions; d = {D}, H = {H}, epsilon {EPSILON:g}, delta {DELTA:g}, "
        f"{PEOPLE[PRINTED]:.0e} people as printed and {PEOPLE[TUNED_SIDE]:.0e} tuned, unless that is what changes; a policy at "
        "every 2 % of growth",
        1.0,
        (*_sweeps(PRINTED, 1.0), *_sweeps(TUNED_SIDE, TUNED[TUNED_SIDE]), _ours()),
        SEEDS,
        Slopes(
            "Mixtures of models, 5 states, 2 actions",
            tuple((f"{side}, over {thing}", power) for side in PEOPLE for thing, power in POWERS.items()),
            tuple((f"{side}, over {thing}", terms) for side in PEOPLE for thing, terms in FORMS.items()),
        ),
        quick_seeds=3,
    ),
)
