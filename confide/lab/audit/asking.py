"""The likelihood of all that a linear fit releases, whose questions depend on the answers before them.

What is asked next follows from what was released, without any data. So the likelihood of all releases r_1, r_2, ... is the
product of those of r_k given the releases before it: Gaussian, or Laplace's, around a person's exact answer to the question
that they led to. Where two halves of the people are asked apart, who is in which is drawn at random, and the likelihood is the
mean over both ways. The ratio for two people is a function of what was released and of nothing else, so an attacker may compute
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...analysis.fitting.linear import LinearPlan
from ...analysis.fitting.linear_learning import VALUES
from ...data.statistics.gram import Logged
from ...learning.learners import Context
from ...protocol.design import Design
from ...protocol.kinds.gram import GRAM, MATRIX_GRID, VECTOR_GRID, GramRelease
from ...protocol.kinds.values import VALUES as VALUES_KIND
from ...protocol.kinds.values import ValuesRelease
from .events import Array

Ways = Sequence[Logged]
"""The logs of a person and of who else is in the data, one for every way in which people may be in halves; all equally likely."""


def gram_cells(matrix: NDArray[np.generic], vectors: NDArray[np.generic]) -> Array:
    """(n,) the numbers of an answer: upper triangles of matrices (B, d, d), and vectors (m, B, d)."""
    above, beside = np.triu_indices(matrix.shape[-1])
    return np.asarray(np.concatenate([matrix[..., above, beside].ravel(), vectors.ravel()]), dtype=np.float64)


def noise_of(design: Design) -> Array:
    """(n,) sigma, or of Laplace noise the scale, of every number that is released."""
    noise = GRAM.noise_of(design)
    features, sigmas = noise.form.features, []
    above, beside = np.triu_indices(features.dimension)
    diagonal = np.sqrt(2) if noise.normal else 1.0
    for matrix, vectors in noise.sizes:
        sigmas.append(np.tile(matrix * np.where(above == beside, diagonal, 1.0), features.blocks))
        sigmas += [np.full(features.blocks * features.dimension, size) for size in vectors]
    return np.concatenate(sigmas)


def fit_log_ratio(plan: LinearPlan, people: tuple[Ways, Ways], released: dict[str, Any]) -> float:
    """The log-likelihood ratio of all releases of a fit, of one person's over that of another."""
    answers: list[GramRelease] = [release for name, release in released.items() if name != VALUES]
    values: ValuesRelease | None = released.get(VALUES)
    state = plan.learner.begin(Context(plan.data.knowledge.spec, max(answers[0].users, 1)))
    for answer in answers:
        state = plan.learner.learn(state, answer)
    sigmas = noise_of(plan.design)
    seen = np.concatenate([gram_cells(answer.matrix, answer.vectors) for answer in answers])
    family = None if plan.values is None else VALUES_KIND.question_of(plan.values)
    if family is not None and values is not None:  # which papers do not ask for
        first = family.values(state.critics[0])
        sigmas, seen = np.append(sigmas, [values.noise] * 2), np.append(seen, [values.returned, values.predicted])
    noisy, normal = sigmas > 0, GRAM.noise_of(plan.design).normal

    def likelihood(logged: Logged) -> float:
        exact = []
        for answer in answers:
            matrix, vectors = logged.sums(GRAM.question_of(plan.design).priced(answer.question))
            exact.append(gram_cells(matrix * MATRIX_GRID, vectors * VECTOR_GRID))
        expected = np.concatenate(exact)
        if family is not None:
            expected = np.append(expected, logged.values(family.gram, first) / family.resolution)
        apart = np.abs(seen - expected)[noisy] / sigmas[noisy]
        return float(-(apart**2).sum() / 2 if normal else -apart.sum())

    both = [np.logaddexp.reduce([likelihood(logged) for logged in ways]) - np.log(len(ways)) for ways in people]
    return float(both[0] - both[1])
