"""A design: from a guarantee to a frozen, public value that everything private is done by.

It prices a family of questions: which mechanism, how much noise, how often, for whom. Device, server and curator make the
same one from the same public words, or read it from its bytes; the noise that is drawn, the error radius a learner is given
and the certificate that is printed all come from it, and its guarantee is computed, never given.

Its bytes are here too. Reading them recomputes the sensitivity and checks that the guarantee is kept: nothing is believed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import msgpack
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..errors import ConfideError, FormatError, InvalidInput
from ..mechanisms.mechanism import NoiseMechanism
from ..mechanisms.randomizer import require_grid
from ..privacy import ONCE, Act, Certificate, Guarantee, Participation, Schedule, StatedGuarantee, keeps, true_guarantee
from ..privacy.calibration import calibration_failed
from ..privacy.guarantee import UNIT
from ..validation import Json
from .accepted import require_accepted
from .kinds import Question, find, read
from .kinds.question import DIGEST_BYTES
from .trusts.mixing import Mixing, ShuffledBatch

if TYPE_CHECKING:
    from ..mechanisms.counter import Counter
    from ..mechanisms.mechanism import NoiseMechanism, Shares
    from ..mechanisms.randomizer import Additive, Randomizer
    from .kinds import Question
    from .kinds.counts import CountQuestion
    from .kinds.kind import AnyKind, DesignMaker
    from .laws import Law
    from .releases.release import Noise
    from .trusts.trust import Trust

Array = NDArray[np.float64]

PAPER, SOUND, TIGHT = "paper", "sound", "tight"
"""Calibrations: a paper's noise; that raised until its claim is true; the least that we know."""
AUTO = "auto"
"""The mechanism that adds least noise, of those that keep the guarantee."""
FAILURE = 0.1
"""The chance that some error radius of a design does not hold."""

# Radii are tabulated at no more numbers of people than this; between two of them the larger one is used.
RADIUS_POINTS = 4096


@dataclass(frozen=True)
class Request:
    """A request for a design: a question, a guarantee, when releases are made, and by which means; all of it public.

    paper: whose constants `paper` and `sound` use. mixing: the shufflers. failure: with what probability error radii may
    be wrong, all releases together. share: of the guarantee, if the rest is spent on other designs. possible: (cells,)
    which cells can be filled at all, where public tables rule others out. episodes: how many of one person count.
    budget: how much of one person is counted (`questions.budgeted`), 0 for all of it, None for what loses least.
    printing: which of a paper's printings `paper` takes, where it has several; as stated by default.
    participation: how often one user takes part, in as many batches. expected: how many users are expected, if the schedule has no
    end, or none that is ever reached.
    one_in: where devices are asked about pairs, one in this many reports its return instead; 0 if none does.
    able: (kind, mechanism) of the questions that devices can answer, of which `auto` chooses; None for all that there are.
    """

    question: Question
    promise: Guarantee
    schedule: Schedule
    calibration: str = TIGHT
    mechanism: str = AUTO
    paper: str = ""
    mixing: Mixing | None = None
    failure: float = FAILURE
    share: float = 1.0
    possible: NDArray[np.bool_] | None = field(default=None, repr=False, compare=False)
    episodes: int = 1
    budget: int | None = None
    printing: str = ""
    participation: Participation = ONCE
    expected: int | None = None
    one_in: int = 0
    able: frozenset[tuple[str, str]] | None = field(default=None, repr=False)

    @property
    def counted(self) -> CountQuestion:
        """The counts that the question is about; refused where it is about something else."""
        if self.question.counted is None:
            raise InvalidInput(
                "kind-not-counts", f"Statistics about {self.question.kind} are not estimated as counts. Ask for counts."
            )
        return self.question.counted

    def can(self, question: Question, mechanism: NoiseMechanism) -> bool:
        """Whether devices can answer a question by a mechanism, if that is chosen for them."""
        from ..mechanisms.catalogue import parameters, word

        return self.able is None or (question.kind, word(parameters(mechanism))) in self.able

    def design(self, question: Question, act: Act[NoiseMechanism], **changes: Any) -> Design:
        """The design of this request that asks this question by this act."""
        made = Design(
            question,
            act,
            self.promise,
            self.calibration,
            self.schedule,
            self.failure,
            self.mixing,
            possible=self.possible,
            episodes=self.episodes,
        )
        return replace(made, **changes) if changes else made


