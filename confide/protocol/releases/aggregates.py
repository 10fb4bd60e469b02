"""Aggregates: where messages are added up, until they are closed into releases.

`open_aggregate(design)` opens the aggregates of reports, which need no access to episodes: a server's under local trust, and
those of shufflers. A curator's aggregates, which hold episodes, are opened by `privatizers.open_aggregate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ...errors import FormatError, InvalidInput
from ..design import Design
from ..trusts.trust import find
from .release import release_of
from .report import Report, check_many
from .sums import Sum

if TYPE_CHECKING:
    from ..kinds.question import Question


class Aggregate(Protocol):
    """Takes messages or sums of them, and closes into releases about all users so far."""

    @property
    def design(self) -> Design:
        """The design by which messages are made."""
        ...

    @property
    def users(self) -> int:
        """How many people were counted."""
        ...

    def take(self, message: Any, question: Any = None) -> None:
        """Count one message, an answer to a question of the design's family; or refuse it and change nothing."""
        ...

    def take_sum(self, total: Any) -> None:
        """Count a sum of many messages; or refuse it and change nothing."""
        ...

    def close(self, question: Any = None) -> Any:
        """The release about all users so far, at a public boundary."""
        ...

    def to_bytes(self) -> bytes:
        """Bytes from which the aggregate goes on after a restart."""
        ...


class ReportAggregate:
    """A server's aggregate under local trust: reports are public, so it may be closed at any time."""

    def __init__(self, design: Design, total: Sum | None = None) -> None:
        """Empty, or going on from a sum."""
        self.design = design
        self.total = Sum.empty(design) if total is None else total

    @property
    def users(self) -> int:
        """How many reports were counted."""
        return self.total.users

    def take(self, message: Report | bytes, question: Question | None = None) -> None:
        """Count one report."""
        report = as_report(self.design, message)
        check_question(self.design, report, question)
        self.total.add(report)

    def take_sum(self, total: Sum) -> None:
        """Count the reports in a sum."""
        accepted = total.checked(self.design)
        check_many(self.design, self.total.people + accepted.people)  # each is within limits, so both are
        self.total.merge(accepted)

    def close(self, question: Question | None = None) -> Any:
        """Unbiased statistics about all users so far, and how far off they may be."""
        return release_of(self.design, self.total.cells, self.total.people)

    def to_bytes(self) -> bytes:
        """The bytes of its sum."""
        return self.total.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes, design: Design) -> ReportAggregate:
        """Go on after a restart."""
        return cls(design, Sum.from_bytes(data, design))


def as_report(design: Design, message: Report | bytes) -> Report:
    """A report from its bytes, or itself; refused unless it was made by the design."""
    if isinstance(message, bytes):
        return Report.from_bytes(message, design)
    if not isinstance(message, Report):
        raise FormatError("report-type", "This is not a report. Drop it.")
    return message.checked(design)


def check_question(design: Design, report: Report, question: Question | None) -> None:
    """Refuse a report of another statistic than the one queried; None is the only one of its family."""
    member = design.question if question is None else design.question.member(question)
    if report.question != member.digest:
        raise InvalidInput(
            "report-of-other-question", "This report is of another statistic. Send the device the current one."
        )


def open_aggregate(design: Design) -> Aggregate:
    """An empty aggregate for a design whose messages are reports."""
    return find(design.trust).open_aggregate(design)
