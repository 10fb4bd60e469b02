"""The bytes of a release: versioned, within limits, and the same numbers again to the last bit.

Counts are whole multiples of a grid. Where an array is found to be multiples of 1/q, q the question's resolution times
a power of two, it is stored as integers, else as floats; both compressed.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import ConfideError, FormatError
from ...privacy import Guarantee
from ...validation import Plain
from ..kinds import CountQuestion
from .release import CountRelease, Counts, Noise, Radius, Returned

FORMAT = "confide.release/1"
FILE_FORMAT = "confide.releases/1"
# How much finer than the resolution a grid may be, as a power of two.
FINEST = 20
LARGEST = float(1 << 62)
MOST_RELEASES = 4096
MOST_BYTES = 1 << 32
_TYPES = ("<i2", "<i4", "<i8", "<f8")


def to_bytes(release: CountRelease) -> bytes:
    """Versioned bytes of a release."""
    promise = release.guarantee
    body: bytes = msgpack.packb(
        [
            FORMAT,
            release.question.to_bytes(),
            release.users,
            [float(radius) for radius in release.radius],
            release.failure,
            [promise.trust, promise.epsilon, promise.delta, promise.rho, promise.unit, promise.neighbours],
            [_pack(array, release.question.resolution) for array in _arrays(release)],
            _pack_noise(release),
            *([] if release.complete else [False]),
            *([release.budget] if release.budget else []),
            *([release.episodes] if release.episodes > 1 else []),
        ]
    )
    return body


def from_bytes(data: bytes) -> CountRelease:
    """Read what `to_bytes` wrote; refuse anything else."""
    try:
        form, question_bytes, users, radius, failure, promise, arrays, *rest = _unpackb(data)
        if form != FORMAT or len(rest) not in (1, 2, 3, 4) or rest[1:2] not in ([], [False]):
            raise ValueError(f"its format is {form!r}, not {FORMAT!r}")
        question = CountQuestion.from_bytes(question_bytes)
        noise = _unpack_noise(rest[0], question)
        pairs = (question.spec.layers, question.spec.states, question.spec.actions)
        shapes = (pairs, pairs, pairs, (*pairs, question.spec.states), pairs, (2,))[
            : max(len(arrays), 3 + bool(question.followed))
        ]
        unpacked = [_unpack(packed, shape) for packed, shape in zip(arrays, shapes, strict=True)]
        returned = Returned(float(unpacked[5][0]), _whole(unpacked[5][1])) if len(unpacked) > 5 else None
        counts = Counts(*unpacked[:5], *([np.zeros((*pairs, 0))] if len(unpacked) == 3 else []))
        radii = [validation.number("radius", value) for value in radius]
        if min(radii) < 0:
            raise ValueError("it has a negative radius")
        return CountRelease(
            question,
            validation.integer("users", users, 0),
            counts,
            Radius(*radii),
            validation.between("failure", failure, 0.0, 1.0),
            Guarantee(*promise),
            noise,
            len(rest) < 2,
            validation.integer("budget", rest[2], 1) if len(rest) > 2 else 0,
            episodes=validation.integer("episodes of a history", rest[3], 2) if len(rest) > 3 else 1,
            returned=returned,
        )
    except (ConfideError, ValueError, TypeError, OverflowError, zlib.error, msgpack.UnpackException) as error:
        raise FormatError(
            "release-unreadable", f"These bytes are not a release this version can read: {error}"
        ) from error


def _arrays(release: CountRelease) -> list[NDArray[np.float64]]:
    """The counts there are; and, where returns were reported, their sum and of how many people."""
    counts = [array for array in release.counts if array.size]
    return counts if release.returned is None else [*counts, np.array(release.returned, dtype=np.float64)]


def _whole(value: float) -> int:
    """A number of people."""
    if value < 0 or value != int(value):
        raise ValueError("it has returns of a number of people that is none")
    return int(value)


def _pack_noise(release: CountRelease) -> list[float]:
    """The noise; the variance of visits only where it is not that of a row of transitions."""
    numbers = [float(number) for number in release.noise]
    of_a_row = release.noise.transitions * release.question.next_states
    return numbers[:-1] if release.noise.visits == of_a_row else numbers


def _unpack_noise(values: Sequence[float], question: CountQuestion) -> Noise:
    numbers = [validation.number("noise", value) for value in values]
    if len(numbers) > 4:
        return Noise(*numbers)
    own, transitions, centred, luck = numbers
    return Noise(own, transitions, centred, luck, transitions * question.next_states)


def pack_file(releases: dict[str, bytes]) -> bytes:
    """Several releases under their names, each in bytes of its own kind."""
    body: bytes = msgpack.packb([FILE_FORMAT, sorted(releases.items())])
    return body


def unpack_file(data: bytes) -> dict[str, bytes]:
    """Read what `pack_file` wrote; refuse anything else."""
    try:
        form, named = _unpackb(data)
        if form != FILE_FORMAT:
            raise ValueError(f"its format is {form!r}, not {FILE_FORMAT!r}")
        if not all(isinstance(name, str) and isinstance(body, bytes) for name, body in named):
            raise ValueError("its parts have the wrong type")
        return {name: body for name, body in named}
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise FormatError(
            "releases-unreadable", f"These bytes are not releases this version can read: {error}"
        ) from error


def _unpackb(data: bytes) -> Any:
    limit = min(max(len(data), 1), MOST_BYTES)
    return msgpack.unpackb(data, max_array_len=MOST_RELEASES, max_str_len=4096, max_bin_len=limit)


def _pack(array: NDArray[np.float64], resolution: int) -> list[Plain]:
    """[type, q, bytes]: integers over q, in the smallest type that holds them, or floats with q = 0."""
    there = np.flatnonzero(array)  # in large tables most cells cannot be
    values = array.ravel()[there]
    for power in range(FINEST):
        parts = resolution << power
        scaled = values * parts
        if np.abs(scaled).max(initial=0) >= LARGEST:
            break
        multiples = np.rint(scaled)
        if np.array_equal(multiples / parts, values):
            top = np.abs(multiples).max(initial=0)
            kind = next(kind for kind, bits in zip(_TYPES, (15, 31, 63), strict=False) if top < 1 << bits)
            numbers = np.zeros(array.size, dtype=kind)
            numbers[there] = multiples
            return [kind, parts, zlib.compress(numbers.tobytes(), 1)]
    return ["<f8", 0, zlib.compress(np.ascontiguousarray(array, dtype="<f8").tobytes(), 1)]


def _unpack(packed: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    kind, parts, raw = packed
    if kind not in _TYPES or not isinstance(parts, int) or parts < 0 or (parts == 0) != (kind == "<f8"):
        raise ValueError("its numbers have a type or a grid that is not known")
    size = math.prod(shape) * int(kind[-1])
    engine = zlib.decompressobj()
    plain = engine.decompress(raw, size + 1)
    if len(plain) != size or not engine.eof:
        raise ValueError("it has more or fewer numbers than its statistic has")
    array = np.frombuffer(plain, dtype=kind).reshape(shape)
    result = array.astype(np.float64) / (parts or 1)
    if not np.isfinite(result).all():
        raise ValueError("it has a number that is not finite")
    return result
