"""The protocol of questions: a shape, bytes, a fingerprint, a range and a price.

A question may be a *family*: a mixture question carries a value function that changes from round to round, and a Gram
question targets that come from earlier answers. A design prices a family; `member` refuses what is outside it. A
question about counts is a family of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError, PrivacyError
from ...mdp import Spec
from ...privacy import Sensitivity

if TYPE_CHECKING:
    from ...mdp.described import DescribedFeatures
    from .counts import CountQuestion

DIGEST_BYTES = 16
EPISODES = ("one episode a person, at most the horizon long", "rewards in [0, 1]")
"""What every guarantee about counts stands on."""


class Range(NamedTuple):
    """The least and the largest number that one person's episode can put into each cell of a message."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def furthest(self) -> float:
        """The largest of these numbers, signs dropped."""
        return float(max(np.abs(bound).max(initial=0.0) for bound in self))


class OneEpisode(Protocol):
    """What one user did, as the answer of a kind sees it: `data.trajectories` has the class. Sensitive."""

    @property
    def states(self) -> NDArray[np.int64]:
        """(T + 1,) the states, or (T,) if the one after the last step is unknown."""
        ...

    @property
    def actions(self) -> NDArray[np.int64]:
        """(T,) the actions."""
        ...

    @property
    def rewards(self) -> NDArray[np.float64]:
        """(T,) the rewards, in [0, 1]."""
        ...

    @property
    def steps(self) -> int:
        """T, at most the horizon."""
        ...


class Member(Protocol):
    """One question of a family, as it is put to people."""

    @property
    def kind(self) -> str:
        """The kind of its family."""
        ...

    @property
    def spec(self) -> Spec:
        """The sizes of the problem that is asked about."""
        ...

    @property
    def counted(self) -> CountQuestion | None:
        """The counts that are estimated from answers; None where these are none."""
        ...

    @property
    def described(self) -> DescribedFeatures | None:
        """The public description of what is observed of people; None where states are numbered."""
        ...

    @property
    def expected(self) -> NDArray[np.float64] | None:
        """(L, S, A) the visits that the learner expects of one person, where that is known."""
        ...

    @property
    def digest(self) -> bytes:
        """A fingerprint, which answers to it carry."""
        ...


class Question(Member, Protocol):
    """A family of questions. Messages that answer it are vectors of `width` cells, each in one of `rows` rows."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions under which a guarantee about answers to it holds."""
        ...

    @property
    def rows(self) -> int:
        """How many kinds of message there are whose sums are kept apart: sampled steps, asked pairs, or one."""
        ...

    @property
    def width(self) -> int:
        """Cells of a message."""
        ...

    @property
    def cells(self) -> int:
        """Cells that are estimated from messages."""
        ...

    @property
    def trials(self) -> NDArray[np.int64]:
        """(width,) at most how many observations of one person each cell of a message is the sum of."""
        ...

    @property
    def resolution(self) -> int:
        """How many units make up one: cells of a message are multiples of 1/resolution. 0 where they are rounded to any grid."""
        ...

    @property
    def categories(self) -> int:
        """How many categories a message names one of; 0 where it names none."""
        ...

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences for certificates about how it is asked."""
        ...

    @property
    def before_transitions(self) -> int | None:
        """How many cells of visits and rewards come before transitions, where nothing else is counted."""
        ...

    @property
    def range(self) -> Range:
        """The least and the largest number that one person can put into each cell."""
        ...

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The sensitivity: how far replacing one person moves a message whose cells are rounded to a grid."""
        ...

    def member(self, question: Member) -> Member:
        """The question itself, if the family holds it; else it is refused."""
        ...

    def member_for(self, question: Member) -> Member:
        """The member of the family that people answer where a learner asks this: from its answer the learner's is derived."""
        ...

    def from_bytes_of_member(self, data: bytes) -> Member:
        """The member that wrote these bytes; refused where the family has one alone, or does not hold it."""
        ...

    def law_of(self, member: Member) -> NDArray[np.int64] | None:
        """(rows,) the weights by which devices that are asked this draw the row they answer; None where none is drawn."""
        ...

    def to_bytes(self) -> bytes:
        """Versioned bytes; equal families have equal bytes."""
        ...


class Family:
    """The base of questions: what they are not unless they say so. One of your own inherits it, or `AboutEpisodes`."""

    if TYPE_CHECKING:  # no attribute of the class, which a dataclass would take for the default of a field

        @property
        def kind(self) -> str:
            """The name under which its reader is registered."""
            ...

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences for certificates about how it is asked: none, unless a question has some."""
        return ()

    @property
    def categories(self) -> int:
        """0: messages name no category."""
        return 0

    @property
    def counted(self) -> CountQuestion | None:
        """None: answers are not estimated as counts."""
        return None

    @property
    def described(self) -> DescribedFeatures | None:
        """None: states are numbered."""
        return None

    @property
    def expected(self) -> NDArray[np.float64] | None:
        """None: nothing is known of visits."""
        return None

    @property
    def before_transitions(self) -> int | None:
        """None: no transitions are counted after visits and rewards."""
        return None

    def from_bytes_of_member(self, data: bytes) -> Member:
        """Refused: there is one question, which need not be carried."""
        raise FormatError(
            "question-not-expected",
            f"There is one statistic about {self.kind}, so a round carries none. This one does.",
        )

    def law_of(self, member: Member) -> NDArray[np.int64] | None:
        """None: devices draw no row."""
        return None


class AboutEpisodes(Family):
    """A question about one episode of each person."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions under which a guarantee about answers to it holds."""
        return EPISODES


class Pooled(ABC):
    """A question whose messages have all of its cells, and are all summed together."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """The length of the flat vector."""

    @property
    def rows(self) -> int:
        """One kind of message."""
        return 1

    @property
    def width(self) -> int:
        """Cells of a message: all of them."""
        return self.cells


class Rounded(Pooled):
    """A question whose cells are real numbers: each is rounded to the grid of its noise, which is priced."""

    @property
    def resolution(self) -> int:
        """0: any grid will do."""
        return 0

    @cached_property
    def trials(self) -> NDArray[np.int64]:
        """Cells are no counts of observations."""
        return np.ones(self.cells, dtype=np.int64)


def spread(low: float, high: float, width: int) -> Range:
    """The same range in every cell."""
    return Range(np.full(width, low), np.full(width, high))


Q = TypeVar("Q", bound=Question)
"""A kind of question."""


def only(family: Q, question: Member) -> Q:
    """The family, which holds one question; any other is refused."""
    if question is not family and question != family:
        raise PrivacyError(
            "question-not-priced", "This is not the statistic that was priced, so nothing was sent. Request that one."
        )
    return family


def derived(family: Q, question: Member) -> Q:
    """The only question of its family, from whose answers any counts about the same problem are derived."""
    if question.spec != family.spec:
        raise PrivacyError(
            "question-of-other-problem",
            "This statistic is about another problem than the one that was priced. Request one about that problem.",
        )
    return family


def asked_by(family: Question, data: bytes | None) -> Member:
    """The member of a family that a round of a service carries; None where a family has one member, which need not be carried.

    One that the family does not hold is refused: a user who answers it would not have the guarantee.
    """
    return family.member(family) if data is None else family.from_bytes_of_member(data)


def marked(digest: bytes, mark: int) -> bytes:
    """The fingerprint of another encoding of the same counts: `digest` changed by `mark`."""
    return bytes((digest[0] ^ mark, *digest[1:]))
