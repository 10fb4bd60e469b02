"""Learning from simulated logs: n people follow a behaviour policy, one release is drawn, one policy is learned.

What is asked, at which price, and what is learned from it is `fit`'s own plan; only people and noise are simulated: counts are
drawn, noise is replayable, and the value of the learned policy is computed exactly.

The results of learning from simulated logs: what was learned, seed by seed, beside what is exactly true.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...analysis.fitting.adopting import Inquiry, JudgePlan
from ...analysis.fitting.choices import FitChoice, FitChoices
from ...analysis.fitting.engines import Engine, count
from ...analysis.fitting.findings import first_states, in_people_units, judgement
from ...analysis.fitting.fit import can_judge, judge_plan, planned_counts
from ...analysis.fitting.learning import learn, make_learner
from ...analysis.fitting.plan import COUNTS, FEWEST_PEOPLE, NONE, RETURNS, USUAL_SHARE, CountPlan, together_read
from ...data.statistics.counting import DatasetCounts, Judging
from ...data.trajectories import read
from ...errors import InvalidInput
from ...learning.learners.apvi import Apvi, OfflinePlan
from ...learning.planning.estimates import Estimate
from ...learning.planning.evaluation import optimal, policy_value
from ...mdp import Model, Policy
from ...mdp.adoption import Episodes
from ...mdp.knowledge import Knowledge
from ...mechanisms.noise import NoiseSource
from ...privacy import Certificate, Guarantee, NoPrivacy, Schedule
from ...protocol.design import AUTO, PAPER, SOUND, TIGHT, Design
from ...protocol.kinds import CountQuestion
from ...protocol.kinds.returns import RETURNS as RETURNS_KIND
from ...protocol.papers import AUTHORS
from ...protocol.releases import CountRelease
from ...protocol.trusts.budgets import ALL, unwalked
from ...protocol.trusts.central import require_central
from ...validation import Json
from ..environments import Environment, sepsis
from ..environments import clinic as small_clinic
from ..environments.registry import resolve
from .offline_log import SimulatedLog, draw_records, simulated_data
from .setting import as_printed
from .streams import spawn, streams

MOST_ROWS = 2 * 10**7
"""Steps of all people together that are walked one by one, where some of them judge; beyond, all users are counted by default."""


class OfflineEvaluation(NamedTuple):
    """What a release alone says of a learned policy: its value, its gain, and the share of states where practice is kept. judged:
    what those who judge say, if any do.
    """

    value: Estimate
    gain: Estimate
    practice_share: float
    judged: dict[str, Json] | None = None


@dataclass(frozen=True, eq=False)
class OfflineRun:
    """All seeds' results. values: (seeds,), exact. evaluations: (seeds,), where the learner keeps a model of the log."""

    environment: str
    learner: str
    users: int
    values: NDArray[np.float64]
    optimal_value: float
    practice_value: float
    certificate: Certificate
    seconds: float
    evaluations: tuple[OfflineEvaluation, ...] = ()

    @property
    def suboptimality(self) -> NDArray[np.float64]:
        """(seeds,) how much less than the best, exactly."""
        return self.optimal_value - self.values

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """(seeds,) estimates of the learned policy's value, from the release alone."""
        return tuple(evaluation.value for evaluation in self.evaluations)

    @property
    def gains(self) -> tuple[Estimate, ...]:
        """(seeds,) estimates of the gain over current practice, from the release alone."""
        return tuple(evaluation.gain for evaluation in self.evaluations)

    def as_json(self) -> dict[str, Json]:
        """The machine-readable form."""
        document: dict[str, Json] = {
            "environment": self.environment,
            "learner": self.learner,
            "users": self.users,
            "seeds": len(self.values),
            "value": {"mean": float(self.values.mean()), "each": self.values.tolist()},
            "optimal_value": self.optimal_value,
            "practice_value": self.practice_value,
        }
        if self.evaluations:
            document |= {
                "estimated": [[estimate.value, estimate.low, estimate.high] for estimate in self.estimates],
                "gain_over_practice": [[estimate.value, estimate.low, estimate.high] for estimate in self.gains],
                "judged": [evaluation.judged for evaluation in self.evaluations],
                "practice_kept": float(np.mean([evaluation.practice_share for evaluation in self.evaluations])),
            }
        return {**document, "seconds": self.seconds, "certificate": self.certificate.as_json()}


# The current practice in environments that come with one.
PRACTICES: dict[str, Callable[[int], Policy]] = {"clinic": small_clinic.practice, "icu-sepsis": sepsis.practice}


