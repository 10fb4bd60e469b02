"""A kind of question, and the one table of kinds.

Everything public that a kind has stands in the file of its name beside this one: what is asked and its price (the question, with
the proof in the module's docstring), its bytes, how sums of messages are read into a release, by which mechanisms it may be
answered under which trust, and, where a trust model does not know how, who designs it. The sensitive half, an episode's answer, is
one function in `data.statistics.answers`. A kind of your own is one file too, with one `register(Kind)` at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError, InvalidInput
from ...loading import sibling
from ...privacy import Guarantee
from ...validation import Json
from .question import Question

if TYPE_CHECKING:
    from ...mdp import Model
    from ...mechanisms.mechanism import NoiseMechanism
    from ...mechanisms.noise import NoiseSource
    from ...mechanisms.randomizer import Randomizer
    from ..accepted import Combination
    from ..design import Design, Request
    from ..laws import Law
    from ..releases.aggregates import Aggregate
    from ..releases.release import Noise
    from .counts import CountQuestion
    from .question import OneEpisode

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Possible = NDArray[np.bool_] | None
"""Which cells of a question can be filled at all; None for all of them."""

Q = TypeVar("Q", bound=Question)
"""A question, or a family of them."""
R = TypeVar("R")
"""What is released about it."""

DesignMaker = Callable[["Request"], "Design"]
DrawIntegers = Callable[[int, int], Integers]
"""integers(high, many): uniform draws from 0 .. high-1, for rounding rewards and sampling steps."""
ByRows = tuple[tuple[slice, "Randomizer"], ...]
"""The mechanisms of messages, each with the rows that it is for."""
Answer = tuple[int, Integers]
"""Which kind of message it is, and its cells as whole multiples of a grid."""

KINDS = (
    "counts",
    "bits",
    "step",
    "asked",
    "asked_return",
    "bandit",
    "budgeted",
    "mixture",
    "moments",
    "targets",
    "returns",
    "judged",
    "values",
    "gram",
)
"""Our kinds: each is the module of its name, which is loaded when it is needed."""


def by_trust(**words: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Words of mechanisms by the name of a trust model."""
    return words


