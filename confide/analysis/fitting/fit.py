"""`fit`: from logged trajectories to a policy, with a guarantee, which its order of steps keeps.

Everything is checked, every question is priced, the ledger is charged and synced, and only then is noise drawn. A crash
may lose budget, never privacy. The release is on disk as soon as it is drawn whole, so whatever fails afterwards loses
nothing that was paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from ... import validation
from ...data.statistics.counting import NO_JUDGES, DatasetCounts, Judging
from ...data.statistics.problems import Problem
from ...data.trajectories.dataset import GROUP, Dataset
from ...data.trajectories.vectors import Vectors
from ...errors import ConfideError, InvalidInput
from ...learning.learners.apvi import Apvi, apvi_of
from ...learning.learners.catalogue import Option
from ...learning.learners.logged_linear import LoggedLinear
from ...learning.learners.vapvi import Vapvi
from ...mdp import PER_STEP
from ...mdp.adoption import Episodes
from ...mdp.memory import COUNTS, SUMS, check_memory
from ...mechanisms.noise import NoiseSource, release_noise, require_secure
from ...privacy import Certificate, Guarantee, Schedule
from ...protocol.design import AUTO, TIGHT
from ...protocol.kinds.judged import JudgedRelease
from ...protocol.papers import pools
from ...protocol.trusts.budgets import ALL, visits_for
from ...protocol.trusts.central import GAUSSIAN, require_central
from ...validation import Json
from ..results.fit import KNOWN, Fit, reserve
from ..results.folder import check_free
from ..results.paid import check_unpaid, paid
from .adopting import JUDGED, Inquiry, JudgePlan
from .budget import Account, Receipt, account_of
from .choices import LINEAR, FitChoice, FitChoices
from .engines import Engine, Progress, count
from .featured import FeatureInquiry, FeaturePlan, feature_judge, feature_plan
from .findings import FindingsCallback, LearningTask, Units
from .forecast import people_needed
from .learning import LearningResult, OfflineLearner, learning_result, learns_offline, make_learner, nothing_learned
from .linear import LinearPlan
from .linear_learning import linear_result
from .plan import FEWEST_PEOPLE, NONE, ONCE, USUAL_SHARE, CountPlan, Published, tells_previous

CountsCallback = Callable[[DatasetCounts], None]
"""Called with what was counted, for the curator's eyes only: rows and clipped rewards are for no other eyes."""


Releases = dict[str, Any]
"""Releases by their names, each of which has its type."""
PlannedFit = CountPlan | LinearPlan | FeaturePlan
Auditor = Callable[[CountPlan | LinearPlan, JudgePlan | None], dict[str, Json]]
"""Attacks a plan, and that of those who judge if any do, and returns what it found."""

StageCallback = Callable[[str], object]
"""Called with the name of what a fit does next: the same names for every data set."""


class Callbacks(NamedTuple):
    """What is called while a fit goes on, if given: how many parts are counted, what was counted, what comes
    next, and the value of the policy. audit: attacks what is asked, before it is charged.
    """

    progress: Progress | None = None
    on_counted: CountsCallback | None = None
    stage: StageCallback | None = None
    on_judged: FindingsCallback | None = None
    audit: Auditor | None = None


@dataclass(frozen=True)
class Check:
    """What a fit would do. Nothing was spent; the sentences name rows, never contents.

    cost and left: in rho. noise: the standard deviation of what `noise_in` says. needed: how many people until the average
    pair of state and action exceeds the noise, where pairs are counted. Where the data cannot be read there are 0
    users. judge: the share of them who would judge, and not be counted.
    """

    problems: tuple[Problem, ...]
    guarantee: Guarantee
    cost: float
    left: float | None
    noise: float
    noise_in: str
    users: int
    needed: float | None = None
    judge: float = 0.0


