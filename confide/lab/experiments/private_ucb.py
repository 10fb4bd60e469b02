"""Chowdhury and Zhou (2022), *Differentially Private Regret Minimization in Episodic MDPs*: Table 1, measured.

The paper has no experiments. Its table bounds regret by powers of K, epsilon and S; here those powers are measured in
RiverSwim with 20 steps. Noise is `sound`. Bonuses are scaled by a hundredth, and counts are pooled over steps, since the
river is the same at all of them: with printed constants, or counts of every step by itself, learning under local privacy has
only begun at 10^12 people, which two more rows show.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...privacy import Guarantee, Joint, Local
from ...protocol.papers import POOLED
from ...validation import Json
from .curve import Curve, Sweep
from .experiment import Experiment
from .facts import Claim, Facts, Seen, in_own_form
from .instances import Instances
from .terms import ONE, OVER_EPSILON, Terms, fitted
from .view import Slopes
from .world_view import random_loss

HORIZON = 20
CHOICES: dict[str, Json] = {
    "horizon": HORIZON,
    "schedule": "growth:1.01",
    "calibration": "sound",
    "model": "stationary",
    "bonus_scale": 0.01,
}
PEOPLE = (1e8, 1e9, 1e10, 1e11, 1e12)
JOINT_PEOPLE = 1e10
"""Under joint privacy, where it is not people that change."""
STATES = (3, 4, 5, 6)
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
STEPS = (10, 20, 40)
ACTIONS = (2, 3, 4)
"""Of random worlds with four states, one for each seed: the river has two actions."""
THINGS = ("people", "epsilon", "states", "steps", "actions")

# Algorithm, learner, mechanism, what theory says of people, epsilon and states: of the leading term and of privacy's.
JOINT = (
    ("PRIVATE-UCB-VI", "ucbvi", ("0.5; 0", "0; -1", "0.5; 2", "2; 3", "0.5; 1")),
    ("PRIVATE-UCB-PO", "po", ("0.5; 0", "0; -1", "1; 2", "2; 3", "0.5; 1")),
    ("PUCB", "pucb", ("0.5; 0", "0; -1", "1; 2", "2; 3", "0.5; 1")),
)
LOCAL = (
    ("PRIVATE-UCB-VI", "ucbvi", ("0.5", "-1", "2", "3", "1")),
    ("PRIVATE-UCB-PO", "po", ("0.5", "-1", "2", "3", "1")),
    ("LDP-OBI", "obi", ("0.5", "-1", "2", "3", "1")),
)


FAILURE = 0.1
"""The delta of confidence in the papers' widths: the default of a simulation."""


Algorithms = tuple[tuple[str, str, tuple[str, ...]], ...]


def _width_of_tree(people: NDArray[np.float64]) -> NDArray[np.float64]:
    """E of Lemma 3 as a function of K, up to a constant: sqrt(log^3 K log(6 S^2 A T/delta)) at S = 6, A = 2."""
    return np.asarray(np.sqrt(np.log(people) ** 3 * np.log(6 * 6**2 * 2 * HORIZON * people / FAILURE)))


OVER_STEPS = Terms(("H^2", "H^3"), np.square, lambda steps: steps**3)
OVER_ACTIONS = Terms(("sqrt(A)", "A"), np.sqrt, np.asarray)


def _forms(trust: str, algorithms: Algorithms) -> dict[str, Terms]:
    """The two terms of Theorems 1 and 2 by the label of a part: that without privacy, and that of E.

    Under local privacy E grows like sqrt(K) and the term that does not grow is the lower-order one. PUCB and LDP-OBI have
    bounds of the same form.
    """
    people = (
        Terms(("sqrt(K)", "sqrt(log(K)^3 log(KC))"), np.sqrt, _width_of_tree)
        if trust == "joint"
        else Terms((ONE, "sqrt(K)"), np.ones_like, np.sqrt)
    )
    forms: dict[str, Terms] = {}
    for name, *_ in algorithms:
        rooted = name == "PRIVATE-UCB-VI"
        states = Terms(("sqrt(S)" if rooted else "S", "S^2"), np.sqrt if rooted else np.asarray, np.square)
        forms |= {f"{name}, over people": people, f"{name}, over epsilon": OVER_EPSILON, f"{name}, over states": states}
        forms |= {f"{name}, over steps": OVER_STEPS, f"{name}, over actions": OVER_ACTIONS}
    return forms


