"""`simulate`: completes what was chosen, picks an engine, runs every seed and collects the results in a `Run`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from ... import validation
from ...analysis.results import Run
from ...errors import InvalidInput
from ...learning import learners
from ...learning.learners import Context, baselines
from ...learning.learners.learner import family_of
from ...learning.learners.linear import FEATURES
from ...learning.learners.vtr import MIXTURE as MIXTURES
from ...learning.learners.vtr_targets import TARGETS
from ...loading import worker_setup
from ...mdp import Model, Policy
from ...privacy import Guarantee, Participation
from ...privacy.guarantee import CENTRAL
from ...privacy.schedule import EVERY, MOST_USERS
from ...protocol.accepted import BROWSERS
from ...protocol.defaults import SHUFFLING, request_for
from ...protocol.design import AUTO, PAPER, TIGHT, Design, make
from ...protocol.kinds import Question
from ...protocol.papers import AUTHORS, POOLED, author, pools
from ...validation import Json
from ..environments import Environment
from ..environments.registry import resolve
from . import batched, featured, mixtures, play, stepwise, targeted
from .record import RECORD, record_of
from .setting import Choice, Choices, Outcome, Setting, as_printed, parse_schedule
from .streams import root_of

if TYPE_CHECKING:
    from ...learning.learners.learner import AnyLearner

BATCHED, STEPWISE, MIXTURE, FEATURED, PLAIN = "batched", "stepwise", "mixture", "featured", "plain"
TARGETED = "targeted"
# Who can play all parties; questions about linear mixtures have a loop of their own.
ENGINES: dict[str, Callable[[Setting, np.random.SeedSequence], Outcome]] = {
    BATCHED: batched.run,
    STEPWISE: stepwise.run,
    MIXTURE: mixtures.run,
    TARGETED: targeted.run,
    FEATURED: featured.run,
    PLAIN: play.play,
}
# Called after every finished seed with how many are done.
Progress = Callable[[int], None]


def prepare(
    learner: str | AnyLearner,
    environment: str | Environment | Model,
    privacy: Guarantee | None = None,
    episodes: float = 10_000,
    **choices: Choice,
) -> Setting:
    """The setting of a simulation, every choice made and checked before anything runs. Arguments are those of `simulate`."""
    return complete(Choices.of(learner, environment, privacy, episodes=episodes, **choices))


def complete(choices: Choices) -> Setting:
    """The setting that follows from what was chosen: world, learner, schedule and design."""
    chosen, choices = choices, by_address(choices)
    learner, promise, calibration = choices.learner, choices.privacy, choices.calibration
    world = resolve(choices.environment, choices.horizon, choices.model)
    if promise.trust == CENTRAL:
        raise InvalidInput(
            "online-is-joint",
            "Learning online is under joint privacy. Use Joint(...), or, for a policy from a log, simulate_offline or --offline.",
        )
    if not promise.private and choices.mechanism != AUTO:
        way_out = "Give a guarantee, or leave it out."
        raise validation.refusal(
            "mechanism-without-privacy", "mechanism", "left out without privacy", choices.mechanism, way_out
        )
    users = validation.integer("episodes", choices.episodes, 1, MOST_USERS)
    endless = choices.expected is not None
    expected = validation.integer("expected", choices.expected, 1, MOST_USERS) if endless else users
    world = as_printed(
        world, calibration, AUTHORS.get(learner if isinstance(learner, str) else learner.name, ""), choices.model
    )
    options = dict(choices.options)
    shuffling = {name: options.pop(name) for name in SHUFFLING & options.keys()}
    devices, claimed = str(options.pop("devices", None) or BROWSERS), bool(options.pop("claimed", None))
    algorithm = _make_learner(learner, calibration, options)
    if family_of(algorithm) == MIXTURES:
        algorithm = mixtures.tight_form(algorithm, world, choices)
    context = Context(world.spec, expected, choices.failure, choices.bonus_scale)
    schedule = choices.schedule
    question, context_of = _problem(world, algorithm, context, promise.private)
    request = request_for(
        question,
        promise,
        expected,
        schedule=parse_schedule(schedule, users) if isinstance(schedule, str) else schedule,
        shuffling=shuffling,
        calibration=calibration,
        mechanism=choices.mechanism,
        devices=devices,
        claimed=claimed,
        scouts=bool(getattr(algorithm, "scouts", False)),
        paper=author(algorithm.name, options),
        failure=choices.failure,
        budget=choices.budget,
        printing=choices.printing,
        participation=Participation(choices.returns, choices.apart),
        endless=endless,
    )
    design = make(request)
    played = request.schedule.until(users) if endless else request.schedule
    return Setting(chosen, world, algorithm, context_of(design), played, design, calibration)


def by_address(choices: Choices) -> Choices:
    """The choices with what the learner's address says of them written out; an address and a choice must not differ."""
    if not isinstance(choices.learner, str):
        return choices
    found = baselines.resolve(choices.learner, choices.privacy.trust)
    written = {name: value for name, value in found.choices.items() if vars(choices)[name] == _DEFAULTS[name]}
    stated = choices.learner.partition("?")[0].partition("/")[2]
    if stated and "calibration" not in written and choices.calibration != stated:
        raise InvalidInput(
            "learner-address-calibration",
            f"{choices.learner} is of calibration {stated}. Got {choices.calibration}. Leave one of them out.",
        )
    return replace(choices, learner=found.name, options={**found.options, **choices.options}, **written)


