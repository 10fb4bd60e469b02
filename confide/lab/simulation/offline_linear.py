"""Learning from simulated logs with linear features: n people, 5H questions in turn, one policy, its exact value."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ... import validation
from ...data.privatizers import open_book
from ...data.statistics.gram import Logged, LoggedSteps
from ...errors import InvalidInput
from ...learning import learners
from ...learning.learners import Context
from ...learning.learners.vapvi import LinearState, Vapvi
from ...learning.planning.evaluation import optimal_value, policy_value
from ...mdp import PER_STEP, Model, Policy
from ...mdp.linear import LinearFeatures
from ...mechanisms.noise import NoiseSource
from ...privacy import Guarantee, NoPrivacy, Schedule
from ...protocol.design import Design, Request, make
from ...protocol.kinds import CountQuestion
from ...protocol.kinds.gram import TARGET_BITS
from ..environments import Environment, linear_mdp
from ..environments.registry import resolve
from .draws import World, draw_counts, layout_of
from .offline import known_model, practice_of
from .offline_run import OfflineRun
from .streams import spawn, streams


def simulate_linear(
    environment: str | Environment | Model = "linear-mdp",
    privacy: Guarantee | None = None,
    episodes: float = 1000,
    seeds: int = 5,
    *,
    learner: str = "vapvi",
    features: LinearFeatures | Any = None,
    behaviour: Policy | str | None = None,
    calibration: str = "tight",
    bonus_scale: float | None = None,
    horizon: int | None = None,
    seed: int = 0,
    **options: Any,
) -> OfflineRun:
    """Log people, answer the learner's questions with replayable noise, learn; `seeds` times over.

    features: (S, A, d); by default those of linear-mdp. Without privacy the answers are exact. Options go to the learner.
    """
    world = resolve(environment, horizon, PER_STEP)
    model, has_features = known_model(world), world.address.startswith("linear-mdp")
    if features is None and not has_features:
        raise InvalidInput(
            "environment-without-features", f"{world.name} has no linear features of its own. Give a table (S, A, d)."
        )
    feature_table: Any = linear_mdp.features() if features is None else features
    algorithm: Any = learners.make(learner, features=feature_table, calibration=calibration, **options)
    if not isinstance(getattr(algorithm, "features", None), LinearFeatures):
        raise InvalidInput(
            "offline-learner-of-features",
            f"{learner!r} does not learn from features of logged people. Use vapvi or pevi.",
        )
    behaviour_policy = (
        linear_mdp.practice(model.horizon) if behaviour is None and has_features else practice_of(world, behaviour)
    )
    promise = privacy or NoPrivacy()
    users = validation.integer("episodes", episodes, 2, 10**9)
    algorithm = replace(algorithm, scale=bonus_scale)
    start = algorithm.begin(Context(model.spec, users))
    design = make(Request(start.form, promise, Schedule.every(1), calibration))
    started = time.perf_counter()
    states = []
    for root in spawn(seed, validation.integer("seeds", seeds, 1)):
        rng = streams(root)
        log = draw_steps(algorithm.features, model, behaviour_policy, users, rng.world, 2 if start.form.split else 1)
        states.append(ask_all(algorithm, start, design, log, rng.replayable))
    return OfflineRun(
        world.name,
        algorithm.name,
        users,
        np.array([policy_value(model, Policy(state.policy)) for state in states]),
        optimal_value(model),
        policy_value(model, behaviour_policy),
        design.certificate("replayable"),
        time.perf_counter() - started,
    )


def ask_all(
    learner: Vapvi,
    start: LinearState,
    design: Design,
    logged: Logged,
    noise: NoiseSource,
) -> LinearState:
    """The learner's last state, after all of its questions were answered from the log."""
    state, book = start, open_book(design, noise, simulated=True)
    book.take_sum(logged)
    while not state.done:
        state = learner.learn(state, book.close(learner.ask(state)))
    return state


def draw_steps(
    features: LinearFeatures, model: Model, behaviour: Policy, users: int, rng: np.random.Generator, groups: int
) -> LoggedSteps:
    """The log of `users` people in one group or two halves, drawn exactly; rewards are 0 or 1."""
    spec = model.per_step().spec
    question = CountQuestion(spec, ("rewards", "transitions"))
    world = World(model.transitions, model.rewards, model.initial)
    table = np.ascontiguousarray(behaviour.probabilities)
    sizes = [users // groups + (group < users % groups) for group in range(groups)]
    moves, paid = [], []
    for size in sizes:
        cells = np.zeros(question.cells)
        draw_counts(world, table, size, layout_of(question), rng, cells)
        moves.append(cells[question.slices["transitions"]].reshape(question.shape("transitions")))
        paid.append(cells[question.slices["rewards"]].reshape(question.shape("rewards")))
    rewards = np.rint(np.array(paid) * float(1 << TARGET_BITS)).astype(np.int64)
    return LoggedSteps(features, np.rint(np.array(moves)).astype(np.int64), rewards, tuple(sizes))
