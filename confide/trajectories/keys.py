"""Who a row belongs to, as a 64-bit number: only ever compared, never shown.

Whole numbers are their own keys. Everything else is hashed with a key drawn anew for every pass over the data, so
equal names have equal keys. That two of n names collide has probability about n^2/2^65 (1e-7 for two million people),
and would refuse the data as repeating a person, never count a person twice.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fresh_key() -> int:
    """A hash key from the operating system."""
    return int.from_bytes(os.urandom(8), "little")


def keys(column: Any, key: int) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """The key of every entry of an Arrow column, and where nothing stands, if anywhere."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from .hashing import hash_texts

    absent = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    kind = column.type
    if pa.types.is_dictionary(kind):
        book, _ = keys(column.dictionary, key)
        where = column.indices.fill_null(0) if column.null_count else column.indices
        found = book[where.to_numpy()] if len(book) else np.zeros(len(column), dtype=np.int64)
        return found, absent
    if pa.types.is_integer(kind):
        whole = column.fill_null(0) if absent is not None else column
        numbers = whole.to_numpy()
        # The bit pattern of an unsigned number names a person as well as its value does.
        return np.array(numbers.view(np.int64) if numbers.dtype == np.uint64 else numbers, dtype=np.int64), absent
    if not (pa.types.is_large_binary(kind) or pa.types.is_large_string(kind)):
        # Text form makes 7 and 7.0, dates and identifiers of fixed width hashable alike.
        column = pc.cast(column if _textual(kind) else pc.cast(column, pa.string()), pa.large_binary())
    _, offsets, data = column.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    text = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    out = np.empty(len(column), dtype=np.uint64)
    hash_texts(starts, text, np.uint64(key), out)
    return out.view(np.int64), absent


def _textual(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind))
