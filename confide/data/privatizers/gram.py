"""The central curator of logged steps, for linear decision processes: one question after the other, once each.

A last question may follow, with a design of its own: people's returns in all, and what V_1 predicts for them.
"""

from __future__ import annotations

import numpy as np

from ... import validation
from ...errors import InvalidInput, PrivacyError
from ...mdp.critic import Critic
from ...mechanisms.noise import NoiseSource, curator_noise
from ...mechanisms.symmetric import SymmetricGaussian, SymmetricLaplace
from ...protocol.design import Design
from ...protocol.kinds.gram import GRAM, MATRIX_GRID, VECTOR_GRID, GramQuestion, GramRelease
from ...protocol.kinds.question import Member
from ...protocol.kinds.values import VALUES, ValuesRelease
from ..statistics.gram import Logged


class LogAggregate:
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

    def take(self, message: Logged, question: Member | None = None) -> None:
        """Refused: steps are logged all at once."""
        raise InvalidInput("gram-one-by-one", "Gram sums are computed from a whole log. Give it with take_sum.")

    def take_sum(self, total: Logged) -> None:
        """Take all users' logged steps, at once."""
        if self._logged is not None:
            raise PrivacyError("log-twice", "This aggregate holds a log already. Open another for other users.")
        self._logged = total

    def to_bytes(self) -> bytes:
        """Refused: logged steps are the data."""
        raise PrivacyError("log-never-stored", "A log is read where it lies, and never stored. Read it again.")


class GramAggregate(LogAggregate):
    """Answers the questions of its form in order; which is next, the form has fixed."""

    def close(self, question: GramQuestion | None = None) -> GramRelease:
        """The release that answers the next question, with noise that was priced beforehand."""
        form = GRAM.question_of(self.design)
        priced = form.questions[self._number] if self._number < len(form.questions) else None
        if question is None or self._logged is None:
            raise InvalidInput(
                "gram-incomplete", "A Gram aggregate needs a log and a query. Give both before it is closed."
            )
        member = form.priced(question)
        if (member.step, member.kind) != priced:
            raise PrivacyError(
                "gram-question-not-priced",
                f"Query {self._number + 1} was priced as {priced}. Got another one, so nothing was released.",
            )
        matrix, vectors = self._logged.sums(member)
        priced_noise = GRAM.noise_of(self.design)
        size, sizes = priced_noise.sizes[self._number]
        noisy_matrix = np.asarray(matrix * MATRIX_GRID, dtype=np.float64)
        vector_noise = np.zeros(vectors.shape)
        if size > 0 and not priced_noise.normal:
            noisy_matrix = SymmetricLaplace(size, MATRIX_GRID).add(matrix, self.noise)
            vector_noise = np.array(
                [self.noise.discrete_laplace(one / VECTOR_GRID, vectors.shape[1:]) for one in sizes]
            )
        elif size > 0:
            noisy_matrix = SymmetricGaussian(size, MATRIX_GRID).add(matrix, self.noise)
            vector_noise = np.array(
                [self.noise.discrete_gaussian(std / VECTOR_GRID, vectors.shape[1:]) for std in sizes]
            )
        matrix_noise, vector_sizes = priced_noise.deviations[self._number]
        self._number += 1
        return GramRelease(
            question,
            self._logged.people[form.half(member.kind)],
            noisy_matrix,
            np.asarray((vectors + vector_noise) * VECTOR_GRID, dtype=np.float64),
            matrix_noise,
            np.array(vector_sizes),
        )


class ValuesAggregate(LogAggregate):
    """Answers once: the sum of people's returns, and of V_1, public by then, at their first states."""

    def close(self, question: Critic | None = None) -> ValuesRelease:
        """The release, drawn once; question: V_1."""
        family, mechanism, logged = VALUES.question_of(self.design), self.design.additive, self._logged
        if self._number or logged is None:
            raise PrivacyError("returns-twice", "Returns are released once, of a log. Open another aggregate, and pay.")
        exact = logged.values(family.gram, family.values(question)) / family.resolution
        returned, predicted = mechanism.randomize(exact, family.trials, self.noise).tolist()
        self._number = 1
        return ValuesRelease(
            sum(logged.people), returned, predicted, validation.number("sigma", mechanism.describe()["sigma"])
        )
