"""The shuffler: it stands between devices and a server, adds up bits, and gives out sums of full batches only.

A report reaches it as bits, each tagged with its counter and with nothing else; bits with the same tag cannot be
distinguished, so a report says how many bits of each counter are one. The shuffler adds them to its sums at once. When a batch is
full it gives out one sum for each counter and holds nothing after: neither sums nor the tickets or ids by which a report sent twice
was recognised (a report is made for one batch, so an old one is refused without being remembered).

A batch that is not full is held, for ever if need be: releasing it early would hide its people among too few.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from ...errors import ConfideError, FormatError, InvalidInput, PrivacyError
from ...mechanisms.noise import NoiseSource
from ...privacy import Guarantee
from ..design import Design
from ..kinds.question import Question
from ..trusts.mixing import ShuffledBatch
from .aggregates import as_report, check_question
from .release import release_about
from .report import Report
from .sums import Pile, Sum

FORMAT = "confide.submission/2"
BOOK_FORMAT = "confide.shuffled/1"
ID_BYTES = 16
MOST_BATCHES = 1 << 53


@dataclass(frozen=True, eq=False)
class Submission:
    """A report on its way to a shuffler: made for the batch that begins with base batch `first`, known by a random id.

    It is made once; a device that must send again sends the same bytes.
    """

    first: int
    report: Report
    id: bytes = field(default_factory=lambda: os.urandom(ID_BYTES))

    def to_bytes(self, design: Design) -> bytes:
        """Versioned bytes."""
        body: bytes = msgpack.packb([FORMAT, self.id, self.first, self.report.to_bytes(design)])
        return body

    @classmethod
    def from_bytes(cls, data: bytes, design: Design) -> Submission:
        """Read what `to_bytes` wrote, within limits; refuse anything else."""
        try:
            form, name, first, report = msgpack.unpackb(data, max_array_len=8, max_str_len=64)
            if form != FORMAT:
                raise ValueError(f"its format is {form!r}, not {FORMAT!r}")
            if not (isinstance(name, bytes) and len(name) == ID_BYTES and isinstance(report, bytes)):
                raise ValueError("its parts have the wrong type or length")
            if not (type(first) is int and 0 <= first < MOST_BATCHES):
                raise ValueError("its batch is out of range")
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "submission-unreadable", f"These bytes are not a submission this version can take: {error}"
            ) from error
        return cls(first, Report.from_bytes(report, design), name)


@dataclass(frozen=True, eq=False)
class ShuffledSums:
    """Sums over one full batch, which covers base batches first .. last-1. Its guarantee is that of the design."""

    first: int
    last: int
    total: Sum


@dataclass(frozen=True, eq=False)
class ShuffledReports:
    """Whole reports in random order. Carries the *local* guarantee alone: a report stays one piece, by which one person
    whose bits are unlike everyone else's is seen."""

    reports: tuple[Report, ...]
    guarantee: Guarantee

    @classmethod
    def of(cls, reports: list[Report], design: Design, noise: NoiseSource) -> ShuffledReports:
        """Permute reports of a design, uniformly; those of another are refused."""
        for report in reports:
            report.checked(design)
        order = list(range(len(reports)))
        for last in range(len(order) - 1, 0, -1):
            other = int(noise.integers(last + 1, 1)[0])
            order[last], order[other] = order[other], order[last]
        return cls(tuple(reports[index] for index in order), design.local_guarantee)


