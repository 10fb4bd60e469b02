"""The sum of people's returns, and of the values that a learned function gives them: asked once, after all Gram questions.

Both sums lie in [0, H] for one person, so that replacing her moves the pair by at most sqrt(2) H. Which function is asked
about is known only when everything else was answered, so a family is priced: that of all functions of its features that
are clipped to [0, H] (`mdp.critic`), whatever their source.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import msgpack
import numpy as np

from ... import validation
from ...errors import ConfideError, FormatError, PrivacyError
from ...mdp import Spec
from ...mdp.critic import Critic
from ...privacy import Sensitivity
from ..design import Design
from .gram import TARGET_BITS, GramForm, unpacked
from .kind import Kind, by_trust, register
from .question import Family, Member, Pooled, Range, marked, only, spread

KIND = "values"
FORMAT = "confide.values/1"


@dataclass(frozen=True, eq=False)
class ValuesForm(Family, Pooled):
    """gram: the form of the questions from whose answers the value function was learned."""

    gram: GramForm

    @property
    def kind(self) -> str:
        """`values`."""
        return KIND

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of the Gram sums."""
        return self.gram.assumptions

    @property
    def spec(self) -> Spec:
        """The sizes of the problem: its horizon, with one state and one action."""
        return Spec(1, 1, self.gram.horizon)

    @property
    def cells(self) -> int:
        """2: the sum of returns, and the sum of values."""
        return 2

    @property
    def resolution(self) -> int:
        """Targets are multiples of 1/resolution."""
        return 1 << TARGET_BITS

    @property
    def trials(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Sums are no counts of observations."""
        return np.ones(2, dtype=np.int64)

    @property
    def range(self) -> Range:
        """Returns and values lie in [0, H]."""
        return spread(0.0, float(self.gram.horizon), 2)

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The sensitivity: replacing a person moves two numbers, by H each."""
        most = float(self.gram.horizon)
        return Sensitivity(2 * most, math.sqrt(2) * most, ((most, 2),), 2)

    def values(self, question: Critic | None) -> Critic:
        """The value function of the first step, if it was made for these features; clipped to [0, H]."""
        if question is None:
            raise PrivacyError(
                "value-needs-values",
                "The expected value of first states needs the value function of the first step. Give it.",
            )
        sizes = self.gram.features.blocks, self.gram.features.dimension
        return replace(question.checked(*sizes), top=float(self.gram.horizon))

    def member(self, question: Member) -> ValuesForm:
        """The form itself; which value function is asked about is said when it is closed."""
        return only(self, question)

    def member_for(self, question: Member) -> ValuesForm:
        """The form itself; any other is refused."""
        return only(self, question)

    def to_bytes(self) -> bytes:
        """The bytes of the Gram questions: the kind says what is asked besides."""
        return self.gram.to_bytes()

    @property
    def digest(self) -> bytes:
        """A fingerprint, other than that of the Gram questions."""
        return marked(self.gram.digest, 0x08)


@dataclass(frozen=True, eq=False)
class ValuesRelease:
    """Sums over `users` people of their returns, and of V_1 at their first state, with noise of deviation `noise`."""

    users: int
    returned: float
    predicted: float
    noise: float

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        return bytes(msgpack.packb([FORMAT, self.users, self.returned, self.predicted, self.noise]))


def values_from_bytes(data: bytes) -> ValuesRelease:
    """Read what `to_bytes` wrote about returns and values; refuse anything else."""
    try:
        name, users, *numbers = unpacked(data)
        if name != FORMAT:
            raise ValueError(f"it is {name!r}")
        returned, predicted, noise = (validation.number("values", value) for value in numbers)
        return ValuesRelease(validation.integer("users", users, 1), returned, predicted, noise)
    except (ConfideError, ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise FormatError(
            "response-unreadable", f"These bytes are not a release this version can read: {error}"
        ) from error


class ValuesKind(Kind[ValuesForm, ValuesRelease]):
    """Two sums over a whole log, at a curator."""

    name = KIND
    answered = by_trust(central=("gaussian",))

    def read(self, data: bytes) -> ValuesForm:
        """The question that wrote these bytes: those of the Gram questions."""
        return ValuesForm(GramForm.from_bytes(data))

    def read_release(self, data: bytes, design: Design) -> ValuesRelease:
        """Read what `to_bytes` wrote."""
        return values_from_bytes(data)


VALUES = register(ValuesKind())
