"""What is asked about a linear decision process, and what a learner may see of the answers.

Going backwards from the last step, two questions a step, about V = V_{h+1}, the public value function of the next step:

* `variance`: sum phi phi', sum phi V(s')^2 and sum phi V(s'), from which the conditional variance of V is estimated;
* `value`: sum phi phi' / v, sum phi (r + V(s')) / v, where v(s, a) >= 1 is that estimate, public by then.

The form of all questions is fixed, and everything priced, before the first is answered: V lies in [0, H-h] whatever the
answers. Targets may be centred at the middle of their range, where the constant is a combination of features.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgpack
import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import ConfideError, FormatError, PrivacyError
from ..mdp.linear import LinearFeatures

Array = NDArray[np.float64]

VARIANCE, VALUE = "variance", "value"
FORMAT = "confide.gram/1"


@dataclass(frozen=True, eq=False)
class GramForm:
    """What all questions have in common. split: variances from one half of the people, values from the other.

    ends: episodes may end early, in a state beyond those of the features, where nobody acts.
    """

    features: LinearFeatures
    horizon: int
    weighted: bool = True
    centred: bool = False
    split: bool = False
    ends: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "horizon", validation.integer("horizon", self.horizon, 1))
        if self.centred and not self.features.constant:
            raise validation.refusal("centred", "false, as no combination of the features is constant", True)
        if self.split and not self.weighted:
            raise validation.refusal("split", "false where no variances are estimated", True)

    @property
    def next_states(self) -> int:
        """How many states may follow: those with features, and the end."""
        return self.features.states + self.ends

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
    """One question: values (S,), or (S+1,) with an end, is V_{h+1}; variances (S, A) is v; both public."""

    form: GramForm
    step: int
    kind: str
    values: Array
    variances: Array

    def checked(self) -> GramQuestion:
        """Refuse values and variances for which the noise was not made: whoever asks may be an adversary."""
        features = self.form.features
        values = validation.array("values", self.values, (self.form.next_states,))
        variances = validation.array("variances", self.variances, (features.states, features.actions))
        top = self.form.horizon - 1 - self.step
        if values.min() < 0 or values.max() > top or variances.min() < 1:
            raise PrivacyError(
                f"The values of step {self.step + 1} must lie in [0, {top}] and variances be at least 1. They do not, so "
                "nothing was answered."
            )
        return self


@dataclass(frozen=True, eq=False)
class GramRelease:
    """matrix: (d, d); vectors: (2, d) or (1, d); both with noise, of standard deviation matrix_noise (sqrt 2 times on the
    diagonal) and vector_noise (2,) or (1,). users: whom they are about."""

    question: GramQuestion
    users: int
    matrix: Array
    vectors: Array
    matrix_noise: float
    vector_noise: Array


def to_bytes(release: GramRelease) -> bytes:
    """Versioned bytes of an answer, with the question that it answers but for the form."""
    question = release.question
    arrays = (question.values, question.variances, release.matrix, release.vectors, release.vector_noise)
    packed = [[list(one.shape), np.ascontiguousarray(one, dtype="<f8").tobytes()] for one in arrays]
    body: bytes = msgpack.packb([FORMAT, question.step, question.kind, release.users, release.matrix_noise, packed])
    return body


def from_bytes(data: bytes, form: GramForm) -> GramRelease:
    """Read what `to_bytes` wrote about a question of this form; refuse anything else."""
    try:
        name, step, kind, users, noise, packed = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
        if name != FORMAT or (step, kind) not in form.questions:
            raise ValueError(f"it is {name!r} about {(step, kind)}")
        values, variances, matrix, vectors, sizes = (np.frombuffer(raw, "<f8").reshape(shape) for shape, raw in packed)
        d = form.features.dimension
        many = len(form.ranges(step, kind))
        question = GramQuestion(form, step, kind, values, variances).checked()
        return GramRelease(
            question,
            validation.integer("users", users, 0),
            validation.array("matrix", matrix, (d, d)),
            validation.array("vectors", vectors, (many, d)),
            validation.number("noise", noise),
            validation.array("noise", sizes, (many,)),
        )
    except (ConfideError, ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise FormatError(f"These bytes are not an answer this version can read: {error}") from error
