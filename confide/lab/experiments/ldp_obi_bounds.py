"""The bounds of Garcelon, Perchet, Pike-Burke and Pirotta (2021) beside measurements: Theorems 2 and 5, Proposition 4."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...analysis.reporting.figures import value_figure
from ...data.privatizers import open_aggregate
from ...privacy import Guarantee, Joint, Local, NoPrivacy
from ...protocol.papers import POOLED, printed_radii
from ...validation import Json
from ..environments.lower_bound import shortest_horizon, tree_depth
from ..simulation import prepare
from ..simulation.batched import group_drawing
from ..simulation.setting import Setting
from ..simulation.streams import spawn, streams
from .curve import Curve, Sweep
from .experiment import Experiment
from .facts import Claim, Facts, number
from .instances import FIRST, Instances, mean_random_loss, worlds
from .part import ExperimentPart, PartResult, in_words
from .reference import REFERENCE, sweep_reference
from .terms import Departure, Terms, TermsFit, departure, fitted_values, told
from .view import Over, surely_less

if TYPE_CHECKING:
    from ...lab.simulation.setting import Setting
    from ...protocol.releases.release import CountRelease

PRINTED: dict[str, Json] = {"calibration": "paper", "mechanism": "laplace", "horizon": 2}
STATES, ACTIONS, EPSILON = 9, 2, 0.02
"""Of the tree. From an epsilon of 0.41 on, min(e^epsilon - 1, 1/2) is 1/2 and privacy cannot show in the instance."""
TREES = (1e5, 1e6, 1e7, 1e8, 1e9)
PEOPLE = (1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10)
MOST_WORLDS = 20
ON_TREES = ("ucbvi", "obi", "po", "psrl")
"""Learners of ours that may do best without privacy on the tree, where optimism settles on a wrong leaf in some runs."""


@dataclass(frozen=True)
class ProofBound(ExperimentPart):
    """Equation (29), the end of the proof of Theorem 2: (H - d) sqrt(K L A)/(64 min(e^epsilon - 1, 1/2)), over `unit`."""

    label: str
    people: tuple[float, ...]
    unit: tuple[float, ...]

    def promise(self) -> str:
        """Empty: a bound gives no guarantee to people."""
        return ""

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Compute the bound at every number of people: one row."""
        depth, horizon = tree_depth(STATES, ACTIONS), shortest_horizon(STATES, ACTIONS)
        leaves = ACTIONS ** (depth - 1)
        seen = min(math.expm1(EPSILON), 0.5)
        people = np.array(self.people)
        bound = (horizon - depth) * np.sqrt(people * leaves * ACTIONS) / (64 * seen)
        return PartResult(self.label, people, (bound / np.array(self.unit))[None], "")