@dataclass(frozen=True)
class Order:
    """A fit with every choice made, checked as far as can be without reading a row."""

    data: Dataset
    choices: FitChoices
    plan: PlannedFit
    learner: OfflineLearner | LoggedLinear
    account: Account
    audited: dict[str, Json] | None = None
    judge: JudgePlan | None = None

    @property
    def cost(self) -> float:
        """The rho that the ledger is charged: of what is asked of those who are counted, or of those who judge, if that is more."""
        return self.plan.cost if self.judge is None else max(self.plan.cost, self.judge.cost)

    @property
    def judging(self) -> Judging:
        """Who judges, and what is counted for that."""
        return NO_JUDGES if self.judge is None else Judging(self.judge.share, self.judge.previous)

    def check_place(self) -> None:
        """Refuse a folder that is taken, or beside which a release waits that was paid for."""
        if self.choices.out is not None:
            check_free(self.choices.out, KNOWN, self.choices.replace)
            check_unpaid(self.choices.out)

    def carry_out(self, engine: Engine, noise: NoiseSource, callbacks: Callbacks) -> Fit:
        """Carry out the fit: count, charge, draw, learn, write, in this order."""
        begins = callbacks.stage or str
        begins("counting")
        self.account.check(self.cost)
        self.check_place()
        if self.judge is not None and engine.scheduler is not None:
            if self.choices.judge == AUTO:
                return self._everybody_counted().carry_out(engine, noise, callbacks)
            raise InvalidInput(
                "judge-needs-threads",
                "Steps of those who judge never leave this machine. Say --judge none, or leave --scheduler out.",
            )
        counting = count(self.data, self.plan.question, engine, callbacks.progress, self.plan.split, self.judging)
        if self._too_few(counting.people):
            counting.close()
            return self._everybody_counted().carry_out(engine, noise, callbacks)
        with closing(counting) as counted:
            counted.checked()
            if callbacks.on_counted is not None:
                callbacks.on_counted(counted)
            order = self._attacked(callbacks)
            order._rehearse(counted.users)
            spent_on = f"fit {self.learner.name}, {self.plan.guarantee}"
            charge = self.account.spend(self.cost, spent_on, counted.files)
            begins("drawing noise")
            releases: Releases = dict(self.plan.release(counted, noise))
        return order._taught(releases, (counted.users, counted.judging), charge, noise, callbacks)

    def _attacked(self, callbacks: Callbacks) -> Order:
        """The same with what an audit of it found, if one is wanted; it is before anything is charged."""
        if callbacks.audit is None:
            return self
        (callbacks.stage or str)("auditing")
        if self.featured is not None:
            raise InvalidInput(
                "features-audit",
                "Fits with described features have no attack of their own yet. Leave --audit out; their statistic is attacked by "
                "confide audit --trust central.",
            )
        plan = cast("CountPlan | LinearPlan", self.plan)
        return replace(self, audited=callbacks.audit(plan, self.judge))

    def _taught(
        self,
        releases: Releases,
        people: tuple[int, Episodes | None],
        charge: Receipt,
        noise: NoiseSource,
        callbacks: Callbacks,
    ) -> Fit:
        """The fit of releases that are paid for. people: how many were counted, and the steps of those who judge, if any do."""
        out, begins = self.choices.out, callbacks.stage or str
        users, judges = people
        packed = {name: release.to_bytes() for name, release in releases.items()}
        untaught = self._fit(nothing_learned(self.data.knowledge, users), packed, noise.drawn_by, charge.remarks)
        begins("learning and judging")
        with paid(untaught, out):
            learned, answers = self._asked(judges, noise, releases, callbacks.on_judged)
            packed |= {f"{JUDGED}{part}": release.to_bytes() for part, release in answers.items()}
            result = self._fit(learned, packed, noise.drawn_by, charge.remarks)
            if out is not None:
                begins("writing")
                result.save(out, replace=self.choices.replace)
        self.account.certify(charge.number, result.certificate.digest)
        return result

    @property
    def featured(self) -> FeaturePlan | None:
        """The plan of a fit with described features, if it is one."""
        return None if self.data.observed is None else cast(FeaturePlan, self.plan)

    def _asked(
        self, judges: Episodes | None, noise: NoiseSource, releases: Releases, on_judged: FindingsCallback | None
    ) -> tuple[LearningResult, dict[str, JudgedRelease]]:
        """What is learned, and what judging users reported, if there are any."""
        judge = None if judges is None else self.judge
        if self.featured is not None:
            inquiry = (
                None
                if judge is None or judges is None
                else FeatureInquiry(judge, judges, noise, self.data.floor or 0.0)
            )
            found = self.featured.learned(releases, inquiry)
            if on_judged is not None:
                on_judged(found.findings)
            return found, {} if inquiry is None else inquiry.releases
        asking = None if judge is None or judges is None else Inquiry(judge, judges, noise, releases)
        return self._learn(releases, on_judged, asking), {} if asking is None else asking.releases

    def _too_few(self, people: int) -> bool:
        """Whether of this many people, which is public, too few would judge for that to repay its price."""
        needed = (_steps_logged(self.data) and self.data.observed is None) or self.data.groups is not None
        usual = self.judge is not None and self.choices.judge == AUTO and not needed
        return usual and people < FEWEST_PEOPLE

    def _everybody_counted(self) -> Order:
        """The same fit without judging users."""
        choices = replace(self.choices, judge=NONE)
        return replace(self, choices=choices, judge=None, plan=planned(self.data, choices)[2])

    def _rehearse(self, users: int) -> None:
        """Write everything once before anything is charged: what cannot be written is refused now."""
        nothing = self._fit(nothing_learned(self.data.knowledge, users), {}, release_noise().drawn_by, ())
        nothing.rehearse()
        if self.choices.out is not None:
            reserve(self.choices.out, 2 * self.plan.bytes_needed)

    def check(self, engine: Engine, callbacks: Callbacks) -> Check:
        """All problems that would stop `carry_out`; spends and writes nothing."""
        problems: list[Problem] = []
        counted: list[DatasetCounts] = []

        def tried(step: Callable[[], object]) -> None:
            try:
                step()
            except ConfideError as error:
                problems.append(Problem(error.code, str(error), 0))

        tried(lambda: self.account.check(self.cost))
        tried(self.check_place)
        tried(lambda: counted.append(count(self.data, self.plan.question, engine, callbacks.progress)))
        for total in counted:
            problems.extend(total.problems)
            if callbacks.on_counted is not None:
                callbacks.on_counted(total)
            total.close()
        try:
            remaining: float | None = self.account.balance().left
        except ConfideError:
            remaining = None
        users = counted[0].users if counted else 0
        if self._too_few(users) or (engine.scheduler is not None and self.choices.judge == AUTO):
            return self._everybody_counted()._checked(problems, remaining, users)
        return self._checked(problems, remaining, users)

    def _checked(self, problems: Sequence[Problem], remaining: float | None, users: int) -> Check:
        """The check of this many people, of whom a share may judge."""
        share = 0.0 if self.judge is None else self.judge.share
        noise, noise_in = self.plan.noise_stated
        counted = people_needed(self.data.knowledge, noise, self.plan.visits_noise) if self.plan.counts else None
        needed = None if counted is None else counted / (1 - share)
        return Check(tuple(problems), self.plan.guarantee, self.cost, remaining, noise, noise_in, users, needed, share)

    def _learn(
        self,
        releases: Releases,
        on_judged: FindingsCallback | None,
        asking: Inquiry | None = None,
    ) -> LearningResult:
        knowledge, units = self.data.knowledge, Units.of(self.data.describe())
        scale = self.choices.scale
        if self.plan.counts:
            declared = self.data.floor is not None, self.choices.unconfounded
            task = LearningTask(cast(OfflineLearner, self.learner), scale, knowledge, units, *declared)
            return learning_result(task, releases, self.choices.alone, on_judged, asking)
        linear_learner: Any = self.learner
        learner, told = replace(linear_learner, scale=scale), self.choices.unconfounded
        return linear_result(learner, knowledge.spec.horizon, releases, units, unconfounded=told)

    def _fit(self, learned: LearningResult, releases: dict[str, bytes], drawn_by: str, remarks: tuple[str, ...]) -> Fit:
        plan, data = self.plan, self.data
        privacy = {"epsilon": plan.promise.epsilon, "delta": plan.promise.delta, "rho": plan.promise.rho}
        options, scale, fit_file = self.choices.kept_options, self.choices.scale, self.choices.fit_file
        chosen = {"learner": self.learner.name, "options": options, "scale": scale, "privacy": privacy}
        chosen |= {} if self.judge is None else {"judge": self.judge.share}
        chosen |= {"unconfounded": True} if self.choices.unconfounded else {}
        return Fit(
            learned.policy,
            learned.values,
            data.knowledge,
            releases,
            self._certificate(drawn_by).assuming(remarks).with_audit(self.audited),
            learned.findings,
            {**data.describe(), **chosen, **plan.described, **({} if fit_file is None else {"fit_file": fit_file})},
            data.states.names,
            data.actions.names,
            self.plan.features,
        )

    def _certificate(self, drawn_by: str) -> Certificate:
        """The certificate of all that is asked; those who judge are others than those who are counted."""
        certificate = self.plan.certificate(drawn_by)
        if self.judge is None:
            return certificate
        return self.judge.certified(certificate, self.plan.acts, self.plan.promise)


