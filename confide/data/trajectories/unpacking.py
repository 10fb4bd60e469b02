"""Tables with one row for each episode, unpacked into one row for each step: lists in cells, or a column for each step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidInput
from .columns import ACTION, CUT, ENDED, EPISODE, NEXT_STATE, REWARD, STATE, STEP, USER, role_of
from .sources import DataPart, Wrapping

if TYPE_CHECKING:
    import pyarrow as pa

PACKED = (STATE, ACTION, REWARD, NEXT_STATE, STEP, ENDED, CUT)
NUMBERED = re.compile(r"(.*?)[_ ]?(\d+)")


def unpacked(part: DataPart, number: int, cut: Sequence[str] = ()) -> DataPart:
    """The part with a row for each step, if it has one for each episode. cut: columns that are to be read as they are."""
    import pyarrow as pa

    schema = part.schema()
    lists: dict[str, str] = {}
    for field in schema:
        role = role_of(field.name)
        if role in PACKED and _listed(pa, field.type):
            lists[field.name] = role
    if STATE in lists.values() and ACTION in lists.values():
        return ListsPart(part, number, tuple(sorted(lists.items())))
    roles = {role_of(name) for name in schema.names}
    numbered: dict[str, dict[int, str]] = {}
    for name in schema.names:
        parted = NUMBERED.fullmatch(name)
        role = role_of(parted[1]) if parted else None
        if parted and role in (STATE, ACTION, REWARD, NEXT_STATE) and name not in cut:
            numbered.setdefault(role, {})[int(parted[2])] = name
    if not {STATE, ACTION, REWARD} & roles and {STATE, ACTION, REWARD} <= set(numbered):
        steps = tuple(sorted(numbered[ACTION]))
        if steps and steps == tuple(sorted(numbered[REWARD])) and set(steps) <= set(numbered[STATE]):
            wide = tuple(
                (role, tuple(names.get(step, "") for step in steps)) for role, names in sorted(numbered.items())
            )
            return WidePart(part, number, wide)
    return part


def _listed(pa: ModuleType, type_: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(type_) for test in tests) and not pa.types.is_nested(type_.value_type)


@dataclass(frozen=True)
class ListsPart(Wrapping):
    """A part whose cells hold lists, one entry for each step: `lists` names the columns and their roles.

    States may have one entry more than actions: the last is where the episode led.
    """

    part: DataPart
    number: int
    lists: tuple[tuple[str, str], ...]
    textual: bool = False

    @property
    def name(self) -> str:
        """Rows of messages are steps."""
        return f"the steps of {self.part.name}"

    def reading(self, texts: tuple[str, ...], inferred: tuple[str, ...]) -> ListsPart:
        """Its columns have types of their own."""
        return self

    def schema(self) -> pa.Schema:
        """The schema of an unpacked batch without rows."""
        import pyarrow as pa

        for batch in self.part.batches(self.part.schema().names):
            return self._unpacked(batch, 0, 0).schema
        return pa.schema([(role, pa.null()) for _, role in self.lists])

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
        """A batch of episodes at a time."""
        row = 0
        for batch in self.part.batches(self.part.schema().names, threads):
            yield self._unpacked(batch, (self.number << 40) + row, row).select(list(columns))
            row += batch.num_rows

    def _unpacked(self, batch: pa.RecordBatch, first: int, row: int) -> pa.RecordBatch:
        import pyarrow as pa
        import pyarrow.compute as pc

        roles = {role: batch.column(name) for name, role in self.lists}
        lengths = {role: pc.fill_null(pc.list_value_length(column), 0).to_numpy() for role, column in roles.items()}
        steps = lengths[ACTION].astype(np.int64)
        longer = bool((lengths[STATE] == steps + 1).all()) and batch.num_rows > 0
        for role, counts in lengths.items():
            wrong = np.flatnonzero(counts != steps + (longer and role == STATE))
            if wrong.size:
                raise InvalidInput(
                    "episode-lists-lengths",
                    f"Lists of one episode must be equally long, but for one state more. The {role}s in row "
                    f"{row + int(wrong[0]) + 1:,} of {self.part.name} and its actions are not. Correct them.",
                )
        whose = np.repeat(np.arange(batch.num_rows), steps)
        starts = np.cumsum(steps) - steps
        places = np.arange(len(whose)) - starts[whose]
        columns: dict[str, pa.Array] = {}
        for role, column in roles.items():
            values = column.flatten()
            if role == STATE and longer:
                base = np.arange(len(whose)) + whose
                columns[STATE] = values.take(pa.array(base))
                columns.setdefault(NEXT_STATE, values.take(pa.array(base + 1)))
            else:
                columns[role] = values
        columns.setdefault(STEP, pa.array(places))
        packed = {name for name, _ in self.lists}
        for name in batch.schema.names:
            if name not in packed and name not in columns:
                columns[name] = batch.column(name).take(pa.array(whose))
        if not {USER, EPISODE} & {role_of(name) for name in columns}:
            columns[EPISODE] = pa.array(first + whose)
        return pa.record_batch(list(columns.values()), names=list(columns))


@dataclass(frozen=True)
class WidePart(Wrapping):
    """A part with a column for each step: `wide` gives for each role its columns in the order of steps, "" where none is.

    An episode is over at the first step without an action.
    """

    part: DataPart
    number: int
    wide: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def name(self) -> str:
        """Rows of messages are steps."""
        return f"the steps of {self.part.name}"

    def reading(self, texts: tuple[str, ...], inferred: tuple[str, ...]) -> WidePart:
        """With the columns that may hold text."""
        roles = dict(self.wide)
        spread = [column for name in texts for column in roles.get(name, (name,)) if column]
        return WidePart(self.part.reading(tuple(spread), inferred), self.number, self.wide)

    def schema(self) -> pa.Schema:
        """One column for each role, of the type of its first."""
        import pyarrow as pa

        schema = self.part.schema()
        packed = {name for _, names in self.wide for name in names}
        fields = [pa.field(role, schema.field(next(filter(None, names))).type) for role, names in self.wide]
        fields += [schema.field(name) for name in schema.names if name not in packed]
        added = [] if self._identified(schema.names) else [pa.field(EPISODE, pa.int64())]
        return pa.schema([*fields, pa.field(STEP, pa.int64()), *added])

    def _identified(self, names: Sequence[str]) -> bool:
        packed = {name for _, wide in self.wide for name in wide}
        return bool({USER, EPISODE} & {role_of(name) for name in names if name not in packed})

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
        """A batch of episodes at a time."""
        import pyarrow as pa

        roles, names = dict(self.wide), self.part.schema().names
        plain_columns = [name for name in columns if name not in roles and name in names]
        wide = [
            column
            for role in dict.fromkeys([*(c for c in columns if c in roles), ACTION])
            for column in roles[role]
            if column
        ]
        row = self.number << 40
        for batch in self.part.batches([*plain_columns, *wide], threads):
            count = batch.num_rows
            acted = np.stack(
                [batch.column(name).is_valid().to_numpy(zero_copy_only=False) for name in roles[ACTION]], 1
            )
            lasting = np.logical_and.accumulate(acted, axis=1)
            if (acted & ~lasting).any():
                wrong = int(np.flatnonzero((acted & ~lasting).any(axis=1))[0])
                raise InvalidInput(
                    "steps-with-gap",
                    f"Steps of an episode must follow each other. Row {(row & (1 << 40) - 1) + wrong + 1:,} of "
                    f"{self.part.name} leaves one out. Correct it.",
                )
            whose, places = np.nonzero(lasting)
            built: dict[str, pa.Array] = {STEP: pa.array(places), EPISODE: pa.array(row + whose)}
            for name in columns:
                if name in roles:
                    first = batch.column(next(filter(None, roles[name])))
                    parts = [batch.column(column) if column else pa.nulls(count, first.type) for column in roles[name]]
                    built[name] = pa.concat_arrays(parts).take(pa.array(places * count + whose))
                elif name in names:
                    built[name] = batch.column(name).take(pa.array(whose))
            row += count
            yield pa.record_batch([built[name] for name in columns], names=list(columns))