@dataclass(frozen=True)
class UpperBound(ExperimentPart):
    """Theorem 5 with its hidden constants at 1: H S sqrt(AT) + S A H^2 c_3 + H^2 S^2 A c_4 + S A H (c_1 + c_2), T = KH."""

    label: str
    world: str
    epsilon: float
    people: tuple[float, ...]

    def promise(self) -> str:
        """Empty: a bound gives no guarantee to people."""
        return ""

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Compute the bound at every number of people: one row."""
        return PartResult(
            self.label, np.array(self.people), np.array([[self.at(int(many)) for many in self.people]]), ""
        )

    def at(self, people: int) -> float:
        """The bound for this many people."""
        design = prepare("obi", self.world, Local(self.epsilon), people, schedule="growth:1.01", **PRINTED).design
        spec = design.question.spec
        visits, rewards, _, cell, row = printed_radii(design)(np.asarray(people - 1.0)).tolist()
        pairs, horizon = spec.states * spec.actions, spec.horizon
        first = horizon * spec.states * math.sqrt(spec.actions * people * horizon)
        noise = pairs * horizon**2 * (row + spec.states * cell) + pairs * horizon * (rewards + visits)
        return float(first + noise)


@dataclass(frozen=True)
class Coverage(ExperimentPart):
    """By which part of the width of Proposition 4 an estimate is off, at worst over all pairs; people act at random.

    which: `rewards`, or `transitions` in the l1 norm. Rows are draws, which take turns in the worlds of a law.
    """

    label: str
    world: str
    privacy: Guarantee
    people: tuple[float, ...]
    which: str
    choices: tuple[tuple[str, Json], ...]
    alpha: float = 2.0

    def promise(self) -> str:
        """What the printed noise truly keeps."""
        return in_words(self._setting(1000, f"{self.world}?seed={FIRST}").design.guarantee)

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Draw the errors: (draws, people)."""
        started = time.perf_counter()
        rows = np.array([self._at(int(many), seeds) for many in self.people]).T
        return PartResult(self.label, np.array(self.people), rows, self.promise(), time.perf_counter() - started)

    def _setting(self, people: int, world: str) -> Setting:
        choices: dict[str, Json] = {"calibration": "paper", "horizon": 2, "schedule": "batches:1", **dict(self.choices)}
        return prepare("obi", world, self.privacy, people, **choices)

    def _at(self, people: int, draws: int) -> list[float]:
        """One value for each draw of people and noise."""
        settings = [self._setting(people, address) for address in worlds(self.world, 2, min(draws, MOST_WORLDS))]
        errors = []
        for setting, root in zip(cycle(settings), spawn(3, draws), strict=False):
            rng = streams(root)
            draw_sums, aggregate = group_drawing(setting, rng.world, rng.noise), open_aggregate(setting.design)
            for total in draw_sums(setting.design.question, _uniform(setting), people, 0):
                aggregate.take_sum(total)
            errors.append(self._worst(setting, aggregate.close()))
        return errors

    def _worst(self, setting: Setting, release: CountRelease) -> float:
        counts, radius, spec = release.counts, release.radius, setting.design.question.spec
        k = release.users + 1
        pairs = spec.states * spec.actions
        log = math.log(4 * math.pi**2 * pairs * spec.horizon * k**3 / (3 * setting.design.failure))
        if self.which == "rewards":
            n = counts.visits + self.alpha * radius.visits
            width = np.sqrt(2 * log / n) + ((self.alpha + 1) * radius.visits + radius.rewards) / n
            error = np.abs(counts.rewards / n - setting.model.rewards)
        else:
            n = counts.transitions.sum(axis=-1) + self.alpha * radius.rows
            rest = spec.states * radius.transitions + (self.alpha + 1) * radius.rows
            width = np.sqrt(14 * spec.states * log / n) + rest / n
            error = np.abs(counts.transitions / n[..., None] - setting.model.transitions).sum(axis=-1)
        return float((error / width).max())


def _uniform(setting: Setting) -> NDArray[np.float64]:
    """(1, H, S, A) the policy for which all actions are alike."""
    spec = setting.design.question.spec
    return np.full((1, spec.horizon, spec.states, spec.actions), 1 / spec.actions)


@dataclass(frozen=True)
class Covered:
    """How often widths hold, and how much of them is needed."""

    title: str

    def table(self, results: Sequence[PartResult]) -> list[Sequence[str]]:
        """At each number of people: the share of draws in which the width holds, and the mean part of it that is used."""
        places = sorted({float(place) for result in results for place in result.x})
        rows: list[Sequence[str]] = [("", "true guarantee", *(f"{place:g} people" for place in places))]
        for result in results:
            held, used = (result.rows <= 1).mean(axis=0), result.mean
            cells = (f"{share:.0%}, uses {part:.2g}" for share, part in zip(held, used, strict=True))
            rows.append((result.label, result.guarantee, *cells))
        return rows

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw one picture."""
        curves = [(result.label, result.x, result.rows) for result in results]
        return [value_figure(curves, folder / f"coverage{suffix}", self.title, "error / width of Proposition 4")]


PROOF = "the proof's own bound, equation (29)"


def privacy_shows(facts: Facts, epsilon: float, kinds: Sequence[str], spans: str) -> list[Claim]:
    """Whether each of these loses less than the next on a bound's own instance, with the most people that were tried."""
    claims = []
    for one, other in pairwise(kinds):
        sure = surely_less(facts.of(one), facts.of(other))
        places = facts.of(one).x.tolist()
        claims.append(
            facts.judged(
                f"At epsilon {epsilon:g} privacy shows on the bound's own instance: {one} loses less than {other}, beyond the "
                f"error of seeds, with {places[-1]:,.0f} people",
                places[-1] in sure,
                f"it does at {len(sure)} of {len(places)} numbers of people"
                + (f" ({', '.join(f'{place:,.0f}' for place in sure)})" if sure else "")
                + f"; of the bound's order {spans}",
            )
        )
    return claims


