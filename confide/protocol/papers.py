"""The papers' printed constants: the noise they prescribe for a guarantee, and the error radius they derive for it.

`calibration="paper"` uses these numbers as they stand, whether or not they give what is claimed; `sound` uses the same
formulas with the noise raised until the claim is true. Sources: private-ucb: Chowdhury and Zhou, *Differentially
Private Regret Minimization in Episodic MDPs*, Lemmas 3 and 4. ldp-obi, ldp-psrl: Garcelon, Perchet, Pike-Burke,
Pirotta, *Local Differential Privacy for Regret Minimization in RL*, Theorem 7, Propositions 8 and 10 to 13, Appendix
G; Appendix G prints Laplace noise for LDP-PSRL and believes the other mechanisms possible: here they have what LDP-OBI has,
with epsilon shared by four statistics as there. pucb: Vietri, Balle, Krishnamurthy, Wu, *Private RL with PAC and Regret
Guarantees*. dp-ucbvi: Qiao and Wang, *Near-Optimal Differentially Private RL*. offline: Qiao and Wang, *Offline RL with
Differential Privacy*, Section 3.

The error radii that the papers derive for the noise they print, and true ones where those are too small.

Every function gives (..., 5) radii in the order of `Radius`, for a noise after `users` people, out of `episodes` in all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import InvalidInput
from ..mdp import Spec
from ..privacy import Guarantee, Mechanism
from ..privacy.guarantee import CENTRAL, JOINT, LOCAL
from ..validation import Json
from . import shuffled_obi

if TYPE_CHECKING:
    from .design import Design, Request

Array = NDArray[np.float64]
Radii = Callable[[Spec, float, Array, int, float], Array]


def _same(first: Array, second: Array, rows: Array) -> Array:
    """Radii in order: visits, rewards, squares all `first`, transitions `second`, rows."""
    return np.stack(np.broadcast_arrays(first, first, first, second, rows), axis=-1)


def _logs(spec: Spec, statements: float, failure: float | Array) -> tuple[Array, Array]:
    """log(statements S A/failure) and log(statements S^2 A/failure)."""
    pairs = np.asarray(statements * spec.states * spec.actions / failure)
    return np.log(pairs), np.log(pairs * spec.states)


def _at(users: Array, failure: float) -> Array:
    """The failure probability that the paper gives to episode k = users + 1: 3 delta/(2 pi^2 k^2)."""
    return np.asarray(3 * failure / (2 * np.pi**2 * (users + 1) ** 2))


def private_ucb(growth: Callable[[int], float]) -> Radii:
    """E_1, E_2 = scale sqrt(8 growth(K) log(6 S A T/delta)): true for all episodes at once, so K, not k, enters."""

    def radii(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
        first, second = _logs(spec, 6 * episodes * spec.horizon, failure)
        visits, transitions = (noise * np.sqrt(8 * growth(episodes) * log) for log in (first, second))
        return _same(
            np.full_like(users, visits),
            np.full_like(users, transitions),
            np.full_like(users, transitions * spec.states),
        )

    return radii


def pucb(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """E = (3H/epsilon) log((2 S A H + H A S^2)/beta) log2(K)^(5/2), for every count; in terms of the scale, which has
    one log2(K) of them.
    """
    statements = spec.horizon * spec.states * spec.actions * (2 + spec.states)
    error = noise * math.log(statements / failure) * max(math.log2(episodes), 1.0) ** 1.5
    return _same(np.full_like(users, error), np.full_like(users, error), np.full_like(users, error * spec.states))


def offline_laplace(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """E_epsilon/2 = b log(4 H S^2 A/delta): the paper gives its order, H/epsilon; this is the tail of Laplace noise."""
    _, second = _logs(spec, 4 * spec.horizon, failure)
    half = np.full_like(users, noise * second)
    return _same(half, half, 2 * half)


def offline_gaussian(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """E_rho/2 for E_rho = 4 sqrt(H log(4 H S^2 A/delta)/rho): by equation (4) no count is off by more than that.

    In terms of sigma it is sigma sqrt(2 log(4 H S^2 A/delta)). A row of the program (3) is off by E_rho, not by S counts.
    """
    _, second = _logs(spec, 4 * spec.horizon, failure)
    half = np.full_like(users, noise * np.sqrt(2 * second))
    return _same(half, half, 2 * half)


def ldp_laplace(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """The radii of Proposition 8, for Laplace noise."""
    first, second = _logs(spec, 6, _at(users, failure))
    visits = np.maximum(np.sqrt(users + 1), first) * np.sqrt(8 * first) * noise
    rows = np.maximum(np.sqrt((users + 1) * spec.states), second) * np.sqrt(8 * second) * noise
    return _same(visits, rows / math.sqrt(spec.states), rows)


def ldp_psrl(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """The radii in the priors (103)-(107): with K, not k, and delta as it is. (103) has the width of a whole row."""
    first, second = _logs(spec, 6, failure)
    visits = np.maximum(math.sqrt(episodes), first) * np.sqrt(8 * first) * noise
    rows = np.maximum(math.sqrt(episodes * spec.states), second) * np.sqrt(8 * second) * noise
    return _same(
        np.full_like(users, visits), np.full_like(users, rows / math.sqrt(spec.states)), np.full_like(users, rows)
    )


def ldp_gaussian(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """Proposition 11 as printed: one logarithm, ln(6 S A/delta), for all four."""
    first, _ = _logs(spec, 6, _at(users, failure))
    visits = noise * np.sqrt(users * first)
    return _same(np.maximum(visits, 1.0), np.maximum(visits, 1.0), np.maximum(visits * math.sqrt(spec.states), 1.0))


def true_gaussian(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """Proposition 11 made true for the Gaussian tail: a factor 2 inside the root, and S^2 A statements about transitions."""
    first, second = _logs(spec, 6, _at(users, failure))
    visits, transitions = (np.maximum(noise * np.sqrt(2 * users * log), 1.0) for log in (first, second))
    return _same(visits, transitions, transitions * math.sqrt(spec.states))


def ldp_bounded(widened: Callable[[Spec], float]) -> Radii:
    """Proposition 15 for noise of radius R, `widened` times as large in transitions."""

    def radii(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
        first, second = _logs(spec, 6, _at(users, failure))
        visits, transitions = noise * np.sqrt(2 * users * first), widened(spec) * noise * np.sqrt(2 * users * second)
        return _same(visits, transitions, transitions * math.sqrt(spec.states))

    return radii


def transitions_widened(spec: Spec) -> float:
    """R_2/R_1 of Algorithm 6: sqrt(S)."""
    return math.sqrt(spec.states)


def ldp_response(length: Callable[[float], float], sides: int) -> Radii:
    """Proposition 13; `length` is the width of the interval a de-biased bit lies in, for Hoeffding's inequality."""

    def radii(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
        first, second = _logs(spec, 4 * sides, _at(users, failure))
        root = length(noise) * np.sqrt(users * spec.horizon / 2)
        visits, transitions = root * np.sqrt(first), root * np.sqrt(second)
        return np.maximum(_same(visits, transitions, spec.states * visits), 1.0)

    return radii


def at_the_end(radii: Radii) -> Radii:
    """The radii after all K people, with delta as it is, as the priors (103)-(107) have those of Laplace noise.

    The radii of k people have 3 delta/(2 pi^2 k^2) in the place of delta, which is undone here.
    """

    def last(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
        undone = failure * 2 * math.pi**2 * (episodes + 1) ** 2 / 3
        return radii(spec, noise, np.full_like(users, episodes), episodes, undone)

    return last


class Supposition(NamedTuple):
    """What a claim supposes, in words, and whether that is so at sizes and a guarantee."""

    says: str
    holds: Callable[[Spec, Guarantee], bool]


def _least_delta(spec: Spec) -> float:
    """exp(-SA/ln(SA)^8): the least delta of which bounded noise is claimed to be private."""
    pairs = spec.states * spec.actions
    return math.exp(-pairs / math.log(pairs) ** 8) if pairs > 1 else 1.0


SMALL_EPSILON = Supposition("epsilon at most 1", lambda spec, promise: (promise.epsilon or 0.0) <= 1)
BOUNDED_NOISE = Supposition(
    "epsilon below 1, delta at least exp(-SA/ln(SA)^8)",
    lambda spec, promise: (promise.epsilon or 0.0) < 1 and promise.delta >= _least_delta(spec),
)
GAUSSIAN_LEMMA = Supposition(
    "epsilon and delta below 1, where rho is not what is claimed",
    lambda spec, promise: promise.rho is not None or ((promise.epsilon or 0.0) < 1 and promise.delta < 1),
)


@dataclass(frozen=True)
class Printed:
    """One paper's prescription for one mechanism.

    noise(spec, guarantee, episodes): the scale, sigma, radius or epsilon a bit that is printed. radii(spec, noise, users,
    episodes, failure): (..., 5) printed error radii for that noise after `users` people, in the order of `Radius`. mended:
    the same for the noise of `sound`, where the printed ones are too small for it, or for another law. printing: its name,
    where the paper prints another one beside the one that it states. supposes: what the claim does, if anything.
    """

    paper: str
    trust: str
    mechanism: str
    source: str
    noise: Callable[[Spec, Guarantee, int], float]
    radii: Radii
    mended: Radii | None = None
    printing: str = ""
    supposes: Supposition | None = None

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


def _for_four(noise: Callable[[Spec, Guarantee, int], float]) -> Callable[[Spec, Guarantee, int], float]:
    """The noise of LDP-OBI where four statistics share epsilon, not three: 8H/epsilon of Appendix G is 6H/(3/4 epsilon)."""

    def shared(spec: Spec, guarantee: Guarantee, episodes: int) -> float:
        return noise(spec, replace(guarantee, epsilon=0.75 * _epsilon(guarantee)), episodes)

    return shared


PROOF, NATURAL, PROP_14 = "proof", "natural-log", "prop-14"
"""Other printings: that of a proof, where it differs from what is stated; log K read as ln K; epsilon/(3H) of Proposition 14."""

PRINTED = (
    Printed(
        "private-ucb",
        LOCAL,
        "laplace",
        "Lemma 4: scale 3H/epsilon",
        lambda spec, promise, _: 3 * spec.horizon / _epsilon(promise),
        private_ucb(lambda episodes: episodes),
    ),
    Printed(
        "private-ucb",
        JOINT,
        "tree-laplace",
        "Lemma 3: scale 3H log2(K)/epsilon",
        lambda spec, promise, users: 3 * spec.horizon * max(math.log2(users), 1.0) / _epsilon(promise),
        private_ucb(lambda episodes: max(math.log2(episodes), 1.0)),
    ),
    Printed(
        "private-ucb",
        JOINT,
        "tree-laplace",
        "Lemma 3 with the natural logarithm: scale 3H ln(K)/epsilon",
        lambda spec, promise, users: 3 * spec.horizon * max(math.log(users), 1.0) / _epsilon(promise),
        private_ucb(lambda episodes: max(math.log(episodes), 1.0)),
        printing=NATURAL,
    ),
    Printed(
        "pucb",
        JOINT,
        "tree-laplace",
        "Vietri et al.: scale 3H log2(K)/epsilon",
        lambda spec, promise, users: 3 * spec.horizon * max(math.log2(users), 1.0) / _epsilon(promise),
        pucb,
    ),
    Printed(
        "dp-ucbvi",
        JOINT,
        "tree-laplace",
        "Qiao and Wang: scale 3H log2(K)/epsilon",
        lambda spec, promise, users: 3 * spec.horizon * max(math.log2(users), 1.0) / _epsilon(promise),
        private_ucb(lambda episodes: max(math.log2(episodes), 1.0)),
    ),
    Printed(
        "ldp-obi",
        LOCAL,
        "laplace",
        "Theorem 7: scale 6H/epsilon",
        lambda spec, promise, _: 6 * spec.horizon / _epsilon(promise),
        ldp_laplace,
    ),
    Printed(
        "ldp-obi",
        LOCAL,
        "gaussian",
        "Prop. 10 as stated: sigma cH/epsilon, c = 4 ln(24/delta)",
        _gaussian_sigma(lambda stated: stated),
        ldp_gaussian,
        true_gaussian,
        supposes=SMALL_EPSILON,
    ),
    Printed(
        "ldp-obi",
        LOCAL,
        "gaussian",
        "Prop. 10 in its proof: sigma cH/epsilon, c^2 = 4 ln(24/delta)",
        _gaussian_sigma(math.sqrt),
        ldp_gaussian,
        true_gaussian,
        printing=PROOF,
        supposes=SMALL_EPSILON,
    ),
    Printed(
        "ldp-obi",
        LOCAL,
        "bounded",
        "Alg. 6 and Prop. 15, C = 1: radius sqrt(SA ln(1/delta))/epsilon",
        _bounded_radius,
        ldp_bounded(transitions_widened),
        ldp_bounded(lambda spec: 1.0),
        supposes=BOUNDED_NOISE,
    ),
    Printed(
        "ldp-obi",
        LOCAL,
        "bounded",
        "Alg. 6 with epsilon/(3H), Prop. 14, C = 1: radius 3H sqrt(SA ln(1/delta))/epsilon",
        lambda spec, promise, users: 3 * spec.horizon * _bounded_radius(spec, promise, users),
        ldp_bounded(transitions_widened),
        ldp_bounded(lambda spec: 1.0),
        printing=PROP_14,
        supposes=BOUNDED_NOISE,
    ),
    Printed(
        "ldp-obi",
        LOCAL,
        "randomised-response",
        "Prop. 12: epsilon/(6H) a bit",
        lambda spec, promise, _: _epsilon(promise) / (6 * spec.horizon),
        ldp_response(lambda bit: (2 * math.exp(bit) - 1) / math.expm1(bit), 1),
        ldp_response(lambda bit: 1 / math.tanh(bit / 2), 2),
    ),
    Printed(
        "ldp-psrl",
        LOCAL,
        "laplace",
        "Appendix G: scale 8H/epsilon",
        lambda spec, promise, _: 8 * spec.horizon / _epsilon(promise),
        ldp_psrl,
    ),
    Printed(
        "ldp-psrl",
        LOCAL,
        "gaussian",
        "Appendix G with Prop. 10 as stated: sigma 4cH/(3 epsilon), c = 4 ln(24/delta)",
        _for_four(_gaussian_sigma(lambda stated: stated)),
        at_the_end(ldp_gaussian),
        at_the_end(true_gaussian),
        supposes=SMALL_EPSILON,
    ),
    Printed(
        "ldp-psrl",
        LOCAL,
        "gaussian",
        "Appendix G with Prop. 10 in its proof: sigma 4cH/(3 epsilon), c^2 = 4 ln(24/delta)",
        _for_four(_gaussian_sigma(math.sqrt)),
        at_the_end(ldp_gaussian),
        at_the_end(true_gaussian),
        printing=PROOF,
        supposes=SMALL_EPSILON,
    ),
    Printed(
        "ldp-psrl",
        LOCAL,
        "bounded",
        "Appendix G with Alg. 6, C = 1: radius 4 sqrt(SA ln(1/delta))/(3 epsilon)",
        _for_four(_bounded_radius),
        at_the_end(ldp_bounded(transitions_widened)),
        at_the_end(ldp_bounded(lambda spec: 1.0)),
        supposes=BOUNDED_NOISE,
    ),
    Printed(
        "ldp-psrl",
        LOCAL,
        "randomised-response",
        "Appendix G with Prop. 12: epsilon/(8H) a bit",
        _for_four(lambda spec, promise, _: _epsilon(promise) / (6 * spec.horizon)),
        at_the_end(ldp_response(lambda bit: (2 * math.exp(bit) - 1) / math.expm1(bit), 1)),
        at_the_end(ldp_response(lambda bit: 1 / math.tanh(bit / 2), 2)),
    ),
    Printed(
        "offline",
        CENTRAL,
        "gaussian",
        "Section 3: sigma^2 = 2H/rho, by Lemma 2.6; for (epsilon, delta) 4H 2 ln(1.25/delta)/epsilon^2",
        _offline_sigma,
        offline_gaussian,
        supposes=GAUSSIAN_LEMMA,
    ),
    Printed(
        "offline",
        CENTRAL,
        "laplace",
        "Section 3: scale 4H/epsilon",
        lambda spec, promise, _: 4 * spec.horizon / _epsilon(promise),
        offline_laplace,
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


BONUS_AUTHORS = {"dp-bernstein": "dp-ucbvi"}
"""Whose noise goes with a bonus that is another paper's than the learner's."""


def author(learner: str, options: Mapping[str, Json]) -> str:
    """The paper whose noise a learner with these options has as printed; empty if there is none."""
    return BONUS_AUTHORS.get(str(options.get("bonus")), AUTHORS.get(learner, ""))


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
