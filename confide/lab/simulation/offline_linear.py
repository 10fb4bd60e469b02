"""Learning from simulated logs with linear features: n people, 5H questions in turn, one policy, its exact value.

What is asked, at which price, and what is learned is `fit`'s own plan, as for counts (`offline`).
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ... import validation
from ...analysis.fitting.choices import LINEAR, FitChoice, FitChoices
from ...analysis.fitting.findings import Units
from ...analysis.fitting.fit import planned_sums
from ...analysis.fitting.learning import make_learner
from ...analysis.fitting.linear_learning import linear_result
from ...errors import InvalidInput
from ...learning.planning.evaluation import optimal_value, policy_value
from ...mdp import PER_STEP, Model, Policy
from ...mdp.knowledge import Knowledge
from ...mdp.linear import LinearFeatures
from ...privacy import Guarantee, NoPrivacy
from ..environments import Environment, linear_mdp
from ..environments.registry import resolve
from .offline import OfflineRun, known_model, practice_of
from .offline_log import SimulatedLog, simulated_data
from .streams import spawn, streams

UNITS = Units(0.0, 1.0)


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
    **options: FitChoice,
) -> OfflineRun:
    """Log users, release the statistics the learner queries with replayable noise, learn; `seeds` times over.

    features: (S, A, d); by default those of linear-mdp. Without privacy the answers are exact. Options go to the learner.
    """
    world = resolve(environment, horizon, PER_STEP)
    model, has_features = known_model(world), world.address.startswith("linear-mdp")
    if features is None and not has_features:
        raise InvalidInput(
            "environment-without-features", f"{world.name} has no linear features of its own. Give a table (S, A, d)."
        )
    feature_table: Any = linear_mdp.features() if features is None else features
    if learner not in LINEAR:
        raise InvalidInput(
            "offline-learner-of-features",
            f"{learner!r} does not learn from features of logged people. Use vapvi or pevi.",
        )
    behaviour_policy = (
        linear_mdp.practice(model.horizon) if behaviour is None and has_features else practice_of(world, behaviour)
    )
    users = validation.integer("episodes", episodes, 2, 10**9)
    knowledge = Knowledge.declared(model.spec, initial=model.initial, ends=False)
    if not isinstance(feature_table, LinearFeatures):
        feature_table = LinearFeatures.declared(feature_table)
    words: dict[str, FitChoice] = {
        "features": feature_table,
        "calibration": calibration,
        "scale": bonus_scale,
        **options,
    }
    chosen = FitChoices.of(learner, privacy or NoPrivacy(), **words)
    algorithm: Any = make_learner(learner, knowledge, dict(chosen.options), calibration)
    plan = planned_sums(simulated_data(knowledge), chosen, algorithm)
    log, started, values = SimulatedLog(model, behaviour_policy, rewards_known=False), time.perf_counter(), []
    asker = plan.learner
    for root in spawn(seed, validation.integer("seeds", seeds, 1)):
        luck = streams(root)
        counted = log.counted(plan.question, None, users, luck.world, plan.split)
        releases: dict[str, Any] = dict(plan.release(counted, luck.replayable, simulated=True))
        learned = linear_result(replace(asker, scale=bonus_scale), model.horizon, releases, UNITS)
        policy: Any = learned.policy  # a table, as features of worlds are
        values.append(policy_value(model, policy))
    return OfflineRun(
        world.name,
        algorithm.name,
        users,
        np.array(values),
        optimal_value(model),
        policy_value(model, behaviour_policy),
        plan.certificate("replayable"),
        time.perf_counter() - started,
    )