_DEFAULTS = {each.name: each.default for each in fields(Choices)}


def _problem(
    world: Environment, learner: AnyLearner, context: Context, private: bool
) -> tuple[Question, Callable[[Design], Context]]:
    """What is to be designed for a learner, and a function from the design to the learner's context.

    Learners of mixtures and of features have problems of their own; of any other it is the question that it asks first.
    """
    family = family_of(learner)
    if family == MIXTURES:
        return mixtures.mixture_problem(world, learner, context)
    if family == TARGETS:
        return mixtures.target_problem(world, context, private)
    if family == FEATURES:
        return featured.feature_problem(world, context)
    return learner.ask(learner.begin(context, np.random.default_rng(0))), lambda design: context


def _make_learner(name: str | AnyLearner, calibration: str, options: dict[str, Json]) -> AnyLearner:
    """The learner of that name, under `paper` and `sound` as its paper prints it; what is no name is a learner already."""
    if not isinstance(name, str):
        if options:
            unused = ", ".join(sorted(options))
            raise InvalidInput(
                "options-of-made-learner",
                f"A learner that is made already takes no options. Got {unused}. Leave them out, or name it.",
            )
        return name
    listing = online_listing(name)
    printed = {} if calibration == TIGHT else listing.paper
    made: AnyLearner = learners.make(name, **{**printed, **options})
    return made


def online_listing(name: str) -> learners.LearnerListing:
    """The listing of a learner of that name; refused, with the way out, if it learns from logged people only."""
    listing = learners.listing(name)
    if listing.logged:
        raise InvalidInput(
            "learner-offline",
            f"Learner {name!r} learns from people who were logged beforehand. Use --offline (in Python "
            "simulation.simulate_offline or simulate_linear), or a learner that learns online, such as ucbvi.",
        )
    return listing


def choose_engine(setting: Setting, engine: str | None) -> str:
    """The name of the engine that was asked for, if it can serve this setting; without one, of the fastest that can."""
    family = family_of(setting.learner)
    if family == FEATURES:
        return validation.choice("engine", engine or FEATURED, [FEATURED])
    if family == TARGETS:
        return validation.choice("engine", engine or TARGETED, [TARGETED, PLAIN])
    if engine is None:
        # Compiled and stepwise where every episode is planned for, batched elsewhere, plain where nothing is known.
        preferred = [STEPWISE, BATCHED] if setting.schedule.kind == EVERY else [BATCHED]
        if family == MIXTURES:
            preferred = [MIXTURE, *preferred]
        return next((name for name in preferred if _ABLE[name](setting)), PLAIN)
    validation.choice("engine", engine, [MIXTURE, PLAIN] if family == MIXTURES else [BATCHED, STEPWISE, PLAIN])
    if engine == BATCHED:
        _ = setting.model
    if not _ABLE[engine](setting):
        raise InvalidInput(
            "engine-unfit", f"The {engine} engine does not know this mechanism or learner. Use plain, or batched."
        )
    return engine


_ABLE: dict[str, Callable[[Setting], bool]] = {
    MIXTURE: mixtures.supports,
    STEPWISE: stepwise.supports,
    BATCHED: batched.supports,
    PLAIN: lambda setting: True,
}


