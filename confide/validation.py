"""Checks that name the thing, the rule, the value and the way out. Each returns the value it has accepted."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InvalidInput, UnknownName

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""What JSON can say."""
Plain: TypeAlias = "bool | int | float | str | bytes | Sequence[Plain] | Mapping[str, Plain] | None"
"""What MessagePack can say: JSON, and bytes."""


def refusal(code: str, name: str, rule: str, value: object, way_out: str = "") -> InvalidInput:
    """The error for a value that breaks a rule. code: of the rule. name: of what the value was given for."""
    return InvalidInput(code, f"{name} must be {rule}. Got {value!r}. {way_out}".strip(), about=name)


def wrong_shape(name: str, wanted: object, shape: object, way_out: str = "") -> InvalidInput:
    """The error for an array of another shape."""
    return refusal("wrong-shape", name, f"of shape {wanted}", shape, way_out)


def number(
    name: str, value: object, rule: str = "a finite number", way_out: str = "", code: str = "not-a-number"
) -> float:
    """A finite real number. rule, code: the rule that a value which is none breaks."""
    try:
        result = float(value)  # type: ignore[arg-type]  # what is no number is refused
    except (TypeError, ValueError, OverflowError):
        raise refusal(code, name, rule, value, way_out) from None
    if not math.isfinite(result) or isinstance(value, bool):
        raise refusal(code, name, rule, value, way_out)
    return result


def positive(name: str, value: object, way_out: str = "") -> float:
    """A finite number above zero."""
    result = number(name, value, "a positive finite number", way_out, "not-positive")
    if result <= 0:
        raise refusal("not-positive", name, "positive", value, way_out)
    return result


def between(name: str, value: object, low: float, high: float, way_out: str = "") -> float:
    """A number in the closed interval [low, high]."""
    rule = f"between {low:g} and {high:g}"
    result = number(name, value, rule, way_out, "out-of-range")
    if not low <= result <= high:
        raise refusal("out-of-range", name, rule, value, way_out)
    return result


def failure(value: object) -> float:
    """A probability that something fails, strictly between 0 and 1."""
    if not 0 < (found := number("failure", value)) < 1:
        raise refusal("failure-out-of-range", "failure", "above 0 and below 1", value)
    return found


def delta(name: str, value: object, way_out: str = "") -> float:
    """A failure probability of a privacy guarantee, in [0, 1)."""
    result = number(name, value, "at least 0 and below 1", way_out, "not-a-delta")
    if not 0 <= result < 1:
        raise refusal("not-a-delta", name, "at least 0 and below 1", value, way_out)
    return result


def has_type(value: object, kind: type) -> bool:
    """Whether a value is what a signature says, which Python does not check."""
    return isinstance(value, kind)


def integer(name: str, value: object, low: int, high: int | None = None, way_out: str = "") -> int:
    """A whole number of at least `low` and, if given, at most `high`. Floats such as 1e6 are accepted if whole."""
    rule = f"a whole number of at least {low}" + ("" if high is None else f" and at most {high}")
    if isinstance(value, bool):
        raise refusal("not-a-whole-number", name, rule, value, way_out)
    try:
        result: int = int(value)  # type: ignore[call-overload]  # what is no number is refused
        same = math.isfinite(float(value)) and result == value  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise refusal("not-a-whole-number", name, rule, value, way_out) from None
    if not same or result < low or (high is not None and result > high):
        raise refusal("not-a-whole-number", name, rule, value, way_out)
    return result


def choice(name: str, value: object, options: Iterable[str], way_out: str = "") -> str:
    """One of the named options; an unknown one is answered with the nearest."""
    known = list(options)
    if value in known:
        return str(value)
    nearest = difflib.get_close_matches(str(value), known, n=1)
    hint = f"Did you mean {nearest[0]!r}?" if nearest else f"Known: {', '.join(sorted(known))}."
    raise UnknownName("unknown-name", f"{name} {value!r} is not known. {way_out or hint}", about=name)


def table(name: str, value: object) -> Mapping[str, Json]:
    """What JSON calls an object: values by name."""
    if not isinstance(value, Mapping):
        raise refusal("not-a-table", name, "a table of named values", type(value).__name__)
    return value


def listed(name: str, value: object) -> Sequence[Json]:
    """A list, as JSON has them."""
    if not isinstance(value, list | tuple):
        raise refusal("not-a-list", name, "a list", type(value).__name__)
    return value


def array(name: str, value: ArrayLike, shape: tuple[int | None, ...], way_out: str = "") -> NDArray[np.float64]:
    """A finite real array of the given shape; None in `shape` leaves that length free."""
    try:
        result = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise refusal("not-an-array", name, "an array of numbers", type(value).__name__, way_out) from None
    wanted = tuple("any" if n is None else n for n in shape)
    if result.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, result.shape, strict=True)):
        raise wrong_shape(name, wanted, result.shape, way_out)
    if not np.isfinite(result).all():
        raise refusal("not-finite", name, "finite everywhere", "NaN or infinity", way_out)
    return result


def probabilities(name: str, value: NDArray[np.float64], way_out: str = "") -> NDArray[np.float64]:
    """An array whose last axis sums to one and has no negative entry; says where it fails."""
    if value.size == 0:
        raise refusal("empty-array", name, "not empty", f"shape {value.shape}", way_out)
    low = value.min(axis=-1)
    if (low < 0).any():
        where = tuple(int(i) for i in np.argwhere(low < 0)[0])
        sentence = f"{name} must not be negative. Got {low[where]:g} in row {where}. {way_out}".strip()
        raise InvalidInput("negative-probability", sentence, about=name)
    total = value.sum(axis=-1)
    off = np.abs(total - 1) > 1e-8
    if off.any():
        where = tuple(int(i) for i in np.argwhere(off)[0])
        sentence = f"{name} must sum to 1. Got {total[where]:.9g} in row {where}. {way_out}".strip()
        raise InvalidInput("probabilities-not-summing-to-one", sentence, about=name)
    return value


def indices(name: str, value: ArrayLike, size: int, way_out: str = "") -> NDArray[np.int64]:
    """A one-dimensional array of whole numbers in 0 .. size-1."""
    try:
        raw = np.asarray(value)
    except ValueError:
        raise refusal(
            "not-a-list-of-whole-numbers", name, "a list of whole numbers", "lists of different lengths", way_out
        ) from None
    if raw.ndim != 1 or raw.dtype.kind not in "iuf" or (raw.dtype.kind == "f" and not (raw == np.floor(raw)).all()):
        raise refusal(
            "not-a-list-of-whole-numbers", name, "a list of whole numbers", f"{raw.dtype} of shape {raw.shape}", way_out
        )
    bad = (raw < 0) | (raw >= size)
    if bad.any():
        sentence = f"{name} must lie in 0..{size - 1}. Position {int(np.argmax(bad))} does not. {way_out}".strip()
        raise InvalidInput("index-out-of-range", sentence, about=name)
    return raw.astype(np.int64)