class Shuffler:
    """The open batches of reports, in memory only: what a service's shuffler runs, and simulations and audits too.

    It never sees an episode, only what devices have already randomised. A batch is given out once as many people are in it as
    the design counts on, or more; forgetting it overwrites its sum. Whether a batch is open, and who was counted in it, is known to
    the caller: a service gives out tickets, `ShuffleAggregate` remembers ids.
    """

    def __init__(self, design: Design) -> None:
        """No report has come."""
        if design.mixing is None:
            raise InvalidInput(
                "design-without-shufflers", "This design has no shufflers. Make one under trust shuffle."
            )
        self.design, self.mixing = design, design.mixing
        self._piles = [Pile(design, level) for level in range(len(design.devices))]
        self._sums: dict[ShuffledBatch, Sum] = {}

    def size(self, batch: ShuffledBatch) -> int:
        """How many people a batch must have: those of 2^level base batches."""
        return self.mixing.batch << batch.level

    def held(self, batch: ShuffledBatch) -> int:
        """How many reports of a batch are held."""
        return self._sums[batch].users if batch in self._sums else 0

    def take(self, batch: ShuffledBatch, message: bytes) -> None:
        """Add one report to the sum of its batch; or refuse it and change nothing."""
        pile = self._piles[batch.level]
        self._sum(batch).merge(pile.total([pile.check(message)]))

    def add(self, batch: ShuffledBatch, report: Report) -> None:
        """The same of a report that was checked."""
        self._sum(batch).add(report)

    def take_sum(self, batch: ShuffledBatch, total: Sum) -> None:
        """Add the reports of several people at once, for whom the batch must have room."""
        total.checked(self.design)
        if total.level != batch.level or self.held(batch) + total.users > self.size(batch):
            raise InvalidInput(
                "sum-too-large", "This sum is for another shuffler, or of more people than the batch has room for."
            )
        self._sum(batch).merge(total)

    def close(self, batch: ShuffledBatch) -> Sum | None:
        """The sum of a batch, if enough people are in it; it is held until it is forgotten."""
        return self._sums[batch].copy() if self.held(batch) >= self.size(batch) else None

    def forget(self, batch: ShuffledBatch) -> None:
        """Overwrite the sum of a batch, and drop it."""
        batch_sum = self._sums.pop(batch, None)
        if batch_sum is not None:
            batch_sum.cells[...] = 0
            batch_sum.people[...] = 0

    def _sum(self, batch: ShuffledBatch) -> Sum:
        return self._sums.setdefault(batch, Sum.empty(self.design, batch.level))


Cover = tuple[ShuffledSums, ...]


def keep(cover: Cover, new: ShuffledSums) -> Cover:
    """The sums that cover all users so far once each, with the least noise: those that the new one covers are dropped.

    Neighbours that were randomised alike are added up.
    """
    before = tuple(sums for sums in cover if sums.last <= new.first)
    if before and before[-1].last == new.first and before[-1].total.level == new.total.level:
        merged = before[-1].total.copy()
        merged.merge(new.total)
        return (*before[:-1], replace(new, first=before[-1].first, total=merged))
    return (*before, new)