def prepare(
    data: Dataset, learner: str | OfflineLearner = AUTO, privacy: Guarantee | None = None, **choices: FitChoice
) -> Order:
    """A fit with every choice made, and all checked that can be before a row is read. Arguments are those of `fit`."""
    if not validation.has_type(data, Dataset):
        way_out = "Read it first: trajectories.read(PATH, states=..., actions=..., horizon=...)."
        raise validation.refusal("data-not-read", "data", "a data set", data, way_out)
    return complete(data, FitChoices.of(learner, privacy, **choices))


def complete(data: Dataset, choices: FitChoices) -> Order:
    """The order that follows from the choices: the learner, what is asked and at which price, and the account it is charged to."""
    require_central(choices.privacy)
    data, learner, plan = planned(data, choices)
    account = account_of(data, choices.ledger, choices.budget)
    return Order(data, choices, plan, learner, account, judge=judge_plan(data, choices, plan, learner))


def can_judge(data: Dataset, choices: FitChoices, learner: OfflineLearner | LoggedLinear) -> bool:
    """Whether people can judge what a fit learns: policies of apvi from tight counts of people who come once."""
    ours = apvi_of(learner)
    judgeable = ours is not None and ours.judgeable
    return judgeable and choices.calibration == TIGHT and data.users.mode != GROUP