def _seen_of_bound(facts: Facts) -> list[Claim]:
    """The claims about the lower bound."""
    local = [result for result in facts.results if result.guarantee.endswith("local")]
    least = min(float(result.mean.min()) for result in local)
    most = max(float(result.mean.max()) for result in local)
    bound = float(facts.of(PROOF).mean[0])
    kinds = (REFERENCE, "ours, joint", "ours, LDP-OBI")
    shares = {kind: (float(facts.of(kind).mean.min()), float(facts.of(kind).mean.max())) for kind in kinds}
    spans = ", ".join(f"{kind} {low:.3f} to {high:.3f}" for kind, (low, high) in shares.items())
    return [
        facts.of_paper(
            "Under local privacy no learner is below the bound, with the constant of its proof",
            least >= bound,
            f"they have {least:.3f} to {most:.3f} of the bound's order; by equation (29) the constant is {bound:.4f}",
        ),
        *privacy_shows(facts, EPSILON, kinds, spans),
        facts.judged(
            "The constant of the bound could be larger by no more than a factor of 4 on this instance",
            least / bound < 4,
            f"the best local learner has {least / bound:.1f} times the proof's bound",
        ),
    ]


def _lower_bound() -> Experiment:
    """Theorem 2 on its own instance: measured regret over H sqrt(SAK)/min(e^epsilon - 1, 1)."""
    horizon = shortest_horizon(STATES, ACTIONS)
    unit = tuple(horizon * math.sqrt(STATES * ACTIONS * many) / min(math.expm1(EPSILON), 1.0) for many in TREES)

    def sweep(label: str, learner: str, privacy: Guarantee, **choices: Json) -> Sweep:
        options = {"schedule": "growth:1.01", "horizon": horizon, **choices}
        if options["schedule"] is None:  # the default one
            del options["schedule"]
        trees = (f"lower-bound/{STATES}x{ACTIONS}?episodes={many:.0f}&epsilon={EPSILON:g}" for many in TREES)
        curves = (Curve(label, learner, tree, privacy, many, options) for tree, many in zip(trees, TREES, strict=True))
        return Sweep(label, TREES, tuple(curves), unit)

    printed = {"calibration": "sound", "mechanism": "laplace"}
    pooled = {**printed, "model": "stationary"}

    return Experiment(
        "ldp-obi/lower-bound",
        "The lower bound on its own tree, beside what learners do there",
        "Theorem 2: under epsilon-LDP every learner has regret of at least order H sqrt(SAK)/min(e^epsilon - 1, 1) in "
        "some world. The proof hides one slightly better leaf in a tree; how much better depends on K.",
        _seen_of_bound,
        f"S = {STATES}, A = {ACTIONS}, H = {horizon}, epsilon {EPSILON:g}, under joint privacy delta 1e-6, 10^5 to 10^9 people, "
        "a tree for each number, 10 seeds",
        8.0,
        (
            ProofBound(PROOF, TREES, unit),
            sweep("LDP-OBI, Laplace, sound", "obi", Local(EPSILON), **printed),
            sweep("LDP-PSRL, Laplace, sound", "psrl", Local(EPSILON), **printed),
            sweep(f"PRIVATE-UCB-VI, local, sound, {POOLED}", "ucbvi", Local(EPSILON), **pooled),
            sweep(f"PRIVATE-UCB-PO, local, sound, {POOLED}", "po", Local(EPSILON), **pooled),
            sweep("ours, LDP-OBI", "obi", Local(EPSILON)),
            sweep("ours, LDP-PSRL", "psrl", Local(EPSILON)),
            sweep("ours, joint", "ucbvi", Joint(EPSILON, 1e-6), schedule=None),
            sweep_reference(sweep("", "ucbvi", NoPrivacy()), ON_TREES),
        ),
        10,
        Over(
            f"The lower-bound tree, {STATES} states, {ACTIONS} actions, {horizon} steps, epsilon {EPSILON:g}",
            "people",
            "regret / (H sqrt(SAK)/min(e^epsilon - 1, 1))",
            "lower-bound",
        ),
        quick_seeds=1,
    )


