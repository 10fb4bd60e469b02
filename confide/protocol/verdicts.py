"""What the papers claim and what is true: each printed prescription, judged by the code that calibrates.

A prescription is judged at stated sizes. Its printed noise becomes an act, whose loss says what it truly guarantees; the
least noise that keeps the claim on the same question says by how much it is too small or too large. Nothing here is
typed in: a verdict changes if a sensitivity, an account or a printed constant does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .. import validation
from ..mdp import PER_STEP, Spec
from ..mechanisms.catalogue import from_parameters, parameters
from ..mechanisms.mechanism import NoiseMechanism
from ..privacy import Act, Central, Guarantee, Joint, Local, Schedule, Shuffle, true_guarantee
from ..privacy.guarantee import CENTRAL, SHUFFLE, rounded_up
from ..privacy.shuffled_bits import calibrated
from ..privacy.shuffling import ShuffledCrowd, shuffled_loss
from ..validation import Json
from . import shuffled_obi
from .design import PAPER, SOUND, TIGHT, Request, make
from .kinds import CountQuestion
from .kinds.counts import COUNTED, DROPPED, REWARDS, SQUARES, TRANSITIONS, VISITS
from .papers import PRINTED, Printed

CITATIONS = {
    "private-ucb": "Chowdhury and Zhou, *Differentially Private Regret Minimization in Episodic MDPs*",
    "pucb": "Vietri, Balle, Krishnamurthy and Wu, *Private Reinforcement Learning with PAC and Regret Guarantees*",
    "dp-ucbvi": "Qiao and Wang, *Near-Optimal Differentially Private Reinforcement Learning*",
    "ldp-obi": "Garcelon, Perchet, Pike-Burke and Pirotta, *Local Differential Privacy for Regret Minimization in RL*",
    "ldp-psrl": "the same, Appendix G",
    "shuffled-obi": "the same four authors, *Bridging the Gap between Local and Joint Differential Privacy in RL*",
    "ldp-ucrl-vtr": "Liao, He and Gu, *Locally Differentially Private Reinforcement Learning for Linear Mixture MDPs*",
    "offline": "Qiao and Wang, *Offline Reinforcement Learning with Differential Privacy*",
}
PARAMETERS = ("scale", "sigma", "bit_epsilon", "bound")
# A claim is met exactly if the truth differs by less than this, relatively.
EXACT = 1e-6
FAILURE = 0.05
LEAST = "least"


@dataclass(frozen=True)
class Example:
    """A prescription, the question it answers, and the sizes and guarantee at which it is judged.

    ours: what `tight` asks for instead, where its learner and not the design chooses that.
    """

    rule: Printed
    question: CountQuestion
    promise: Guarantee
    users: int
    ours: CountQuestion | None = None


@dataclass(frozen=True)
class Verdict:
    """The verdict on one prescription at one size: its claim, what is true, and the noise of all three calibrations.

    sizes: of the example, plain values; at: the same in a few words. true_delta: at the claimed epsilon. needed: the printed
    noise over the least that keeps the claim on the same question. radius: the printed error radius over a true one for the
    same noise, where the printed one is too small. supposes: what the claim does, in words, and `supposed` whether that is so here.
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
    supposes: str = ""
    supposed: bool = True

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
            "supposes": self.supposes,
            "supposed": self.supposed,
        }


def examples() -> Iterator[Example]:
    """Every printed prescription at the sizes of its paper, in each of its printings."""
    spec = Spec(6, 2, 20, PER_STEP)
    stepwise = CountQuestion(spec, (VISITS, REWARDS, TRANSITIONS), COUNTED)
    known, rows = (CountQuestion(spec, parts, COUNTED) for parts in ((VISITS, TRANSITIONS), (TRANSITIONS,)))
    pooled = CountQuestion(Spec(2, 2, 2), (VISITS, REWARDS, TRANSITIONS), DROPPED)
    squared = pooled.having(parts=(VISITS, REWARDS, SQUARES, TRANSITIONS))
    at: dict[tuple[str, str], tuple[CountQuestion, int, tuple[Guarantee, ...]]] = {
        ("private-ucb", "laplace"): (stepwise, 50_000, (Local(1.0),)),
        ("private-ucb", "tree-laplace"): (stepwise, 50_000, (Joint(1.0),)),
        ("pucb", "tree-laplace"): (stepwise, 50_000, (Joint(1.0),)),
        ("dp-ucbvi", "tree-laplace"): (stepwise, 50_000, (Joint(1.0),)),
        ("ldp-obi", "laplace"): (pooled, 10_000, (Local(1.0),)),
        ("ldp-obi", "gaussian"): (pooled, 10_000, (Local(0.2, 0.1), Local(1.0, 1e-6), Local(20.0, 0.1))),
        ("ldp-obi", "bounded"): (pooled, 10_000, (Local(0.2, 0.1), Local(2.0, 0.1), Local(20.0, 0.1))),
        ("ldp-obi", "randomised-response"): (pooled, 10_000, (Local(1.0),)),
        ("ldp-psrl", "laplace"): (squared, 10_000, (Local(1.0),)),
        ("ldp-psrl", "gaussian"): (squared, 10_000, (Local(0.2, 0.1), Local(1.0, 1e-6), Local(20.0, 0.1))),
        ("ldp-psrl", "bounded"): (squared, 10_000, (Local(0.2, 0.1), Local(2.0, 0.1), Local(20.0, 0.1))),
        ("ldp-psrl", "randomised-response"): (squared, 10_000, (Local(1.0),)),
        ("offline", "gaussian"): (known, 1000, (Central(rho=0.5), Central(0.5, 1e-6))),
        ("offline", "laplace"): (known, 1000, (Central(1.0),)),
    }
    for rule in PRINTED:
        question, users, promises = at[rule.paper, rule.mechanism]
        ours = rows if rule.trust == CENTRAL else None  # visits are then the sums of rows
        yield from (Example(rule, question, promise, users, ours) for promise in promises)


