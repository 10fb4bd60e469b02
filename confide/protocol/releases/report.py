"""Reports: one person's randomised answer, which leaves a device as bytes within limits.

A report names the design it was made by and the question it answers, each by its fingerprint, so nothing about how it is
to be read is known to its sender. Its numbers must be such as an honest device could have sent: a bit is 0 or 1, an
index names one category, and a cell stays within the question's range plus the reach of the noise, where a device clamps
it. So one report moves no sum by more than an honest one could.

    "cfr2" | design (16) | question (16) | level (1) | type (1) | row (4) | numbers

Numbers are an index (4 bytes), bits (ceil(k/8) bytes, least significant first) or whole numbers in the smallest type that holds
all that an honest device may send. All of it little-endian. The type follows from the design and never from the numbers, so all
reports of a design have one length: a shorter one would tell that counts are small, or spread over many cells.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError, InvalidInput
from ...mechanisms.randomizer import BITS, INDEX
from ..design import Design
from ..kinds.question import DIGEST_BYTES

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer

MAGIC = b"cfr2"
HEADER = struct.Struct(f"<4s{DIGEST_BYTES}s{DIGEST_BYTES}sBBI")
LARGEST_SUM = 1 << 62
"""No cell of a sum may reach this, whatever honest people send: two such sums still fit into 64 bits."""
INDEX_TYPE, BITS_TYPE = 0, 1
WHOLE_TYPES = {2: "<i1", 3: "<i2", 4: "<i4", 5: "<i8"}


@dataclass(frozen=True, eq=False)
class Report:
    """One person's message. cells: (width,) whole multiples of the mechanism's grid. row: which kind of message it is.

    level: to which of several shufflers it goes; 0 where there is one, or none.
    """

    design: bytes
    question: bytes
    cells: NDArray[np.int64]
    row: int = 0
    level: int = 0

    def to_bytes(self, design: Design) -> bytes:
        """Versioned bytes, of the one length that reports of the design have."""
        kind = written_type(design, self.level)
        if kind == INDEX_TYPE:
            raw = struct.pack("<I", int(self.cells.argmax()))
        elif kind == BITS_TYPE:
            raw = np.packbits(self.cells.astype(np.uint8), bitorder="little").tobytes()
        else:
            raw = self.cells.astype(WHOLE_TYPES[kind]).tobytes()
        return HEADER.pack(MAGIC, self.design, self.question, self.level, kind, self.row) + raw

    @classmethod
    def from_bytes(cls, data: bytes, design: Design) -> Report:
        """Read what `to_bytes` wrote for this design; refuse anything else, and numbers that no honest device sends."""
        try:
            magic, made_by, question, level, kind, row = HEADER.unpack_from(data)
            if magic != MAGIC:
                raise ValueError("it does not begin like a report")
            check_place(design, made_by, row, level)
            if kind != written_type(design, level) or len(data) != report_length(design, level):
                raise ValueError("it has another length than every report of this design")
            cells = _unpacked(data[HEADER.size :], kind, design.question.width)
            return cls(made_by, question, cells, row, level).checked(design)
        except (struct.error, ValueError, TypeError, InvalidInput) as error:
            raise FormatError(
                "report-unreadable", f"These bytes are not a report that can be counted here: {error}"
            ) from error

    def checked(self, design: Design) -> Report:
        """The report itself, refused unless an honest device that keeps this design could have sent it."""
        check_place(design, self.design, self.row, self.level)
        if self.cells.shape != (design.question.width,) or self.cells.dtype.kind != "i":
            raise InvalidInput("report-length", "It has more or fewer numbers than its statistic has. Drop it.")
        check_range(design, self.cells, 1, self.level, self.row)
        return self


def check_place(design: Design, made_by: bytes, row: int, level: int) -> None:
    """Refuse what was made by another design, or for a row or a shuffler that is not there."""
    if made_by != design.digest:
        raise InvalidInput(
            "report-of-other-design", "It was made by another design than the one that counts here. Drop it."
        )
    if not (0 <= level < len(design.devices) and 0 <= row < design.question.rows):
        raise InvalidInput("report-level-or-row", "Its level or row is out of range. Drop it.")


def written_type(design: Design, level: int = 0) -> int:
    """How numbers of every report of a design are written down: by its mechanism, whole numbers by the limits of its cells."""
    packing = design.devices[level].packing
    if packing in (INDEX, BITS):
        return INDEX_TYPE if packing == INDEX else BITS_TYPE
    top = _furthest(design, level)
    return next(number for number, form in WHOLE_TYPES.items() if top < 1 << (8 * int(form[-1]) - 1))


def report_length(design: Design, level: int = 0) -> int:
    """How many bytes every report of a design has, whatever happened in the episode."""
    kind, width = written_type(design, level), int(design.question.width)
    whole = {number: int(form[-1]) * width for number, form in WHOLE_TYPES.items()}
    return HEADER.size + {INDEX_TYPE: 4, BITS_TYPE: -(-width // 8), **whole}[kind]


def _unpacked(raw: bytes, kind: int, width: int) -> NDArray[np.int64]:
    """(width,) the numbers of a report whose length and type are right."""
    cells = np.zeros(width, dtype=np.int64)
    if kind == INDEX_TYPE:
        (where,) = struct.unpack("<I", raw)
        if where >= width:
            raise ValueError("it names a category that is not there")
        cells[where] = 1
        return cells
    if kind == BITS_TYPE:
        bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8), bitorder="little")
        if bits[width:].any():
            raise ValueError("it has bits beyond its last one")
        return bits[:width].astype(np.int64)
    return np.frombuffer(raw, dtype=WHOLE_TYPES[kind]).astype(np.int64)


def limits(design: Design, level: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(width,) the least and the largest whole number that an honest device sends in each cell."""
    return _limits(design, level)


