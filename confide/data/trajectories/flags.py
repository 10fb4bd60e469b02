"""Numbers of people and episodes where no column has them: every row is a person, or a flag ends an episode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from .columns import EACH_ROW, FLAGGED, Columns
from .labels import real_numbers
from .sources import DataPart, Wrapping

if TYPE_CHECKING:
    import pyarrow as pa

SHIFT = 40
"""Bits for the rows of one part: numbers of rows and episodes differ from part to part."""


P = TypeVar("P", bound="NumberedPart")


@dataclass(frozen=True)
class NumberedPart(Wrapping):
    """A part with a number of its own among all parts: people or episodes are numbered by where a row stands."""

    part: DataPart
    number: int

    @property
    def name(self) -> str:
        """The name of the part."""
        return self.part.name

    def reading(self: P, texts: tuple[str, ...], inferred: tuple[str, ...]) -> P:
        """The same part, given which columns may hold text."""
        return replace(self, part=self.part.reading(texts, inferred))

    def schema(self) -> pa.Schema:
        """The schema of the part."""
        return self.part.schema()


@dataclass(frozen=True)
class EachRowPart(NumberedPart):
    """A part whose every row is taken for another person's."""

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
        """The batches of the part, with a number for every row."""
        start = self.number << SHIFT
        for batch in self.part.batches([name for name in columns if name != EACH_ROW], threads):
            if EACH_ROW in columns:
                batch = batch.append_column(EACH_ROW, _column(np.arange(start, start + batch.num_rows)))
            start += batch.num_rows
            yield batch


@dataclass(frozen=True)
class FlaggedPart(NumberedPart):
    """A part whose flags say where an episode is over, in the row that is its last.

    An episode that was cut before the horizon did not end there, so it is refused: what would have followed is unknown, and
    not nothing. So is one that stops without a flag. Where that very flag says who was lost, it is taken.
    """

    columns: Columns
    horizon: int

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
        """The batches of the part, with the number of every row's episode, if that column is asked for."""
        identifying = [
            name for name in (self.columns.user, self.columns.episode) if name not in (None, EACH_ROW, FLAGGED)
        ]
        needed = [
            name for name in dict.fromkeys([*columns, *identifying, *self.columns.flags]) if name and name != FLAGGED
        ]
        episode, row, length, over = (self.number << SHIFT) - 1, 0, 0, True
        before: list[object] = []
        for batch in self.part.batches(needed, threads):
            if not batch.num_rows:
                continue
            ended, cut = (self._flag(batch, name) for name in (self.columns.ended, self.columns.cut))
            new = np.concatenate([[over], (ended | cut)[:-1]])
            for place, name in enumerate(identifying):
                column = batch.column(name)
                last = before[place] if before else None
                changed = _changes(column)
                changed[0] = last is not None and column[0].as_py() != last
                self._unfinished(changed & ~new, new | changed, length, row)
                new |= changed
            episodes = episode + np.cumsum(new)
            steps = _places(new, length)
            taken = self.columns.lost is not None and self.columns.lost == self.columns.cut
            wrong = np.flatnonzero(cut & ~ended & (steps < self.horizon) & (not taken))
            if wrong.size:
                raise self._refusal(row + int(wrong[0]) + 1, "truncated")
            before = [batch.column(name)[-1].as_py() for name in identifying]
            episode, length, over = int(episodes[-1]), int(steps[-1]), bool((ended | cut)[-1])
            row += batch.num_rows
            if FLAGGED in columns:
                batch = batch.append_column(FLAGGED, _column(episodes))
            yield batch.select(list(columns))
        if row and not over and length < self.horizon:
            raise self._refusal(row, "neither terminated nor truncated")

    def _unfinished(self, stops: NDArray[np.bool_], new: NDArray[np.bool_], length: int, row: int) -> None:
        """Refuse an episode that is followed by another's rows and was not flagged, unless it has all its steps."""
        steps = _places(new, length)
        before = np.concatenate([[length], steps[:-1]])
        wrong = np.flatnonzero(stops & (before < self.horizon) & (before > 0))
        if wrong.size:
            raise self._refusal(row + int(wrong[0]), "neither terminated nor truncated")

    def _flag(self, batch: pa.RecordBatch, name: str | None) -> NDArray[np.bool_]:
        if name is None:
            return np.zeros(batch.num_rows, dtype=np.bool_)
        return np.asarray(np.nan_to_num(real_numbers(batch.column(name))) != 0)

    def _refusal(self, row: int, what: str) -> InvalidInput:
        flags = ", ".join(
            f"{role}=" for role, name in zip(("terminated", "truncated"), self._both(), strict=True) if name
        )
        return InvalidInput(
            "episode-not-ended",
            f"An episode of fewer than {self.horizon} steps, the horizon, must have come to its end. The one of row {row:,} "
            f"of {self.name} is {what}. Choose a --horizon that all of them reach, take those that are truncated as lost "
            f"(--lost COLUMN), leave such episodes out, or take them as ended: --columns {flags}.",
        )

    def _both(self) -> tuple[str | None, str | None]:
        return self.columns.ended, self.columns.cut


def _changes(column: pa.Array) -> NDArray[np.bool_]:
    """(n,) where an entry differs from the one before."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    changed = np.zeros(len(column), dtype=np.bool_)
    if len(column) > 1:
        differs = pc.fill_null(pc.not_equal(column.slice(1), column.slice(0, len(column) - 1)), True)
        changed[1:] = differs.to_numpy(zero_copy_only=False)
    return changed


def _places(new: NDArray[np.bool_], length: int) -> NDArray[np.int64]:
    """(n,) each row's place in its episode, from 1; `length` rows of the first one came before."""
    positions = np.arange(len(new))
    starts = np.maximum.accumulate(np.where(new, positions, -length))
    return np.asarray(positions - starts + 1)


def _column(values: NDArray[np.int64]) -> pa.Array:
    import pyarrow as pa

    return pa.array(values)