@dataclass(frozen=True, eq=False)
class Design:
    """How a family of questions is answered. `requested` is the guarantee that was asked for; `guarantee` is what is kept."""

    question: Question
    act: Act[NoiseMechanism]
    requested: Guarantee
    calibration: str
    schedule: Schedule
    failure: float = FAILURE
    mixing: Mixing | None = None
    paper: str = ""
    possible: NDArray[np.bool_] | None = field(default=None, repr=False)
    episodes: int = 1
    remarks: tuple[str, ...] = ()

    @property
    def trust(self) -> str:
        """The trust model: `local`, `shuffle`, `joint`, `central`, `none`, or one of your own."""
        return self.requested.trust

    @property
    def mechanism(self) -> NoiseMechanism:
        """The mechanism that adds noise to messages, or to releases."""
        return self.act.mechanism

    @property
    def randomizer(self) -> Randomizer:
        """The mechanism, which makes messages out of counts; any other is refused."""
        return self.mechanism.randomizer() or self._unfit()

    @property
    def additive(self) -> Additive:
        """The mechanism, which adds independent noise to every cell; any other is refused."""
        return self.randomizer.additive() or self._unfit()

    @property
    def counter(self) -> Counter:
        """The mechanism, which releases running sums; any other is refused."""
        return self.mechanism.counter() or self._unfit()

    @property
    def shares(self) -> Shares:
        """The mechanism, of which each device runs a part; any other is refused."""
        return self.mechanism.shares() or self._unfit()

    def _unfit(self) -> NoReturn:
        raise InvalidInput(
            "mechanism-not-for-trust",
            f"The mechanism {self.mechanism.name} does not serve trust {self.trust!r}. Choose another.",
        )

    @cached_property
    def devices(self) -> tuple[Randomizer, ...]:
        """The mechanisms that randomise reports, one for each report of a person; none where episodes are handed over."""
        return self._trust.devices(self)

    def device_of(self, row: int, level: int = 0) -> Randomizer:
        """The mechanism that randomises reports about a row."""
        return next(device for rows, device in self.kind.by_rows(self, level) if rows.start <= row < rows.stop)

    @cached_property
    def participation(self) -> Participation:
        """How often one user takes part; the guarantee is about all of it."""
        return self._trust.participation(self)

    @cached_property
    def guarantee_once(self) -> Guarantee:
        """The guarantee of a user who takes part once, where others may come again."""
        return self.guarantee_of(1)

    def guarantee_of(self, times: int) -> Guarantee:
        """The guarantee of a user who takes part this many times, as far apart as is priced."""
        return true_guarantee(self._trust.visited(self, times).loss, self.requested)

    def batches_of(self, group: int) -> list[ShuffledBatch]:
        """The batches of shufflers to which a person of a group of the schedule reports."""
        return [ShuffledBatch(group, 0)] if self.mixing is None else self.mixing.batches_of(group, self.schedule.users)

    @cached_property
    def kind(self) -> AnyKind:
        """The kind of its question: how sums of messages are read into releases."""
        from .kinds.kind import find

        return find(self.question.kind)

    @property
    def counts(self) -> CountQuestion:
        """The counts that are estimated from messages; refused where these are none."""
        return self.kind.counts(self.question)

    @cached_property
    def _trust(self) -> Trust:
        from .trusts.trust import find

        return find(self.trust)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The guarantee that is kept: computed from the act, in the currency that was requested."""
        return true_guarantee(self.act.loss, self.requested) if self.requested.private else self.requested

    @cached_property
    def local_guarantee(self) -> Guarantee:
        """The guarantee of one person's reports by themselves, whichever other users there are."""
        return self._trust.local_guarantee(self)

    def verified(self) -> Design:
        """The design itself, refused if it contradicts itself or does not keep what was asked for, as anyone can check."""
        self._trust.check(self)
        self.kind.check(self)
        if self.calibration != PAPER and self.requested.private and not keeps(self.act.loss, self.requested):
            raise calibration_failed(self.requested)
        return self

    def law(self, people: ArrayLike) -> Law:
        """The noise of a release about this many people."""
        return self._trust.law(self, np.asarray(people))

    @cached_property
    def release_failure(self) -> float:
        """With what probability the radii of one release may fail.

        Papers' formulas take the confidence of the whole run; ours share it among the releases.
        """
        return self.failure if self._printed is not None else self.failure / self.schedule.releases

    @cached_property
    def _printed(self) -> Callable[[Array], Array] | None:
        from .papers import printed_radii

        return printed_radii(self) if self.paper else None

    def radii(self, people: ArrayLike, failure: float | None = None) -> Array:
        """(..., n) error radii of a release about this many people: ours, or a paper's where they are to be reproduced."""
        if self._printed is not None and failure is None:
            return self._printed(np.asarray(people, dtype=np.float64))
        share = self.release_failure if failure is None else validation.failure(failure)
        return self.kind.radii(self.question, self.law(people), share, self.possible)

    @cached_property
    def error_table(self) -> tuple[NDArray[np.int64], Array, Array]:
        """(G,) numbers of people, (G, n) radii and (G, 5) noise. Between two numbers the radii of the larger hold, and the noise
        lies in between, where it is people's own.
        """
        ends, releases = self.schedule.ends, self.schedule.releases
        points = ends
        if releases > RADIUS_POINTS and not (self.mixing is not None and self.mixing.tree):
            # A tree counter errs most after 2^j - 1 releases, so these are always among the points.
            spaced = np.searchsorted(ends, np.geomspace(ends[0], ends[-1], RADIUS_POINTS).round())
            points = np.union1d(ends[spaced], ends[2 ** np.arange(1, releases.bit_length()) - 2])
        table, noise = self.radii(points), self.kind.noise(self.question, self.law(points))
        if len(points) < releases:
            table = np.maximum.accumulate(table)
        return points, table, noise

    def errors_at(self, people: int) -> tuple[Array, Noise]:
        """(n,) radii and noise of a release about this many people: from the table, or computed if they are not in it."""
        from .releases.release import Noise

        points, table, noise = self.error_table
        where = int(np.searchsorted(points, people))
        if where < len(points) and points[where] == people:
            return table[where], Noise(*noise[where].tolist())
        if people not in self._computed:
            within = where < len(points) < self.schedule.releases
            variances = self.kind.noise(self.question, self.law(people))
            radii = table[where] if within else self.radii(people)
            self._computed.clear()
            self._computed[people] = radii, Noise(*variances.tolist())
        return self._computed[people]

    @cached_property
    def _computed(self) -> dict[int, tuple[Array, Noise]]:
        """The errors of the last number of people for which they were computed."""
        return {}

    def to_bytes(self) -> bytes:
        """Versioned bytes, from which any party makes the same design."""

        return to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Design:
        """Read what `to_bytes` wrote; refuse anything else, and a design that does not keep its guarantee."""

        return from_bytes(data)

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint that reports and sums carry."""

        return digest(self)

    def certificate(self, noise: str) -> Certificate:
        """The certificate of this design; `noise` names the source that drew."""
        if not self.requested.private:
            return Certificate.of([], self.requested, "none", "none")
        further = self._trust.further(self)
        schedule = self.schedule.describe() if self._trust.scheduled else None
        assumptions = (*self.remarks, *self._trust.assumptions(self), *self._returning())
        certificate = Certificate.of([self.act], self.requested, self.calibration, noise, assumptions, schedule)
        return replace(certificate, promises=(*certificate.promises, *map(StatedGuarantee, further)))

    def _returning(self) -> tuple[str, ...]:
        """The sentence of a certificate about users who come again; none where every user takes part once."""
        if self.participation == ONCE:
            return ()
        once = replace(self.guarantee_once, unit=UNIT)
        return (f"a person takes part {self.participation}; who takes part once has {once}", self._trust.returning)


def check_noise(design: Design, mechanism: NoiseMechanism) -> None:
    """Refuse a mechanism that is not made for the question, or whose grid does not divide what is counted.

    On any other grid an answer would be rounded to multiples of it, and could move further than was priced.
    """
    question = design.question
    if mechanism.categories != question.categories:
        raise InvalidInput(
            "mechanism-categories",
            "The mechanism is for another number of categories than the statistic has. Make it again.",
        )
    if mechanism.vector not in (0, question.width):
        raise InvalidInput(
            "mechanism-vector-length",
            f"The mechanism is for vectors of {mechanism.vector} cells, and the statistic has {question.width}. Make it again.",
        )
    if mechanism.first is not None and mechanism.first != question.before_transitions:
        raise InvalidInput(
            "mechanism-radius-by-part",
            "Noise by part has its larger radius from the first transition on. Make it again.",
        )
    require_grid(mechanism.grid)
    parts = 1 / (question.resolution * mechanism.grid) if question.resolution else 1.0
    if parts < 0.5 or abs(parts - round(parts)) > 1e-9 * parts:
        raise InvalidInput(
            "grid-does-not-divide",
            f"A grid of {mechanism.grid:g} does not divide the counts of the statistic. Make it finer.",
        )


def make(request: Request) -> Design:
    """The design that answers a request, verified."""
    validation.choice("calibration", request.calibration, (PAPER, SOUND, TIGHT))
    validation.failure(request.failure)
    maker = _maker(request.question.kind, request.promise.trust)
    design = _named(maker(request), request).verified()
    if request.promise.private and design.participation != request.participation:
        raise InvalidInput(
            "participation-not-priced",
            f"Under trust {design.trust!r} statistics about {request.question.kind} are priced for users who take part "
            f"{design.participation}, not {request.participation}. Leave out --returns.",
        )
    return design


def _named(design: Design, request: Request) -> Design:
    """The design, which remarks on what was chosen in place of the paper's own question."""
    from .kinds.counts import KIND
    from .papers import POOLED, pools

    question = request.question
    if question.kind != KIND or not pools(request.paper, request.calibration, question.spec):
        return design
    remark = f"every step follows the same law: counts are {POOLED}, which {request.paper} counts apart"
    return replace(design, remarks=(*design.remarks, remark))


