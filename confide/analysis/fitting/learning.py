"""Learns a policy from releases and public knowledge: post-processing, for `fit` and `refit` alike. No data is at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...learning import learners
from ...learning.learners.apvi import apvi_of, plan_of
from ...learning.learners.catalogue import Option
from ...mdp import Policy
from ...mdp.critic import VectorPolicy
from ...mdp.feature_policy import FeaturePolicy
from ...mdp.knowledge import Knowledge
from ...protocol.design import TIGHT
from ...protocol.releases import CountRelease
from ..reporting.stated import Findings
from . import choices
from .findings import Asker, FindingsCallback, LearningTask, findings, first_states
from .plan import COUNTS, RETURNS, together_read


class Learned(Protocol):
    """The result of a learner on a release: policy (H, S, A), and values (H+1, S), a lower bound as far as it can tell."""

    @property
    def policy(self) -> NDArray[np.float64]:
        """The probabilities of actions, (H, S, A)."""
        ...

    @property
    def values(self) -> NDArray[np.float64]:
        """The values of states, (H+1, S)."""
        ...


@runtime_checkable
class OfflineLearner(Protocol):
    """A learner that needs one release of counts. It is built with `knowledge` and options of its own."""

    @property
    def name(self) -> str:
        """The name by which commands know it."""
        ...

    def plan(
        self, release: CountRelease, scale: float | None = None, initial: NDArray[np.float64] | None = None
    ) -> Learned:
        """Learn. scale: times the pessimism, None for its default; initial: (S,), the law of the first state."""
        ...


def learns_offline(learner: object) -> bool:
    """Whether this learns from one release, of ours or not; a class may plan as what it is derived from does."""
    return isinstance(learner, OfflineLearner)


class LearningResult(NamedTuple):
    """A learned policy, its values (H+1, S) for the declared states, and findings about it; vectors have no values."""

    policy: Policy | VectorPolicy | FeaturePolicy
    values: NDArray[np.float64] | None
    findings: Findings


def make_learner(
    learner: str | OfflineLearner, knowledge: Knowledge, options: Mapping[str, Option], calibration: str = TIGHT
) -> OfflineLearner:
    """The learner of that name, built with what is public; `paper` and `sound` learn as its paper does."""
    if not isinstance(learner, str):
        if options:
            raise InvalidInput(
                "options-of-made-learner",
                f"A learner that is made already takes no options. Got {', '.join(options)}. Leave them out, or name it.",
            )
        ours = apvi_of(learner)
        if ours is not None and ours.tight != (calibration == TIGHT):
            raise InvalidInput(
                "learner-of-other-calibration",
                f"This learner was built for another calibration than the fit's {calibration}. Build it for that, or name it.",
            )
        return learner
    if learner in choices.LINEAR and options.get("features") is None:
        raise InvalidInput(
            "learner-needs-features",
            f"Learner {learner!r} needs features. Give a table with --features, or name --state-columns.",
        )
    if "knowledge" in options:
        raise InvalidInput(
            "knowledge-to-learner", "What is public is declared with the data, not to a learner. Leave 'knowledge' out."
        )
    if not learners.listing(learner).takes_knowledge:
        raise InvalidInput(
            "learner-online",
            f"Learner {learner!r} learns online, from people who come one by one. Use apvi for logged data.",
        )
    checked = {**choices.options(learner, options), **({} if calibration == TIGHT else {"calibration": calibration})}
    made: OfflineLearner = learners.make(learner, knowledge=knowledge, **checked)
    return made


def nothing_learned(knowledge: Knowledge, users: int) -> LearningResult:
    """The result before anything is learned: follow current practice, a sure value of 0."""
    states, horizon = knowledge.states, knowledge.spec.horizon
    alike = knowledge.allowed[:states] / knowledge.allowed[:states].sum(axis=1, keepdims=True)
    policy = Policy(np.broadcast_to(alike, (horizon, *alike.shape)), np.ones((horizon, states), dtype=np.bool_))
    summary: Findings = {"users": users, "value": None, "lower": None}
    return LearningResult(policy, np.zeros((horizon + 1, states)), summary)


def learn(
    learner: OfflineLearner, scale: float | None, initial: NDArray[np.float64] | None, releases: dict[str, Any]
) -> Learned:
    """The result of the learner on the releases: chosen by one part of them and judged by another, if it can do that."""
    counts, ours = together_read(releases)[COUNTS], apvi_of(learner)
    if ours is not None and ours.tight:
        return ours.judged(counts, scale, initial, releases.get(RETURNS))
    return learner.plan(counts, scale, initial)


def learning_result(
    task: LearningTask,
    releases: dict[str, Any],
    alone: bool = False,
    on_judged: FindingsCallback | None = None,
    asking: Asker | None = None,
) -> LearningResult:
    """Learn from everything that was released. alone: see `as_run`; on_judged, asking: see `findings`."""
    knowledge = task.knowledge
    initial = first_states(knowledge, releases)
    learned = learn(task.learner, task.scale, initial, releases)
    made = plan_of(learned)
    if asking is not None and made is not None:
        learned = asking.taken(made)
    summary = findings(task, together_read(releases)[COUNTS], learned, initial, on_judged, asking)
    by_itself = summary.get("alone")
    withheld = by_itself is not None and by_itself["vacuous"] and not alone
    policy = as_run(learned, knowledge.states, withheld)
    return LearningResult(policy, learned.values[:, : knowledge.states], summary)


def as_run(learned: Learned, states: int, withheld: bool) -> Policy:
    """The policy for the declared states, with current practice as what it is: follow current practice.

    withheld: where people follow current practice the table is left empty, because its value without them, run by a
    machine that plays estimated shares of their actions, is not known.
    """
    table, plan = learned.policy[:, :states], plan_of(learned)
    if plan is None or not plan.kept.any():
        return Policy(table)
    now = plan.kept[:, :states]
    return Policy(np.where(now[..., None] & withheld, 0.0, table), now)
