"""What is asked about a linear decision process, and what a learner may see of the answers.

Going backwards from the last step, two questions a step, about V = V_{h+1}, the public value function of the next step:

* `variance`: sum phi phi', sum phi V(s')^2 and sum phi V(s'), from which the conditional variance of V is estimated;
* `value`: sum phi phi' / v, sum phi (r + V(s')) / v, where v(s, a) >= 1 is that estimate, public by then.

The form of all questions is fixed, and everything priced, before the first is answered: V lies in [0, H-h] whatever the
answers. Targets may be centred at the middle of their range, where the constant is a combination of features. V and v
are functions of features (`mdp.critic`) that keep to their ranges wherever they are evaluated, whoever made them up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import ConfideError, FormatError, PrivacyError
from ..mdp.critic import Critic, Spread
from ..mdp.linear import Features

Array = NDArray[np.float64]

VARIANCE, VALUE = "variance", "value"
FORMAT, WORTH_FORMAT = "confide.gram/2", "confide.worth/1"


@dataclass(frozen=True, eq=False)
class GramForm:
    """What all questions have in common. split: variances from one half of the people, values from the other.

    end_reward: episodes may end early, in a state beyond those with features, where every step pays that; None if none
    ends early.
    """

    features: Features
    horizon: int
    weighted: bool = True
    centred: bool = False
    split: bool = False
    end_reward: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "horizon", validation.integer("horizon", self.horizon, 1))
        if self.centred and not self.features.constant:
            raise validation.refusal("centred", "false, as no combination of the features is constant", True)
        if self.split and not self.weighted:
            raise validation.refusal("split", "false where no variances are estimated", True)

    def end_value(self, step: int) -> float:
        """What is paid from a step on to somebody whose episode has ended."""
        return (self.end_reward or 0.0) * (self.horizon - step)

    @property
    def questions(self) -> list[tuple[int, str]]:
        """(step, kind) in the order in which they are asked; after the last step V is zero and has no variance."""
        last = self.horizon - 1
        kinds = [(h, kind) for h in range(last, -1, -1) for kind in (VARIANCE, VALUE)]
        return [(h, kind) for h, kind in kinds if kind == VALUE or (self.weighted and h < last)]

    def ranges(self, step: int, kind: str) -> tuple[float, ...]:
        """The largest value of each target: V^2 and V, or r + V."""
        after = float(self.horizon - 1 - step)
        return (after**2, after) if kind == VARIANCE else (after + 1,)

    def middle(self, step: int, kind: str) -> tuple[float, ...]:
        """What is taken off each target."""
        return tuple(self.centred * most / 2 for most in self.ranges(step, kind))

    def half(self, kind: str) -> int:
        """Which group of people is asked."""
        return int(self.split and kind == VALUE)


@dataclass(frozen=True, eq=False)
class GramQuestion:
    """One question: `values` is V_{h+1}, None after the last step, where it is 0; `variances` is v, None where it is 1."""

    form: GramForm
    step: int
    kind: str
    values: Critic | None = None
    variances: Spread | None = None

    def checked(self) -> GramQuestion:
        """Refuse functions for which the noise was not made: whoever asks may be an adversary."""
        top, sizes = self.form.horizon - 1 - self.step, (self.form.features.blocks, self.form.features.dimension)
        values = None if self.values is None else self.values.checked(*sizes)
        variances = None if self.variances is None else self.variances.checked(*sizes)
        if values is not None and not 0 <= values.top <= top:
            raise PrivacyError(
                f"The values of step {self.step + 1} must lie in [0, {top}]. They need not, so nothing was answered."
            )
        return replace(self, values=values, variances=variances)


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


@dataclass(frozen=True, eq=False)
class WorthRelease:
    """Sums over `users` people of what they earned, and of V_1 at their first state, with noise of deviation `noise`."""

    users: int
    returned: float
    promised: float
    noise: float


def to_bytes(release: GramRelease | WorthRelease) -> bytes:
    """Versioned bytes of an answer, with the question that it answers but for the form."""
    if isinstance(release, WorthRelease):
        told = [WORTH_FORMAT, release.users, release.returned, release.promised, release.noise]
        return bytes(msgpack.packb(told))
    question = release.question
    functions = [None if one is None else _packed(*one.arrays()) for one in (question.values, question.variances)]
    arrays = _packed(release.matrix, release.vectors, release.vector_noise)
    head = [FORMAT, question.step, question.kind, release.users, release.matrix_noise]
    return bytes(msgpack.packb([*head, *functions, arrays]))


def from_bytes(data: bytes, form: GramForm) -> GramRelease:
    """Read what `to_bytes` wrote about a question of this form; refuse anything else."""
    try:
        name, step, kind, users, noise, values, variances, arrays = _unpacked(data)
        if name != FORMAT or (step, kind) not in form.questions:
            raise ValueError(f"it is {name!r} about {(step, kind)}")
        shape = (form.features.blocks, form.features.dimension)
        many = len(form.ranges(step, kind))
        critic = None if values is None else Critic.of(*_arrays(values))
        spread = None if variances is None else Spread.of(*_arrays(variances))
        matrix, vectors, sizes = _arrays(arrays)
        return GramRelease(
            GramQuestion(form, step, kind, critic, spread).checked(),
            validation.integer("users", users, 0),
            validation.array("matrix", matrix, (*shape, shape[1])),
            validation.array("vectors", vectors, (many, *shape)),
            validation.number("noise", noise),
            validation.array("noise", sizes, (many,)),
        )
    except (ConfideError, ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise FormatError(f"These bytes are not an answer this version can read: {error}") from error


def worth_from_bytes(data: bytes) -> WorthRelease:
    """Read what `to_bytes` wrote about what people earned; refuse anything else."""
    try:
        name, users, *numbers = _unpacked(data)
        if name != WORTH_FORMAT:
            raise ValueError(f"it is {name!r}")
        returned, promised, noise = (validation.number("worth", one) for one in numbers)
        return WorthRelease(validation.integer("users", users, 1), returned, promised, noise)
    except (ConfideError, ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise FormatError(f"These bytes are not an answer this version can read: {error}") from error


def _packed(*arrays: Array) -> list[Any]:
    return [[list(one.shape), np.ascontiguousarray(one, dtype="<f8").tobytes()] for one in arrays]


def _arrays(packed: Any) -> list[Array]:
    return [np.frombuffer(raw, "<f8").reshape(shape) for shape, raw in packed]


def _unpacked(data: bytes) -> list[Any]:
    found = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
    if not isinstance(found, list):
        raise ValueError("it is no list")
    return found
