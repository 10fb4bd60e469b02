"""How the entries of columns become states and actions 0, 1, 2, ...: as they are, by a list of labels, or cut at edges.

Lists of labels and edges are public and given. Learning them from the data would be a question about the data.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import FormatError, InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

MISSING, UNREADABLE = -1, -2
"""In place of a state or action: nothing was there, or something that has no number."""

MISSING_WAYS = (
    "Give what is missing a public category of its own (--missing category), or end episodes there (--missing end)."
)

BY_CATEGORY, BY_END = "category", "end"
"""Rules for missing entries: they are a category of their own, or episodes end before them, as lost."""

CATEGORY = "missing"
"""The label of what is missing, where that is a category of its own."""


class Coding(Protocol):
    """The coding of states or actions: from one or several Arrow columns to numbers below `size`."""

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it cuts; none if it takes the column of its role."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The label of each of them."""
        ...

    @property
    def cuts(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """The columns that it cuts, and where; none if it cuts none."""
        ...

    @property
    def help(self) -> str:
        """The way out for an entry that is none of them, in a sentence."""
        ...

    def texts(self, columns: Sequence[str]) -> Sequence[str]:
        """Those of its columns that may hold text."""
        ...

    def encode(self, columns: Sequence[pa.Array]) -> NDArray[np.int64]:
        """The numbers, with MISSING and UNREADABLE for entries that have none."""
        ...


@dataclass(frozen=True)
class Numbered:
    """The entries are the numbers 0 .. declared-1 themselves; missing: one more stands for what is missing."""

    declared: int
    columns: tuple[str, ...] = ()
    cuts: tuple[tuple[str, tuple[float, ...]], ...] = ()
    missing: bool = False

    @property
    def size(self) -> int:
        """How many there are."""
        return self.declared + self.missing

    @property
    def names(self) -> tuple[str, ...]:
        """The numbers as labels."""
        return (*(str(number) for number in range(self.declared)), *((CATEGORY,) if self.missing else ()))

    @property
    def help(self) -> str:
        """The way out for an entry that is none of them, in a sentence."""
        return f"They count from 0 to {self.declared - 1:,}: declare more, or list them in a file of labels (--labels)."

    def texts(self, columns: Sequence[str]) -> Sequence[str]:
        """None: entries are numbers."""
        return ()

    def encode(self, columns: Sequence[pa.Array]) -> NDArray[np.int64]:
        """Whole numbers as they are; the caller checks that they are below `size`."""
        numbers = whole_numbers(columns[0])
        if (numbers == MISSING).any():
            nothing = absent(columns[0])
            numbers[(numbers == MISSING) & ~nothing] = UNREADABLE
        if self.missing:
            numbers[numbers >= self.declared] = UNREADABLE  # the last number is no entry's own
            numbers[numbers == MISSING] = self.declared
        return numbers


@dataclass(frozen=True)
class Labelled:
    """The entries are labels; the position in the public list is the number. missing: what is missing has the label `missing`,
    which is added if the list has none."""

    labels: tuple[str, ...]
    columns: tuple[str, ...] = ()
    cuts: tuple[tuple[str, tuple[float, ...]], ...] = ()
    missing: bool = False

    def __post_init__(self) -> None:
        if not self.labels or len(set(self.labels)) < len(self.labels):
            raise InvalidInput(
                "label-twice", "A list of labels must have labels, each once. This one has none, or one twice."
            )

    @property
    def size(self) -> int:
        """How many labels there are."""
        return len(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The labels."""
        return (*self.labels, CATEGORY) if self.missing and CATEGORY not in self.labels else self.labels

    @property
    def help(self) -> str:
        """The way out for an entry that is none of them, in a sentence."""
        return "Add them to the list of labels (--labels), or correct them."

    def texts(self, columns: Sequence[str]) -> Sequence[str]:
        """All: labels may be text."""
        return columns

    def encode(self, columns: Sequence[pa.Array]) -> NDArray[np.int64]:
        """The position of each entry in the list."""
        positions = self._positions(columns)
        if self.missing:
            positions[positions == MISSING] = self.names.index(CATEGORY)
        return positions

    def _positions(self, columns: Sequence[pa.Array]) -> NDArray[np.int64]:
        import pyarrow as pa
        import pyarrow.compute as pc

        column = columns[0]
        if pa.types.is_dictionary(column.type):
            inner = self._positions([column.dictionary])
            positions = whole_numbers(column.indices)
            return np.where(positions >= 0, inner[positions], MISSING) if len(inner) else np.full(len(column), MISSING)
        if pa.types.is_floating(column.type):
            values = real_numbers(column)
            odd = values != np.rint(values)
            column = pa.array(np.where(odd, 0, values).astype(np.int64), mask=odd)
        if not pa.types.is_string(column.type):
            column = pc.cast(column, pa.string())
        book = pa.array(self.labels, pa.string())
        positions = whole_numbers(pc.index_in(column, value_set=book))
        positions[(positions == MISSING) & column.is_valid().to_numpy(zero_copy_only=False)] = UNREADABLE
        return positions


@dataclass(frozen=True)
class Cut:
    """One or several columns of numbers, cut at public edges; an entry equal to an edge belongs to the bin above it.

    With more columns than one a number stands for a combination of bins, the last column's running fastest. missing: every column
    has one more bin, for what is missing.
    """

    edges: tuple[tuple[str, tuple[float, ...]], ...]
    missing: bool = False

    def __post_init__(self) -> None:
        for column, cuts in self.edges:
            rising = all(low < high for low, high in pairwise(cuts))
            if not cuts or not rising or not np.isfinite(cuts).all():
                raise InvalidInput(
                    "edges-not-rising", f"The edges of column {column!r} must be finite and rise. They do not."
                )

    @property
    def cuts(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """The edges."""
        return self.edges

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are cut."""
        return tuple(column for column, _ in self.edges)

    @property
    def size(self) -> int:
        """How many combinations of bins there are."""
        return int(np.prod([len(cuts) + 1 + self.missing for _, cuts in self.edges]))

    @property
    def names(self) -> tuple[str, ...]:
        """The label of each bin: its bounds."""
        names = [""]
        for column, cuts in self.edges:
            bounds = [f"{column} < {cuts[0]:g}"]
            bounds += [f"{low:g} <= {column} < {high:g}" for low, high in pairwise(cuts)]
            bounds.append(f"{column} >= {cuts[-1]:g}")
            bounds += [f"{column} {CATEGORY}"] if self.missing else []
            names = [f"{name}, {bound}".removeprefix(", ") for name in names for bound in bounds]
        return tuple(names)

    @property
    def help(self) -> str:
        """The way out for an entry that is none of them, in a sentence."""
        return "Correct them: each must be a number."

    def texts(self, columns: Sequence[str]) -> Sequence[str]:
        """None: entries are numbers."""
        return ()

    def encode(self, columns: Sequence[pa.Array]) -> NDArray[np.int64]:
        """The number of each entry's combination of bins."""
        result = np.zeros(len(columns[0]), dtype=np.int64)
        incomplete = np.zeros(len(columns[0]), dtype=np.bool_)
        for (_, cuts), column in zip(self.edges, columns, strict=True):
            values = real_numbers(column)
            nothing = np.isnan(values)
            bins = np.where(nothing, len(cuts) + 1, np.searchsorted(cuts, values, side="right"))
            result = result * (len(cuts) + 1 + self.missing) + bins
            incomplete |= nothing
        if not self.missing:
            result[incomplete] = MISSING
        return result


def whole_numbers(column: pa.Array) -> NDArray[np.int64]:
    """An Arrow column as 64-bit integers; what is absent or no whole number is marked.

    Always a copy: compiled code tells Arrow's read-only memory apart from ours, and would be compiled for both.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        if pa.types.is_boolean(column.type):
            column = pc.cast(column, pa.int8())
        if column.null_count:
            absent = column.is_null().to_numpy(zero_copy_only=False)
            result = np.array(column.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
            result[absent] = MISSING
            return result
        return np.array(column.to_numpy(zero_copy_only=False), dtype=np.int64)
    values = real_numbers(column)
    absent = np.isnan(values)
    odd = (values != np.rint(values)) | (np.abs(values) > 2.0**53)
    result = np.where(absent | odd, 0.0, values).astype(np.int64)
    result[odd] = UNREADABLE
    result[absent] = MISSING
    return result


def absent(column: pa.Array) -> NDArray[np.bool_]:
    """(n,) whether nothing is in an Arrow column; that is what NaN stands for, too."""
    import pyarrow as pa

    value = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_floating(value):
        return np.isnan(real_numbers(column))
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


def real_numbers(column: pa.Array) -> NDArray[np.float64]:
    """An Arrow column as floats, NaN where nothing is; a column without numbers is refused where it is opened."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return np.array(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def read_book(path: str | Path) -> dict[str, Labelled]:
    """Lists of labels: JSON `{"states": [...], "actions": [...]}`, or CSV with the columns `kind` and `label`."""
    place = Path(path)
    try:
        if place.suffix.lower() == ".csv":
            with open(place, encoding="utf-8", newline="") as file:
                rows = [(row["kind"], row["label"]) for row in csv.DictReader(file)]
            labels = {kind + "s": [label for k, label in rows if k == kind] for kind in ("state", "action")}
        else:
            labels = json.loads(place.read_text(encoding="utf-8"))
        return {kind: Labelled(tuple(map(str, labels[kind]))) for kind in ("states", "actions") if labels.get(kind)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(
            "label-file-unreadable",
            f'{path} must be a list of labels, such as {{"states": ["well", "ill"], "actions": ["wait", "treat"]}}. '
            "It cannot be read as one.",
        ) from error


def read_edges(path: str | Path) -> dict[str, Cut]:
    """Bin edges: JSON `{"states": {"pulse": [60, 90]}, "actions": {"dose": [0.5]}}`."""
    try:
        edges = json.loads(Path(path).read_text(encoding="utf-8"))
        return {
            kind: Cut(tuple((str(column), tuple(map(float, cuts))) for column, cuts in edges[kind].items()))
            for kind in ("states", "actions")
            if edges.get(kind)
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise FormatError(
            "edge-file-unreadable",
            f'{path} must hold bin edges, such as {{"states": {{"pulse": [60, 90]}}}}. It cannot be read so.',
        ) from error


def coding(kind: str, size: int | None, book: dict[str, Labelled], edges: dict[str, Cut]) -> Numbered | Labelled | Cut:
    """How states or actions are written; a size that is declared beside labels or edges must agree with them."""
    if kind in book and kind in edges:
        raise InvalidInput("labels-and-edges", f"{kind} have both labels and edges. Leave one out.")
    declared: Labelled | Cut | None = book.get(kind) or edges.get(kind)
    if declared is None:
        if size is None:
            raise InvalidInput(
                "size-undeclared", f"How many {kind} there are must be said. Declare --{kind}, or give labels or edges."
            )
        return Numbered(validation.integer(kind, size, 1))
    if size is not None and validation.integer(kind, size, 1) != declared.size:
        raise validation.refusal(
            "labels-size", kind, f"{declared.size}, as the labels or edges say", size, "Leave it out."
        )
    return declared
