"""`simulate`: from a few words to a run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import environments, learners, validation
from ..environments import Environment
from ..errors import InvalidInput
from ..learners import Context, Learner
from ..mdp import Policy
from ..privacy import Guarantee, NoPrivacy, Schedule
from ..privacy.guarantee import CENTRAL, LOCAL
from ..privacy.schedule import EVERY, MOST_USERS
from ..privatizers import TIGHT
from ..results import Run
from . import batched, linear, linear_play, play, stepwise
from .setting import Choices, Outcome, Setting, default_schedule, parse_schedule, take_mixing
from .streams import spawn

BATCHED, STEPWISE, LINEAR, PLAIN = "batched", "stepwise", "linear", "plain"
# By the kind of statistics that is asked for: who can play all parties.
ENGINES: dict[type, dict[str, Callable[[Any, np.random.SeedSequence], Outcome]]] = {
    Setting: {BATCHED: batched.run, STEPWISE: stepwise.run, PLAIN: play.play},
    linear.MixtureSetting: {LINEAR: linear.run, PLAIN: linear_play.play},
}
# Called after every finished seed with how many are done.
Progress = Callable[[int], None]


def prepare(
    learner: str | Learner,
    environment: str | Environment,
    privacy: Guarantee | None = None,
    episodes: float = 10_000,
    calibration: str = TIGHT,
    mechanism: str = "auto",
    schedule: str | Schedule | None = None,
    horizon: int | None = None,
    model: str | None = None,
    failure: float = 0.1,
    bonus_scale: float = 1.0,
    **options: Any,
) -> Setting | linear.MixtureSetting:
    """Make every choice and check everything, before anything runs. The words are those of `simulate`."""
    world = environments.make(environment, horizon, model) if isinstance(environment, str) else environment
    promise = privacy or NoPrivacy()
    if promise.trust == CENTRAL:
        raise InvalidInput(
            "Learning online is under joint privacy. Use Joint(...), or simulate_offline for logged people."
        )
    users = validation.integer("episodes", episodes, 1, MOST_USERS)
    size = world.spec.horizon * world.spec.states * world.spec.actions
    mixing = take_mixing(options, promise, size, users)
    teacher = _teacher(learner, calibration, options) if isinstance(learner, str) else learner
    # Under local privacy, and through one shuffler, noise is fresh with every person.
    own = promise.trust == LOCAL or (mixing is not None and not mixing.tree)
    context = Context(world.spec, users, failure, bonus_scale, own_noise=own)
    if schedule is None:
        schedule = default_schedule(promise, calibration, size, users, mixing)
    elif isinstance(schedule, str):
        schedule = parse_schedule(schedule, users)
    if linear.asks(teacher):
        return linear.setting(world, teacher, context, promise, calibration, schedule, mechanism)
    return Setting.of(world, teacher, context, promise, calibration, schedule, mechanism, mixing)


def _teacher(name: str, calibration: str, options: dict[str, Any]) -> Learner:
    """The learner of that name: as its paper prints it under `paper` and `sound`, in our own form under `tight`."""
    printed = {} if calibration == TIGHT else learners.listing(name).paper
    return learners.make(name, **{**printed, **options})


def choose_engine(setting: Setting | linear.MixtureSetting, engine: str | None) -> str:
    """The one asked for, if it can serve; else the fastest that can."""
    if engine is None:
        return LINEAR if isinstance(setting, linear.MixtureSetting) else _fastest(setting)
    validation.choice("engine", engine, ENGINES[type(setting)])
    if isinstance(setting, Setting):
        if engine == STEPWISE and not stepwise.supports(setting):
            raise InvalidInput("The stepwise engine does not know this mechanism or learner. Use plain, or batched.")
        if engine == BATCHED:
            _ = setting.model
    return engine


def _fastest(setting: Setting) -> str:
    """Compiled and stepwise where every episode is planned for, batched elsewhere, plain where nothing is known."""
    if setting.environment.model is None:
        return PLAIN
    return STEPWISE if setting.schedule.kind == EVERY and stepwise.supports(setting) else BATCHED


def simulate(
    learner: str | Learner,
    environment: str | Environment,
    privacy: Guarantee | None = None,
    episodes: float = 10_000,
    seeds: int = 5,
    *,
    seed: int = 0,
    engine: str | None = None,
    workers: int = 1,
    progress: Progress | None = None,
    label: str = "",
    **choices: Any,
) -> Run:
    """Learn from `episodes` simulated people, `seeds` times over, and measure the regret exactly.

    `choices` go to `prepare`: calibration (paper, sound, tight), mechanism, schedule (every, batches:500, growth:1.01), horizon,
    model (stationary, per-step), failure, bonus_scale, and options of the learner. Results do not depend on `workers`.
    An interrupted run keeps the seeds that were finished.
    """
    setting = prepare(learner, environment, privacy, episodes, **choices)
    count = validation.integer("seeds", seeds, 1)
    chosen = choose_engine(setting, engine)
    started = time.perf_counter()
    done: dict[int, Outcome] = {}
    try:
        for index, outcome in _outcomes(setting, chosen, spawn(seed, count), workers):
            done[index] = outcome
            if progress is not None:
                progress(len(done))
    except KeyboardInterrupt:
        if not done:
            raise
    outcomes = [done[index] for index in sorted(done)]
    return Run(
        environment=setting.environment.address,
        learner=setting.learner.name,
        trust=setting.guarantee.trust,
        episodes=setting.schedule.users,
        seeds=len(outcomes),
        schedule=setting.schedule.describe(),
        engine=chosen,
        checkpoints=setting.checkpoints,
        regret=np.array([outcome.regret for outcome in outcomes]),
        optimal_value=math.nan if setting.environment.model is None else setting.optimal_value,
        final_value=np.array([outcome.final_value for outcome in outcomes]),
        seconds=time.perf_counter() - started,
        certificate=setting.certificate(),
        policy=Policy(outcomes[0].policy),
        config=_config(setting, seed, count),
        label=label or f"{setting.learner.name}, {setting.guarantee}",
        measure="regret" if setting.environment.model is not None else "return",
    )


def _outcomes(
    setting: Choices[Any, Any], engine: str, roots: list[np.random.SeedSequence], workers: int
) -> Iterator[tuple[int, Outcome]]:
    """Outcomes as they are finished, each with the index of its seed."""
    if workers == 1 or len(roots) == 1:
        for index, root in enumerate(roots):
            yield _one(setting, engine, index, root)
        return
    from joblib import Parallel, delayed

    tasks = (delayed(_one)(setting, engine, index, root) for index, root in enumerate(roots))
    yield from Parallel(n_jobs=workers, return_as="generator_unordered")(tasks)


def _one(setting: Choices[Any, Any], engine: str, index: int, root: np.random.SeedSequence) -> tuple[int, Outcome]:
    return index, ENGINES[type(setting)][engine](setting, root)


def _config(setting: Choices[Any, Any], seed: int, seeds: int) -> dict[str, Any]:
    """Everything that is needed to run it again."""
    promise = setting.guarantee
    return {
        "environment": setting.environment.address,
        "horizon": setting.context.spec.horizon,
        "model": setting.context.spec.model,
        "learner": setting.learner.name,
        "privacy": {"trust": promise.trust, "epsilon": promise.epsilon, "delta": promise.delta, "rho": promise.rho},
        "calibration": setting.calibration,
        "mechanism": None if setting.privatizer is None else setting.privatizer.act.mechanism.name,
        "schedule": setting.schedule.describe(),
        "failure": setting.context.failure,
        "bonus_scale": setting.context.bonus_scale,
        "seed": seed,
        "seeds": seeds,
    }
