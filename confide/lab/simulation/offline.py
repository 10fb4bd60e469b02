"""Learning from simulated logs: n people follow a behaviour policy, one release is drawn, one policy is learned.

Counts are drawn exactly for any n, noise is replayable, and what the learned policy is worth is computed exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...data.privatizers import drawn, open_book
from ...errors import InvalidInput
from ...learning import learners
from ...learning.learners.apvi import Apvi, OfflinePlan
from ...learning.planning.evaluation import optimal, policy_value
from ...mdp import Model, Policy
from ...mdp.knowledge import Knowledge
from ...privacy import Certificate, Guarantee, NoPrivacy, Schedule
from ...protocol.design import AUTO, Design, Request, make
from ...protocol.kinds import CountQuestion
from ...protocol.kinds.bandit import BanditQuestion
from ...protocol.kinds.counts import CENTRED, DROPPED, LEVELS, MIDDLE, TRANSITIONS, VISITS, nearest_centre
from ...protocol.papers import AUTHORS
from ...protocol.releases import CountRelease
from ...protocol.trusts.budgets import VISITED_SHARE, counted_for, unwalked, visits_for, visits_pay, visits_question
from ...protocol.trusts.central import possible_cells, require_central, takes_laplace, together
from ..environments import Environment, sepsis
from ..environments import clinic as small_clinic
from ..environments.registry import resolve
from .draws import World, draw_counts, layout_of
from .offline_budgeted import SHAVED, BudgetedLog, SimulatedLog, certified_together
from .offline_run import OfflineEvaluation, OfflineRun
from .setting import as_printed
from .streams import spawn, streams

PAPER, SOUND, TIGHT = "paper", "sound", "tight"
FAILURE = 0.05

# The current practice in environments that come with one.
PRACTICES: dict[str, Callable[[int], Policy]] = {"clinic": small_clinic.practice, "icu-sepsis": sepsis.practice}


@dataclass(frozen=True, eq=False)
class OfflineSetting:
    """One simulated log, ready to be drawn with any seed. visits: asked for by themselves beside the counts, where that pays."""

    environment: Environment
    behaviour: Policy
    learner: Apvi
    knowledge: Knowledge
    design: Design
    promise: Guarantee
    users: int
    scale: float | None = None
    calibration: str = TIGHT
    budgeted: BudgetedLog | None = None
    visits: Design | None = None

    @property
    def model(self) -> Model:
        """The known model of the environment."""
        return known_model(self.environment)

    @property
    def question(self) -> CountQuestion:
        """What is asked of the log."""
        question: CountQuestion = self.design.question.counts
        return question

    def certificate(self) -> Certificate:
        """The certificate of all that is asked, for replayable noise."""
        if self.budgeted is not None:
            return self.budgeted.certificate()
        alone = self.design.certificate("replayable")
        return alone if self.visits is None else certified_together([self.design, self.visits], alone)

    def learned(self, root: np.random.SeedSequence) -> OfflinePlan:
        """The policy that the learner makes of a log that is drawn and released."""
        if self.budgeted is None:
            return self.learn(self.release(root))
        luck, log = streams(root), SimulatedLog(self.model, self.behaviour, self.knowledge.rewards is not None)
        release, returns = self.budgeted.release(log, self.users, luck.world, luck.replayable)
        return self.learner.judged(release, self.scale, None, returns)

    def release(self, root: np.random.SeedSequence) -> CountRelease:
        """Draw everybody's counts and the noise, and release their sum; of all visits, whatever `learned` counts."""
        luck, question = streams(root), self.question
        cells = draw_log(self.model, self.behaviour, self.users, question, luck.world)

        def released(design: Design, totals: NDArray[np.float64]) -> CountRelease:
            book = open_book(design, luck.replayable, simulated=True)
            for total in drawn(design, totals[None], np.array([self.users]), luck.noise):
                book.take_sum(total)
            release: CountRelease = book.close()
            return release

        release = released(self.design, cells)
        if self.visits is None:
            return release
        rows = cells[question.slices[TRANSITIONS]].reshape(-1, question.next_states).sum(axis=1)
        return release.with_visits(released(self.visits, rows))

    def learn(self, release: CountRelease) -> OfflinePlan:
        """The policy that the learner makes of a release."""
        return (self.learner.judged if self.learner.tight else self.learner.plan)(release, self.scale)