def _table(trust: str, most: float, mechanism: str, algorithms: Algorithms, paper: str, seen: Seen) -> Experiment:
    def promise(epsilon: float) -> Guarantee:
        return Joint(epsilon) if trust == "joint" else Local(epsilon)

    def curve(label: str, learner: str, states: int = 6, epsilon: float = 1.0, people: float = most) -> Curve:
        choices = {**CHOICES, "mechanism": mechanism}
        return Curve(label, learner, f"riverswim/{states}", promise(epsilon), people, choices)

    def random(label: str, learner: str, actions: int) -> Instances:
        return Instances.of(replace(curve(label, learner), world=f"random/4x{actions}"))

    def longer(label: str, learner: str, steps: int) -> Curve:
        river = curve(label, learner)
        return replace(river, choices={**river.choices, "horizon": steps})

    parts: list[Sweep] = []
    theory: list[tuple[str, str]] = []
    for name, learner, powers in algorithms:
        labels = [f"{name}, over {thing}" for thing in THINGS]
        parts += [
            Sweep(labels[0], PEOPLE, tuple(curve(name, learner, people=many) for many in PEOPLE)),
            Sweep(labels[1], EPSILONS, tuple(curve(name, learner, epsilon=place) for place in EPSILONS)),
            Sweep(labels[2], STATES, tuple(curve(name, learner, states=many) for many in STATES)),
            Sweep(labels[3], STEPS, tuple(longer(name, learner, many) for many in STEPS)),
            Sweep(labels[4], ACTIONS, tuple(random(name, learner, many) for many in ACTIONS)),
        ]
        theory += zip(labels, powers, strict=True)
    return Experiment(
        f"private-ucb/table-1-{trust}",
        f"How regret grows under {trust} privacy: Table 1, measured",
        paper,
        seen,
        f"RiverSwim, 6 states, 20 steps, epsilon 1, {most:.0e} people, unless that is what changes; actions in random worlds with "
        "4 states; 5 seeds",
        6.0,
        tuple(parts),
        5,
        Slopes(
            f"RiverSwim, 20 steps, {trust} privacy, bonus scale 0.01, {POOLED}",
            tuple(theory),
            tuple(_forms(trust, algorithms).items()),
        ),
        quick_seeds=1,
    )


HOW = (
    "Noise is as sound as the claim, counts are pooled over steps, a policy is planned at every 1 % of growth, and bonuses are a "
    "hundredth of what is printed"
)

AS_PRINTED: dict[str, dict[str, Json]] = {
    "PRIVATE-UCB-VI, bonuses as printed, over people": {"bonus_scale": 1.0},
    "PRIVATE-UCB-VI, step by step, over people": {"model": "per-step"},
}
"""Under local privacy: what happens with each of the two liberties that are taken everywhere else left out."""


def _as_printed() -> tuple[Sweep, ...]:
    """Sweeps over people of PRIVATE-UCB-VI under local privacy, each with one liberty less."""
    shared = {**CHOICES, "mechanism": "laplace"}
    return tuple(
        Sweep(
            label,
            PEOPLE,
            tuple(Curve(label, "ucbvi", "riverswim/6", Local(1.0), many, {**shared, **choices}) for many in PEOPLE),
        )
        for label, choices in AS_PRINTED.items()
    )


def _still_lost(facts: Facts) -> Claim:
    """What bonuses as printed, and counts of every step by itself, come to."""
    powers = [facts.power(label) for label in AS_PRINTED]
    shares = [facts.at(label) / facts.at(label, PEOPLE[0]) * PEOPLE[0] / PEOPLE[-1] for label in AS_PRINTED]
    return facts.judged(
        "With bonuses as printed, or counts of every step by itself, these numbers of people are the beginning of learning",
        min(powers) > 0.8 and min(shares) > 0.25,
        f"the power over people of PRIVATE-UCB-VI is {powers[0]:.2f} and {powers[1]:.2f}, and with 10^12 people each still "
        f"loses {shares[0]:.0%} and {shares[1]:.0%} of what each of 10^8 does",
    )


def _powers(facts: Facts, algorithms: Algorithms) -> str:
    """All measured powers as text, beside what theory says."""
    lines = []
    for name, _, theory in algorithms:
        powers = (
            f"{facts.power(f'{name}, over {thing}'):.2f} over {thing} (theory {power})"
            for thing, power in zip(THINGS, theory, strict=True)
        )
        lines.append(f"{name}: {', '.join(powers)}")
    return "; ".join(lines) + "."


