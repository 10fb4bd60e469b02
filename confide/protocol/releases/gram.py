"""Releases of Gram sums, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import ConfideError, FormatError
from ...mdp.critic import Critic, ValueVariance
from ..kinds.gram import GramForm, GramQuestion

Array = NDArray[np.float64]

FORMAT, WORTH_FORMAT = "confide.gram/2", "confide.worth/1"


@dataclass(frozen=True, eq=False)
class GramRelease:
    """matrix: (B, d, d); vectors: (2, B, d) or (1, B, d), by blocks of features; both with noise, of standard deviation
    matrix_noise (sqrt 2 times on the diagonal) and vector_noise (2,) or (1,). users: whom they are about."""

    question: GramQuestion
    users: int
    matrix: Array
    vectors: Array
    matrix_noise: float
    vector_noise: Array

    def to_bytes(self) -> bytes:
        """Versioned bytes, with the question that it answers but for the form."""
        question = self.question
        functions = [
            None if function is None else _packed(*function.arrays())
            for function in (question.values, question.variances)
        ]
        arrays = _packed(self.matrix, self.vectors, self.vector_noise)
        head = [FORMAT, question.step, question.kind, self.users, self.matrix_noise]
        return bytes(msgpack.packb([*head, *functions, arrays]))


@dataclass(frozen=True, eq=False)
class WorthRelease:
    """Sums over `users` people of what they earned, and of V_1 at their first state, with noise of deviation `noise`."""

    users: int
    returned: float
    promised: float
    noise: float

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        return bytes(msgpack.packb([WORTH_FORMAT, self.users, self.returned, self.promised, self.noise]))


def from_bytes(data: bytes, form: GramForm) -> GramRelease:
    """Read what `to_bytes` wrote about a question of this form; refuse anything else."""
    try:
        name, step, kind, users, noise, values, variances, arrays = _unpacked(data)
        if name != FORMAT or (step, kind) not in form.questions:
            raise ValueError(f"it is {name!r} about {(step, kind)}")
        shape = (form.features.blocks, form.features.dimension)
        people = len(form.ranges(step, kind))
        value_function = None if values is None else Critic.of(*_arrays(values))
        variance_function = None if variances is None else ValueVariance.of(*_arrays(variances))
        matrix, vectors, sizes = _arrays(arrays)
        return GramRelease(
            GramQuestion(form, step, kind, value_function, variance_function).checked(),
            validation.integer("users", users, 0),
            validation.array("matrix", matrix, (*shape, shape[1])),
            validation.array("vectors", vectors, (people, *shape)),
            validation.number("noise", noise),
            validation.array("noise", sizes, (people,)),
        )
    except (ConfideError, ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise FormatError(
            "answer-unreadable", f"These bytes are not an answer this version can read: {error}"
        ) from error


def worth_from_bytes(data: bytes) -> WorthRelease:
    """Read what `to_bytes` wrote about what people earned; refuse anything else."""
    try:
        name, users, *numbers = _unpacked(data)
        if name != WORTH_FORMAT:
            raise ValueError(f"it is {name!r}")
        returned, promised, noise = (validation.number("worth", value) for value in numbers)
        return WorthRelease(validation.integer("users", users, 1), returned, promised, noise)
    except (ConfideError, ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise FormatError(
            "answer-unreadable", f"These bytes are not an answer this version can read: {error}"
        ) from error


def _packed(*arrays: Array) -> list[Any]:
    return [[list(array.shape), np.ascontiguousarray(array, dtype="<f8").tobytes()] for array in arrays]


def _arrays(packed: Any) -> list[Array]:
    return [np.frombuffer(raw, "<f8").reshape(shape) for shape, raw in packed]


def _unpacked(data: bytes) -> list[Any]:
    values = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
    if not isinstance(values, list):
        raise ValueError("it is no list")
    return values