def prepare_offline(
    environment: str | Environment | Model,
    privacy: Guarantee | None = None,
    episodes: float = 10_000,
    *,
    learner: str = "apvi",
    behaviour: Policy | str | None = None,
    support: bool | None = None,
    known_rewards: bool = True,
    reward_centre: float | None = None,
    mechanism: str = AUTO,
    visits: str | int = AUTO,
    return_range: tuple[float, float] | None = None,
    calibration: str = TIGHT,
    bonus_scale: float | None = None,
    horizon: int | None = None,
    model: str | None = None,
    **options: Any,
) -> OfflineSetting:
    """The setting of a simulated log, with every choice made before anything is drawn. `behaviour` is as in `practice_of`.

    support: whether possible transitions are public; by default they are, but under `paper`. calibration: `sound` has a true
    error radius, `paper` the printed one. visits: as in a fit; beyond ten million people `auto` counts all. return_range: returns
    are clipped to it. reward_centre: of rewards that are not known, as in a fit. Options go to the learner.
    """
    world = resolve(environment, horizon, model)
    world = as_printed(world, calibration, AUTHORS["apvi"], model)
    table = known_model(world)
    spec = table.spec
    public = calibration != PAPER if support is None else support
    knowledge = Knowledge.declared(
        spec,
        support=np.asarray((table.transitions > 0).any(axis=0)) if public else None,
        rewards=(table.rewards if spec.layers > 1 else table.rewards[0]) if known_rewards else None,
        initial=table.initial,
        ends=False,
        returns=return_range,
    )
    if learner != "apvi":
        raise InvalidInput(
            "offline-learner-of-counts",
            f"{learner!r} does not learn from logged counts. Use apvi, or simulate_linear for features.",
        )
    validation.choice("calibration", calibration, (PAPER, SOUND, TIGHT))
    algorithm: Apvi = learners.make("apvi", knowledge=knowledge, calibration=calibration, **options)
    promise = NoPrivacy() if privacy is None or not privacy.private else require_central(privacy)
    users = validation.integer("episodes", episodes, 1, 10**12)
    question = _question(algorithm, knowledge, promise.private, reward_centre)
    gaussian = promise.private and not takes_laplace(mechanism, promise)
    counted = counted_for(question, visits_for(visits, algorithm.reads_budgeted), gaussian)
    reason = unwalked(counted, visits, users)
    request = Request(question, promise, Schedule.batches(users, 1), calibration, mechanism, algorithm.paper)
    request = replace(request, failure=FAILURE, possible=possible_cells(question.counts, knowledge))
    walked = BudgetedLog.of(counted, promise, knowledge, FAILURE) if counted.budget and not reason else None
    apart: Design | None = None
    if algorithm.tight and promise.private and visits_pay(question, knowledge.average_width, gaussian):
        asked = replace(request, question=visits_question(question), possible=None, share=VISITED_SHARE)
        design, apart = together([replace(request, share=1 - VISITED_SHARE - SHAVED), asked])
    else:
        made = make(request)
        design = replace(made, remarks=(*made.remarks, *reason))
    choices = promise, users, bonus_scale, calibration, walked, apart
    return OfflineSetting(world, practice_of(world, behaviour), algorithm, knowledge, design, *choices)


def _question(
    algorithm: Apvi, knowledge: Knowledge, private: bool, reward_centre: float | None
) -> CountQuestion | BanditQuestion:
    """What is asked of a simulated log: as the learner asks it, or as a fit does of a single step or of centred rewards."""
    spec, known = knowledge.spec, knowledge.rewards is not None
    question = algorithm.question(spec)
    if reward_centre is not None and CENTRED not in question.parts:
        raise InvalidInput(
            "offline-reward-centre",
            "Only rewards that are asked for, by a tight fit, have a centre. Leave reward_centre out.",
        )
    levels, centre = (1, MIDDLE) if reward_centre is None else (LEVELS, nearest_centre(reward_centre, LEVELS))
    if algorithm.tight and private and spec.horizon == 1:
        return CountQuestion(spec, (VISITS,), DROPPED) if known else BanditQuestion.of(spec, levels, centre)
    return question if known else question.having(levels=levels, centre=centre)


def simulate_offline(
    environment: str | Environment | Model,
    privacy: Guarantee | None = None,
    episodes: float = 10_000,
    seeds: int = 5,
    *,
    seed: int = 0,
    confidence: float = 0.95,
    **choices: Any,
) -> OfflineRun:
    """Log `episodes` people, release once, learn; `seeds` times over. `choices` go to `prepare_offline`."""
    setting = prepare_offline(environment, privacy, episodes, **choices)
    model, started = setting.model, time.perf_counter()
    plans = [setting.learned(root) for root in spawn(seed, validation.integer("seeds", seeds, 1))]
    usual = setting.behaviour.probabilities
    best = optimal(model)[1][0]
    return OfflineRun(
        setting.environment.name,
        setting.learner.name,
        setting.users,
        np.array([policy_value(model, Policy(plan.followed_by(usual))) for plan in plans]),
        float(model.initial @ best),
        policy_value(model, setting.behaviour),
        setting.certificate(),
        time.perf_counter() - started,
        tuple(
            OfflineEvaluation(
                plan.evidence.evaluate(plan.extended, confidence),
                plan.evidence.compare(plan.extended, confidence),
                float(plan.kept.mean()),
            )
            for plan in plans
            if plan.evidence is not None
        ),
    )


def draw_log(
    model: Model, behaviour: Policy, users: int, question: CountQuestion, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The cells of a question about `users` people who follow the behaviour, in counts: exact for any number."""
    cells = np.zeros(question.cells)
    world = World(model.transitions, model.rewards, model.initial)
    table = np.ascontiguousarray(behaviour.probabilities)
    draw_counts(world, table, users, layout_of(question), rng, cells)
    return cells


def known_model(environment: Environment) -> Model:
    """The model of an environment; refused if it has none, since a simulated log needs it."""
    if environment.model is None:
        raise InvalidInput(
            "environment-without-model",
            f"{environment.name} has no known model. Choose a world that has one, such as clinic.",
        )
    return environment.model


def practice_of(environment: Environment, behaviour: Policy | str | None) -> Policy:
    """The policy that logged people follow: a policy, `uniform`, or `soft:0.3`, the best policy but 30 % at random.

    None is the environment's own practice, or else soft:0.5.
    """
    if isinstance(behaviour, Policy):
        return behaviour
    spec = environment.spec
    uniform = Policy.uniform(spec.horizon, spec.states, spec.actions)
    if behaviour is None:
        practice = PRACTICES.get(environment.address.partition("?")[0])
        if practice is not None:
            return practice(spec.horizon)
        behaviour = "soft:0.5"
    kind, _, share = behaviour.partition(":")
    validation.choice("behaviour", kind, ("uniform", "soft"), "Write uniform, or soft:0.3.")
    if kind == "uniform":
        return uniform
    mixed = validation.between("share of chance", share or None, 0.0, 1.0, "Write soft:0.3, for example.")
    best = optimal(known_model(environment))[0].probabilities
    return Policy((1 - mixed) * best + mixed * uniform.probabilities)