def judge_plan(
    data: Dataset, choices: FitChoices, plan: PlannedFit, learner: OfflineLearner | LoggedLinear
) -> JudgePlan | None:
    """What is asked of those who judge, if any do: for the same guarantee as is made to those who are counted."""
    if data.observed is not None:
        return _features_judge(data, choices, plan)
    suits = can_judge(data, choices, learner)
    if choices.judge == NONE or (choices.judge == AUTO and not suits):
        if data.groups is not None:
            raise InvalidInput(
                "groups-need-judge",
                "What groups gain is said by people who judge. Say --judge 0.3, with apvi and tight counts, or leave --groups out.",
            )
        if _steps_logged(data):
            raise InvalidInput(
                "propensities-need-judge",
                f"Propensities of {data.knowledge.spec.horizon} steps multiply, so they are for people who judge a part of the "
                "policy. Say --judge 0.3, or leave --propensity out.",
            )
        return None
    if not suits:
        raise InvalidInput(
            "judge-needs-counts",
            "People judge policies that apvi learns from tight counts of people who come once. Say --judge none.",
        )
    logged = data.floor is not None
    previous = not logged and tells_previous(data.knowledge.spec)
    share = USUAL_SHARE if choices.judge == AUTO else validation.number("judge", choices.judge)
    groups = () if data.groups is None else data.groups.names
    return JudgePlan.of(share, plan.promise, choices.mechanism, logged, previous, groups)


