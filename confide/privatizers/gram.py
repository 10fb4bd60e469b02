"""The wall at a curator with logged steps, for linear decision processes: one question after the other, once each.

A last question may follow, with a design of its own: what people earned in all, and what V_1 promises them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..designs import Design
from ..designs.gram import MATRIX_GRID, VECTOR_GRID
from ..errors import InvalidInput, PrivacyError
from ..mechanisms.noise import NoiseSource, curator_noise
from ..mechanisms.symmetric import SymmetricGaussian
from ..questions.gram import GramForm, GramQuestion
from ..releases.gram import GramRelease, WorthRelease
from ..statistics.gram import Logged


class LogBook:
    """Holds logged steps for questions that are asked of a whole log."""

    def __init__(self, design: Design, noise: NoiseSource | None = None, simulated: bool = False) -> None:
        """Empty. Replayable noise is refused unless people are simulated."""
        self.noise = curator_noise(noise, simulated)
        self.design = design
        self._logged: Logged | None = None
        self._number = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}(users={self.users}, answered={self._number})"

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

    def to_bytes(self) -> bytes:
        """Refused: logged steps are the data."""
        raise PrivacyError("A log is asked where it lies, and never stored. Read it again.")


class GramBook(LogBook):
    """Answers the questions of its form in order; which is next, the form has fixed."""

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


class WorthBook(LogBook):
    """Answers once what people earned and what V_1, public by then, promises them."""

    def close(self, question: Any = None) -> WorthRelease:
        """The answer, drawn once; question: V_1."""
        asked, mechanism, logged = self.design.question, self.design.mechanism, self._logged
        if self._number or logged is None:
            raise PrivacyError("What people earned is answered once, of a log. Open another book, and pay.")
        told = logged.worth(asked.gram, asked.member(question)) / asked.resolution
        returned, promised = mechanism.randomize(told, asked.trials, self.noise).tolist()
        self._number = 1
        return WorthRelease(sum(logged.people), returned, promised, mechanism.sigma)