WORLD, LEVELS = "random/2x2", (2.0, 6.0, 20.0)


def _bound_label(epsilon: float) -> str:
    return f"Theorem 5, epsilon {epsilon:g}"


def _regret_label(epsilon: float) -> str:
    return f"LDP-OBI, Laplace, epsilon {epsilon:g}"


def _in_own_form(facts: Facts) -> TermsFit | None:
    """a sqrt(K) + b sqrt(K log(8 pi^2 S^2 A K^2/delta))/epsilon fitted at all epsilons together, wherever the bound is below H a
    person: the terms of Theorem 5 as functions of K and epsilon.
    """
    rows, roots, noises = [], [], []
    for epsilon in LEVELS:
        bound, regret = facts.of(_bound_label(epsilon)), facts.of(_regret_label(epsilon))
        told = bound.mean < 2 * bound.x
        people = regret.x[told]
        rows.append(regret.rows[:, told])
        roots.append(np.sqrt(people))
        noises.append(np.sqrt(people * np.log(4 * math.pi**2 * 2**3 * people**2 / 0.1)) / epsilon)
    both = np.concatenate(rows, axis=1)
    return fitted_values(both, np.concatenate(roots), np.concatenate(noises)) if both.shape[1] > 2 else None


ROOTS = Terms(
    ("sqrt(K)", "sqrt(K log K)"), np.sqrt, lambda people: np.sqrt(people * np.log(32 * math.pi**2 * people**2 / 0.1))
)
"""The terms of Theorem 5 over K, at 2 states and 2 actions, delta 0.1."""


def _departures(facts: Facts) -> list[tuple[float, Departure]]:
    """What differs at each epsilon, where it does and the bound is below H a person."""
    found = []
    for epsilon in LEVELS:
        bound, regret = facts.of(_bound_label(epsilon)), facts.of(_regret_label(epsilon))
        shown = bound.mean < 2 * bound.x
        part = replace(regret, x=regret.x[shown], rows=regret.rows[:, shown])
        if shown.sum() > 1 and (one := departure(part, ROOTS, part.x * mean_random_loss(len(part.rows)))) is not None:
            found.append((epsilon, one))
    return found


def _seen_of_theorem(facts: Facts) -> list[Claim]:
    """The claims of Theorem 5."""
    pairs = [(facts.of(_bound_label(epsilon)), facts.of(_regret_label(epsilon))) for epsilon in LEVELS]
    ratios = [float(bound.mean[-1] / regret.mean[-1]) for bound, regret in pairs]
    first = [
        f"{bound.x[below][0]:.0e} people on at epsilon {epsilon:g}"
        if (below := bound.mean < 2 * bound.x).any()
        else f"none of these numbers of people at epsilon {epsilon:g}"
        for epsilon, (bound, _) in zip(LEVELS, pairs, strict=True)
    ]
    fit = _in_own_form(facts)
    powers = ", ".join(
        f"{np.log(regret.mean[-1] / regret.mean[-3]) / np.log(regret.x[-1] / regret.x[-3]):.2f}" for _, regret in pairs
    )
    return [
        facts.judged(
            "With its hidden constants at 1 the bound of Theorem 5 holds at every number of people",
            all((bound.mean >= regret.mean).all() for bound, regret in pairs),
            f"at the largest number it is {', '.join(map(number, ratios))} times what is measured, at epsilon "
            f"{', '.join(f'{epsilon:g}' for epsilon in LEVELS)}",
        ),
        facts.judged(
            "The bound is below the trivial one, H a person, at every number of people",
            all(bool((bound.mean < 2 * bound.x).all()) for bound, _ in pairs),
            f"it is from {'; from '.join(first)}",
        ),
        facts.judged(
            "Where it is, regret has the form of the theorem, a sqrt(K) + b sqrt(K log K)/epsilon, with one a and one b",
            fit is not None and fit.holds,
            "too few numbers of people"
            if fit is None
            else f"the best such fit, a = {fit.first.text('.2g')} and b = {fit.second.text('.2g')}, is off by "
            f"up to {fit.misfit:.0%}; over the last two factors of ten regret grows with the powers {powers} of K"
            + "".join(f"; at epsilon {epsilon:g}{told(found)}" for epsilon, found in _departures(facts)),
        ),
    ]


