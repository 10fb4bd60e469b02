"""The catalogue of everything that is audited, by name: every mechanism alone, every privatizer of every trust model, and
whole fits.

What there is comes from the table of what is accepted (`designs.accepted`): each row is attacked at every setting that takes it,
or in the case that it was entered with. Whatever is entered there is audited without a change here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from ... import validation
from ...errors import InvalidInput
from ...mechanisms.noise import NoiseSource
from ...privacy import Guarantee
from ...privacy.guarantee import CENTRAL, JOINT, LOCAL, SHUFFLE
from ...protocol import accepted
from ...protocol.accepted import Combination
from ...protocol.design import AUTO, PAPER, SOUND, TIGHT, Design, Request, make
from ...protocol.kinds import CountQuestion, counts
from ...protocol.kinds import kind as kinds
from ...protocol.kinds.counts import DROPPED, REWARDS, SQUARES, TRANSITIONS, VISITS
from ...protocol.papers import PRINTED
from ...protocol.trusts import trust as trusts
from ...protocol.trusts.local import ASKED, CATEGORIES, ENCODINGS
from . import browsers
from .alone import ALONE, MORE, NEED_DELTA
from .auditing import CONFIDENCE, SAMPLES, Finding, Target, again, audit
from .browsers import BROWSER, browser_targets
from .curators import central_target, joint_target
from .devices import local_target
from .end_to_end import WholeRun, central_whole, joint_whole, local_whole, shuffle_whole, whole_target
from .pacing import BARELY, Pace
from .people import Pair, pairs, pairs_of
from .settings import BASIC as SPEC
from .settings import FIT, FITS, PROBLEMS, RETURN, SETTINGS, SOUND_FITS
from .shufflers import shuffle_target

NONE = "none"
TRUSTS = (LOCAL, SHUFFLE, JOINT, CENTRAL)
CALIBRATIONS = (NONE, TIGHT, SOUND, PAPER)

# The delta for mechanisms that need one: at a smaller one no affordable number of samples shows much.
DELTA = 0.01
# Of the usual samples: at other settings than the basic one, and of categories, which tell all of epsilon in two cells.
ELSEWHERE = 0.4
# Of the usual samples, at the basic setting, for noise that needs a delta: 0.85 of epsilon is to be shown by any seed, not by one.
OFTENER = 1.2

# Of the usual samples: of reports of a page, which are drawn and read one by one; and of additive noise of devices, a microsecond
# or two for each of a dozen cells, at the basic setting and elsewhere.
IN_A_PAGE, ON_A_DEVICE, ELSEWHERE_ON_A_DEVICE = 0.1, 0.5, 0.2

# Mechanisms that add noise to every cell.
ADDITIVE = ("laplace", "gaussian")

# What the papers ask for, where it is not visits, rewards and all transitions.
QUESTIONS = {
    "ldp-obi": CountQuestion(SPEC, last=DROPPED),
    "ldp-psrl": CountQuestion(SPEC, (VISITS, REWARDS, SQUARES, TRANSITIONS), DROPPED),
}


Attack = Callable[[str, Design, Pair], Target]

TARGETS: dict[str, Attack] = {
    LOCAL: local_target,
    SHUFFLE: shuffle_target,
    JOINT: joint_target,
    CENTRAL: central_target,
}
"""The functions that make a target of a design and two people, by trust model."""

WHOLES: dict[str, Callable[[Design], WholeRun]] = {
    LOCAL: local_whole,
    SHUFFLE: shuffle_whole,
    JOINT: joint_whole,
    CENTRAL: central_whole,
}
"""The functions that make whole runs of a design, by trust model."""


def targets_of(name: str, design: Design) -> list[Target]:
    """The targets of a design, under any trust model: pairs of people on which it is attacked, and whole runs of it."""
    attack = trusts.find(design.trust).attack
    if attack not in TARGETS:
        raise InvalidInput(
            "trust-without-attack",
            f"Nothing attacks designs under trust {design.trust!r}. Name the attack in its class.",
        )
    targets = [TARGETS[attack](name, design, people) for people in pairs_of(design)]
    if design.trust == JOINT and design.schedule.releases > 1:
        last = design.schedule.releases
        targets.append(joint_target(name, design, pairs(design.question.spec)[1], last))
    if design.trust in WHOLES:
        targets.append(whole_target(name, design, WHOLES[design.trust](design)))
    return [again(target, design.act.times) for target in targets] if design.act.times > 1 else targets


@dataclass(frozen=True)
class AuditEntry:
    """One row of the catalogue: what is audited under one name. `calibration` is `none` for a mechanism alone; `paper` says
    whose constants.

    kind: of question, or `fit`. setting: the label of the problem (`settings`), empty for the basic one. printing: which of
    the paper's, if it has several. device: `browser` where reports are drawn by JavaScript, else empty.
    """

    mechanism: str
    trust: str
    calibration: str = NONE
    paper: str = ""
    kind: str = counts.KIND
    setting: str = ""
    printing: str = ""
    device: str = ""

    @property
    def name(self) -> str:
        """The mechanism; a whole privatizer also carries its trust model, the paper it follows, and its setting."""
        if self.calibration == NONE:
            return self.mechanism
        if self.kind == FIT:
            return f"{FIT}/{self.mechanism}"
        asked_for = () if self.kind == counts.KIND else (self.kind,)
        named = "" if self.mechanism == AUTO else self.mechanism
        parts = (self.trust, *asked_for, named, self.paper, self.printing, self.setting, self.device)
        return "/".join(part for part in parts if part)

    @property
    def needs_delta(self) -> bool:
        """Whether it keeps no pure epsilon."""
        word = self.mechanism.partition("/")[0] if self.kind == FIT else self.mechanism
        if word in NEED_DELTA:
            return True
        return self.kind != FIT and self.calibration != NONE and not _keeps_pure(self)

    def delta(self, requested: float | None) -> float:
        """The delta it is calibrated to and audited at: what is asked, else 0, or `DELTA` where it needs one."""
        if requested is not None:
            return requested
        return DELTA if self.needs_delta else 0.0

    def targets(self, epsilon: float, delta: float | None = None) -> list[Target]:
        """The pairs of inputs on which it is attacked, calibrated to the guarantee."""
        promise = Guarantee(self.trust, epsilon, self.delta(delta))
        if promise.pure and self.needs_delta:
            raise InvalidInput(
                "audit-needs-delta", f"{self.mechanism} needs a delta above 0. Got 0. Give one such as {DELTA:g}."
            )
        if self.calibration == NONE:
            return [replace(target, name=self.name) for target in ALONE[self.trust][self.mechanism](promise)]
        if self.kind == FIT:
            return FITS[self.mechanism](promise, self.name)
        return (browser_targets if self.device == BROWSER else targets_of)(self.name, self.design(promise))

    @property
    def _share(self) -> float:
        """The share of the usual samples that a whole privatizer or fit gets, since it takes longer."""
        if self.device == BROWSER:
            return IN_A_PAGE
        basic = self.kind == counts.KIND and not self.setting and self.mechanism not in CATEGORIES
        if self.trust == LOCAL and self.mechanism in (*ADDITIVE, AUTO):
            return ON_A_DEVICE if basic else ELSEWHERE_ON_A_DEVICE
        if not basic:
            return ELSEWHERE
        return OFTENER if self.mechanism in MORE else 1.0

    def design(self, promise: Guarantee) -> Design:
        """The design that keeps a guarantee: at its setting, or the case with which the row was registered."""
        case = accepted.case_of(Combination(self.kind, self.mechanism, self.trust))
        if case is not None:
            return case(promise)
        setting = next(candidate for candidate in SETTINGS[self.trust] if candidate.label == self.setting)
        question = QUESTIONS.get(self.paper) or PROBLEMS[self.kind](setting)
        how = (self.calibration, self.mechanism, self.paper)
        return make(Request(question, promise, setting.schedule, *how, printing=self.printing, **setting.changes))

    def missing(self, seed: int | None = None) -> str:
        """Why it cannot be audited on this machine, with replayable noise of this seed if one is given; empty if it can."""
        if self.device != BROWSER:
            return ""
        if seed is not None:
            return "JavaScript draws from the operating system, and takes no seed. Leave out --seed."
        why = browsers.missing()
        return why and f"Reports of a page are drawn by Node: {why}."

    @property
    def usual_samples(self) -> int:
        """The outputs of each world that it is audited with by default."""
        return round(SAMPLES * (MORE.get(self.mechanism, 1) if self.calibration == NONE else self._share))

    def audit(
        self,
        epsilon: float,
        delta: float | None = None,
        samples: int | None = None,
        confidence: float = CONFIDENCE,
        noise: NoiseSource | None = None,
        seconds: float | None = None,
    ) -> Finding:
        """Calibrate it, and audit it, with this many samples or the usual number. seconds: by when both are to end (`audit`)."""
        pace = Pace.of(seconds)
        targets, size = self.targets(epsilon, delta), self.usual_samples if samples is None else samples
        left = max(pace.left(), BARELY) if pace.timed else None
        return audit(targets, size, confidence, self.delta(delta), noise, left)


@cache
def _keeps_pure(entry: AuditEntry) -> bool:
    try:
        entry.design(Guarantee(entry.trust, 1.0))
    except InvalidInput:
        return False
    return True


FITTED: dict[Combination, str] = {
    Combination("budgeted", "gaussian", CENTRAL): "gaussian/budgeted",
    Combination("returns", "gaussian", CENTRAL): "gaussian/h3",
    Combination("returns", "laplace", CENTRAL): "laplace/h3",
    Combination("judged", "gaussian", CENTRAL): "gaussian/judged",
    Combination("judged", "laplace", CENTRAL): "laplace/judged",
    Combination("values", "gaussian", CENTRAL): "gram/h3",
    Combination("gram", "gram-gaussian", CENTRAL): "gram/worst-h3",
    Combination("gram", "gram-laplace", CENTRAL): "gram-laplace/worst-h3",
}
"""The fits in which rows are attacked that only fits ask for."""


def requested(kind: str, trust: str) -> tuple[str, ...]:
    """The words by which noise can be requested for a kind of problem; none where there is one."""
    if kind in trusts.find(trust).designers():
        return trusts.find(trust).mechanisms
    words = kinds.find(kind).answered.get(trust, ())
    return words if len(words) > 1 else ()


def named(row: Combination) -> tuple[str, str]:
    """The kind of problem, and the name of the mechanism, by which a design of a row is requested."""
    if row.kind in PROBLEMS:
        known = row.mechanism in requested(row.kind, row.trust)
        return row.kind, row.mechanism if known else AUTO
    return counts.KIND, f"{ASKED}{row.mechanism}" if kinds.find(row.kind).first_visits else row.mechanism


@cache
def _ours() -> tuple[AuditEntry, ...]:
    """Entries of our rows, in tight calibration at every setting that takes them, and in sound calibration at the first."""
    audited = []
    for row in accepted.rows():
        if accepted.case_of(row) is not None or row.trust not in TRUSTS or row in FITTED:
            continue
        kind, mechanism = named(row)
        for how in (TIGHT, SOUND):
            for setting in SETTINGS[row.trust] if how == TIGHT else SETTINGS[row.trust][:1]:
                if setting.takes(row.kind, row.mechanism):
                    audited.append(AuditEntry(mechanism, row.trust, how, "", kind, setting.label))
    return tuple(audited)


def _entered() -> list[AuditEntry]:
    """Entries of rows that were registered, each with its case."""
    return [
        AuditEntry(row.mechanism, row.trust, TIGHT, kind=row.kind)
        for row in accepted.rows()
        if accepted.case_of(row) is not None and trusts.find(row.trust).attack in TARGETS
    ]


def _in_a_page(entry: AuditEntry) -> bool:
    """Whether reports of a page are audited too: of all that JavaScript knows at the basic setting, and of sampled steps."""
    setting = entry.setting in ("", RETURN) or (entry.setting == "h3" and entry.mechanism in ENCODINGS)
    known = entry.kind == counts.KIND and entry.mechanism in browsers.MECHANISMS
    return known and setting and (entry.trust, entry.calibration) == (LOCAL, TIGHT)


def entries() -> list[AuditEntry]:
    """Every mechanism alone, then every privatizer: tight, sound, and as papers print it; reports of a page; whole fits."""
    alone = [AuditEntry(name, trust) for trust, makers in ALONE.items() for name in makers]
    papers = [
        AuditEntry(row.mechanism, row.trust, PAPER, row.paper, printing=row.printing)
        for row in PRINTED
        if row.trust != CENTRAL and row.mechanism in requested(counts.KIND, row.trust)
    ]
    fits = [AuditEntry(label, CENTRAL, SOUND if label in SOUND_FITS else TIGHT, kind=FIT) for label in FITS]
    pages = [replace(entry, device=BROWSER) for entry in _ours() if _in_a_page(entry)]
    return [*alone, *_ours(), *_entered(), *papers, *pages, *fits]


def find(trust: str | None = None, mechanism: str | None = None, calibrations: Sequence[str] = ()) -> list[AuditEntry]:
    """The entries that are asked for; no calibration means all. None at all is refused."""
    known = entries()
    if trust is not None:
        validation.choice("trust", trust, TRUSTS)
    if mechanism is not None:
        validation.choice("mechanism", mechanism, {entry.mechanism for entry in known})
    for calibration in calibrations:
        validation.choice("calibration", calibration, CALIBRATIONS)
    matching = [
        entry
        for entry in known
        if trust in (None, entry.trust)
        and mechanism in (None, entry.mechanism)
        and (not calibrations or entry.calibration in calibrations)
    ]
    if not matching:
        words = ", ".join(word for word in (trust, mechanism, *calibrations) if word)
        raise InvalidInput(
            "nothing-to-audit", f"There is nothing to audit under {words}. Leave one of them out to see what there is."
        )
    return matching