def _in_own_form(facts: Facts, trust: str, algorithms: Algorithms) -> list[Claim]:
    """Which sweeps have the form of the theorems, and what differs in the others."""
    people = PEOPLE[-1] if trust == "local" else JOINT_PEOPLE
    river = random_loss("riverswim/6", HORIZON)
    random: dict[str, NDArray[np.float64] | float] = {}
    for name, *_ in algorithms:
        random |= {
            f"{name}, over people": river * np.array(PEOPLE),
            f"{name}, over epsilon": river * people,
            f"{name}, over states": people * np.array([random_loss(f"riverswim/{many}", HORIZON) for many in STATES]),
            f"{name}, over steps": people * np.array([random_loss("riverswim/6", many) for many in STEPS]),
        }
    shown = {label: losses for label, losses in random.items() if np.shape(losses) in ((), facts.of(label).x.shape)}
    said = "Every sweep has the form of the theorems, two terms with one constant each"
    return in_own_form(facts, said, _forms(trust, algorithms), shown)


def _seen_joint(facts: Facts) -> list[Claim | str]:
    private = ("PRIVATE-UCB-VI", "PUCB")
    main = [fitted(facts.of(f"PRIVATE-UCB-PO, over {thing}"), terms) for thing, terms in _MAIN]
    return [
        f"{HOW}; the table for local privacy shows what is learned otherwise.",
        facts.of_paper(
            "The main claim, where both terms can be seen, for PRIVATE-UCB-PO: regret is a term that grows like sqrt(K) without "
            "privacy's epsilon, and a term in 1/epsilon that hardly grows",
            all(fit.holds for fit in main),
            f"no mean is further than {main[0].misfit:.1%} over people and {main[1].misfit:.1%} over epsilon from that",
        ),
        *_in_own_form(facts, "joint", JOINT),
        facts.judged(
            "Of PRIVATE-UCB-VI and PUCB privacy's term is all there is to see: regret falls like 1/epsilon and hardly grows with "
            "people",
            all(abs(facts.power(f"{name}, over epsilon") + 1) < 0.1 for name in private)
            and all(facts.power(f"{name}, over people") < 0.2 for name in private),
            f"powers: {_powers(facts, JOINT)}",
        ),
        "With states regret grows less than the bounds say: RiverSwim is not their worst case.",
    ]


def _seen_local(facts: Facts) -> list[Claim | str]:
    near = ("PRIVATE-UCB-VI", "PRIVATE-UCB-PO")
    return [
        f"{HOW}.",
        _still_lost(facts),
        *_in_own_form(facts, "local", LOCAL),
        facts.judged(
            "PRIVATE-UCB-VI and -PO are near the theory over epsilon; over people their regret grows faster than sqrt(K), since "
            "many of these people come before a good policy is found, so that a constant and sqrt(K) do not describe it",
            all(abs(facts.power(f"{name}, over epsilon") + 1) < 0.15 for name in near)
            and all(0.5 < facts.power(f"{name}, over people") < 0.7 for name in near),
            f"powers: {_powers(facts, LOCAL)}",
        ),
        facts.judged(
            "LDP-OBI is past that: with a hundredth of its bonus it has found the best policy early, so its regret hardly grows, "
            "and depends on when that was",
            facts.power("LDP-OBI, over people") < 0.3,
            f"its power over people is {facts.power('LDP-OBI, over people'):.2f}; those over epsilon and states say how long that "
            "takes, not how regret grows",
        ),
    ]


_MAIN = tuple((thing, _forms("joint", JOINT)[f"PRIVATE-UCB-PO, over {thing}"]) for thing in ("people", "epsilon"))

_LOCAL = _table(
    "local",
    1e12,
    "laplace",
    LOCAL,
    "Under local privacy regret is of order sqrt(S A H^3 T) (S^2 for policy optimisation) plus S^2 A sqrt(H^5 "
    "T)/epsilon: privacy multiplies the regret. T = KH.",
    _seen_local,
)

EXPERIMENTS = (
    _table(
        "joint",
        JOINT_PEOPLE,
        "tree-laplace",
        JOINT,
        "Under joint privacy regret is of order sqrt(S A H^3 T) (S^2 for policy optimisation and PUCB) plus S^2 A "
        "H^3/epsilon: privacy costs a lower-order term. T = KH. The table gives the power of the leading term, then "
        "of privacy's.",
        _seen_joint,
    ),
    replace(_LOCAL, parts=(*_LOCAL.parts, *_as_printed())),
)
