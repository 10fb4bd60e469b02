"""What leaves a device: one person's randomised answer, as bytes, and the sum of many such answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError, InvalidInput
from .question import MOST_CELLS, MOST_STEPS, CountQuestion

if TYPE_CHECKING:
    from ..privacy import Guarantee
    from .release import CountRelease

FORMAT = "confide.report/1"
SUM_FORMAT = "confide.sum/1"
# Larger whole numbers would not survive a sum in 64 bits.
MOST = 1 << 53


@dataclass(frozen=True, eq=False)
class Report:
    """One person's message.

    cells: whole numbers in multiples of `grid`. step: the sampled step, or -1 if the message covers the whole episode.
    question: fingerprint of the question it answers. mechanism: how it was randomised, in the words of the
    certificate; a server counts together only reports that were made in the same way.
    """

    question: bytes
    mechanism: dict[str, Any]
    grid: float
    cells: NDArray[np.int64]
    step: int = -1

    def to_bytes(self) -> bytes:
        """Versioned bytes: a header and raw little-endian integers."""
        mechanism = sorted(self.mechanism.items())
        raw = np.ascontiguousarray(self.cells, dtype="<i8").tobytes()
        body: bytes = msgpack.packb([FORMAT, self.question, mechanism, self.grid, self.step, raw])
        return body

    @classmethod
    def from_bytes(cls, data: bytes) -> Report:
        """Read what `to_bytes` wrote, within limits; refuse anything else."""
        try:
            form, question, mechanism, grid, step, raw = msgpack.unpackb(
                data, max_bin_len=8 * MOST_CELLS, max_array_len=64, max_map_len=64, max_str_len=256
            )
            if form != FORMAT:
                raise ValueError(f"its format is {form!r}, not {FORMAT!r}")
            if not (
                isinstance(question, bytes) and len(question) == 16 and isinstance(raw, bytes) and len(raw) % 8 == 0
            ):
                raise ValueError("its parts have the wrong type or length")
            if not (isinstance(grid, float) and 0 < grid <= 1 and type(step) is int and -1 <= step < MOST_STEPS):
                raise ValueError("its grid or step is out of range")
            cells = np.frombuffer(raw, dtype="<i8").astype(np.int64)
            if cells.size and max(abs(int(cells.min())), abs(int(cells.max()))) > MOST:
                raise ValueError("it has a number too large to add up")
            if not all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in mechanism):
                raise ValueError("its mechanism is not described by names and values")
            named = {key: value for key, value in mechanism}
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(f"These bytes are not a report this version can count: {error}") from error
        return cls(question, named, grid, cells, step)


class ReportSum:
    """The running sum of reports that answer one question in one way. Integers, so the order does not matter.

    A server that restarts keeps `to_bytes`; servers that count apart `merge`.
    """

    def __init__(self, question: CountQuestion, mechanism: dict[str, Any], shape: tuple[int, ...], grid: float) -> None:
        """Empty. shape: (cells,) for whole episodes, (steps, categories) for sampled steps."""
        self.question = question
        self.mechanism = mechanism
        self.grid = grid
        self.cells = np.zeros(shape, dtype=np.int64)
        self.users = np.zeros(shape[0] if len(shape) > 1 else 1, dtype=np.int64)

    @classmethod
    def of(cls, question: CountQuestion, report: Report) -> ReportSum:
        """An empty sum for reports like this one, which is not counted yet: others will be refused."""
        sampled = report.step >= 0
        shape = (question.spec.layers, len(report.cells)) if sampled else (question.cells,)
        return cls(question, report.mechanism, shape, report.grid)

    def add(self, report: Report) -> None:
        """Count one report, or refuse it and change nothing."""
        if report.question != self.question.digest:
            raise InvalidInput(
                "This report answers another question. Send the device the current one; tight devices answer its tight form."
            )
        if report.mechanism != self.mechanism or report.grid != self.grid:
            raise InvalidInput("This report was randomised in another way than the others. Count it separately.")
        rows = self.cells.reshape(len(self.users), -1)
        row = max(report.step, 0)
        sampled = self.cells.ndim > 1
        if sampled != (report.step >= 0) or row >= len(rows) or report.cells.shape != rows[row].shape:
            raise InvalidInput("This report has the wrong shape for its question. Drop it.")
        rows[row] += report.cells
        self.users[row] += 1

    def merge(self, other: ReportSum) -> None:
        """Count everybody who is in the other sum, once more if they are in this one too."""
        alike = (self.question, self.mechanism, self.grid, self.cells.shape)
        if alike != (other.question, other.mechanism, other.grid, other.cells.shape):
            raise InvalidInput("These sums answer different questions, or in different ways. Read them separately.")
        self.cells += other.cells
        self.users += other.users

    def release(self, guarantee: Guarantee, failure: float = 0.1) -> CountRelease:
        """Unbiased counts, and how far off they may be; `guarantee` is what the devices promise."""
        from ..mechanisms.catalogue import from_description
        from .reading import read

        return read(self, from_description(self.mechanism), guarantee, failure)

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        raw = [np.ascontiguousarray(numbers, dtype="<i8").tobytes() for numbers in (self.cells, self.users)]
        told = [SUM_FORMAT, self.question.to_bytes(), sorted(self.mechanism.items()), self.grid]
        body: bytes = msgpack.packb([*told, list(self.cells.shape), *raw])
        return body

    @classmethod
    def from_bytes(cls, data: bytes) -> ReportSum:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            form, question, mechanism, grid, shape, cells, users = msgpack.unpackb(
                data, max_bin_len=8 * MOST_CELLS, max_array_len=64, max_map_len=64, max_str_len=256
            )
            if form != SUM_FORMAT:
                raise ValueError(f"its format is {form!r}, not {SUM_FORMAT!r}")
            if not (isinstance(grid, float) and 0 < grid <= 1):
                raise ValueError("its grid is out of range")
            read = cls(CountQuestion.from_bytes(question), {key: value for key, value in mechanism}, tuple(shape), grid)
            read.cells += np.frombuffer(cells, dtype="<i8").reshape(read.cells.shape)
            read.users += np.frombuffer(users, dtype="<i8").reshape(read.users.shape)
            if (read.users < 0).any():
                raise ValueError("it counts fewer than no people")
        except (ValueError, TypeError, IndexError, msgpack.UnpackException) as error:
            raise FormatError(f"These bytes are not a sum this version can go on with: {error}") from error
        return read