class ShuffleAggregate:
    """All shufflers of a design, and the sums of theirs that a server keeps. In a service these are two processes.

    Of each level one batch is open after the other: in a tree every other one of that size, where batches widen those of that size.
    """

    def __init__(self, design: Design, cover: Cover = ()) -> None:
        """An empty aggregate, or one that goes on from sums."""
        self.design, self.cover = design, cover
        self.shuffler = Shuffler(design)
        done = cover[-1].last if cover else 0
        self.open = [self._opening(level, done) for level in range(len(design.devices))]
        self._ids: dict[ShuffledBatch, set[bytes]] = {}

    def _opening(self, level: int, done: int) -> ShuffledBatch:
        """The next batch of a level, once `done` base batches are over."""
        return ShuffledBatch(self.shuffler.mixing.opening(level, done), level)

    @property
    def users(self) -> int:
        """How many people are in full batches."""
        return sum(sums.total.users for sums in self.cover)

    def take(self, message: tuple[Submission, ...], question: Question | None = None) -> None:
        """Count what one person sends to the shufflers: all of it, or nothing."""
        levels = [submission.report.level for submission in message]
        if len(set(levels)) < len(levels) or not all(0 <= level < len(self.open) for level in levels):
            raise InvalidInput(
                "reports-not-one-each",
                "A person sends one report to each of the shufflers that are to have one. Drop these.",
            )
        reports = [self._checked(submission, question) for submission in message]
        for submission, report in zip(message, reports, strict=True):
            batch = self.open[report.level]
            self.shuffler.add(batch, report)
            self._ids.setdefault(batch, set()).add(submission.id)
            self._give_out(batch)

    def _checked(self, submission: Submission, question: Question | None) -> Report:
        """The report of a submission, refused if it is not to be counted now."""
        report = as_report(self.design, submission.report)
        check_question(self.design, report, question)
        batch = self.open[report.level]
        if submission.first != batch.first:
            raise PrivacyError(
                "report-of-other-batch",
                f"This report was made for the batch that begins at {submission.first}; the open one begins at "
                f"{batch.first}. A report is never counted in another batch than its own.",
            )
        if submission.id in self._ids.get(batch, ()):
            raise PrivacyError("report-twice", "This report is in the batch already. A report is counted once.")
        return report

    def take_sum(self, total: Sum) -> None:
        """Count the reports of several people to one shuffler."""
        batch = self.open[total.checked(self.design).level]
        self.shuffler.take_sum(batch, total)
        self._give_out(batch)

    def _give_out(self, batch: ShuffledBatch) -> None:
        """The sum of a batch that is full is kept; the shuffler forgets it, and who was in it, and opens the next."""
        total = self.shuffler.close(batch)
        if total is not None:
            last = batch.first + (1 << batch.level)
            self.cover = keep(self.cover, ShuffledSums(batch.first, last, total))
            self.shuffler.forget(batch)
            self._ids.pop(batch, None)
            self.open[batch.level] = self._opening(batch.level, last)

    def close(self, question: Question | None = None) -> Any:
        """The release of the sums of full batches; a batch that is not full is held."""
        return read_sums(self.design, self.cover)

    def to_bytes(self) -> bytes:
        """The sums that shufflers gave out. What they hold is not kept: open batches stay in memory."""
        rows = [[sums.first, sums.last, sums.total.to_bytes()] for sums in self.cover]
        body: bytes = msgpack.packb([BOOK_FORMAT, rows])
        return body

    @classmethod
    def from_bytes(cls, data: bytes, design: Design) -> ShuffleAggregate:
        """Go on after a restart, from the batches that were full."""
        try:
            form, rows = msgpack.unpackb(data, max_array_len=1 << 16, max_str_len=64)
            if form != BOOK_FORMAT:
                raise ValueError(f"its format is {form!r}, not {BOOK_FORMAT!r}")
            cover = tuple(ShuffledSums(first, last, Sum.from_bytes(total, design)) for first, last, total in rows)
            _check_cover(design, cover)
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "sums-unreadable", f"These bytes are not sums this version can go on with: {error}"
            ) from error
        return cls(design, cover)


def _check_cover(design: Design, cover: Cover) -> None:
    """Refuse sums that are not of full batches, one after the other from the first on."""
    batch = 0 if design.mixing is None else design.mixing.batch
    ends = [0, *(sums.last for sums in cover)]
    for sums, before in zip(cover, ends, strict=False):
        consecutive = (
            type(sums.first) is int and type(sums.last) is int and before == sums.first < sums.last < MOST_BATCHES
        )
        if not consecutive or sums.total.users != batch * (sums.last - sums.first):
            raise ValueError("its sums are not of full batches, one after the other")


def read_sums(design: Design, cover: Cover) -> Any:
    """A release about all users in the sums, which must cover all batches from the first on, once each."""
    covered = [0, *(sums.last for sums in cover)]
    if not cover:
        raise InvalidInput("batch-not-full", "A batch that is not full is never released. Wait until it is.")
    if any(sums.first != before for sums, before in zip(cover, covered, strict=False)):
        raise InvalidInput(
            "batches-incomplete",
            "These sums do not cover all batches from the first one on, once each. Collect them with keep.",
        )
    cells = np.sum([_estimate(design, sums.total) for sums in cover], axis=0)
    return release_about(design, cells, sum(sums.total.users for sums in cover))


def _estimate(design: Design, total: Sum) -> NDArray[np.float64]:
    mechanism = design.devices[total.level]
    summed = np.asarray(total.cells * mechanism.grid, dtype=np.float64)
    return design.kind.estimate(design.question, mechanism, summed, total.people)
