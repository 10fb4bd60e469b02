"""The sum of many people's reports: integers, so the order does not matter and several servers can add up apart."""

from __future__ import annotations

from dataclasses import dataclass

import msgpack
import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError, InvalidInput
from ..design import Design
from ..kinds.question import DIGEST_BYTES
from .report import Report, check_range

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
        """Count one report, in place; whoever calls has checked it."""
        self.cells[report.row] += report.cells
        self.people[report.row] += 1

    def merge(self, other: Sum) -> None:
        """Count everybody who is in the other sum, in place; whoever calls has checked it."""
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
            raise InvalidInput("sum-shape", "This sum has the wrong shape for its question. Drop it.")
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