def _maker(kind: str, name: str) -> DesignMaker:
    """Who designs answers to a kind of question under a trust model: the kind itself, or the trust model."""
    from .kinds.kind import find as find_kind
    from .trusts.trust import find as find_trust
    from .trusts.trust import trusts_with

    own = find_kind(kind).designers()
    maker = own.get(name) or find_trust(name).designers().get(kind)
    if maker is None:
        able = sorted({*own, *trusts_with(kind)})
        raise InvalidInput(
            "kind-not-for-trust",
            f"Statistics about {kind} are not released under trust {name!r}. Choose {', '.join(able)}.",
        )
    return maker


FORMAT = "confide.design/1"
MOST_BYTES = 1 << 28
MOST_TIMES = 1 << 20
"""The most episodes of a person, or uses of a mechanism, that a design may count."""
BROKEN = (ValueError, TypeError, LookupError, ArithmeticError, MemoryError, msgpack.UnpackException)
"""What numbers that are not meant seriously end in: of bytes from outside all of them mean that these cannot be read."""


def to_bytes(design: Design) -> bytes:
    """Versioned bytes; equal designs have equal bytes."""
    promise, schedule = design.requested, design.schedule
    possible = None if design.possible is None else np.packbits(design.possible).tobytes()
    body: bytes = msgpack.packb(
        [
            FORMAT,
            [design.question.kind, design.question.to_bytes()],
            sorted(_noise_parameters(design).items()),
            design.act.times,
            [promise.trust, promise.epsilon, promise.delta, promise.rho, promise.unit, promise.neighbours],
            design.calibration,
            [schedule.kind, schedule.users, schedule.parameter, schedule.burn_in],
            design.failure,
            None if design.mixing is None else _mixing_parameters(design.mixing),
            design.paper,
            possible,
            design.episodes,
            list(design.remarks),
        ]
    )
    return body


