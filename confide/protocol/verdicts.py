"""What the papers claim and what is true: each printed prescription, judged by the code that calibrates.

A prescription is judged at stated sizes. Its printed noise becomes an act, whose loss says what it truly promises; the
least noise that keeps the claim on the same question says by how much it is too small or too large. Nothing here is
typed in: a verdict changes if a sensitivity, an account or a printed constant does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import validation
from ..mdp import PER_STEP, Spec
from ..privacy import Act, Central, Guarantee, Joint, Local, Schedule, true_guarantee
from ..privacy.guarantee import CENTRAL, rounded_up
from ..validation import Json
from .design import PAPER, SOUND, TIGHT, Request, make
from .kinds import CountQuestion
from .kinds.counts import COUNTED, DROPPED, REWARDS, SQUARES, TRANSITIONS, VISITS
from .papers import PRINTED, Printed, printed

CITATIONS = {
    "private-ucb": "Chowdhury and Zhou, *Differentially Private Regret Minimization in Episodic MDPs*",
    "pucb": "Vietri, Balle, Krishnamurthy and Wu, *Private Reinforcement Learning with PAC and Regret Guarantees*",
    "ldp-obi": "Garcelon, Perchet, Pike-Burke and Pirotta, *Local Differential Privacy for Regret Minimization in RL*",
    "ldp-psrl": "the same, Appendix G",
    "ldp-ucrl-vtr": "Liao, He and Gu, *Locally Differentially Private Reinforcement Learning for Linear Mixture MDPs*",
    "offline": "Qiao and Wang, *Offline Reinforcement Learning with Differential Privacy*",
}
PARAMETERS = ("scale", "sigma", "bit_epsilon", "bound")
# A claim is met exactly if the truth differs by less than this, relatively.
EXACT = 1e-6
FAILURE = 0.05


@dataclass(frozen=True)
class Example:
    """A prescription, the question it answers, and the sizes and promise at which it is judged."""

    rule: Printed
    question: CountQuestion
    promise: Guarantee
    users: int


@dataclass(frozen=True)
class Verdict:
    """The verdict on one prescription at one size: its claim, what is true, and the noise of all three calibrations.

    sizes: of the example, plain values; at: the same in a few words. true_delta: at the claimed epsilon. needed: the printed
    noise over the least that keeps the claim on the same question. radius: the printed error radius over a true one for the
    same noise, where the printed one is too small.
    """

    paper: str
    source: str
    trust: str
    mechanism: str
    sizes: dict[str, Json]
    at: str
    claimed: Guarantee
    true: Guarantee
    true_delta: float | None
    needed: float
    parameter: str
    noise: dict[str, float]
    radius: float | None = None

    @property
    def ratio(self) -> float:
        """How many times the claimed epsilon, or rho, is truly spent."""
        if self.claimed.rho is not None and self.true.rho is not None:
            return self.true.rho / self.claimed.rho
        if self._delta > self.claimed.delta:  # there is no epsilon at the claimed delta
            return math.inf
        return (self.true.epsilon or math.inf) / (self.claimed.epsilon or math.inf)

    @property
    def _delta(self) -> float:
        """The delta that is truly kept: 1 where nothing is."""
        return self.true.delta if self.true.private else 1.0

    @property
    def word(self) -> str:
        """sound, unsound or loose."""
        return "sound" if abs(self.ratio - 1) < EXACT else "unsound" if self.ratio > 1 else "loose"

    def as_json(self) -> dict[str, Json]:
        """The verdict as plain values."""
        claimed = self.claimed
        return {
            "paper": self.paper,
            "source": self.source,
            "trust": self.trust,
            "mechanism": self.mechanism,
            **self.sizes,
            "nominal": {"epsilon": claimed.epsilon, "delta": claimed.delta, "rho": claimed.rho},
            "true": {"epsilon": self.true.epsilon, "delta": self._delta, "rho": self.true.rho},
            "true_delta": self.true_delta,
            "ratio": self.ratio,
            "verdict": self.word,
            "printed_over_needed": self.needed,
            "parameter": self.parameter,
            "noise": self.noise,
            "radius": self.radius,
        }


def examples() -> Iterator[Example]:
    """Every printed prescription at the sizes of its paper, and the other readings that its text allows."""
    spec = Spec(6, 2, 20, PER_STEP)
    stepwise = CountQuestion(spec, (VISITS, REWARDS, TRANSITIONS), COUNTED)
    known = CountQuestion(spec, (VISITS, TRANSITIONS), COUNTED)
    pooled = CountQuestion(Spec(2, 2, 2), (VISITS, REWARDS, TRANSITIONS), DROPPED)
    squared = pooled.having(parts=(VISITS, REWARDS, SQUARES, TRANSITIONS))
    at: dict[tuple[str, str], tuple[CountQuestion, int, tuple[Guarantee, ...]]] = {
        ("private-ucb", "laplace"): (stepwise, 50_000, (Local(1.0),)),
        ("private-ucb", "tree-laplace"): (stepwise, 50_000, (Joint(1.0),)),
        ("pucb", "tree-laplace"): (stepwise, 50_000, (Joint(1.0),)),
        ("ldp-obi", "laplace"): (pooled, 10_000, (Local(1.0),)),
        ("ldp-obi", "gaussian"): (pooled, 10_000, (Local(0.2, 0.1), Local(1.0, 1e-6), Local(20.0, 0.1))),
        ("ldp-obi", "bounded"): (pooled, 10_000, (Local(0.2, 0.1), Local(2.0, 0.1), Local(20.0, 0.1))),
        ("ldp-obi", "randomised-response"): (pooled, 10_000, (Local(1.0),)),
        ("ldp-psrl", "laplace"): (squared, 10_000, (Local(1.0),)),
        ("offline", "gaussian"): (known, 1000, (Central(rho=0.5),)),
        ("offline", "laplace"): (known, 1000, (Central(1.0),)),
    }
    for rule in (*PRINTED, *_readings()):
        question, users, promises = at[rule.paper, rule.mechanism]
        yield from (Example(rule, question, promise, users) for promise in promises)


def _readings() -> Iterator[Printed]:
    """Other readings that the text of some prescriptions allows."""
    tree = printed("private-ucb", "joint", "tree-laplace")
    if tree is not None:
        yield replace(
            tree,
            source="Lemma 3 with the natural logarithm: scale 3H ln(K)/epsilon",
            noise=lambda spec, promise, users: 3 * spec.horizon * math.log(users) / (promise.epsilon or math.nan),
        )
    bounded = printed("ldp-obi", "local", "bounded")
    if bounded is not None:
        radius = bounded.noise
        yield replace(
            bounded,
            source="Alg. 6 with epsilon/(3H), Prop. 14, C = 1: radius 3H sqrt(SA ln(1/delta))/epsilon",
            noise=lambda spec, promise, users: 3 * spec.horizon * radius(spec, promise, users),
        )


def judge(example: Example) -> Verdict:
    """The verdict on one prescription: what it claims, what is true, and the noise of all three calibrations."""
    rule, promise = example.rule, example.promise
    paper, least, tight = _acts(example)
    parameter = next(name for name in PARAMETERS if name in least.mechanism.describe())
    enough, ours = (validation.number(parameter, act.mechanism.describe()[parameter]) for act in (least, tight))
    amount = rule.noise(example.question.spec, promise, example.users)
    # More noise is a larger scale or sigma, but a smaller epsilon a bit.
    needed = enough / amount if parameter == "bit_epsilon" else amount / enough
    loss = replace(paper, mechanism=_resized(paper.mechanism, parameter, amount)).loss
    spec = example.question.spec
    episodes = f", K={example.users:,}" if "tree" in rule.mechanism else ""
    return Verdict(
        paper=rule.paper,
        source=rule.source,
        trust=rule.trust,
        mechanism=rule.mechanism,
        sizes={
            "states": spec.states,
            "actions": spec.actions,
            "horizon": spec.horizon,
            "model": spec.dynamics,
            "users": example.users,
        },
        at=f"H={spec.horizon} {'per step' if spec.dynamics == PER_STEP else 'pooled'}{episodes}",
        claimed=promise,
        true=true_guarantee(loss, promise),
        true_delta=loss.delta(promise.epsilon) if promise.epsilon is not None and promise.delta else None,
        needed=needed,
        parameter=parameter,
        noise={PAPER: amount, SOUND: _raised(example, amount, enough, needed), TIGHT: ours},
        radius=_radius_share(example, amount),
    )


def _resized(mechanism: Any, parameter: str, amount: float) -> Any:
    """The mechanism with another amount of noise, in all of its parts."""
    share = amount / mechanism.describe()[parameter]
    wide = {"wide": mechanism.wide * share} if hasattr(mechanism, "wide") else {}
    return replace(mechanism, **{parameter: amount}, **wide)


def _raised(example: Example, amount: float, enough: float, needed: float) -> float:
    """The noise of `sound`: the printed one, or enough; of several printings the least one that is enough."""
    if example.rule.printing:
        return amount if needed > 1 else enough
    alternatives = [row for row in PRINTED if row.printing and (row.paper, row.mechanism) == _place(example.rule)]
    least = min([amount, *(row.noise(example.question.spec, example.promise, example.users) for row in alternatives)])
    return max(least, enough) if alternatives else amount if needed > 1 else enough


def _place(rule: Printed) -> tuple[str, str]:
    return rule.paper, rule.mechanism


def _acts(example: Example) -> tuple[Act, Act, Act]:
    """The paper's act, the one of least noise on the paper's question, and ours."""
    rule, promise, question = example.rule, example.promise, example.question
    if rule.trust == CENTRAL:
        once = make(Request(question, promise, Schedule.every(1), mechanism=rule.mechanism)).act
        return once, once, once
    wanted = Request(question, promise, Schedule.every(example.users), mechanism=rule.mechanism)
    paper = make(replace(wanted, calibration=PAPER, paper=rule.paper, printing=rule.printing))
    least, tight = (make(replace(wanted, calibration=kind)) for kind in (SOUND, TIGHT))
    return paper.act, least.act, tight.act


def _radius_share(example: Example, amount: float) -> float | None:
    """The printed radius of visits over one that holds, where they differ."""
    rule, users = example.rule, np.asarray(float(example.users))
    if rule.mended is None:
        return None
    printed_radius, true_radius = (
        formula(example.question.spec, amount, users, example.users, FAILURE)[0]
        for formula in (rule.radii, rule.mended)
    )
    return float(printed_radius / true_radius)


def verdicts() -> list[Verdict]:
    """Verdicts on all prescriptions about counts, in the order of the papers."""
    return ordered([judge(example) for example in examples()])


def ordered(rows: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts in the order of the papers."""
    order = list(CITATIONS)
    return sorted(rows, key=lambda verdict: (order.index(verdict.paper), verdict.mechanism))


