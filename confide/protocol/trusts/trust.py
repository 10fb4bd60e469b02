"""A trust model, and the one table of them.

Everything public that a trust model has stands in the file of its name beside this one: which noise a release has, who randomises
and who adds up, what must be assumed, and who designs which kinds of question. A trust model of your own is one file too, with one
`register(Trust)` at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...loading import sibling
from ...privacy import Act, Guarantee, Participation
from ...privacy.guarantee import TRUSTS, enter_trust
from ..kinds.kind import DesignMaker, by_trust

if TYPE_CHECKING:
    from ...mechanisms.mechanism import NoiseMechanism
    from ...mechanisms.randomizer import Randomizer
    from ..accepted import Combination
    from ..design import Design
    from ..laws import Law
    from ..releases.aggregates import Aggregate
    from ..releases.report import Report
    from ..releases.shuffler import Submission

People = NDArray[np.int64] | NDArray[np.float64]
"""Numbers of people."""
ReportMaker = Callable[[int], "Report"]
"""make(level): a person's report, randomised afresh for the server, or for the shuffler of a level."""


class Trust:
    """One trust model: local trust, but for what another overrides.

    name: its word. scheduled: whether a certificate tells of the schedule. episodes: messages are episodes, which only a curator
    may hold; continual: and who is released about after every batch, not once. mechanisms: the words by which noise can be
    requested, for counts. attack: the name of the trust model of ours as whose the audit attacks it. answered: of a trust model
    of one's own, the mechanisms that are accepted under it, by kind of question; `case` makes their designs. returning: what is
    assumed of users who come again.
    """

    name: str
    scheduled: bool = False
    episodes: bool = False
    continual: bool = False
    mechanisms: tuple[str, ...] = ()
    attack: str = ""
    answered: Mapping[str, tuple[str, ...]] = by_trust()
    returning: str = "whether and when a person comes again is not hidden: the guarantee is given when people came"

    def designers(self) -> Mapping[str, DesignMaker]:
        """Who designs answers under it, by kind of question."""
        raise NotImplementedError

    def law(self, design: Design, people: People) -> Law:
        """The noise of a release about this many people."""
        raise NotImplementedError

    def devices(self, design: Design) -> tuple[Randomizer, ...]:
        """The mechanisms that randomise reports, one for each report of a person; none where episodes are handed over."""
        return ()

    def assumptions(self, design: Design) -> tuple[str, ...]:
        """What must be assumed for the guarantee to hold."""
        raise NotImplementedError

    def further(self, design: Design) -> tuple[Guarantee, ...]:
        """Further guarantees that a certificate prints."""
        return ()

    def participation(self, design: Design) -> Participation:
        """How often one user takes part: as often as the act is repeated."""
        return Participation(design.act.times)

    def visited(self, design: Design, times: int) -> Act[NoiseMechanism]:
        """The act of a user who takes part this many times, as far apart as the design prices."""
        return replace(design.act, times=times)

    def check(self, design: Design) -> None:
        """Refuse a design whose parts do not belong together, whatever its source."""

    def local_guarantee(self, design: Design) -> Guarantee:
        """The guarantee that one person's reports keep by themselves."""
        return design.guarantee

    def open_aggregate(self, design: Design) -> Aggregate:
        """An empty aggregate of reports; refused where messages are episodes."""
        raise InvalidInput(
            "messages-are-episodes",
            f"Under trust {self.name!r} messages are episodes, which only a curator may hold: privatizers.open_aggregate.",
        )

    def addressed(self, design: Design, batch: int, report: ReportMaker) -> Report | tuple[Submission, ...]:
        """What a device sends: its report, or one to each of a batch's shufflers."""
        return report(0)

    def case(self, row: Combination, promise: Guarantee) -> Design:
        """The design of a row of `answered` in which a trust model of one's own is audited and swept (`accepted.Case`)."""
        raise NotImplementedError


_TRUSTS: dict[str, Trust] = {}

T = TypeVar("T", bound=Trust)


def register(model: T) -> T:
    """Enter a trust model in the table; guarantees may name it from now on."""
    _TRUSTS[model.name] = model
    enter_trust(model.name)
    return model


def find(name: str) -> Trust:
    """The trust model of that name."""
    if name not in _TRUSTS and name in TRUSTS:
        sibling(str(__package__), name)
    if name not in _TRUSTS:
        raise InvalidInput(
            "trust-unknown", f"There is no trust model {name!r}. Choose one of {', '.join(sorted(TRUSTS))}."
        )
    return _TRUSTS[name]


def registered() -> tuple[Trust, ...]:
    """The trust models that were registered besides ours."""
    return tuple(model for name, model in _TRUSTS.items() if name not in TRUSTS)


def trusts_with(kind: str) -> list[str]:
    """The trust models that design answers to a kind of question by themselves."""
    return [name for name in (*TRUSTS, *(model.name for model in registered())) if kind in find(name).designers()]
