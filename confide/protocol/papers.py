"""The papers' printed constants: the noise they prescribe for a guarantee, and the error radius they derive for it.

`calibration="paper"` uses these numbers as they stand, whether or not they give what is claimed; `sound` uses the same
formulas with the noise raised until the claim is true. Sources: private-ucb: Chowdhury and Zhou, *Differentially
Private Regret Minimization in Episodic MDPs*, Lemmas 3 and 4. ldp-obi, ldp-psrl: Garcelon, Perchet, Pike-Burke,
Pirotta, *Local Differential Privacy for Regret Minimization in RL*, Theorem 7, Propositions 8 and 10 to 13, Appendix
G. pucb: Vietri, Balle, Krishnamurthy, Wu, *Private RL with PAC and Regret Guarantees*. dp-ucbvi: Qiao and
Wang, *Near-Optimal Differentially Private RL*. offline: Qiao and Wang,
*Offline RL with Differential Privacy*, Section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .. import validation
from ..errors import InvalidInput
from ..mdp import Spec
from ..privacy import Guarantee, Mechanism
from ..privacy.guarantee import CENTRAL, JOINT, LOCAL
from . import paper_radii, shuffled_obi
from .paper_radii import Array, Radii

if TYPE_CHECKING:
    from .design import Design, Request


@dataclass(frozen=True)
class Printed:
    """One paper's prescription for one mechanism.

    noise(spec, guarantee, episodes): the scale, sigma, radius or epsilon a bit that is printed. radii(spec, noise, users,
    episodes, failure): (..., 5) printed error radii for that noise after `users` people, in the order of `Radius`. mended:
    the same for the noise of `sound`, where the printed ones are too small for it, or for another law. printing: its name,
    where the paper prints another one beside the one that it states.
    """

    paper: str
    trust: str
    mechanism: str
    source: str
    noise: Callable[[Spec, Guarantee, int], float]
    radii: Radii
    mended: Radii | None = None
    printing: str = ""

    def sound_radii(self) -> Radii:
        """The printed radii, or where they are too small to be true, those that are."""
        return self.mended or self.radii


def _epsilon(guarantee: Guarantee) -> float:
    if guarantee.epsilon is None:
        raise InvalidInput(
            "paper-needs-epsilon",
            "The papers' online algorithms are stated in epsilon, not rho. Give epsilon, or use tight.",
        )
    return guarantee.epsilon


def _offline_sigma(spec: Spec, guarantee: Guarantee, episodes: int) -> float:
    """Lemma 2.6 for l2 sensitivity sqrt(4H): sigma^2 = 4H/(2 rho); for (epsilon, delta) sigma = sqrt(4H 2 ln(1.25/delta))/epsilon.

    The second is stated for epsilons and deltas below 1.
    """
    if guarantee.rho is not None:
        return math.sqrt(2 * spec.horizon / guarantee.rho)
    epsilon = _epsilon(guarantee)
    if epsilon >= 1:
        raise InvalidInput(
            "paper-needs-small-epsilon",
            f"Lemma 2.6 is stated for epsilon below 1. Got {epsilon:g}. Give rho, a smaller epsilon, or use sound or tight.",
        )
    return math.sqrt(8 * spec.horizon * math.log(1.25 / guarantee.delta)) / epsilon


def _bounded_radius(spec: Spec, guarantee: Guarantee, episodes: int) -> float:
    """R = sqrt(S A ln(1/delta))/epsilon of Algorithm 6 with C = 1, as in Proposition 15."""
    if guarantee.delta == 0:
        raise InvalidInput(
            "bounded-needs-delta", "Bounded noise needs delta above 0. Give a delta such as 1e-6, or use Laplace noise."
        )
    return math.sqrt(spec.states * spec.actions * math.log(1 / guarantee.delta)) / _epsilon(guarantee)


def _gaussian_sigma(factor: Callable[[float], float]) -> Callable[[Spec, Guarantee, int], float]:
    """c H/epsilon; `factor` gives c from 4 ln(24/delta)."""

    def sigma(spec: Spec, guarantee: Guarantee, episodes: int) -> float:
        if guarantee.delta == 0:
            raise InvalidInput(
                "gaussian-needs-delta",
                "Gaussian noise needs delta above 0. Give a delta such as 1e-6, or use Laplace noise.",
            )
        return factor(4 * math.log(24 / guarantee.delta)) * spec.horizon / _epsilon(guarantee)

    return sigma


PROOF, NATURAL, PROP_14 = "proof", "natural-log", "prop-14"
"""Other printings: that of a proof, where it differs from what is stated; log K read as ln K; epsilon/(3H) of Proposition 14."""

PRINTED = (
    Printed(
        "private-ucb",
        LOCAL,
        "laplace",
        "Lemma 4: scale 3H/epsilon",
        lambda spec, promise, _: 3 * spec.horizon / _epsilon(promise),
        paper_radii.private_ucb(lambda episodes: episodes),
    ),
    Printed(
        "private-ucb",
        JOINT,
        "tree-laplace",
        "Lemma 3: scale 3H log2(K)/epsilon",
        lambda spec, promise, users: 3 * spec.horizon * max(math.log2(users), 1.0) / _epsilon(promise),
        paper_radii.private_ucb(lambda episodes: max(math.log2(episodes), 1.0)),
    ),
    Printed(
        "private-ucb",
        JOINT,
        "tree-laplace",
        "Lemma 3 with the natural logarithm: scale 3H ln(K)/epsilon",
        lambda spec, promise, users: 3 * spec.horizon * max(math.log(users), 1.0) / _epsilon(promise),
        paper_radii.private_ucb(lambda episodes: max(math.log(episodes), 1.0)),
        printing=NATURAL,
    ),
    Printed(
        "pucb",
        JOINT,
        "tree-laplace",
        "Vietri et al.: scale 3H log2(K)/epsilon",
        lambda spec, promise, users: 3 * spec.horizon * max(math.log2(users), 1.0) / _epsilon(promise),
        paper_radii.pucb,
    ),
    Printed(
        "dp-ucbvi",
        JOINT,
        "tree-laplace",
        "Qiao and Wang: scale 3H log2(K)/epsilon",
        lambda spec, promise, users: 3 * spec.horizon * max(math.log2(users), 1.0) / _epsilon(promise),
        paper_radii.private_ucb(lambda episodes: max(math.log2(episodes), 1.0)),
    ),
    Printed(
        "ldp-obi",
        LOCAL,
        "laplace",
        "Theorem 7: scale 6H/epsilon",
        lambda spec, promise, _: 6 * spec.horizon / _epsilon(promise),
        paper_radii.ldp_laplace,
    ),
    Printed(
        "ldp-obi",
        LOCAL,
        "gaussian",
        "Prop. 10 as stated: sigma cH/epsilon, c = 4 ln(24/delta)",
        _gaussian_sigma(lambda stated: stated),
        paper_radii.ldp_gaussian,
        paper_radii.true_gaussian,
    ),
    Printed(
        "ldp-obi",
        LOCAL,
        "gaussian",
        "Prop. 10 in its proof: sigma cH/epsilon, c^2 = 4 ln(24/delta)",
        _gaussian_sigma(math.sqrt),
        paper_radii.ldp_gaussian,
        paper_radii.true_gaussian,
        printing=PROOF,
    ),
    Printed(
        "ldp-obi",
        LOCAL,
        "bounded",
        "Alg. 6 and Prop. 15, C = 1: radius sqrt(SA ln(1/delta))/epsilon",
        _bounded_radius,
        paper_radii.ldp_bounded(paper_radii.transitions_widened),
        paper_radii.ldp_bounded(lambda spec: 1.0),
    ),
    Printed(
        "ldp-obi",
        LOCAL,
        "bounded",
        "Alg. 6 with epsilon/(3H), Prop. 14, C = 1: radius 3H sqrt(SA ln(1/delta))/epsilon",
        lambda spec, promise, users: 3 * spec.horizon * _bounded_radius(spec, promise, users),
        paper_radii.ldp_bounded(paper_radii.transitions_widened),
        paper_radii.ldp_bounded(lambda spec: 1.0),
        printing=PROP_14,
    ),
    Printed(
        "ldp-obi",
        LOCAL,
        "randomised-response",
        "Prop. 12: epsilon/(6H) a bit",
        lambda spec, promise, _: _epsilon(promise) / (6 * spec.horizon),
        paper_radii.ldp_response(lambda bit: (2 * math.exp(bit) - 1) / math.expm1(bit), 1),
        paper_radii.ldp_response(lambda bit: 1 / math.tanh(bit / 2), 2),
    ),
    Printed(
        "ldp-psrl",
        LOCAL,
        "laplace",
        "Appendix G: scale 8H/epsilon",
        lambda spec, promise, _: 8 * spec.horizon / _epsilon(promise),
        paper_radii.ldp_psrl,
    ),
    Printed(
        "offline",
        CENTRAL,
        "gaussian",
        "Section 3: sigma^2 = 2H/rho, by Lemma 2.6; for (epsilon, delta) 4H 2 ln(1.25/delta)/epsilon^2",
        _offline_sigma,
        paper_radii.offline_gaussian,
    ),
    Printed(
        "offline",
        CENTRAL,
        "laplace",
        "Section 3: scale 4H/epsilon",
        lambda spec, promise, _: 4 * spec.horizon / _epsilon(promise),
        paper_radii.offline_laplace,
    ),
)


# Whose constants a learner uses under `paper` and `sound`.
AUTHORS = {
    "ucbvi": "private-ucb",
    "po": "private-ucb",
    "obi": "ldp-obi",
    "psrl": "ldp-psrl",
    "pucb": "pucb",
    "apvi": "offline",
}


STEP_BY_STEP = {"private-ucb", "pucb", "dp-ucbvi", "offline"}
"""Papers that count each step apart: `paper` and `sound` do so too, also where the world is stationary."""

POOLED = "pooled over steps"
"""What is said of counts of all steps together, where the paper counts each step apart."""


def pools(paper: str, calibration: str, spec: Spec) -> bool:
    """Whether `paper` or `sound` asks less than its paper does: one count for all steps, where the paper has one a step."""
    return calibration != "tight" and paper in STEP_BY_STEP and spec.layers == 1 and spec.horizon > 1


def printed(paper: str, trust: str, mechanism: str, printing: str = "") -> Printed | None:
    """The prescription of a paper, as stated or in another of its printings, if it has one."""
    rules = [row for row in PRINTED if (row.paper, row.trust, row.mechanism) == (paper, trust, mechanism)]
    if not printing:
        return rules[0] if rules else None
    names = {row.printing: row for row in rules if row.printing}
    if printing not in names:
        known = f"It has {' and '.join(names)}." if names else "It has one only: leave this out."
        raise InvalidInput(
            "paper-printing-unknown",
            f"printing must name another printing of {mechanism} noise in {paper}. Got {printing!r}. {known}",
        )
    return names[printing]


def fairest(paper: str, trust: str, mechanism: str, request: Request) -> Printed | None:
    """The printing with the least noise, which `sound` raises as far as it must; the one that is named, if any."""
    if request.printing:
        return printed(paper, trust, mechanism, request.printing)
    rules = [row for row in PRINTED if (row.paper, row.trust, row.mechanism) == (paper, trust, mechanism)]
    arguments = request.question.spec, request.promise, request.schedule.users
    return min(rules, key=lambda row: row.noise(*arguments)) if len(rules) > 1 else rules[0] if rules else None


SIZES = ("scale", "sigma", "bit_epsilon", "bound")
"""The parameters that the papers' formulas are stated in."""