def judge(example: Example) -> Verdict:
    """The verdict on one prescription: what it claims, what is true, and the noise of all three calibrations."""
    rule, promise = example.rule, example.promise
    acts = _acts(example)
    parameter = next(name for name in PARAMETERS if name in acts[LEAST].mechanism.describe())
    enough, raised, ours = (
        validation.number(parameter, acts[name].mechanism.describe()[parameter]) for name in (LEAST, SOUND, TIGHT)
    )
    paper, amount = acts[PAPER], rule.noise(example.question.spec, promise, example.users)
    # More noise is a larger scale or sigma, but a smaller epsilon a bit.
    needed = enough / amount if parameter == "bit_epsilon" else amount / enough
    loss = _resized(paper, promise, parameter, amount).loss
    spec = example.question.spec
    episodes = f", K={example.users:,}" if "tree" in rule.mechanism else ""
    return Verdict(
        paper=rule.paper,
        source=rule.source,
        trust=rule.trust,
        mechanism=rule.mechanism,
        sizes=_sizes(spec, example.users),
        at=f"H={spec.horizon} {'per step' if spec.dynamics == PER_STEP else 'pooled'}{episodes}",
        claimed=promise,
        true=true_guarantee(loss, promise),
        true_delta=loss.delta(promise.epsilon) if promise.epsilon is not None and promise.delta else None,
        needed=needed,
        parameter=parameter,
        noise={PAPER: amount, SOUND: raised, TIGHT: ours},
        radius=_radius_share(example, amount),
        supposes=rule.supposes.says if rule.supposes else "",
        supposed=rule.supposes is None or rule.supposes.holds(spec, promise),
    )


def _resized(act: Act[NoiseMechanism], promise: Guarantee, parameter: str, amount: float) -> Act[NoiseMechanism]:
    """The act with another amount of noise, in all of its parts."""
    values = parameters(act.mechanism)
    share = amount / validation.number(parameter, values[parameter])
    wide: dict[str, Json] = {"wide": validation.number("wide", values["wide"]) * share} if "wide" in values else {}
    changed = from_parameters({**values, parameter: amount, **wide}, act.sensitivity, promise, 1.0)
    return replace(act, mechanism=changed)


def _acts(example: Example) -> dict[str, Act[NoiseMechanism]]:
    """The acts that the three calibrations draw, and `least`: that of least noise on the paper's question."""
    rule, promise, question = example.rule, example.promise, example.question
    if rule.trust == CENTRAL:
        asked = Request(question, promise, Schedule.every(1), mechanism=rule.mechanism)
        once, ours = make(asked).act, make(replace(asked, question=example.ours or question)).act
        return {PAPER: once, LEAST: once, SOUND: once, TIGHT: ours}
    wanted = Request(question, promise, Schedule.every(example.users), mechanism=rule.mechanism)
    printed = replace(wanted, paper=rule.paper, printing=rule.printing)
    requests = {
        PAPER: replace(printed, calibration=PAPER),
        LEAST: replace(wanted, calibration=SOUND),
        SOUND: replace(printed, calibration=SOUND),
        TIGHT: wanted,
    }
    return {name: make(request).act for name, request in requests.items()}


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
    return ordered([*(judge(example) for example in examples()), *shuffled_verdicts()])


HISTORY = "Theorem 6: all releases of a run keep epsilon_c of one"
"""The claim of SHUFFLED-OBI that is false."""


