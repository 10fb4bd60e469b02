"""Everything that is audited by name: every mechanism alone, and every privatizer of every trust model.

Sizes are small on purpose: what an audit can see falls fast with the number of cells in which two inputs differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .. import validation
from ..designs import PAPER, SOUND, TIGHT, Design, Mixing, Request, joint, local_counts, make
from ..designs.central import GAUSSIAN, LAPLACE
from ..designs.papers import PRINTED
from ..designs.shuffle import BITS
from ..errors import InvalidInput
from ..mdp import Spec
from ..mechanisms.noise import NoiseSource
from ..privacy import Guarantee, Schedule
from ..privacy.guarantee import CENTRAL, JOINT, LOCAL, SHUFFLE
from ..questions import CountQuestion
from ..questions.counts import DROPPED, REWARDS, SQUARES, TRANSITIONS, VISITS
from .alone import ALONE, NEED_DELTA
from .auditing import CONFIDENCE, SAMPLES, Finding, Target, audit
from .curators import central_target, joint_target
from .devices import local_target
from .people import Pair, pairs
from .shufflers import shuffle_target

NONE = "none"
TRUSTS = (LOCAL, SHUFFLE, JOINT, CENTRAL)
CALIBRATIONS = (NONE, TIGHT, SOUND, PAPER)

SPEC = Spec(2, 2, 1)
# A curator who publishes does so once; one who learns online, after each batch.
BATCHES = {LOCAL: 1, CENTRAL: 1, JOINT: 2}
# People among whom one hides under shuffling.
CROWD = 10
# The delta for mechanisms that need one: at a smaller one no affordable number of samples shows much.
DELTA = 0.01

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
"""By trust model, what makes a target of a design and two people."""


def register(trust: str, attack: Attack) -> None:
    """Say how designs under a trust model of one's own are attacked: attack(name, design, two people)."""
    TARGETS[trust] = attack


def targets_of(name: str, design: Design) -> list[Target]:
    """The pairs of people on which a design is attacked, whoever is trusted."""
    if design.trust not in TARGETS:
        raise InvalidInput(
            f"Nothing attacks designs under trust {design.trust!r}. Enter it with audit.catalogue.register."
        )
    return [TARGETS[design.trust](name, design, people) for people in pairs(design.question.spec)]


@dataclass(frozen=True)
class Entry:
    """What is audited under one name. `calibration` is `none` for a mechanism alone; `paper` says whose constants."""

    mechanism: str
    trust: str
    calibration: str = NONE
    paper: str = ""

    @property
    def name(self) -> str:
        """The mechanism; a whole privatizer also carries its trust model, and the paper it follows."""
        if self.calibration == NONE:
            return self.mechanism
        return "/".join(part for part in (self.trust, self.mechanism, self.paper) if part)

    def delta(self, asked: float | None) -> float:
        """The delta it is calibrated to and audited at: what is asked, else 0, or `DELTA` where it needs one."""
        if asked is not None:
            return asked
        return DELTA if self.mechanism in NEED_DELTA else 0.0

    def targets(self, epsilon: float, delta: float | None = None) -> list[Target]:
        """The pairs of inputs on which it is attacked, calibrated to the promise."""
        promise = Guarantee(self.trust, epsilon, self.delta(delta))
        if self.mechanism in NEED_DELTA and promise.pure:
            raise InvalidInput(f"{self.mechanism} needs a delta above 0. Got 0. Give one such as {DELTA:g}.")
        if self.calibration == NONE:
            return [replace(target, name=self.name) for target in ALONE[self.trust][self.mechanism](promise)]
        question, mixing = QUESTIONS.get(self.paper, CountQuestion(SPEC)), None
        if self.trust == SHUFFLE:
            mixing, schedule = Mixing(CROWD), Schedule.sized(CROWD, CROWD)
        else:
            schedule = Schedule.batches(BATCHES[self.trust], BATCHES[self.trust])
        made = make(Request(question, promise, schedule, self.calibration, self.mechanism, self.paper, mixing))
        return targets_of(self.name, made)

    def audit(
        self,
        epsilon: float,
        delta: float | None = None,
        samples: int = SAMPLES,
        confidence: float = CONFIDENCE,
        noise: NoiseSource | None = None,
    ) -> Finding:
        """Calibrate it, and audit it."""
        return audit(self.targets(epsilon, delta), samples, confidence, self.delta(delta), noise)


def entries() -> list[Entry]:
    """Every mechanism alone, then every privatizer: tight, sound, and as papers print it."""
    offered = {LOCAL: local_counts.MECHANISMS, SHUFFLE: (BITS,), JOINT: joint.MECHANISMS, CENTRAL: (GAUSSIAN, LAPLACE)}
    alone = [Entry(name, trust) for trust, makers in ALONE.items() for name in makers]
    ours = [Entry(name, trust, how) for trust in TRUSTS for how in (TIGHT, SOUND) for name in offered[trust]]
    papers = [
        Entry(row.mechanism, row.trust, PAPER, row.paper)
        for row in PRINTED
        if row.trust != CENTRAL and row.mechanism in offered[row.trust]
    ]
    return alone + ours + papers


def find(trust: str | None = None, mechanism: str | None = None, calibrations: Sequence[str] = ()) -> list[Entry]:
    """The entries that are asked for; no calibration means all. None at all is refused."""
    known = entries()
    if trust is not None:
        validation.choice("trust", trust, TRUSTS)
    if mechanism is not None:
        validation.choice("mechanism", mechanism, {entry.mechanism for entry in known})
    for calibration in calibrations:
        validation.choice("calibration", calibration, CALIBRATIONS)
    found = [
        entry
        for entry in known
        if trust in (None, entry.trust)
        and mechanism in (None, entry.mechanism)
        and (not calibrations or entry.calibration in calibrations)
    ]
    if not found:
        asked = ", ".join(word for word in (trust, mechanism, *calibrations) if word)
        raise InvalidInput(f"There is nothing to audit under {asked}. Leave one of them out to see what there is.")
    return found
