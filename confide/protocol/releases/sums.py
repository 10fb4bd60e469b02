"""The sum of many people's reports: integers, so the order does not matter and several servers can add up apart.

Many reports at once: each is checked by its fixed bytes, and a group of them is added up in a few array operations.

What `check` accepts, and what `total` adds, is what `Report.from_bytes` and `Sum.add` would, only sooner.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError, InvalidInput
from ...mechanisms.randomizer import BITS, INDEX, Randomizer
from ..design import Design
from ..kinds.question import DIGEST_BYTES
from .report import BITS_TYPE, HEADER, INDEX_TYPE, MAGIC, Report, check_range

FORMAT = "confide.sum/2"


@dataclass(frozen=True, eq=False)
class Sum:
    """cells: (rows, width) added-up messages; people: (rows,) how many. design: the fingerprint of how they were made.

    level: of which shuffler they are.
    """

    design: bytes
    cells: NDArray[np.int64]
    people: NDArray[np.int64]
    level: int = 0

    @classmethod
    def empty(cls, design: Design, level: int = 0) -> Sum:
        """The sum of no reports."""
        question = design.question
        shape = (question.rows, question.width)
        return cls(design.digest, np.zeros(shape, dtype=np.int64), np.zeros(shape[0], dtype=np.int64), level)

    @property
    def users(self) -> int:
        """How many people's reports it holds."""
        return int(self.people.sum())

    def add(self, report: Report) -> None:
        """Count one report, in place; the caller has checked it."""
        self.cells[report.row] += report.cells
        self.people[report.row] += 1

    def merge(self, other: Sum) -> None:
        """Count every user who is in the other sum, in place; the caller has checked it."""
        self.cells[...] += other.cells
        self.people[...] += other.people

    def checked(self, design: Design) -> Sum:
        """The sum itself, refused if it is not one of honest reports made by this design."""
        if self.design != design.digest:
            raise InvalidInput(
                "sum-of-other-design",
                "This sum is of reports made by another design than the one that counts here. Drop it.",
            )
        question = design.question
        if self.cells.shape != (question.rows, question.width) or self.people.shape != (question.rows,):
            raise InvalidInput("sum-shape", "This sum has the wrong shape for its statistic. Drop it.")
        if (self.people < 0).any() or not 0 <= self.level < len(design.devices):
            raise InvalidInput(
                "sum-count", "This sum counts fewer than no people, or is of a shuffler that is not there. Drop it."
            )
        check_range(design, self.cells, self.people[:, None], self.level)
        return self

    def copy(self) -> Sum:
        """The same sum, to be added to apart from this one."""
        return Sum(self.design, self.cells.copy(), self.people.copy(), self.level)

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        raw = [np.ascontiguousarray(numbers, dtype="<i8").tobytes() for numbers in (self.cells, self.people)]
        body: bytes = msgpack.packb([FORMAT, self.design, self.level, list(self.cells.shape), *raw])
        return body

    @classmethod
    def from_bytes(cls, data: bytes, design: Design) -> Sum:
        """Read what `to_bytes` wrote; refuse anything else, and sums that no honest reports add up to."""
        try:
            form, *parts = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
            if form != FORMAT:
                raise ValueError(f"its format is {form!r}, not {FORMAT!r}")
            made_by, level, shape, cells, people = parts
            if not (isinstance(made_by, bytes) and len(made_by) == DIGEST_BYTES and type(level) is int):
                raise ValueError("its parts have the wrong type or length")
            table = np.frombuffer(cells, dtype="<i8").reshape(shape).astype(np.int64)
            return cls(made_by, table, np.frombuffer(people, dtype="<i8").astype(np.int64), level).checked(design)
        except (InvalidInput, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "sum-unreadable", f"These bytes are not a sum this version can go on with: {error}"
            ) from error


_ROW = struct.Struct("<I")


class Checked(NamedTuple):
    """A report that may be counted: its row, and its numbers as they were sent."""

    row: int
    raw: bytes


def _named(device: Randomizer) -> tuple[int, int | None]:
    """How many categories messages of a device can name, and how many each does; None where that varies."""
    naming = device.naming()
    return (0, None) if naming is None else (naming.categories, naming.ones)


class Pile:
    """Checks and adds up reports of one design to the shuffler of one level; devices send one report each."""

    def __init__(self, design: Design, level: int = 0) -> None:
        self.design, self.level = design, level
        self._packing = design.devices[level].packing
        self._kind = {INDEX: INDEX_TYPE, BITS: BITS_TYPE}.get(self._packing)
        question = design.question
        self._rows, self._width = question.rows, question.width
        self._length = 4 if self._packing == INDEX else -(-self._width // 8)
        self._named = [(rows.stop, *_named(device)) for rows, device in design.kind.by_rows(design, level)]
        start = HEADER.pack(MAGIC, design.digest, question.digest, level, self._kind or 0, 0)
        self._start = start[: HEADER.size - _ROW.size]

    def check(self, report: bytes, question: bytes | None = None) -> Checked:
        """Accept a report, or refuse it: it is of another design or question, or no honest device sends it.

        question: the fingerprint of what was asked, where that is not the only one of its family.
        """
        if self._kind is None or len(report) != HEADER.size + self._length or not report.startswith(self._start):
            return self._parsed(report, question)
        (row,) = _ROW.unpack_from(report, HEADER.size - _ROW.size)
        raw = report[HEADER.size :]
        if row >= self._rows:
            return self._parsed(report)
        categories, names = next((size, names) for stop, size, names in self._named if row < stop)
        if self._kind == INDEX_TYPE:
            return Checked(row, raw) if _ROW.unpack(raw)[0] < categories else self._parsed(report)
        bits = int.from_bytes(raw, "little")
        honest = bits >> categories == 0 and names in (None, bits.bit_count())
        return Checked(row, raw) if honest else self._parsed(report)

    def _parsed(self, report: bytes, question: bytes | None = None) -> Checked:
        """The report, parsed and checked in full, which also says what is wrong."""
        parsed = Report.from_bytes(report, self.design)
        if parsed.question != (question or self.design.question.digest):
            raise FormatError(
                "grouped-report-of-other-question", "This report is of another statistic than the current one."
            )
        if parsed.level != self.level:
            raise FormatError("report-of-other-batch-size", "This report was randomised for a batch of another size.")
        if self._kind is not None:
            return Checked(parsed.row, report[HEADER.size :])
        return Checked(parsed.row, parsed.cells.astype("<i8").tobytes())

    def total(self, reports: Sequence[Checked]) -> Sum:
        """The sum of reports that were checked."""
        total = Sum.empty(self.design, self.level)
        for row in sorted({report.row for report in reports}):
            raws = [report.raw for report in reports if report.row == row]
            total.cells[row] += self._added(b"".join(raws), len(raws))
            total.people[row] += len(raws)
        return total

    def _added(self, raw: bytes, count: int) -> NDArray[np.int64]:
        if self._kind == INDEX_TYPE:
            return np.bincount(np.frombuffer(raw, dtype="<u4"), minlength=self._width).astype(np.int64)
        if self._kind == BITS_TYPE:
            packed = np.frombuffer(raw, dtype=np.uint8).reshape(count, self._length)
            bits = np.unpackbits(packed, axis=1, count=self._width, bitorder="little")
            return np.asarray(bits.sum(axis=0, dtype=np.int64))
        return np.asarray(np.frombuffer(raw, dtype="<i8").reshape(count, self._width).sum(axis=0))