def _features_judge(data: Dataset, choices: FitChoices, plan: PlannedFit) -> JudgePlan | None:
    """The same of a fit with described features: people judge where their chances of actions are logged."""
    if choices.judge not in (NONE, AUTO) and data.floor is None:
        raise InvalidInput(
            "features-judge-needs-propensities",
            "People judge a linear policy by logged probabilities of actions. Name them (--propensity, with "
            "--propensity-floor), or say --judge none.",
        )
    if choices.judge == NONE:
        return None
    share = USUAL_SHARE if choices.judge == AUTO else validation.number("judge", choices.judge)
    return feature_judge(data, plan.promise, share)


def _steps_logged(data: Dataset) -> bool:
    """Whether propensities of several steps are logged, which only people who judge can use."""
    return data.floor is not None and data.knowledge.spec.horizon > 1


def planned(data: Dataset, choices: FitChoices) -> tuple[Dataset, OfflineLearner | LoggedLinear, PlannedFit]:
    """The data as it is counted, the learner, and what is asked at which price."""
    if data.observed is not None:
        return data, *feature_plan(data, choices)
    learner, options = choices.learner, dict(choices.options)
    if learner == AUTO:  # fewer questions share the guarantee than vapvi asks, and under privacy that gains more
        learner = "apvi" if data.vectors is None and options.get("features") is None else "pevi"
    if data.vectors is not None:
        options = _for_vectors(data.vectors, learner, options)
    linear, calibration = learner in LINEAR, choices.calibration
    if not linear and not data.model_named and pools(Apvi.paper, calibration, data.knowledge.spec):
        data = data.with_dynamics(PER_STEP)  # as the paper counts
    spec = data.knowledge.spec
    check_memory(spec.with_dynamics(PER_STEP) if linear else spec, SUMS if linear else COUNTS)
    made = make_learner(learner, data.knowledge, options, calibration)
    if isinstance(made, Vapvi):
        linear_plan = planned_sums(data, choices, made)
        return linear_plan.data, made, linear_plan
    if not learns_offline(made):
        named = learner if isinstance(learner, str) else type(learner).__name__
        raise InvalidInput(
            "learner-not-offline", f"Learner {named!r} cannot learn from one release. Use apvi, vapvi or pevi."
        )
    return data, made, planned_counts(data, choices, made)


def planned_sums(data: Dataset, choices: FitChoices, learner: Vapvi) -> LinearPlan:
    """What a linear learner asks, at which price."""
    if data.loses:
        raise InvalidInput(
            "linear-knows-no-losses",
            "Linear learners know of no losses to follow-up. Use apvi, or leave --lost and --missing end out.",
        )
    if choices.reward_centre is not None:
        raise InvalidInput(
            "gram-reward-centre", "Gram sums are centred by their targets. Leave --reward-centre out, or use apvi."
        )
    if choices.mechanism not in (AUTO, GAUSSIAN):
        raise InvalidInput("gram-mechanism", "Gram sums take Gaussian noise. Leave --mechanism out.")
    return LinearPlan.of(data, choices.privacy, learner, choices.scale, choices.failure, choices.calibration)


