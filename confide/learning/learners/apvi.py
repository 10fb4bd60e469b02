"""Adaptive pessimistic value iteration from logged episodes: APVI, DP-APVI and our own.

1. From one release: estimate rewards, transitions, and what people did.
2. For h = H..1: Q_h = r + P V_{h+1} - Gamma_h clipped to [0, H-h+1], pi_h = argmax Q_h, V_h = max Q_h; what people did
   is one more action.
3. Where that action was best, keep to current practice.

Gamma is in `planning.pessimism`. V is a lower bound on the value of the policy, as far as Gamma covers the errors.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...mdp import Spec
from ...mdp.knowledge import Knowledge
from ...protocol.kinds.counts import CENTRED, REWARDS, TRANSITIONS, VISITS, CountQuestion
from ...protocol.kinds.returns import ReturnsRelease
from ...protocol.releases.release import Array, CountRelease
from ..planning.counted import WALKERS
from ..planning.estimates import Difference
from ..planning.induction import GREEDY, MAXIMISE, backward_induction
from ..planning.logged import LoggedModel, logged_model
from ..planning.ope import Evidence, difference, extended, foreseen, fully_followed
from ..planning.pessimism import ADAPTIVE, KINDS, Constants, adaptive, printed
from ..planning.practice import Practice, practice_followed, practice_in, practice_of
from ..planning.thinning import TAU, thinned
from .learner import Context, State

HINTED = 1.0
"""By how many standard deviations a pair must exceed its noise to be taken where no gain would be sure anyway."""

LIKELY = 0.8
"""A gain may become sure if its foreseen interval of this confidence lies above zero."""

AGAINST = 1.0
"""By how many of its own standard deviations a judgement must speak against a policy for it to be dropped."""


class OfflinePlan(NamedTuple):
    """policy: (H, S, A); values: (H+1, S), pessimistic; extended: (H, S, A+1), the policy with current practice as its
    first action; model: what the release says about the log; evidence: what it is judged by, if it was; more: its difference
    from current practice, by that.
    """

    policy: Array
    values: Array
    extended: Array
    model: LoggedModel
    evidence: Evidence | None = None
    more: Difference | None = None

    @property
    def kept(self) -> NDArray[np.bool_]:
        """(H, S) where current practice is kept."""
        return np.asarray(self.extended[..., 0] > 0)

    def followed_by(self, practice: Array) -> Array:
        """(H, S, A): what happens if people, whose practice (H, S, A) is known, go on with it where it is kept."""
        return np.asarray(self.extended[..., 1:] + self.extended[..., :1] * practice)

    @property
    def lower(self) -> float:
        """The pessimistic value of the policy."""
        return self.model.at_start(self.values[0])


def plan_of(learned: object) -> OfflinePlan | None:
    """What a learner made of a release, if it keeps what others need to judge it; learners of one's own may not."""
    return learned if isinstance(learned, OfflinePlan) else None


class Judge(NamedTuple):
    """What a policy is judged by: the other part of a release, and people's returns."""

    release: CountRelease
    practice: Practice