def cells(verdict: Verdict) -> tuple[str, ...]:
    """One row of the table, in words."""
    true = verdict.true.epsilon if verdict.claimed.rho is None else verdict.true.rho
    spent = f"{_up(true)} ({_up(verdict.ratio)}x)" if verdict.ratio < math.inf else "none at that delta"
    noise = " / ".join(f"{verdict.noise[kind]:.4g}" for kind in (PAPER, SOUND, TIGHT))
    return (
        verdict.paper,
        verdict.source,
        f"{verdict.trust}, {verdict.mechanism}",
        verdict.at,
        str(verdict.claimed).rpartition(", ")[0],
        spent,
        _up(verdict.true_delta),
        verdict.word,
        _small(verdict.needed),
        _small(verdict.radius),
        f"{verdict.parameter.replace('_', ' ')} {noise}",
    )


def _up(value: float | None) -> str:
    """The number in three digits, rounded up: what is truly given away is never shown as less."""
    return "" if value is None else rounded_up(value, 3) if value > 1e-9 else "below 1e-9"


def _small(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if value > 1e-9 else "below 1e-9"


COLUMNS = (
    "paper",
    "where, and what it prints",
    "trust and mechanism",
    "at",
    "claims",
    "true epsilon or rho",
    "true delta",
    "verdict",
    "printed / needed noise",
    "printed / true radius",
    "noise: paper / sound / tight",
)


# What fits on a screen.
SCREEN = ("paper", "trust and mechanism", "at", "claims", "true epsilon or rho", "verdict")


def on_screen(verdict: Verdict) -> tuple[str, ...]:
    """The columns of a verdict's row that fit on a screen."""
    row = dict(zip(COLUMNS, cells(verdict), strict=True))
    return tuple(row[column] for column in SCREEN)


def markdown(rows: Sequence[Verdict]) -> str:
    """The verdicts as a page of the documentation, in Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in (COLUMNS, ("---",) * len(COLUMNS), *map(cells, rows))]
    sources = [f"- `{name}`: {title}." for name, title in CITATIONS.items()]
    return "\n".join([INTRODUCTION, *lines, "", READING, *sources]) + "\n"


INTRODUCTION = """# What the papers claim, and what is true

Written by `confide verdicts --markdown`; a test compares the two. Every prescription is judged by the code that
calibrates: sensitivities by brute force in the tests, losses by exact accounts.
"""

READING = """How to read a row.

- *at*: the sizes, and for mixtures the features that the row assumes, as the price depends on them: `one-hot`, where no two
  pairs share a coordinate; `signed`, where features may have negative inner products; `acute`, where none have.
- Values of epsilon, rho and delta are rounded up.
- *claims*: what the paper says its noise gives. *True epsilon or rho*: what it gives at the claimed delta, and how many
  times the claim that is. *True delta*: what it gives at the claimed epsilon.
- *unsound*: the claim is false. *loose*: true, with more noise than it takes. *sound*: true, with the least noise that
  makes it true on the paper's question.
- *printed / needed noise*: below 1 the noise is too small by that factor. *Printed / true radius*: below 1 the error
  radius is too small for the noise by that factor; empty where the printed one holds.
- *noise*: as printed; as raised, if need be, until the claim is true (`sound`); ours (`tight`), the least that we know,
  on the question that needs least. Epsilon a bit shrinks as noise grows.

The papers:
- *Bounded noise*: Prop. 15 prints the radius of Alg. 6 with an epsilon that we read as that of the promise; Prop. 14 claims
  3H times that epsilon for it. Both readings are judged. Prop. 10 and 14 are stated for epsilons up to 1; the figures go up to 20.
"""