def planned_counts(data: Dataset, choices: FitChoices, learner: OfflineLearner, schedule: Schedule = ONCE) -> CountPlan:
    """What is asked of counts: by a paper's algorithm what that asks, else the least from which everything can be estimated.

    schedule: with how many people, where nothing is hidden because they are simulated.
    """
    promise, mechanism, failure, visits = choices.privacy, choices.mechanism, choices.failure, choices.visits
    if choices.calibration != TIGHT:
        if learner.name != Apvi.name:
            raise InvalidInput(
                "learner-in-no-paper",
                f"Learner {learner.name!r} is in no paper, so it has no calibration. Use apvi, vapvi or pevi.",
            )
        if visits not in (AUTO, ALL) or choices.reward_centre is not None:
            raise InvalidInput(
                "paper-asks-less",
                "Papers count all visits and centre no rewards. Leave --visits and --reward-centre out, or --calibration.",
            )
        asked = Apvi(data.knowledge, tight=False).question(data.knowledge.spec)
        published = Published(choices.calibration, Apvi.paper, asked)
        return CountPlan.published(data, promise, published, mechanism, failure, schedule)
    if not promise.private:
        if choices.reward_centre is not None:
            raise InvalidInput(
                "centre-without-privacy", "Without privacy no reward needs a centre. Leave --reward-centre out."
            )
        return CountPlan.unprotected(data, promise, visits, schedule)
    ours = apvi_of(learner)
    visits = visits_for(visits, ours is not None and ours.reads_budgeted)
    judged = choices.judge != NONE and can_judge(data, choices, learner)
    return CountPlan.of(data, promise, mechanism, failure, visits, choices.reward_centre, judged)


def fit(
    data: Dataset,
    learner: str | OfflineLearner = AUTO,
    privacy: Guarantee | None = None,
    *,
    engine: Engine | None = None,
    noise: NoiseSource | None = None,
    progress: Progress | None = None,
    on_counted: CountsCallback | None = None,
    stage: StageCallback | None = None,
    on_judged: FindingsCallback | None = None,
    audit: Auditor | None = None,
    **choices: FitChoice,
) -> Fit:
    """Learn a policy from logged trajectories, with a guarantee for each user in them.

    `choices` go to `prepare`. ledger: where the account lies, if not beside the data; budget: sets it if it has none.
    out: a folder for everything that may be published; replace: what is there. mechanism: gaussian or laplace. visits: `all`, or
    a budget for a person's repeated visits, by default where that pays. reward_centre: a public level that rewards are near.
    failure:
    with what probability the release's error radii may be wrong.
    judge: which share of the people is not counted, and judges apart: `auto`, 30 % of 2,000 people or more, or `none`.
    calibration: `tight`, or DP-APVI and DP-VAPVI as printed (`paper`) or with noise that keeps their claim (`sound`). scale: times
    the learner's pessimism. alone: keep the fully automated policy where people follow current practice, even if the data cannot
    tell its value. fit_file: the fit file's sections,
    kept as they are. All others are the learner's own. The noise must be secure. progress,
    stage: called with how many parts are counted, and with what comes next. on_counted: called with what was counted. on_judged:
    called with the value of the policy as soon as that is judged, before other guarantees are rehearsed and pages written. audit:
    attacks the plan before anything is charged, and returns what it found (`lab.audit.audit_plan`); the certificate keeps that.
    """
    source = require_secure(noise or release_noise(), "a fit on real data")
    order = prepare(data, learner, privacy, **choices)
    called = Callbacks(progress, on_counted, stage, on_judged, audit)
    return order.carry_out(engine or Engine(), source, called)


def check(
    data: Dataset,
    learner: str | OfflineLearner = AUTO,
    privacy: Guarantee | None = None,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
    on_counted: CountsCallback | None = None,
    **choices: FitChoice,
) -> Check:
    """What `fit` would do with the same arguments, and all that is wrong with the data. Spends and writes nothing."""
    return prepare(data, learner, privacy, **choices).check(engine or Engine(), Callbacks(progress, on_counted))


def _for_vectors(vectors: Vectors, learner: str | OfflineLearner, options: dict[str, Option]) -> dict[str, Option]:
    """Options with the features of state columns; only linear learners can use them."""
    if learner not in LINEAR:
        name = learner if isinstance(learner, str) else learner.name
        raise InvalidInput(
            "learner-needs-counted-states",
            f"Learner {name!r} counts states, which vectors cannot be. Use vapvi or pevi, or cut them.",
        )
    if "features" in options:
        raise InvalidInput(
            "features-twice", "State columns are features already. Leave --features out, or number the states."
        )
    return {**options, "features": vectors.features}