def _limits(design: Design, level: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    cache: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = design.__dict__.setdefault("_limits", {})
    if level not in cache:
        mechanism, bounds = design.devices[level], design.question.range
        reach = mechanism.reach()
        cache[level] = (
            np.floor((bounds.low - reach) / mechanism.grid).astype(np.int64),
            np.ceil((bounds.high + reach) / mechanism.grid).astype(np.int64),
        )
    return cache[level]


def clamped(design: Design, cells: NDArray[np.int64], level: int = 0) -> NDArray[np.int64]:
    """The numbers of a message, cut off at the limits: what a device does before it sends."""
    return np.clip(cells, *limits(design, level))


def check_many(design: Design, people: NDArray[np.int64], level: int = 0) -> None:
    """Refuse more users, in any row, than a sum can hold."""
    if people.min(initial=0) < 0 or _furthest(design, level) * int(people.max(initial=0)) >= LARGEST_SUM:
        raise InvalidInput("report-too-many-people", "It counts more people than can be added up. Drop it.")


def _furthest(design: Design, level: int) -> int:
    """The largest number, signs dropped, that an honest device sends."""
    cache: dict[int, int] = design.__dict__.setdefault("_furthest", {})
    if level not in cache:
        cache[level] = max(int(np.abs(limit).max(initial=0)) for limit in limits(design, level))
    return cache[level]


def check_range(
    design: Design, cells: NDArray[np.int64], people: int | NDArray[np.int64], level: int = 0, row: int = 0
) -> NDArray[np.int64]:
    """The sum of the numbers of n users, refused if honest devices could not have sent it. cells: (width,) of a row, or of all
    rows, then with people (rows, 1)."""
    low, high = limits(design, level)
    counts = np.asarray(people)
    check_many(design, counts, level)
    if cells.ndim == 1:
        named = _named(design.device_of(row, level), cells[None], counts.reshape(1, 1))
    else:
        named = all(_named(device, cells[rows], counts[rows]) for rows, device in design.kind.by_rows(design, level))
    if not named or (cells < low * people).any() or (cells > high * people).any():
        raise InvalidInput("report-dishonest", "It has a number that no honest device sends. Drop it.")
    return cells


def _named(device: Randomizer, cells: NDArray[np.int64], people: NDArray[np.int64]) -> bool:
    """Whether sums (rows, width) of messages name categories that there are, and as many as honest ones do."""
    naming = device.naming()
    if naming is None:
        return True
    beyond = bool(cells[:, naming.categories :].any()) if naming.categories else False
    return not beyond and (naming.ones is None or bool((cells.sum(axis=1) == naming.ones * people[:, 0]).all()))
