"""Keys of people: who a row belongs to, as a 64-bit number that is only ever compared, never shown.

One person has one key, in whatever file and type her name stands (`named`): whole numbers equal their text forms, so 7, 7.0, "7"
and "0007" are one person. That two *different* names be taken for one is safe (the data is refused as repeating a
person, or one of the two is left out), that one name be taken for two is not; so numbers are compared by value.

Whole numbers are their own keys. Everything else is hashed with a secret drawn anew for every fit. That two of n names
collide has probability about n^2/2^65 (1e-7 for two million people), and would refuse the data as repeating a person,
never count a person twice.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

EXACT = 2.0**53
"""Up to it floats tell whole numbers apart."""

LONG = 10**18
"""From here on whole numbers are hashed, as their texts are."""

WORD = 2**64


def fresh_key() -> int:
    """A key of 192 bits from the operating system, once a fit: 64 hash names, 128 make random choices. Never written."""
    return int.from_bytes(os.urandom(24), "little")


def keys(column: pa.Array, key: int) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
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
    column, absent = named(column), _absent(column)
    if pa.types.is_integer(column.type):
        numbers = (column.fill_null(0) if absent is not None else column).to_numpy()
        if not ((numbers >= LONG) | (numbers <= -LONG)).any():
            return np.array(numbers, dtype=np.int64), absent
        column = pc.cast(column, pa.large_string())
    hashed = _texts(column, key)
    blank = hashed == _texts(pa.array([""]), key)[0]
    if blank.any():
        absent = blank if absent is None else absent | blank
    return hashed, absent


def named(column: pa.Array) -> pa.Array:
    """Names in one form, as an Arrow column, so that who is written in two ways is one person.

    Moments and days are microseconds, whatever their unit, and so are texts of them as ISO 8601 writes them; sixteen bytes are a
    UUID, and written as one; other bytes are text; text is in the compatible composed form of Unicode (NFKC), in which a character
    and its accent are one sign, and a no-break space is a space, without signs that are invisible. Numbers stay as they are.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return named(column.storage)
    if pa.types.is_dictionary(kind):
        return named(column.dictionary_decode())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        zone = kind.tz if pa.types.is_timestamp(kind) else None
        return pc.cast(pc.cast(column, pa.timestamp("us", zone), safe=False), pa.int64())
    if pa.types.is_fixed_size_binary(kind) and kind.byte_width == UUID_BYTES:
        return _uuids(column)
    try:
        text = pc.cast(column, pa.large_string())
    except pa.ArrowInvalid as error:
        raise InvalidInput(
            "name-bytes-unreadable",
            "Names of people and episodes that are bytes must be text in UTF-8, or UUIDs of a fixed size of 16 bytes. Some are "
            "neither. Write them as text.",
        ) from error
    if pc.all(pc.string_is_ascii(text)).as_py() is False:
        text = pc.utf8_trim_whitespace(pc.replace_substring_regex(pc.utf8_normalize(text, "NFKC"), UNSEEN, ""))
    return _moments(text)


UUID_BYTES = 16
UNSEEN = "[\u200b-\u200f\u2060\ufeff\u00ad]"
"""Signs without width, and hyphens that are shown at the end of a line only."""


MOMENT = (
    r"^\s*\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?\s*$"
)
"""A day, or a moment with or without its time zone, as ISO 8601 writes them."""
DAY = len("2026-01-31")


def _moments(text: pa.Array) -> pa.Array:
    """Texts, of which days and moments are the microseconds that a column of moments has: midnight is its day, however written."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(text) or (pc.max(pc.binary_length(text)).as_py() or 0) < DAY:
        return text
    found = pc.fill_null(pc.match_substring_regex(text, MOMENT), False)
    if not pc.any(found).as_py():
        return text
    each = text.filter(found).dictionary_encode()
    numbers = pa.array([_microseconds(moment) for moment in each.dictionary.to_pylist()], pa.large_string())
    return pc.replace_with_mask(text, found, numbers.take(each.indices))


def _microseconds(moment: str) -> str:
    """Since 1970, as digits; the text itself where there is no such day."""
    try:
        read = datetime.fromisoformat(moment.strip())
    except ValueError:
        return moment
    since = read.replace(tzinfo=read.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return str(since // timedelta(microseconds=1))


def _uuids(column: pa.Array) -> pa.Array:
    """Columns of 16 bytes as texts of UUIDs. If all are readable signs they may be texts themselves, and are refused."""
    import pyarrow as pa
    import pyarrow.compute as pc

    width = UUID_BYTES
    raw = np.frombuffer(column.buffers()[1] or b"", dtype=np.uint8)[width * column.offset :][: width * len(column)]
    signs = raw.reshape(-1, width)[column.is_valid().to_numpy(zero_copy_only=False)]
    if len(signs) and ((signs >= ord(" ")) & (signs <= ord("~"))).all():
        raise InvalidInput(
            "name-uuid-readable",
            "Names of people and episodes in 16 bytes are taken for UUIDs. These are readable signs, and could be texts. "
            "Write them as text.",
        )
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    text = np.stack([digits[raw >> 4], digits[raw & 15]], axis=1).reshape(-1, 2 * width)
    # With a dash they are a UUID even where no digit is one of a to f.
    dashed = np.insert(text, (8, 12, 16, 20), ord("-"), axis=1)
    ends = np.arange(len(column) + 1, dtype=np.int64) * dashed.shape[1]
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(dashed))]
    texts = pa.Array.from_buffers(pa.large_string(), len(column), buffers)
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, pa.large_string())) if column.null_count else texts


def secret(key: int, *columns: NDArray[np.int64] | NDArray[np.uint64]) -> NDArray[np.uint64]:
    """(n,) words that a fit's key makes of rows of integers: without the key, independent, uniform, and no user's data."""
    from .hashing import secret_words

    messages = np.ascontiguousarray(np.stack([np.asarray(column, dtype=np.int64) for column in columns], axis=1))
    out = np.empty(len(messages), dtype=np.uint64)
    secret_words(messages.view(np.uint64), np.uint64(key >> 64 & WORD - 1), np.uint64(key >> 128), out)
    return out


def _absent(column: pa.Array) -> NDArray[np.bool_] | None:
    return column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None


def _floats(column: pa.Array, key: int) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Whole numbers as they are, others by their shortest text; NaN is no user."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = np.array(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False))
    absent = np.isnan(values)
    if (np.abs(values[~absent]) > EXACT).any():
        raise InvalidInput(
            "name-float-too-large",
            "Names of people and episodes that are floats must lie within 2^53, where floats tell whole numbers apart. "
            "Some do not. Write them as whole numbers or as text.",
        )
    numbers = np.where(absent, 0.0, values).astype(np.int64)
    odd = ~absent & (numbers != values)
    if odd.any():
        numbers[odd] = _texts(pc.cast(column.filter(pa.array(odd)), pa.string()), key)
    return numbers, absent if absent.any() else None


def _texts(column: pa.Array, key: int) -> NDArray[np.int64]:
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
