"""The shuffler: it stands between devices and a server, adds up bits, and gives out sums of full batches only.

A report reaches it as bits, each tagged with its counter and with nothing else; bits with the same tag cannot be told
apart, so a report says how many bits of each counter are one. The shuffler adds them to its sums at once. When a batch is
full it gives out one sum for each counter and holds nothing after: neither sums nor the ids by which it recognised a report
sent twice (a report is made for one batch, so an old one is refused without being remembered).

A batch that is not full is held, for ever if need be: releasing it early would hide its people among too few.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import msgpack
import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import FormatError, InvalidInput, PrivacyError
from ..mechanisms.noise import NoiseSource
from ..mechanisms.unary import SampledStep
from ..privacy import Guarantee
from .bits import bits
from .question import CountQuestion
from .reading import LocalMechanism, sum_shape
from .report import Report, ReportSum

FORMAT = "confide.submission/1"
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

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        body: bytes = msgpack.packb([FORMAT, self.id, self.first, self.report.to_bytes()])
        return body

    @classmethod
    def from_bytes(cls, data: bytes) -> Submission:
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
            raise FormatError(f"These bytes are not a submission this version can take: {error}") from error
        return cls(first, Report.from_bytes(report), name)


@dataclass(frozen=True, eq=False)
class ShuffledSums:
    """Sums over one full batch, which covers base batches first .. last-1. Carries the guarantee of shuffling.

    cells: how many bits of each counter were one, (cells,), or (layers, categories) for sampled steps. users: (rows,).
    """

    question: CountQuestion
    mechanism: LocalMechanism
    first: int
    last: int
    cells: NDArray[np.int64]
    users: NDArray[np.int64]
    guarantee: Guarantee


@dataclass(frozen=True, eq=False)
class ShuffledReports:
    """Whole reports in random order. Carries the *local* guarantee alone: a report stays one piece, by which one person
    whose bits are unlike everyone else's is seen."""

    reports: tuple[Report, ...]
    guarantee: Guarantee

    @classmethod
    def of(cls, reports: list[Report], guarantee: Guarantee, noise: NoiseSource) -> ShuffledReports:
        """Permute reports, uniformly. `guarantee` is that of one report."""
        order = list(range(len(reports)))
        for last in range(len(order) - 1, 0, -1):
            other = int(noise.integers(last + 1, 1)[0])
            order[last], order[other] = order[other], order[last]
        return cls(tuple(reports[index] for index in order), guarantee)


class Shuffler:
    """Fills one batch after another. It never sees an episode, only what devices have already randomised.

    A batch is `people` reports and covers `span` base batches; the next one begins `period` base batches later.
    """

    def __init__(
        self,
        question: CountQuestion,
        mechanism: LocalMechanism,
        people: int,
        guarantee: Guarantee,
        span: int = 1,
        period: int = 1,
    ) -> None:
        """Empty. `guarantee` is what sums over so many people keep."""
        self.people = validation.integer("batch", people, 2, way_out="A batch of one hides nobody.")
        self.question, self.mechanism, self.guarantee = question, mechanism, guarantee
        self.span, self.period = span, period
        self._most = bits(question)
        if isinstance(mechanism, SampledStep):
            self._most = np.ones(mechanism.categories, dtype=np.int64)
        self.first = 0
        self._begin()

    def _begin(self) -> None:
        shape = sum_shape(self.question, self.mechanism)
        self._sum = ReportSum(self.question, self.mechanism.describe(), shape, 1.0)
        self._ids: set[bytes] = set()

    @property
    def held(self) -> int:
        """How many reports wait for their batch to fill."""
        return len(self._ids)

    def add(self, submission: Submission) -> ShuffledSums | None:
        """Take one report, or refuse it and change nothing. The sums, if the batch is full now."""
        if submission.first != self.first:
            raise PrivacyError(
                f"This report was made for the batch that begins at {submission.first}; the open one begins at "
                f"{self.first}. A report is never counted in another batch than its own."
            )
        if submission.id in self._ids:
            raise PrivacyError("This report is in the batch already. A report is counted once.")
        cells = submission.report.cells
        if cells.shape == self._most.shape and ((cells < 0) | (cells > self._most)).any():
            raise InvalidInput("This report has more ones than its counters have bits, or fewer than none. Drop it.")
        self._sum.add(submission.report)
        self._ids.add(submission.id)
        return self._release() if self.held == self.people else None

    def _release(self) -> ShuffledSums:
        full, first = self._sum, self.first
        self.first += self.period
        self._begin()
        last = first + self.span
        return ShuffledSums(self.question, self.mechanism, first, last, full.cells, full.users, self.guarantee)
