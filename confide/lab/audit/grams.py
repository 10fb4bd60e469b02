"""Targets made of a curator's Gram sums: all questions of a form, asked with the value functions that reveal most.

The learner of a fit asks about its own value functions; here everybody's adversary asks: V is the most it may be after one
state and nothing after the other, so that what two people's steps lead to is as far apart as can be.

The likelihood of all that a linear fit releases, whose questions depend on the answers before them.

What is asked next follows from what was released, without any data. So the likelihood of all releases r_1, r_2, ... is the product
of those of r_k given the releases before it: Gaussian around a person's exact answer to the question that they led to. Where
two halves of the people are asked apart, who is in which is drawn at random, and the likelihood is the mean over both ways. The
ratio for two people is a function of what was released and of nothing else, so an attacker may compute it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...analysis.fitting.linear import LinearPlan
from ...analysis.fitting.linear_learning import WORTH
from ...data.privatizers import open_book
from ...data.statistics.gram import Logged
from ...data.trajectories import Trajectory
from ...errors import InvalidInput
from ...learning.learners import Context
from ...mdp import Spec
from ...mdp.critic import Critic
from ...mdp.linear import LinearFeatures
from ...mechanisms.noise import NoiseSource
from ...privacy import GaussianLoss
from ...protocol.design import Design
from ...protocol.kinds.gram import GRAM, MATRIX_GRID, VECTOR_GRID, GramForm, GramNoise, GramQuestion, GramRelease
from ...protocol.kinds.worth import WORTH as WORTH_KIND
from ...protocol.kinds.worth import WorthRelease
from .auditing import WHOLE, Target
from .events import Array
from .fits import MOST_COUNTED, ZERO_NOISE, FitRuns
from .people import everybody
from .wholes import WholeRun, worst_pair

Ways = Sequence[Logged]
"""The logs of a person and of who else is in the data, one for every way in which people may be in halves; all equally likely."""


def gram_cells(matrix: Any, vectors: Any) -> Array:
    """(n,) the numbers of an answer: upper triangles of matrices (B, d, d), and vectors (m, B, d)."""
    above, beside = np.triu_indices(matrix.shape[-1])
    return np.asarray(np.concatenate([matrix[..., above, beside].ravel(), vectors.ravel()]), dtype=np.float64)


def noise_of(design: Design) -> Array:
    """(n,) the deviation of every number that is released."""
    noise: GramNoise = design.mechanism
    features, sigmas = noise.form.features, []
    above, beside = np.triu_indices(features.dimension)
    for matrix, vectors in noise.sizes:
        sigmas.append(np.tile(matrix * np.where(above == beside, np.sqrt(2), 1.0), features.blocks))
        sigmas += [np.full(features.blocks * features.dimension, size) for size in vectors]
    return np.concatenate(sigmas)


def fit_log_ratio(plan: LinearPlan, people: tuple[Ways, Ways], released: dict[str, Any]) -> float:
    """The log-likelihood ratio of all releases of a fit, of one person's over that of another."""
    answers: list[GramRelease] = [release for name, release in released.items() if name != WORTH]
    worth: WorthRelease | None = released.get(WORTH)
    state = plan.learner.begin(Context(plan.data.knowledge.spec, max(answers[0].users, 1)))
    for answer in answers:
        state = plan.learner.learn(state, answer)
    sigmas = noise_of(plan.design)
    seen = np.concatenate([gram_cells(answer.matrix, answer.vectors) for answer in answers])
    family = None if plan.worth is None else WORTH_KIND.question_of(plan.worth)
    if family is not None and worth is not None:  # which papers do not ask for
        first = family.member(state.critics[0])
        sigmas, seen = np.append(sigmas, [worth.noise] * 2), np.append(seen, [worth.returned, worth.promised])
    noisy = sigmas > 0

    def likelihood(logged: Logged) -> float:
        exact = []
        for answer in answers:
            matrix, vectors = logged.sums(plan.design.question.member(answer.question))
            exact.append(gram_cells(matrix * MATRIX_GRID, vectors * VECTOR_GRID))
        expected = np.concatenate(exact)
        if family is not None:
            expected = np.append(expected, logged.worth(family.gram, first) / family.resolution)
        return float(-(((seen - expected)[noisy] / sigmas[noisy]) ** 2).sum() / 2)

    both = [np.logaddexp.reduce([likelihood(logged) for logged in ways]) - np.log(len(ways)) for ways in people]
    return float(both[0] - both[1])


# Of the samples: every output is a run of its own.
SHARE = 0.03
# So many weights are tried, which must part values by so much.
TRIED, MARGIN = 10_000, 0.05
# So steep that values are at the ends of their range everywhere.
STEEP = 100.0


def questions(form: GramForm) -> list[GramQuestion]:
    """The questions of a form, in order. V is the most it may be after state 0, and nothing after the others."""
    weights = STEEP * _parting(form.features)  # type: ignore[arg-type]
    doubt = np.zeros((*weights.shape, weights.shape[1]))
    asked = []
    for step, kind in form.questions:
        after = form.horizon - 1 - step
        critic = None if after == 0 else Critic(weights, doubt, 0.0, 0.0, 0.0, float(after))
        asked.append(GramQuestion(form, step, kind, critic))
    return asked


def _parting(features: LinearFeatures) -> Array:
    """(1, d) weights with which some action is good in state 0 and none is in any other state; found by trying."""
    rng = np.random.default_rng(0)
    for _ in range(TRIED):
        weights = rng.standard_normal(features.dimension)
        best = (features.phi @ weights).max(axis=1)
        if best[0] > MARGIN and (best[1:] < -MARGIN).all():
            return np.asarray(weights[None])
    raise InvalidInput(
        "features-alike", "No value function tells state 0 of these features from the others. Use other features."
    )


def gram_targets(name: str, plan: LinearPlan, spec: Spec, **declared: Any) -> list[Target]:
    """The target of all answers together, on the two people who are furthest apart for their noise."""
    runs, design = FitRuns(plan, spec, **declared), plan.design
    asked_questions, sigmas, logged = questions(GRAM.question_of(design)), noise_of(design), dict[int, Any]()

    def play(person: Trajectory, noise: NoiseSource) -> Array:
        book = open_book(design, noise, simulated=True)
        if id(person) not in logged:
            logged[id(person)] = plan.logged(runs.counted(person))
        book.take_sum(logged[id(person)])
        answers = [book.close(question) for question in asked_questions]
        return np.concatenate([gram_cells(answer.matrix, answer.vectors) for answer in answers])

    def exact_answers(person: Trajectory) -> Array:
        return play(person, ZERO_NOISE)

    people = worst_pair(WholeRun(play, exact_answers), everybody(spec)[:MOST_COUNTED])
    answers = [exact_answers(person) for person in people]
    change, middle = answers[0] - answers[1], (answers[0] + answers[1]) / 2

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        return np.stack([play(people[world], noise) for _ in range(count)])

    def claimed(outputs: Array) -> Array:
        return np.asarray((outputs - middle) @ (change / sigmas**2))

    exact = GaussianLoss(float(np.linalg.norm(change / sigmas)))
    return [Target(name, design.act.loss, sample, claimed, exact, design.trust, design.calibration, 1.0, SHARE, WHOLE)]
