"""`simulate`: completes what was chosen, picks an engine, runs every seed and collects the results in a `Run`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import environments, learners, validation
from ..designs import TIGHT, Request, make
from ..designs.papers import AUTHORS
from ..environments import Environment
from ..errors import InvalidInput
from ..learners import Context
from ..loading import worker_setup
from ..mdp import Policy
from ..privacy import Guarantee, NoPrivacy, Schedule
from ..privacy.guarantee import CENTRAL
from ..privacy.schedule import EVERY, MOST_USERS
from ..results import Run
from . import batched, mixtures, play, stepwise
from .setting import Outcome, Setting, as_printed, default_schedule, parse_schedule, take_mixing
from .streams import spawn

BATCHED, STEPWISE, LINEAR, PLAIN = "batched", "stepwise", "linear", "plain"
# Who can play all parties; questions about linear mixtures have a loop of their own.
ENGINES: dict[str, Callable[[Setting, np.random.SeedSequence], Outcome]] = {
    BATCHED: batched.run,
    STEPWISE: stepwise.run,
    LINEAR: mixtures.run,
    PLAIN: play.play,
}
# Called after every finished seed with how many are done.
Progress = Callable[[int], None]


def prepare(
    learner: Any,
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
    budget: int | None = None,
    printing: str = "",
    **options: Any,
) -> Setting:
    """The setting of a simulation, every choice made and checked before anything runs. Arguments are those of `simulate`."""
    world = environments.make(environment, horizon, model) if isinstance(environment, str) else environment
    promise = privacy or NoPrivacy()
    if promise.trust == CENTRAL:
        raise InvalidInput(
            "Learning online is under joint privacy. Use Joint(...), or simulate_offline for logged people."
        )
    if not promise.private and mechanism != "auto":
        raise validation.refusal("mechanism", "left out without privacy", mechanism, "Give a promise, or leave it out.")
    users = validation.integer("episodes", episodes, 1, MOST_USERS)
    world = as_printed(world, calibration, AUTHORS.get(getattr(learner, "name", learner), ""), model)
    size = world.spec.horizon * world.spec.states * world.spec.actions
    mixing = take_mixing(options, promise, size, users)
    algorithm = _make_learner(learner, calibration, options) if isinstance(learner, str) else learner
    context = Context(world.spec, users, failure, bonus_scale)
    if schedule is None:
        scouts = bool(getattr(algorithm, "scouts", False))
        schedule = default_schedule(promise, calibration, world.spec, users, mixing, scouts)
    elif isinstance(schedule, str):
        schedule = parse_schedule(schedule, users)
    question, context_of = (
        mixtures.mixture_problem(world, algorithm, context)
        if mixtures.learns_mixtures(algorithm)
        else _first_question(algorithm, context)
    )
    authors = AUTHORS.get(algorithm.name, "")
    design = make(
        Request(
            question,
            promise,
            schedule,
            calibration,
            mechanism,
            authors,
            mixing,
            failure,
            budget=budget,
            printing=printing,
        )
    )
    return Setting(world, algorithm, context_of(design), promise, calibration, schedule, design)


def _first_question(learner: Any, context: Context) -> tuple[Any, Callable[[Any], Context]]:
    """The question a learner asks first, and a function from its design to the learner's context: always the same one."""
    return learner.ask(learner.begin(context, np.random.default_rng(0))), lambda design: context


def _make_learner(name: str, calibration: str, options: dict[str, Any]) -> Any:
    """The learner of that name: as its paper prints it under `paper` and `sound`, in our own form under `tight`."""
    listing = learners.listing(name)
    if listing.logged:
        raise InvalidInput(
            f"Learner {name!r} learns from people who were logged beforehand. Use --offline (simulate_offline or "
            "simulate_linear in Python), or a learner that learns online, such as ucbvi."
        )
    printed = {} if calibration == TIGHT else listing.paper
    return learners.make(name, **{**printed, **options})


def choose_engine(setting: Setting, engine: str | None) -> str:
    """The name of the engine that was asked for, if it can serve this setting; without one, of the fastest that can."""
    able = [name for name, supports in _ABLE.items() if supports(setting)]
    if engine is None:
        # Compiled and stepwise where every episode is planned for, batched elsewhere, plain where nothing is known.
        preferred = [LINEAR, STEPWISE, BATCHED] if setting.schedule.kind == EVERY else [LINEAR, BATCHED]
        return next((name for name in preferred if name in able), PLAIN)
    about_mixtures = mixtures.learns_mixtures(setting.learner)
    validation.choice("engine", engine, [LINEAR, PLAIN] if about_mixtures else [BATCHED, STEPWISE, PLAIN])
    if engine == BATCHED:
        _ = setting.model
    if engine not in able:
        raise InvalidInput(f"The {engine} engine does not know this mechanism or learner. Use plain, or batched.")
    return engine


_ABLE: dict[str, Callable[[Setting], bool]] = {
    LINEAR: mixtures.supports,
    STEPWISE: stepwise.supports,
    BATCHED: batched.supports,
    PLAIN: lambda setting: True,
}


def simulate(
    learner: Any,
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
        environment=setting.environment.name,
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
    setting: Setting, engine: str, roots: list[np.random.SeedSequence], workers: int
) -> Iterator[tuple[int, Outcome]]:
    """Outcomes as they are finished, each with the index of its seed."""
    if workers == 1 or len(roots) == 1:
        for index, root in enumerate(roots):
            yield _run_seed(setting, engine, index, root)
        return
    from joblib import Parallel, delayed

    tasks = (delayed(_run_seed)(setting, engine, index, root) for index, root in enumerate(roots))
    yield from Parallel(n_jobs=workers, return_as="generator_unordered", **worker_setup())(tasks)


def _run_seed(setting: Setting, engine: str, index: int, root: np.random.SeedSequence) -> tuple[int, Outcome]:
    return index, ENGINES[engine](setting, root)


def _config(setting: Setting, seed: int, seeds: int) -> dict[str, Any]:
    """The choices that are saved with a run, so that it can be run again."""
    promise = setting.guarantee
    return {
        "environment": setting.environment.address,
        "horizon": setting.context.spec.horizon,
        "model": setting.context.spec.dynamics,
        "learner": setting.learner.name,
        "privacy": {"trust": promise.trust, "epsilon": promise.epsilon, "delta": promise.delta, "rho": promise.rho},
        "calibration": setting.calibration,
        "mechanism": setting.design.mechanism.name if setting.guarantee.private else None,
        "schedule": setting.schedule.describe(),
        "failure": setting.context.failure,
        "bonus_scale": setting.context.bonus_scale,
        "seed": seed,
        "seeds": seeds,
    }
