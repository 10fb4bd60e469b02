"""Targets made of a curator's Gram sums: all questions of a form, asked with the value functions that reveal most.

The learner of a fit asks about its own value functions; here every user's adversary asks: V is the most it may be after one
state and nothing after the other, so that what two people's steps lead to is as far apart as can be.
"""

from __future__ import annotations

import numpy as np

from ...analysis.fitting.linear import LinearPlan
from ...data.privatizers import open_aggregate
from ...data.statistics.gram import Logged, LoggedSteps
from ...data.trajectories import Trajectory
from ...data.trajectories.declaration import Declared
from ...errors import InvalidInput
from ...mdp import Spec
from ...mdp.critic import Critic
from ...mdp.linear import LinearFeatures
from ...mechanisms.noise import NoiseSource
from ...privacy import GaussianLoss, Pure
from ...protocol.kinds.gram import GRAM, GramForm, GramQuestion
from .asking import gram_cells, noise_of
from .auditing import WHOLE, Target
from .end_to_end import WholeRun, worst_pair
from .events import Array
from .fits import MOST_COUNTED, ZERO_NOISE, FitRuns
from .people import all_episodes

# Of the samples: every output is a run of its own.
SHARE = 0.03
# This many weights are tried, which must part values by so much.
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


def gram_targets(name: str, plan: LinearPlan, spec: Spec, **declared: Declared) -> list[Target]:
    """The target of all answers together, on the two people who are furthest apart for their noise."""
    runs, design = FitRuns(plan, spec, **declared), plan.design
    asked_questions, sigmas, logged = (
        questions(GRAM.question_of(design)),
        noise_of(design),
        dict[int, Logged | LoggedSteps](),
    )

    def play(person: Trajectory, noise: NoiseSource) -> Array:
        aggregate = open_aggregate(design, noise, simulated=True)
        if id(person) not in logged:
            logged[id(person)] = plan.logged(runs.counted(person))
        aggregate.take_sum(logged[id(person)])
        answers = [aggregate.close(question) for question in asked_questions]
        return np.concatenate([gram_cells(answer.matrix, answer.vectors) for answer in answers])

    def exact_answers(person: Trajectory) -> Array:
        return play(person, ZERO_NOISE)

    people = worst_pair(WholeRun(play, exact_answers), all_episodes(spec)[:MOST_COUNTED])
    answers = [exact_answers(person) for person in people]
    change, middle = answers[0] - answers[1], (answers[0] + answers[1]) / 2

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        return np.stack([play(people[world], noise) for _ in range(count)])

    normal = GRAM.noise_of(design).normal

    def claimed(outputs: Array) -> Array:
        if normal:
            return np.asarray((outputs - middle) @ (change / sigmas**2))
        distances = [np.abs(outputs - answer) / sigmas for answer in answers]
        return np.asarray((distances[1] - distances[0]).sum(axis=1))

    moved = np.abs(change) / sigmas
    exact = GaussianLoss(float(np.linalg.norm(moved))) if normal else Pure(float(moved.sum()))
    return [Target(name, design.act.loss, sample, claimed, exact, design.trust, design.calibration, 1.0, SHARE, WHOLE)]
