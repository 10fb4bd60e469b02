"""Keys of people: who a row belongs to, as a 64-bit number that is only ever compared, never shown.

One person has one key, in whatever file and type her name stands: whole numbers equal their text forms, so 7, 7.0, "7"
and "0007" are one person. That two *different* names be taken for one is safe (the data is refused as repeating a
person, or one of the two is left out), that one name be taken for two is not; so numbers are compared by value.

Whole numbers are their own keys. Everything else is hashed with a secret drawn anew for every fit. That two of n names
collide has probability about n^2/2^65 (1e-7 for two million people), and would refuse the data as repeating a person,
never count a person twice.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput

EXACT = 2.0**53
"""Up to it floats tell whole numbers apart."""

LONG = 10**18
"""From here on whole numbers are hashed, as their texts are."""

WORD = 2**64


def fresh_key() -> int:
    """A key of 192 bits from the operating system, once a fit: 64 hash names, 128 make random choices. Never written."""
    return int.from_bytes(os.urandom(24), "little")


def keys(column: Any, key: int) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """The key of every entry of an Arrow column, and where nothing stands, if anywhere."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        book, empty = keys(column.dictionary, key)
        absent = _absent(column)
        where = (column.indices.fill_null(0) if column.null_count else column.indices).to_numpy()
        if not len(book):
            return np.zeros(len(column), dtype=np.int64), absent
        if empty is not None:
            absent = empty[where] if absent is None else absent | empty[where]
        return book[where], absent
    if pa.types.is_floating(kind):
        return _floats(column, key)
    absent = _absent(column)
    if pa.types.is_integer(kind):
        numbers = (column.fill_null(0) if absent is not None else column).to_numpy()
        if not ((numbers >= LONG) | (numbers <= -LONG)).any():
            return np.array(numbers, dtype=np.int64), absent
    hashed = _texts(column if _textual(kind) else pc.cast(column, pa.string()), key)
    blank = hashed == _texts(pa.array([""]), key)[0]
    if blank.any():
        absent = blank if absent is None else absent | blank
    return hashed, absent


def secret(key: int, *columns: NDArray[Any]) -> NDArray[np.uint64]:
    """(n,) words that a fit's key makes of rows of integers: without the key, independent, uniform, and nobody's data."""
    from .hashing import secret_words

    messages = np.ascontiguousarray(np.stack([np.asarray(column, dtype=np.int64) for column in columns], axis=1))
    out = np.empty(len(messages), dtype=np.uint64)
    secret_words(messages.view(np.uint64), np.uint64(key >> 64 & WORD - 1), np.uint64(key >> 128), out)
    return out


def _absent(column: Any) -> NDArray[np.bool_] | None:
    return column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None


def _floats(column: Any, key: int) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Whole numbers as they are, others by their shortest text; NaN is nobody."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = np.array(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False))
    absent = np.isnan(values)
    if (np.abs(values[~absent]) > EXACT).any():
        raise InvalidInput(
            "Names of people and episodes that are floats must lie within 2^53, where floats tell whole numbers apart. "
            "Some do not. Write them as whole numbers or as text."
        )
    numbers = np.where(absent, 0.0, values).astype(np.int64)
    odd = ~absent & (numbers != values)
    if odd.any():
        numbers[odd] = _texts(pc.cast(column.filter(pa.array(odd)), pa.string()), key)
    return numbers, absent if absent.any() else None


def _texts(column: Any, key: int) -> NDArray[np.int64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    from .hashing import hash_texts

    column = pc.cast(column, pa.large_binary())
    _, offsets, data = column.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    text = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    out = np.empty(len(column), dtype=np.uint64)
    hash_texts(starts, text, np.uint64(key & WORD - 1), out)
    return out.view(np.int64)


def _textual(kind: Any) -> bool:
    import pyarrow as pa

    tests = ("is_string", "is_binary", "is_fixed_size_binary", "is_large_string", "is_large_binary")
    return any(getattr(pa.types, test)(kind) for test in tests)
