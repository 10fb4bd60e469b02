"""The wall at a curator with logged steps, for linear decision processes: one question after the other, once each.

A last question may follow, with a design of its own: what people earned in all, and what V_1 promises them. Both lie in
[0, H], so a replaced person moves the pair by at most sqrt(2) H.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..designs import Design
from ..designs.central import shared_gaussian
from ..designs.gram import MATRIX_GRID, VECTOR_GRID
from ..errors import InvalidInput, PrivacyError
from ..mdp.critic import Critic
from ..mechanisms.noise import NoiseSource, SecureNoise, require_secure
from ..mechanisms.symmetric import SymmetricGaussian
from ..privacy import Act, Guarantee, Sensitivity
from ..questions.gram import TARGET_BITS, GramForm, GramQuestion
from ..releases.gram import GramRelease, WorthRelease
from ..statistics.gram import Logged

WORTH_GRID = 2.0**-TARGET_BITS

WORTH_SHARE = 0.05
"""Of the promise, spent on what people earned and what V_1 promises them, where a fit asks for it."""


class GramBook:
    """Holds logged steps and answers the questions of its form in order; which is next, the form has fixed."""

    def __init__(self, design: Design, noise: NoiseSource | None = None, simulated: bool = False) -> None:
        """Empty. Replayable noise is refused unless people are simulated."""
        self.noise = noise or SecureNoise()
        if not simulated:
            require_secure(self.noise, "a release about real people")
        self.design = design
        self._logged: Logged | None = None
        self._number = 0

    def __repr__(self) -> str:
        return f"GramBook(users={self.users}, answered={self._number})"

    @property
    def users(self) -> int:
        """How many people were logged."""
        return 0 if self._logged is None else sum(self._logged.people)

    def take(self, message: Any, question: Any = None) -> None:
        """Refused: steps are logged all at once."""
        raise InvalidInput("Gram sums are asked of a whole log. Give it with take_sum.")

    def take_sum(self, total: Logged) -> None:
        """Everybody's steps."""
        if self._logged is not None:
            raise PrivacyError("This book holds a log already. Open another for other people.")
        self._logged = total

    def close(self, question: GramQuestion | None = None) -> GramRelease:
        """The answer to the next question, with noise that was priced beforehand."""
        form: GramForm = self.design.question
        due = form.questions[self._number] if self._number < len(form.questions) else None
        if question is None or self._logged is None:
            raise InvalidInput("A Gram book needs a log and a question. Give both before it is closed.")
        asked = form.member(question)
        if (asked.step, asked.kind) != due:
            raise PrivacyError(
                f"Question {self._number + 1} was priced as {due}. Got another one, so it was not answered."
            )
        matrix, vectors = self._logged.sums(asked)
        size, sizes = self.design.mechanism.sizes[self._number]
        told = np.asarray(matrix * MATRIX_GRID, dtype=np.float64)
        drawn = np.zeros(vectors.shape)
        if size > 0:
            told = SymmetricGaussian(size, MATRIX_GRID).add(matrix, self.noise)
            drawn = np.array([self.noise.discrete_gaussian(one / VECTOR_GRID, vectors.shape[1:]) for one in sizes])
        self._number += 1
        return GramRelease(
            question,
            self._logged.people[form.half(asked.kind)],
            told,
            np.asarray((vectors + drawn) * VECTOR_GRID, dtype=np.float64),
            size,
            np.array(sizes),
        )

    def to_bytes(self) -> bytes:
        """Refused: logged steps are the data."""
        raise PrivacyError("A log is asked where it lies, and never stored. Read it again.")


@dataclass(frozen=True)
class WorthPrivatizer:
    """Answers, once, what people earned and what V_1 promises them."""

    form: GramForm = field(repr=False)
    act: Act

    @classmethod
    def of(cls, form: GramForm, promise: Guarantee, share: float = WORTH_SHARE) -> WorthPrivatizer:
        """With noise for a share of the promise."""
        size = Sensitivity(2.0 * form.horizon, math.sqrt(2.0) * form.horizon, ((float(form.horizon), 2),), 2)
        return cls(form, Act(shared_gaussian(size.l2, share, promise, WORTH_GRID), size))

    def answer(self, first: Critic, logged: Logged, noise: NoiseSource, *, simulated: bool = False) -> WorthRelease:
        """first: V_1, public by now. Replayable noise is refused unless people are simulated."""
        if not simulated:
            require_secure(noise, "a release about real people")
        dimension = self.form.features.blocks, self.form.features.dimension
        told = logged.worth(self.form, replace(first.checked(*dimension), top=float(self.form.horizon)))
        mechanism: Any = self.act.mechanism
        returned, promised = mechanism.randomize(told * WORTH_GRID, np.zeros(0, dtype=np.int64), noise).tolist()
        return WorthRelease(sum(logged.people), returned, promised, mechanism.sigma)
