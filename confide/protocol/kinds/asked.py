"""One pair of state and action that a device is asked about: what happened at its first visit there, or that there was none.

Every device draws one pair (per step: one (h, s, a)) from a public law, independently of its episode and once, says which it
was, and tells one of 2 S' + 1 categories: the next state and the reward bit of its *first* visit of the pair, or `not visited`.
S' is S, or S + 1 where an episode may go to `end`; there a visit at the last of H steps, whose next state is unknown, is no
visit.

**Claim.** With a mechanism M for categories that is epsilon-LDP, the message is exactly as private as M, for any two episodes,
of any length, and for *every* law, also one that a hostile server chose.
**Proof.** P(message = (i, y) | episode) = law(i) M(y | c_i(episode)), where c_i(episode), the category reported of pair i, is a
function of the episode. For two episodes the ratio is M(y | c_i)/M(y | c'_i) <= e^epsilon wherever law(i) > 0, and where it
is 0 the message is never sent. Two episodes of which one visits i and the other does not reach the bound.
It stands on three things. The pair does not depend on the episode: redrawing until a pair was visited, or staying silent if it
was not, tells where a person was. It is drawn once: a fresh draw on retry is a second message, which costs epsilon again. And
a law is one: whole numbers, none negative, not all zero; a device refuses anything else, as it refuses a pair that is not there.

**What is learned.** Whether a visit is reported depends on (s_h, a_h) and earlier steps only, so next state and reward have
their own laws: E N(s,a,s') = P(s'|s,a) E N(s,a), where N counts the people who were asked about (s,a) and came there. Sums
of answers to changing laws stay sums of answers: only how many were asked about a pair changes. N/asked is how likely a person
is to come to a pair, not how often she does; where people differ in kind, or moves depend on the step in a model that has one
law for all of them, first visits are not like later ones.

**How answers are read**: people who were asked about a pair and came there, next state by next state. Noise is per pair, by how
many were asked about it. Radii and noise of a release are stated as if every user had been asked about the one pair, which bounds
them all; a pair that n people were asked about has `Design.radii(n)`, and n/k of the variance.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError, PrivacyError
from ...mechanisms.randomizer import CategoryRandomizer
from ..releases.release import CountRelease, Noise
from .categories import CategoryQuestion, cells_from_categories, naming
from .counts import CountQuestion, average_visits, backup_weight, stacked
from .encoded import PartOfCounts
from .kind import Array, Integers, Possible, by_trust, register
from .question import Member, derived

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...mechanisms.randomizer import Randomizer
    from ..design import Design
    from ..laws import Law

KIND = "asked"
MAGIC = b"cfa1"
FINEST = 1 << 16
"""A law that follows expected visits has weights of up to about this."""
MOST = (1 << 53) - 1
"""What weights of a law may add up to: all whole numbers so far are exact as floats, in pages too."""

ASIDE = 0.1
"""The share of people who are asked about any pair alike, wherever people are expected to be."""


@dataclass(frozen=True)
class AskedQuestion(CategoryQuestion):
    """counts: what is estimated. weights: (rows,) the law, as whole numbers; None asks about all pairs alike.

    Laws make one family: they change neither the price nor how answers are read, so all members have one fingerprint.
    """

    weights: NDArray[np.int64] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights is not None:
            object.__setattr__(self, "weights", checked_law(self.weights, self.rows))

    @property
    def kind(self) -> str:
        """`asked`."""
        return KIND

    @property
    def mark(self) -> int:
        """How this encoding changes the fingerprint of its counts: by 8."""
        return 0x08

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences for certificates: what a message says, of which pair, and why the pair is no secret."""
        return (
            f"every device reports about one pair, which it draws from a public law: its first visit, one of {self.width:,}"
            " categories",
        )

    @property
    def pairs(self) -> int:
        """How many pairs there are, of each step if the dynamics are per-step."""
        return self.spec.layers * self.spec.states * self.spec.actions

    @property
    def rows(self) -> int:
        """One row for each pair."""
        return self.pairs

    @property
    def share(self) -> float:
        """The share of people who are asked about a pair: all of them."""
        return 1.0

    @property
    def width(self) -> int:
        """How many categories there are: (s', reward bit), and one for a pair that was not visited."""
        return 2 * self.counts.next_states + 1

    @cached_property
    def law(self) -> NDArray[np.int64]:
        """(rows,) weights of the pairs, whole numbers."""
        return self.law_about(np.ones(self.pairs, dtype=np.int64)) if self.weights is None else self.weights

    def law_about(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """(rows,) the weights of all rows, from those of the pairs."""
        return pairs

    def member(self, question: Member) -> Self:
        """A question about the same counts, whatever its law: making it has checked that it is one."""
        if question.kind != self.kind or question.counted != self.counts or question.digest != self.digest:
            raise PrivacyError(
                "question-not-priced",
                "This is not the statistic that was priced, so nothing was sent. Request that one.",
            )
        return question  # type: ignore[return-value]  # by its kind

    def member_for(self, question: Member) -> Self:
        """The member whose law follows the visits that a learner expects, where it says so."""
        derived(self, question)
        expected = question.expected
        return self if expected is None else replace(self, weights=self.law_about(following(expected)))

    def law_of(self, member: Member) -> NDArray[np.int64]:
        """The law of a member."""
        return self.member(member).law

    def law_bytes(self) -> bytes:
        """The law, which a server signs with every policy: `cfa1`, the fingerprint, and the weights as 64-bit whole numbers."""
        return MAGIC + self.digest + self.law.astype("<i8").tobytes()

    def from_bytes_of_member(self, data: bytes) -> Self:
        """The member with the law in these bytes; anything that is no law is refused."""
        start = MAGIC + self.digest
        if not data.startswith(start) or len(data) != len(start) + 8 * self.rows:
            raise FormatError(
                "pair-law-unreadable",
                "These bytes are no law of the pairs that this contract asks about. Nothing is sent.",
            )
        return replace(self, weights=np.frombuffer(data[len(start) :], dtype="<i8").astype(np.int64))

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint of the family."""
        return hashlib.sha256(self.kind.encode() + self.to_bytes()).digest()[:16]


def checked_law(weights: ArrayLike, rows: int) -> NDArray[np.int64]:
    """Weights of a law, refused unless they are whole, not negative, and not all zero."""
    law = np.asarray(weights)
    if (
        law.shape != (rows,)
        or law.dtype.kind != "i"
        or (law < 0).any()
        or not 0 < int(law.astype(object).sum()) <= MOST
    ):
        raise PrivacyError(
            "pair-law-invalid",
            f"A law of pairs is {rows} whole numbers, none negative, which add up to at least 1 and less than 2^53. This is "
            "none, so nothing was sent. The server must send one.",
        )
    return law.astype(np.int64)


def following(visits: NDArray[np.float64]) -> NDArray[np.int64]:
    """(rows,) weights of a law that asks about pairs as they are expected to be visited, and a little about all.

    visits: (L, S, A), expected of one person. How often people who may come there are asked about a pair matters most
    where they come surely, and no more where they come again and again: a pair is asked about by min(1, visits).
    """
    flat = np.minimum(np.maximum(np.nan_to_num(visits.ravel()), 0.0), 1.0)
    total = float(flat.sum())
    share = flat / total if total > 0 else np.full(flat.size, 1 / flat.size)
    weights = (1 - ASIDE) * share + ASIDE / flat.size
    return np.maximum(np.rint(weights * FINEST * flat.size), 1).astype(np.int64)


class AskedKind(PartOfCounts[AskedQuestion]):
    """One asked pair of each person. After the cells of counts comes how many people were asked about each pair."""

    name = KIND
    first_visits = True
    answered = by_trust(local=("unary", "k-ary", "subset"))

    def read(self, data: bytes) -> AskedQuestion:
        """The question that wrote these bytes, which are those of its counts; its law asks about all pairs alike."""
        return AskedQuestion(CountQuestion.from_bytes(data))

    def estimate(self, question: AskedQuestion, mechanism: Randomizer, summed: Array, people: Integers) -> Array:
        """Cells of the counts, over those who were asked, and how many these are."""
        categories = mechanism.estimate(summed, people[:, None], question.trials)  # type: ignore[arg-type]
        return np.concatenate([cells_from_categories(question.counts, categories[:, :-1]), people.astype(np.float64)])

    def radii(self, question: AskedQuestion, law: Law, failure: float, possible: Possible = None) -> Array:
        """Error radii of a pair that this many people were asked about; all pairs share the failure."""
        spec, width = question.spec, question.counts.next_states
        share, noise = failure / (question.pairs * (spec.states + 4)), law.of_people()

        def of(size: int) -> Array:
            return np.asarray(noise.mechanism.radius(noise.people, share, 1.0, size))

        return np.stack([of(2 * width), of(width), of(width), of(2), of(2 * width)], axis=-1)

    def noise(self, question: AskedQuestion, law: Law) -> Array:
        """A transition is two categories, a centred reward half the difference of two sets of S' categories."""
        noise = law.of_people()
        people, mechanism = np.asarray(noise.people, dtype=np.float64), naming(noise.mechanism)
        moves, centred, visits = (people * variance for variance in category_noise(question, mechanism))
        return stacked(law.own, moves, centred, _luck(mechanism), visits)

    def backup_variance(self, question: AskedQuestion, mechanism: Randomizer) -> float:
        """The variance as for sampled steps, whose counts say H/(S A) a person of a pair; here 1/(S A) are asked, and some came."""
        width, came = question.counts.next_states, coming(question)
        scale = question.pairs / question.share * (average_visits(question.spec) / came) ** 2

        def spread(size: int, part: float) -> float:
            return scale * float(naming(mechanism).set_variance(size, part) + part * (1 - part))

        return spread(width, came / 2) + backup_weight(question.counts) * spread(2, came / width)

    def signal(self, question: AskedQuestion) -> tuple[int, float]:
        """Transitions: a pair has a share of the people, hence of the variance, and of those some came."""
        return 3, coming(question) * (question.share / question.pairs) ** 0.5

    def release(self, design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> CountRelease:
        """Counts of first visits; after their cells comes how many people were asked about each pair."""
        size = design.counts.cells
        release = super().release(design, cells[:size], users, radii, noise)
        people = np.ascontiguousarray(cells[size:].reshape(release.counts.visits.shape))
        return replace(release, counts=release.counts._replace(people=people))


ASKED = register(AskedKind())


def family_of(design: Design) -> AskedQuestion | None:
    """The question of a design that asks about pairs; None where it does not."""
    return design.question if design.kind.first_visits else None  # type: ignore[return-value]  # by its kind


def coming(question: AskedQuestion) -> float:
    """How likely a person who acts at random, in a world that does, comes to a pair at all; or is there at a step."""
    spec = question.spec
    steps = spec.horizon if spec.layers == 1 else 1
    return float(1 - (1 - 1 / (spec.states * spec.actions)) ** steps)


def category_noise(question: AskedQuestion, mechanism: CategoryRandomizer) -> tuple[float, float, float]:
    """Variances a person of a transition count, of a centred reward and of visits, of a pair without visits."""
    width = question.counts.next_states
    halves, row = mechanism.set_variance(width, 0.0), mechanism.set_variance(2 * width, 0.0)
    return mechanism.set_variance(2, 0.0), (4 * halves - row) / 4, row


def _luck(mechanism: CategoryRandomizer) -> float:
    p, q = mechanism.hit, mechanism.miss
    return float(1 + (p * (1 - p) - q * (1 - q)) / (p - q) ** 2)