def shuffled_verdicts() -> Iterator[Verdict]:
    """Verdicts on SHUFFLED-OBI: its devices, one release of sums, and all releases of a run; one state, two actions, one step.

    Bits are flipped with probability 1/4, p = 1/2. Two consecutive releases differ by exactly one report, so all of them
    together show every report: they keep what a device keeps by itself, and no shuffling adds to it. (The actions of other
    people are functions of releases and show less: an attack on these is a page of its own.)
    """
    spec, flip, delta, people = Spec(1, 2, 1), 0.25, 1e-6, 10**8
    changed = round(CountQuestion(spec, (VISITS, REWARDS, TRANSITIONS), DROPPED).price().l1)
    bit = math.log1p(-flip) - math.log(flip)
    claimed = shuffled_obi.claimed_epsilon(flip, people, spec.horizon, delta)
    (crowd,) = calibrated((people,), changed, claimed, delta)
    alone = shuffled_loss((ShuffledCrowd(flip, people),), changed)
    charged = shuffled_obi.bits_a_step() * spec.horizon * bit
    # What is claimed, the true epsilon and delta, and the epsilon a bit that would suffice on this protocol and on ours.
    judged = {
        "Lemma 4: epsilon/((4+2m)H) a bit, m = 1": (
            Local(charged),
            changed * bit,
            None,
            charged / changed,
            charged / changed,
        ),
        "Prop. 5: epsilon_c of one release": (
            Shuffle(claimed, delta),
            alone.epsilon(delta),
            alone.delta(claimed),
            crowd.bit_epsilon,
            crowd.bit_epsilon,
        ),
        HISTORY: (Shuffle(claimed, delta), changed * bit, None, claimed / changed, crowd.bit_epsilon),
    }
    for source, (promise, epsilon, true_delta, enough, ours) in judged.items():
        users = people if promise.trust == SHUFFLE else 1
        loose = epsilon <= (promise.epsilon or 0.0)
        yield Verdict(
            paper=shuffled_obi.PAPER_NAME,
            source=source,
            trust=promise.trust,
            mechanism="randomised-response",
            sizes=_sizes(spec, users),
            at=f"H={spec.horizon} pooled, p=1/2" + ("" if users == 1 else f", {users:,} people"),
            claimed=promise,
            true=replace(promise, epsilon=epsilon),
            true_delta=true_delta,
            needed=enough / bit,
            parameter="bit_epsilon",
            noise={PAPER: bit, SOUND: bit if loose else enough, TIGHT: ours},
            supposes="" if users == 1 else "p at least 14 ln(4/delta)/k",
            supposed=users == 1 or math.isfinite(claimed),
        )


def _sizes(spec: Spec, users: int) -> dict[str, Json]:
    """Sizes of an example, as plain values."""
    return {
        "states": spec.states,
        "actions": spec.actions,
        "horizon": spec.horizon,
        "model": spec.dynamics,
        "users": users,
    }


def ordered(rows: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts in the order of the papers."""
    order = list(CITATIONS)
    return sorted(rows, key=lambda verdict: (order.index(verdict.paper), verdict.mechanism))


def cells(verdict: Verdict) -> tuple[str, ...]:
    """One row of the table, in words."""
    true = verdict.true.epsilon if verdict.claimed.rho is None else verdict.true.rho
    spent = f"{_up(true)} ({_up(verdict.ratio)}x)" if verdict.ratio < math.inf else "none at that delta"
    noise = " / ".join(
        f"{verdict.noise[kind]:.4g}" if kind in verdict.noise else "none" for kind in (PAPER, SOUND, TIGHT)
    )
    return (
        verdict.paper,
        verdict.source,
        f"{verdict.trust}, {verdict.mechanism}",
        verdict.at,
        str(verdict.claimed).rpartition(", ")[0],
        verdict.supposes and f"{verdict.supposes}: {'holds' if verdict.supposed else 'fails'}",
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
    "supposing",
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
- *claims*: what the paper says its noise gives. *Supposing*: for which sizes and guarantees it says so, if not for all, and
  whether that holds at this row: where it fails the paper claims nothing, though its figures may go there.
- *True epsilon or rho*: what the noise gives at the claimed delta, and how many times the claim that is. *True delta*: what it
  gives at the claimed epsilon.
- *unsound*: the claim is false. *loose*: true, with more noise than it takes. *sound*: true, with the least noise that
  makes it true on the paper's statistic.
- *printed / needed noise*: below 1 the noise is too small by that factor. *Printed / true radius*: below 1 the error
  radius is too small for the noise by that factor; empty where the printed one holds.
- *noise*: as printed; as raised, if need be, until the claim is true (`sound`); ours (`tight`), the least that we know,
  on the statistic that needs least, or none where that is refused. Epsilon a bit shrinks as noise grows.

- *Theorem 6* of shuffled-obi: consecutive releases differ by exactly one report, so all of them together show every report, and
  keep what its device keeps by itself. The proof takes the guarantee of one release for that of all. `sound` is then the noise
  of a device that keeps the claim alone, `tight` that of one batch of as many people. What policies show of a report is measured in
  [an attack](reproductions/shuffled-obi/theorem-6/paper/table.md).

Newer algorithms, and what of them is compared: [rivals.md](rivals.md). SDP-PE has no row: the noise that its paper prints was
not found. That a run over disjoint batches is as private as one batch, which its claim rests on, is true.

The papers:
- *Bounded noise*: Prop. 15 prints the radius of Alg. 6 with an epsilon that we read as that of the guarantee; Prop. 14 claims
  3H times that epsilon for it. Both readings are judged.
"""