def from_bytes(data: bytes) -> Design:
    """Read what `to_bytes` wrote; refuse anything else, what is not in the table (`accepted`), and a design that does not keep its
    guarantee.
    """
    try:
        if len(data) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        form, *parts = msgpack.unpackb(data, max_array_len=1 << 12, max_str_len=1 << 12)
        if form != FORMAT:
            raise ValueError(f"its format is {form!r}, not {FORMAT!r}")
        design = require_accepted(_built(parts)).verified()
        if design.paper:
            design.radii(1)  # one that prints none is not a paper that this version knows
        return design
    except (ConfideError, *BROKEN) as error:
        reason = str(error).rstrip(".")
        raise FormatError(
            "design-unreadable", f"These bytes are not a design that this version can keep: {reason}."
        ) from error


def _built(parts: list[Any]) -> Design:
    """The design of the values that `to_bytes` wrote after the format."""
    family, mechanism, times, promise, calibration, when, failure, mixed, paper, possible, episodes, remarks = parts
    question = read(*family)
    requested = Guarantee(*promise)
    count = validation.integer("episodes", episodes, 1, MOST_TIMES)
    noise = _noise(question, {str(key): value for key, value in mechanism}, requested, calibration)
    size = question.price(noise.grid)
    cells = None
    if possible is not None:
        if len(possible) != -(-question.cells // 8):
            raise ValueError("it says of more or fewer cells than there are whether they can be filled")
        cells = np.unpackbits(np.frombuffer(possible, dtype=np.uint8), count=question.cells).astype(np.bool_)
    return Design(
        question,
        Act(
            noise,
            replace(size.scaled(float(count)), cells=size.cells * count),
            validation.integer("times", times, 1, MOST_TIMES),
        ),
        requested,
        validation.choice("calibration", calibration, ("paper", "sound", "tight", "none")),
        Schedule(*when),
        validation.failure(failure),
        None if mixed is None else Mixing(**{str(key): value for key, value in mixed}),
        str(paper),
        cells,
        count,
        tuple(map(str, remarks)),
    )


def _mixing_parameters(mixing: Mixing) -> list[tuple[str, Json]]:
    """How people are mixed, by name. What was added to the first format is written where it says something."""
    return sorted((name, value) for name, value in asdict(mixing).items() if value or name != "widening")


def _noise_parameters(design: Design) -> dict[str, Json]:
    """The mechanism's name and parameters as plain values."""
    return design.kind.noise_to_plain(design.mechanism)


def _noise(question: Question, values: dict[str, Json], promise: Guarantee, calibration: str) -> NoiseMechanism:
    """The mechanism that these values describe; anything else is refused."""
    return find(question.kind).noise_from_plain(question, values, promise, calibration)


def digest(design: Design) -> bytes:
    """A fingerprint of a design: two that differ in anything that matters have different ones."""
    return hashlib.sha256(to_bytes(design)).digest()[:DIGEST_BYTES]