def noise_of(mechanism: Mechanism) -> float:
    """The parameter of a mechanism that the papers' formulas are stated in."""
    description = mechanism.describe()
    for name in SIZES:
        if name in description:
            return validation.number(name, description[name])
    raise InvalidInput("paper-prints-no-radii", f"No paper states radii for {mechanism.name}. Use tight.")


def printed_radii(design: Design) -> Callable[[Array], Array]:
    """(..., n) the error radii that the design's paper prints, as a function of the number of people."""
    noise, failure = noise_of(design.mechanism), design.failure
    if design.question.kind == "mixture":
        return lambda users: _shift(design, users)
    bits = 1 if design.mixing is None else design.mixing.reward_bits
    formula: Radii = partial(shuffled_obi.printed_radii, reward_bits=bits)
    if design.paper != shuffled_obi.PAPER_NAME:
        name = design.mechanism.name.removeprefix("discrete-")
        rule = _printing_of(design, name)
        formula = rule.radii if design.calibration == "paper" else rule.sound_radii()
    spec, episodes = design.question.spec, design.schedule.users
    return lambda users: formula(spec, noise, users, episodes, failure)


def _printing_of(design: Design, name: str) -> Printed:
    """The prescription that a design follows: as stated, or the printing whose noise it has."""
    rules = [row for row in PRINTED if (row.paper, row.trust, row.mechanism) == (design.paper, design.trust, name)]
    if not rules:
        raise InvalidInput("paper-without-radii", f"{design.paper} prints no radii for {name} noise. Use tight.")
    if len(rules) == 1 or design.calibration != "paper":
        return rules[0]
    sizes, amount = (design.question.spec, design.requested, design.schedule.users), noise_of(design.mechanism)
    return min(rules, key=lambda row: abs(row.noise(*sizes) - amount))


def _shift(design: Design, users: Array) -> Array:
    """ldp-ucrl-vtr: Gamma = sqrt(k) sigma (sqrt(4 d) + 2 log(6 H/delta)) for the matrix; the vector's radius is ours."""
    from .kinds.mixture import MIXTURE

    form, std = MIXTURE.question_of(design), noise_of(design.mechanism) * np.sqrt(users)
    tail = math.sqrt(4 * form.features.dimension) + 2 * math.log(6 * form.spec.horizon / design.failure)
    ours = design.kind.radii(form, design.law(users), design.failure)
    return np.stack([std * tail, ours[..., 1]], axis=-1)