class Kind(Generic[Q, R]):
    """One kind of question: Q is what is asked, R what is released about it. What a kind cannot do, it refuses.

    name: the word that bytes and tables have for it. answered: the words of the mechanisms (`mechanisms.catalogue.word`) by which
    it may be answered, by trust model: the rows of the table of what is accepted. unknown_in_pages: trust models under which a
    page cannot answer it. own_noise: its noise is made with it, and not by a mechanism of the catalogue. drawn: it is a kind of
    your own with a method `draw`. of_whole_episodes: its messages tell of each cell of its counts, for the whole of an episode.
    first_visits: they tell of the first visit of a pair, which a device draws.
    """

    name: str
    answered: Mapping[str, tuple[str, ...]] = by_trust()
    unknown_in_pages: tuple[str, ...] = ()
    own_noise: bool = False
    drawn: bool = False
    of_whole_episodes: bool = False
    first_visits: bool = False

    def read(self, data: bytes) -> Q:
        """The question that wrote these bytes; anything else is refused."""
        raise NotImplementedError

    def designers(self) -> Mapping[str, DesignMaker]:
        """Who designs it, by trust model, where that model cannot."""
        return {}

    def noise_to_plain(self, mechanism: NoiseMechanism) -> dict[str, Json]:
        """The mechanism's name and parameters as plain values, for the bytes of a design."""
        from ...mechanisms.catalogue import parameters

        return parameters(mechanism)

    def noise_from_plain(
        self, question: Q, values: dict[str, Json], promise: Guarantee, calibration: str
    ) -> NoiseMechanism:
        """The mechanism that these values describe; anything else is refused."""
        from ...mechanisms.catalogue import from_parameters

        return from_parameters(values, question.price(), promise, 1 / (question.resolution or 1))

    def question_of(self, design: Design | Request) -> Q:
        """The question of a design of this kind, or of a request for one; any of another kind is refused."""
        if design.question.kind != self.name:
            raise InvalidInput(
                "design-of-other-kind",
                f"This design is about {design.question.kind}, not {self.name}. Give one that is.",
            )
        return design.question  # type: ignore[return-value]

    def check(self, design: Design) -> None:
        """Refuse a design that this kind is not priced for, whatever its source."""

    def by_rows(self, design: Design, level: int = 0) -> ByRows:
        """The mechanisms that randomise reports: one for all rows, unless some are randomised by another."""
        return ((slice(0, design.question.rows), design.devices[level]),)

    def counts(self, question: Q) -> CountQuestion:
        """The counts that are estimated from its answers; refused where these are none."""
        raise InvalidInput(
            "kind-not-counts", f"Statistics about {self.name} are not estimated as counts. Ask for counts."
        )

    def estimate(self, question: Q, mechanism: Randomizer, summed: Array, people: Integers) -> Array:
        """Unbiased cells from sums (rows, width) of the messages of this many people (rows,)."""
        raise self._unread()

    def radii(self, question: Q, law: Law, failure: float, possible: Possible = None) -> Array:
        """(..., n) error radii that are all true with probability 1 - failure. possible: cells that can be filled."""
        raise self._unread()

    def noise(self, question: Q, law: Law) -> Array:
        """(..., 5) variances and the like, in the order of `Noise`."""
        raise self._unread()

    def backup_variance(self, question: Q, mechanism: Randomizer) -> float:
        """The variance that one person's noise adds to one backed-up value: what `auto` compares."""
        raise self._unread()

    def signal(self, question: Q) -> tuple[int, float]:
        """Which radius the average statistic must exceed for anything to be learned, and what a person adds to it."""
        raise self._unread()

    def release(self, design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> R:
        """The release of estimated cells about n users, with these errors."""
        raise InvalidInput(
            "kind-without-release", f"Nothing makes releases about {self.name!r} from sums of messages. Ask for counts."
        )

    def read_release(self, data: bytes, design: Design) -> R:
        """The release by this design whose `to_bytes` wrote this; anything else is refused."""
        raise FormatError("kind-release-without-bytes", f"Releases about {self.name!r} have no bytes of their own.")

    def packed(self, release: R) -> Array:
        """(cells,) the cells that a release was made from: the inverse of `release`."""
        raise InvalidInput("kind-release-without-cells", f"Releases about {self.name!r} are not made from cells.")

    def answer(self, question: Q, episode: OneEpisode, grid: float, integers: DrawIntegers) -> Answer:
        """A person's answer, in whole multiples of the grid: for a kind of your own. Ours are answered behind the boundary."""
        raise InvalidInput(
            "kind-without-answer",
            f"No function computes statistics about {self.name!r}. Give its kind a method `answer`.",
        )

    def curators_aggregate(self, design: Design, noise: NoiseSource | None, simulated: bool) -> Aggregate | None:
        """A curator's aggregate of episodes, for a kind of your own whose aggregates are unlike others."""
        return None

    def draw(
        self, model: Model, question: Q, policy: Array, people: int, rng: np.random.Generator
    ) -> tuple[Array, Integers]:
        """Exact totals (rows, width) of a simulated group's answers, and how many people (rows,) gave them: for a kind of your own
        that is `drawn`. Ours are drawn by compiled loops in `lab.simulation`."""
        raise InvalidInput(
            "kind-not-drawn-at-once",
            f"Groups cannot be drawn at once for statistics about {self.name!r}. Use the plain engine.",
        )

    def case(self, row: Combination, promise: Guarantee) -> Design:
        """The design of a row of `answered` in which a kind of your own is audited and swept (`accepted.Case`)."""
        raise NotImplementedError

    def _unread(self) -> InvalidInput:
        return InvalidInput(
            "kind-without-reading", f"No messages about {self.name!r} can be read: a curator computes it, once."
        )


AnyKind = Kind[Any, Any]
"""A kind that was looked up by its word: that its questions and releases belong together is known to its own file."""

_KINDS: dict[str, AnyKind] = {}

K = TypeVar("K", bound=AnyKind)


def register(kind: K) -> K:
    """Enter a kind in the table."""
    known = _KINDS.get(kind.name)
    if type(known) not in (type(None), type(kind)) or (known is None and kind.name in KINDS and not _ours(kind)):
        raise InvalidInput(
            "kind-name-taken", f"There is a kind of statistic called {kind.name!r} already. Choose another word."
        )
    _KINDS[kind.name] = kind
    return kind


def _ours(kind: AnyKind) -> bool:
    return type(kind).__module__.rpartition(".")[0] == __package__


def find(name: str) -> AnyKind:
    """The kind of that name."""
    if name not in _KINDS and name in KINDS:
        sibling(str(__package__), name)
    if name not in _KINDS:
        known = ", ".join(sorted({*_KINDS, *KINDS}))
        raise FormatError("kind-unknown", f"{name!r} is not a kind of statistic that this version knows: {known}.")
    return _KINDS[name]


def every() -> tuple[AnyKind, ...]:
    """All kinds: ours in the order of the table, then those that were registered."""
    return tuple(find(name) for name in (*KINDS, *(name for name in _KINDS if name not in KINDS)))


def read(name: str, data: bytes) -> Question:
    """The question of a kind, read from its bytes."""
    question: Question = find(name).read(data)
    return question