@dataclass(frozen=True, eq=False)
class OfflineSetting:
    """One simulated log, ready to be drawn with any seed: the plan of a fit, with people who are simulated."""

    environment: Environment
    behaviour: Policy
    learner: Apvi
    plan: CountPlan
    users: int
    scale: float | None = None
    remarks: tuple[str, ...] = ()
    judge: JudgePlan | None = None

    @property
    def model(self) -> Model:
        """The known model of the environment."""
        return known_model(self.environment)

    @property
    def knowledge(self) -> Knowledge:
        """What is public of the log."""
        return self.plan.data.knowledge

    @property
    def design(self) -> Design:
        """How counts are answered."""
        return self.plan.designs[COUNTS]

    @property
    def question(self) -> CountQuestion:
        """What is counted of the log."""
        question: CountQuestion = self.plan.question.counts
        return question

    def certificate(self) -> Certificate:
        """The certificate of all that is asked, for replayable noise."""
        certificate = self.plan.certificate("replayable")
        if self.judge is not None:
            certificate = self.judge.certified(certificate, self.plan.acts, self.plan.promise)
        return certificate.assuming(self.remarks)

    def counted(self, rng: np.random.Generator) -> DatasetCounts:
        """What a curator would have counted of people who are drawn, and the steps of those who judge, if any do."""
        if self.judge is not None:
            return self._counted_apart(self.judge, rng)
        returns = self.plan.designs.get(RETURNS)
        log = SimulatedLog(self.model, self.behaviour, self.knowledge.rewards is not None)
        return log.counted(
            self.plan.question, None if returns is None else RETURNS_KIND.question_of(returns), self.users, rng
        )

    def _counted_apart(self, judge: JudgePlan, rng: np.random.Generator) -> DatasetCounts:
        """The same by records of every user, which a fit's own engine counts; the first people judge: all are drawn alike."""
        knowledge, spec = self.knowledge, self.model.spec
        records = draw_records(self.model, self.behaviour, self.users, rng)
        judges = round(judge.share * self.users)
        cut = judges * spec.horizon
        state, action = (np.asarray(records[name][:cut], dtype=np.int64) for name in ("state", "action"))
        reward = np.asarray(records["reward"][:cut], dtype=np.float64)
        if knowledge.rewards is not None:
            step = np.arange(cut) % spec.horizon
            reward = knowledge.rewards[np.minimum(step, len(knowledge.rewards) - 1), state, action]
            del records["reward"]
        episodes = Episodes(np.arange(judges + 1) * spec.horizon, state, action, reward, np.empty(0))
        sizes: dict[str, Any] = {"states": spec.states, "actions": spec.actions, "horizon": spec.horizon}
        table = knowledge.rewards if spec.layers > 1 or knowledge.rewards is None else knowledge.rewards[0]
        declared: dict[str, Any] = {"model": spec.dynamics, "rewards": table, "initial": knowledge.initial}
        support = knowledge.support if spec.horizon > 1 else None
        rest = {name: column[cut:] for name, column in records.items()}
        data = read(rest, **sizes, **declared, support=support, fixed_length=True)
        counting = count(data, self.plan.question, Engine(workers=1), judging=Judging(0.0, judge.previous))
        return replace(counting.checked(), judging=episodes)

    def released(self, counted: DatasetCounts, noise: NoiseSource) -> dict[str, Any]:
        """The releases of a fit about what was counted, by name."""
        return dict(self.plan.release(counted, noise, simulated=True))

    def learn(self, releases: dict[str, Any]) -> OfflinePlan:
        """The policy that the learner makes of releases, as in a fit."""
        learner: Any = self.learner
        learned: Any = learn(learner, self.scale, first_states(self.knowledge, releases), releases)
        result: OfflinePlan = learned
        return result

    def releases(self, root: np.random.SeedSequence) -> dict[str, Any]:
        """The releases about a log that is drawn, by name."""
        luck = streams(root)
        return self.released(self.counted(luck.world), luck.replayable)

    def release(self, root: np.random.SeedSequence) -> CountRelease:
        """The release of counts about a log that is drawn, which knows of visits that were asked for by themselves."""
        release: CountRelease = together_read(self.releases(root))[COUNTS]
        return release

    def learned(self, root: np.random.SeedSequence) -> OfflinePlan:
        """The policy that the learner makes of a log that is drawn and released."""
        return self.judged(root)[0]

    def judged(self, root: np.random.SeedSequence) -> tuple[OfflinePlan, dict[str, Any] | None]:
        """The same, with what those who judge say of it, if any do: `judged`, `alarms` and `recommended`."""
        luck = streams(root)
        counted = self.counted(luck.world)
        releases = self.released(counted, luck.replayable)
        plan = self.learn(releases)
        if self.judge is None or counted.judging is None:
            return plan, None
        inquiry = Inquiry(self.judge, counted.judging, luck.replayable, releases, simulated=True)
        plan = inquiry.taken(plan)
        if plan.evidence is None:
            return plan, None
        in_units = in_people_units((0.0, 1.0), self.model.horizon)
        said = inquiry(plan, judgement(plan.evidence, plan, in_units), in_units)
        return plan, {name: said[name] for name in ("judged", "alarms", "recommended")}