@dataclass(frozen=True)
class Apvi:
    """The offline learner of this module. `fallback` keeps practice where nothing better is sure; papers have none. walkers: see
    `planning.counted`."""

    knowledge: Knowledge | None = None
    pessimism: str = ADAPTIVE
    constants: Constants | None = None
    fallback: bool = True
    told_apart: float | None = None
    tight: bool = True
    walkers: int = WALKERS
    name: str = "apvi"
    paper: str = "offline"

    @property
    def reads_budgeted(self) -> bool:
        """Whether it can learn from counts under a budget, with visits asked for by themselves."""
        return self.tight and self.pessimism == ADAPTIVE

    @property
    def judgeable(self) -> bool:
        """Whether its plans hold what others need to judge them: current practice as an action, and the model behind them."""
        return self.tight

    @property
    def default_scale(self) -> float:
        """Standard deviations of doubt for `adaptive`; the paper's own constants otherwise."""
        return 2.0 if self.pessimism == ADAPTIVE else 1.0

    def known(self, spec: Spec) -> Knowledge:
        """The public knowledge: as given, or nothing but the sizes."""
        return self.knowledge or Knowledge.declared(spec, ends=False)

    def question(self, spec: Spec) -> CountQuestion:
        """Transitions, and rewards if they are unknown; as the paper asks it, visits too."""
        rewards = self.known(spec).rewards is None
        if self.tight:
            return CountQuestion(spec, (CENTRED, TRANSITIONS) if rewards else (TRANSITIONS,))
        return CountQuestion(spec, (VISITS, REWARDS, TRANSITIONS) if rewards else (VISITS, TRANSITIONS))

    def begin(self, context: Context, rng: np.random.Generator) -> State:
        """Before the release: every allowed action alike."""
        spec = context.spec
        allowed = np.where(self.known(spec).allowed, 1.0, 0.0)
        policy = np.broadcast_to(allowed / allowed.sum(axis=1, keepdims=True), (spec.horizon, *allowed.shape))
        return State(context, policy.copy(), np.zeros((spec.horizon + 1, spec.states)), 0, np.zeros(0), None, rng)

    def ask(self, state: State) -> CountQuestion:
        """The counts of the one release that it learns from."""
        return self.question(state.context.spec)

    def learn(self, state: State, release: CountRelease) -> State:
        """The state after the release; its memory is the whole `OfflinePlan`."""
        plan = self.plan(release, state.context.bonus_scale)
        return replace(state, policy=plan.policy, values=plan.values, users=release.users, memory=plan)

    def plan(
        self,
        release: CountRelease,
        scale: float | None = None,
        initial: Array | None = None,
        values: Array | None = None,
    ) -> OfflinePlan:
        """Learn from one release; `scale` multiplies the pessimism and never changes privacy. values: (H+1, S) of an earlier
        plan, along which rows are compared; without them two plans are made.
        """
        if not (release.complete or self.reads_budgeted):
            raise InvalidInput(
                "pessimism-needs-all-visits",
                f"First visits were counted, which {self.pessimism} pessimism cannot read. Use adaptive, or fit with --visits all.",
            )
        knowledge = self.known(release.question.spec)
        size = self.default_scale if scale is None else validation.number("bonus_scale", scale)
        if size < 0:
            raise validation.refusal(
                "bonus-scale-negative", "bonus_scale", "at least 0", scale, "Use 0 for no pessimism."
            )
        spec = knowledge.spec
        policy = np.empty((spec.horizon, spec.states, spec.actions + 1))
        # Twice: how much rows borrow from each other depends on the value function, which only a first plan tells.
        again, along = (2, None) if values is None else (1, _along(values, spec))
        values = np.empty((spec.horizon + 1, spec.states))
        for _ in range(again):
            model = logged_model(release, knowledge, initial, self.told_apart, along, self.walkers)
            if self.pessimism == ADAPTIVE:
                adaptive(model, size, self.fallback, policy, values)
            else:
                work = printed(release, knowledge, self.pessimism, size, self.constants, self.fallback)
                backward_induction(work, MAXIMISE, 0.0, 1.0, GREEDY, policy, values)
            along = _along(values, spec)
        return OfflinePlan(model.resolved(policy), values, policy, model)

    def judged(
        self,
        release: CountRelease,
        scale: float | None = None,
        initial: Array | None = None,
        returns: ReturnsRelease | None = None,
    ) -> OfflinePlan:
        """Learn from one part of the release, and judge by the other. returns: people's returns, if they were queried.

        Where no gain is likely to be sure of what exceeds the noise as tried, by the part that chooses, less is asked of a pair:
        `HINTED`. Where the judging part speaks against the policy, by more than `AGAINST` deviations, current practice is kept
        throughout.
        """
        knowledge = self.known(release.question.spec)
        model = logged_model(release, knowledge, initial, self.told_apart)
        choosing, judging = thinned(release, model)
        if returns is not None:
            practice = practice_of(returns)
        else:
            practice = practice_in(release, knowledge) if release.lost is None else practice_followed(model)
        practice = practice if release.came is None else practice.of_histories(release.came)
        plan, evidence = self.chosen(choosing, Judge(judging, practice), scale, initial)
        evidence = evidence if release.lost is None else fully_followed(evidence)
        more = difference(evidence, plan.extended)
        if self.fallback and more.guess <= -AGAINST * math.sqrt(more.luck + more.noise):
            usual = extended(plan.model, None)
            plan, more = plan._replace(policy=plan.model.resolved(usual), extended=usual), difference(evidence, usual)
        return plan._replace(evidence=evidence, more=more)

    def chosen(
        self,
        choosing: CountRelease,
        judge: Judge,
        scale: float | None = None,
        initial: Array | None = None,
        values: Array | None = None,
    ) -> tuple[OfflinePlan, Evidence]:
        """The policy that one part of a release chooses, and the evidence by which it will be judged. values: see `plan`."""
        plan = self.plan(choosing, scale, initial, values)
        evidence = Evidence(plan.model, judge.release, judge.practice, 1 + 1 / TAU**2)
        wary = self.told_apart is None and self.fallback and self.pessimism == ADAPTIVE
        if wary and foreseen(evidence, plan.extended).lower(LIKELY) <= 0:
            plan = replace(self, told_apart=HINTED).plan(choosing, scale, initial, values)
            evidence = replace(evidence, model=plan.model)
        return plan, evidence


def _along(values: Array, spec: Spec) -> Array:
    """(L, S): the values that follow a step, or their mean over steps."""
    return values[1:] if spec.layers > 1 else np.asarray(values[1:].mean(axis=0, keepdims=True))


def apvi_of(learner: object) -> Apvi | None:
    """The learner, if it is this one: only it chooses by one part of a release and judges by another."""
    return learner if isinstance(learner, Apvi) else None


def apvi(
    knowledge: Knowledge | None = None,
    pessimism: str | None = None,
    constants: Constants | None = None,
    fallback: bool | None = None,
    told_apart: float | None = None,
    calibration: str = "tight",
    **public: Any,
) -> Apvi:
    """Adaptive pessimistic value iteration from logged episodes: APVI, DP-APVI.

    `public` are the tables of `Knowledge.declared`, if no knowledge is given: `spec`, `rewards`, `support`, `allowed`.
    `paper` and `sound` take Bernstein pessimism and no fallback by default.
    """
    if public:
        unknown = sorted(public.keys() - inspect.signature(Knowledge.declared).parameters.keys())
        if unknown:
            taken = "pessimism, constants, fallback, told_apart"
            raise InvalidInput(
                "apvi-options",
                f"learner 'apvi' does not take these options: {', '.join(unknown)}. It takes: {taken}.",
            )
        if knowledge is not None:
            raise InvalidInput(
                "knowledge-twice", f"Give knowledge, or the tables {', '.join(sorted(public))}, not both."
            )
        knowledge = Knowledge.declared(**{"ends": False, **public})
    tight = calibration == "tight"
    kind = validation.choice("pessimism", pessimism or (ADAPTIVE if tight else "bernstein"), KINDS)
    return Apvi(knowledge, kind, constants, tight if fallback is None else fallback, told_apart, tight)
