"""The sum of people's returns, and of the values that a learned function gives them: asked once, after all Gram questions.

Both sums lie in [0, H] for one person, so that replacing her moves the pair by at most sqrt(2) H. Which function is asked
about is known only when everything else was answered, so a family is priced: that of all functions of its features that
are clipped to [0, H] (`mdp.critic`), whoever made them up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...errors import PrivacyError
from ...mdp.critic import Critic
from ...privacy import Sensitivity
from .gram import TARGET_BITS, GramForm
from .question import Pooled, Range, marked, register, spread

KIND = "worth"


@dataclass(frozen=True, eq=False)
class WorthForm(Pooled):
    """gram: the form of the questions from whose answers the value function was learned."""

    gram: GramForm

    @property
    def kind(self) -> str:
        """`worth`."""
        return KIND

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of the Gram sums."""
        return self.gram.assumptions

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

    def member(self, question: Critic | None) -> Critic:
        """The value function of the first step, if it was made for these features; clipped to [0, H]."""
        if question is None:
            raise PrivacyError(
                "worth-needs-values",
                "What people were promised is asked with the value function of the first step. Give it.",
            )
        sizes = self.gram.features.blocks, self.gram.features.dimension
        return replace(question.checked(*sizes), top=float(self.gram.horizon))

    def member_for(self, question: Critic | None) -> Critic:
        """The value function itself, if the family holds it; else it is refused."""
        return self.member(question)

    def to_bytes(self) -> bytes:
        """The bytes of the Gram questions: the kind says what is asked besides."""
        return self.gram.to_bytes()

    @property
    def digest(self) -> bytes:
        """A fingerprint, other than that of the Gram questions."""
        return marked(self.gram.digest, 0x08)


def _read(data: bytes) -> WorthForm:
    return WorthForm(GramForm.from_bytes(data))


register(KIND, _read)
