"""The columns of a data set that are read, and the kinds of entries they may hold: the same in every part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import InvalidInput
from .columns import ORDERED, Columns, DeclaredColumns, find
from .labels import Coding
from .sources import DataPart

if TYPE_CHECKING:
    import pyarrow as pa


def columns_of(parts: Sequence[DataPart], declared: DeclaredColumns, states: Coding, actions: Coding) -> Columns:
    """The columns of the first part, which every other part must have too, with entries of the same kind."""
    first = parts[0].schema()
    columns = find(first.names, declared)
    _check_types(parts[0], first, columns, states, actions)
    read = [name for name in (*columns.names, columns.order) if name is not None and name in first.names]
    kinds = {name: kind_of_type(first.field(name).type) for name in read}
    people = [name for name in (columns.user, columns.episode) if name is not None and name in first.names]
    names = {name: _name_kind(parts[0], first.field(name).type) for name in people}
    for part in parts[1:]:
        schema = part.schema()
        for name, kind in {**kinds, **names}.items():
            if name not in schema.names:
                raise InvalidInput(
                    "part-column-missing",
                    f"All parts must have the same columns. {part.name} has no column {name!r}, but {parts[0].name} "
                    "has. Read them apart, or write them alike.",
                )
            type_ = schema.field(name).type
            if (_name_kind(part, type_) if name in names else kind_of_type(type_)) != kind:
                raise InvalidInput(
                    "part-column-type",
                    f"All parts must have the same columns. {name!r} has another type in {part.name} than in "
                    f"{parts[0].name}. Write them alike.",
                )
    return columns


def _name_kind(part: DataPart, type_: pa.DataType) -> str:
    """Types of people's names that are compared alike: whole numbers equal their text forms, bytes are UUIDs or text, days are
    moments. CSV is read as text.
    """
    import pyarrow as pa

    if part.textual:
        return "name"
    value = type_.value_type if pa.types.is_dictionary(type_) else type_
    value = value.storage_type if isinstance(value, pa.BaseExtensionType) else value
    if pa.types.is_nested(value) or pa.types.is_boolean(value):
        wrong = (
            "They are lists. Unpack them" if pa.types.is_nested(value) else "They are yes or no. Name another column"
        )
        raise InvalidInput(
            "name-type", f"People and episodes in {part.name} must be named by numbers or texts. {wrong}."
        )
    if pa.types.is_date(value) or pa.types.is_timestamp(value):
        zoned = pa.types.is_timestamp(value) and value.tz is not None
        return "moment in a time zone" if zoned else "moment"
    return "name" if kind_of_type(value) in ("number", "text") or pa.types.is_fixed_size_binary(value) else str(value)


def _check_types(part: DataPart, schema: pa.Schema, columns: Columns, states: Coding, actions: Coding) -> None:
    """Columns that must hold numbers do."""
    texts = text_columns(columns, states, actions)
    for name in (*columns.names, *columns.flags):
        if name in (*texts, ORDERED) or kind_of_type(schema.field(name).type) == "number":
            continue
        coded = name in (*columns.state, *columns.next_state, *columns.action)
        way_out = "Give a list of labels (--labels), or name another column (--columns)."
        if not coded:
            way_out = "Name another column (--columns); if its numbers have a comma, say --decimal ','."
        raise InvalidInput(
            "column-not-numbers", f"Column {name!r} of {part.name} must hold numbers. It does not. {way_out}"
        )


def text_columns(columns: Columns, states: Coding, actions: Coding) -> tuple[str, ...]:
    """The columns that may hold text."""
    texts = [name for name in (columns.user, columns.episode) if name is not None]
    coded = ((states, (*columns.state, *columns.next_state)), (actions, tuple(columns.action)))
    return (*texts, *(name for coding, names in coded for name in coding.texts(names)))


def kind_of_type(type_: pa.DataType) -> str:
    """Types that are compared and counted alike."""
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    if any(test(type_) for test in numbers):
        return "number"
    strings = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    texts = (*strings, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    return "text" if any(test(type_) for test in texts) else str(type_)


def order_kept(parts: Sequence[DataPart], columns: Columns) -> tuple[str, ...]:
    """The column to order by, where CSV files should read it as what it looks like (a time, a text) and not as a number."""
    import pyarrow as pa

    if columns.order is None:
        return ()
    type_ = parts[0].schema().field(columns.order).type
    if kind_of_type(type_) == "text" and parts[0].textual and _days(parts[0], columns.order):
        raise InvalidInput(
            "dates-unordered",
            f"Column {columns.order!r} of {parts[0].name} holds days in a form whose order is not alphabetical. Say "
            "which: --time-format '%d.%m.%Y'.",
        )
    if pa.types.is_nested(type_):
        raise InvalidInput(
            "column-of-lists", f"Column {columns.order!r} cannot be sorted: it holds lists. Order by another."
        )
    return () if kind_of_type(type_) == "number" else (columns.order,)


def _days(part: DataPart, column: str) -> bool:
    """Whether the first entry looks like a day that does not begin with its year."""
    from .text_forms import DAY

    for batch in part.reading((column,), ()).batches([column]):
        if batch.num_rows:
            first = batch.column(0)[0].as_py()
            return first is not None and DAY.fullmatch(str(first)) is not None
    return False