def _theorem() -> Experiment:
    """The bound of Theorem 5, beside measured regret."""
    parts: list[ExperimentPart] = []
    for epsilon in LEVELS:
        label = _regret_label(epsilon)
        choices = {**PRINTED, "schedule": "growth:1.003"}
        curves = tuple(Instances.of(Curve(label, "obi", WORLD, Local(epsilon), many, choices)) for many in PEOPLE)
        parts += [UpperBound(_bound_label(epsilon), WORLD, epsilon, PEOPLE), Sweep(label, PEOPLE, curves)]

    return Experiment(
        "ldp-obi/theorem-5",
        "The regret bound of LDP-OBI, and what is measured",
        "Theorem 5: with probability 1 - delta the regret of LDP-OBI is at most of order H S sqrt(AT) + S A "
        "H^2 c_3 + H^2 S^2 A c_4 + "
        "S A H (c_1 + c_2), where c_1 to c_4 are the errors of the private counts after K people.",
        _seen_of_theorem,
        "20 random worlds, S = A = H = 2, Laplace noise as printed, 10^4 to 10^10 people, delta 0.1, a new policy at every 0.3 % "
        "of growth",
        8.0,
        tuple(parts),
        MOST_WORLDS,
        Over("Random worlds, 2 states, 2 actions, 2 steps", "people", "regret", "theorem"),
        quick_seeds=1,
    )


def _proposition() -> Experiment:
    """How much of the widths of Proposition 4 is needed."""
    people = (1e3, 1e5, 1e7)
    kinds: dict[str, tuple[Guarantee, dict[str, Json]]] = {
        "laplace": (Local(2.0), {"mechanism": "laplace"}),
        "gaussian as stated": (Local(2.0, 0.1), {"mechanism": "gaussian"}),
        "gaussian as proved": (Local(2.0, 0.1), {"mechanism": "gaussian", "printing": "proof"}),
        "randomised-response": (Local(2.0), {"mechanism": "randomised-response"}),
        "bounded": (Local(2.0, 0.1), {"mechanism": "bounded"}),
    }
    parts = tuple(
        Coverage(f"{name}, {which}", WORLD, promise, people, which, tuple(choices.items()))
        for name, (promise, choices) in kinds.items()
        for which in ("rewards", "transitions")
    )

    def seen(facts: Facts) -> list[Claim]:
        held = min(float((result.rows <= 1).mean(axis=0).min()) for result in facts.results)
        used = {result.label: float(result.rows.max()) for result in facts.results}
        most = max(used, key=lambda label: used[label])
        return [
            facts.of_paper(
                "The widths of all rewards and rows hold together in at least 80 % of the draws, for every mechanism",
                held >= 0.8,
                f"each holds in at least {held:.0%} of them",
            ),
            facts.judged(
                "The widths are no wider than they must be: some draw uses nine tenths of one",
                used[most] > 0.9,
                f"no draw uses more than {used[most]:.2g} of its width ({most}): Proposition 4 adds up worst cases, so that widths "
                "too small by sqrt(2) in Propositions 11 and 13 do not show in it",
            ),
        ]

    return Experiment(
        "ldp-obi/proposition-4",
        "How much of the printed widths is needed",
        "Proposition 4: with probability at least 1 - 2 delta the estimates of all rewards and of all rows of "
        "transitions are within "
        "beta_r and beta_p, in the l1 norm, for each of the four mechanisms.",
        seen,
        "20 random worlds, S = A = H = 2, epsilon 2, delta 0.1, people who act at random, 200 draws",
        0.5,
        parts,
        200,
        Covered("Random worlds, 2 states, 2 actions, 2 steps, local epsilon 2"),
        quick_seeds=20,
    )


BOUNDS = (_lower_bound(), _theorem(), _proposition())