def simulate(
    learner: str | AnyLearner,
    environment: str | Environment | Model,
    privacy: Guarantee | None = None,
    episodes: float = 10_000,
    seeds: int = 5,
    *,
    seed: int = 0,
    engine: str | None = None,
    workers: int = 1,
    progress: Progress | None = None,
    label: str = "",
    **choices: Choice,
) -> Run:
    """Learn from `episodes` simulated people, `seeds` times over, and measure the regret exactly.

    environment: an address, an `Environment`, or a `Model` whose transitions are known. `choices` are those of `Choices`:
    calibration (paper, sound, tight), mechanism, schedule (every, batches:500, growth:1.01), horizon, model (stationary,
    per-step), failure, bonus_scale, and options of the learner. Results do not depend on `workers`. An interrupted run keeps the
    seeds that were finished.
    """
    setting = prepare(learner, environment, privacy, episodes, seeds=seeds, seed=seed, engine=engine, **choices)
    setting.warn_if_drowned()
    return run(setting, workers, progress, label)


def run(setting: Setting, workers: int = 1, progress: Progress | None = None, label: str = "") -> Run:
    """Run every seed of a setting, as `simulate` does, which completes the setting first."""
    count = validation.integer("seeds", setting.choices.seeds, 1)
    started = time.perf_counter()
    done: dict[int, Outcome] = {}
    try:
        for index, outcome in _outcomes(setting, count, workers):
            done[index] = outcome
            if progress is not None:
                progress(len(done))
    except KeyboardInterrupt:
        if not done:
            raise
    return collected(setting, [done[index] for index in sorted(done)], time.perf_counter() - started, label)


def run_seed(setting: Setting, index: int) -> Outcome:
    """What one seed gives, whatever was run before it and wherever it runs."""
    engine = ENGINES[choose_engine(setting, setting.choices.engine)]
    return engine(setting, root_of(setting.choices.seed, index))


def collected(setting: Setting, outcomes: Sequence[Outcome], seconds: float, label: str = "") -> Run:
    """The run that these outcomes of seeds 0, 1, ... make."""
    return Run(
        environment=setting.environment.name,
        learner=_learner_name(setting),
        trust=setting.guarantee.trust,
        episodes=setting.schedule.users,
        seeds=len(outcomes),
        schedule=setting.schedule.describe(),
        engine=choose_engine(setting, setting.choices.engine),
        checkpoints=setting.checkpoints,
        regret=np.array([outcome.regret for outcome in outcomes]),
        optimal_value=setting.optimal_value if setting.exact else math.nan,
        final_value=np.array([outcome.final_value for outcome in outcomes]),
        seconds=seconds,
        certificate=setting.certificate(),
        policy=Policy(outcomes[0].policy) if isinstance(outcomes[0].policy, np.ndarray) else outcomes[0].policy,
        config=_config(setting),
        label=label or _label(setting),
        measure="regret" if setting.exact else "return",
        random_value=setting.random_value,
    )


def _label(setting: Setting) -> str:
    """The name of a run in a legend; as printed, it says what is kept, not what is claimed."""
    paper = AUTHORS.get(setting.learner.name, "")
    pooled = pools(paper, setting.calibration, setting.context.spec)
    name = _learner_name(setting) + (f" {POOLED}" if pooled else "")
    if setting.guarantee.private and setting.calibration == PAPER:
        return f"{name} as printed, {setting.design.guarantee}"
    return f"{name}, {setting.guarantee}"


def _learner_name(setting: Setting) -> str:
    """The learner as it was asked for: by its address, or by its own name."""
    chosen = setting.choices.learner
    return chosen if isinstance(chosen, str) else str(setting.learner.name)


def _outcomes(setting: Setting, seeds: int, workers: int) -> Iterator[tuple[int, Outcome]]:
    """Outcomes as they are finished, each with the index of its seed."""
    if workers == 1 or seeds == 1:
        for index in range(seeds):
            yield _numbered(setting, index)
        return
    from joblib import Parallel, delayed

    tasks = (delayed(_numbered)(setting, index) for index in range(seeds))
    yield from Parallel(n_jobs=workers, return_as="generator_unordered", **worker_setup())(tasks)


def _numbered(setting: Setting, index: int) -> tuple[int, Outcome]:
    return index, run_seed(setting, index)


def _config(setting: Setting) -> dict[str, Json]:
    """What is saved with a run: what was chosen, so that it can be run again, and what followed from that."""
    promise, choices = setting.guarantee, setting.choices
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
        "seed": choices.seed,
        "seeds": choices.seeds,
        "choices": choices.as_json(),
        RECORD: record_of(setting.environment, choices),
    }