def prepare_offline(
    environment: str | Environment | Model,
    privacy: Guarantee | None = None,
    episodes: float = 10_000,
    *,
    learner: str = "apvi",
    behaviour: Policy | str | None = None,
    support: bool | None = None,
    known_rewards: bool = True,
    visits: str | int = AUTO,
    return_range: tuple[float, float] | None = None,
    calibration: str = TIGHT,
    bonus_scale: float | None = None,
    horizon: int | None = None,
    model: str | None = None,
    **choices: FitChoice,
) -> OfflineSetting:
    """The setting of a simulated log, with every choice made before anything is drawn. `behaviour` is as in `practice_of`.

    support: whether possible transitions are public; by default they are, but under `paper`. calibration: `sound` has a true
    error radius, `paper` the printed one. visits: as in a fit; beyond ten million people `auto` counts all. return_range: returns
    are clipped to it. Other choices are those of a fit: `mechanism`, `reward_centre`, `judge`, and the learner's options.
    """
    if learner != "apvi":
        raise InvalidInput(
            "offline-learner-of-counts",
            f"{learner!r} does not learn from logged counts. Use apvi, or simulate_linear for features.",
        )
    validation.choice("calibration", calibration, (PAPER, SOUND, TIGHT))
    world = as_printed(resolve(environment, horizon, model), calibration, AUTHORS["apvi"], model)
    table = known_model(world)
    public = calibration != PAPER if support is None else support
    knowledge = Knowledge.declared(
        table.spec,
        support=np.asarray((table.transitions > 0).any(axis=0)) if public else None,
        rewards=(table.rewards if table.spec.layers > 1 else table.rewards[0]) if known_rewards else None,
        initial=table.initial,
        ends=False,
        returns=return_range,
    )
    promise = NoPrivacy() if privacy is None or not privacy.private else require_central(privacy)
    users = validation.integer("episodes", episodes, 1, 10**12)
    words: dict[str, FitChoice] = {"visits": visits, "calibration": calibration, "scale": bonus_scale, **choices}
    chosen = FitChoices.of(learner, promise, **words)
    algorithm: Any = make_learner(learner, knowledge, dict(chosen.options), calibration)
    data = simulated_data(knowledge, return_range)
    walkable = users * table.spec.horizon <= MOST_ROWS
    if chosen.judge == AUTO:
        usual = can_judge(data, chosen, algorithm) and users >= FEWEST_PEOPLE and walkable
        chosen = replace(chosen, judge=USUAL_SHARE if usual else NONE)
    share = 0.0 if chosen.judge == NONE else validation.number("judge", chosen.judge)
    once = Schedule.batches(users - round(share * users), 1)
    plan = planned_counts(data, chosen, algorithm, once)
    remarks = unwalked(plan.question, visits, users)
    if remarks:
        plan = planned_counts(data, replace(chosen, visits=ALL), algorithm, once)
    judge = judge_plan(data, chosen, plan, algorithm)
    if judge is not None and not walkable:
        raise InvalidInput(
            "judge-too-many-simulated",
            f"Those who judge are walked step by step, at most {MOST_ROWS:,} steps of all people together. Got {users:,} people of "
            f"{table.spec.horizon} steps. Say --judge none.",
        )
    return OfflineSetting(world, practice_of(world, behaviour), algorithm, plan, users, bonus_scale, remarks, judge)


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
    judged = [setting.judged(root) for root in spawn(seed, validation.integer("seeds", seeds, 1))]
    plans = [plan for plan, _ in judged]
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
                said,
            )
            for plan, said in judged
            if plan.evidence is not None
        ),
    )


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
