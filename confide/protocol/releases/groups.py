"""Many reports at once: each is checked by its fixed bytes, and a group of them is added up in a few array operations.

What `check` accepts, and what `total` adds, is what `Report.from_bytes` and `Sum.add` would, only sooner.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError
from ...mechanisms.randomizer import BITS, INDEX
from ..design import Design
from .report import BITS_TYPE, HEADER, INDEX_TYPE, MAGIC, Report, packing_of
from .sums import Sum

_ROW = struct.Struct("<I")


class Checked(NamedTuple):
    """A report that may be counted: its row, and its numbers as they were sent."""

    row: int
    raw: bytes


class Pile:
    """Checks and adds up reports of one design to the shuffler of one level; devices send one report each."""

    def __init__(self, design: Design, level: int = 0) -> None:
        self.design, self.level = design, level
        self._packing = packing_of(design.devices[level])
        self._kind = {INDEX: INDEX_TYPE, BITS: BITS_TYPE}.get(self._packing)
        question = design.question
        self._rows, self._width = question.rows, question.width
        self._length = 4 if self._packing == INDEX else -(-self._width // 8)
        start = HEADER.pack(MAGIC, design.digest, question.digest, level, self._kind or 0, 0)
        self._start = start[: HEADER.size - _ROW.size]
        self._beyond = 0xFF << (self._width % 8) & 0xFF if self._width % 8 else 0

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
        if self._kind == INDEX_TYPE and _ROW.unpack(raw)[0] >= self._width:
            return self._parsed(report)
        if self._kind == BITS_TYPE and raw[-1] & self._beyond:
            return self._parsed(report)
        return Checked(row, raw)

    def _parsed(self, report: bytes, question: bytes | None = None) -> Checked:
        """The report, parsed and checked in full, which also says what is wrong."""
        parsed = Report.from_bytes(report, self.design)
        if parsed.question != (question or self.design.question.digest):
            raise FormatError(
                "grouped-report-of-other-question", "This report answers another question than the one that is asked."
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
