"""The findings of a fit: numbers computed from its release, in people's units. Nothing here touches data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...learning.learners.apvi import OfflinePlan, plan_of
from ...learning.planning.consistency import settle
from ...learning.planning.estimates import Estimate, enough_people
from ...learning.planning.logged import noise_deviation
from ...learning.planning.ope import Evidence, difference
from ...mdp.knowledge import Knowledge
from ...protocol.releases import CountRelease
from ..reporting.stated import Findings, StatedInterval
from .alarms import one_step
from .assumed import resting_on
from .differences import differences
from .forecast import people_needed
from .plan import STARTS
from .power import prospects

if TYPE_CHECKING:
    from .learning import Learned, OfflineLearner


def first_states(knowledge: Knowledge, releases: dict[str, CountRelease]) -> NDArray[np.float64] | None:
    """(S,) the law of the first state: public, or the nearest law to the released counts; None if neither is there."""
    if knowledge.initial is not None or STARTS not in releases:
        return knowledge.initial
    law = np.zeros(knowledge.spec.states)
    people = max(releases[STARTS].users, 1)
    shares = np.maximum(releases[STARTS].counts.visits.ravel()[: knowledge.states] / people, 0.0)
    settle(shares, 1.0)
    law[: knowledge.states] = shares
    return law


class UnitConverter(Protocol):
    """Converts an estimate into plain numbers in people's units."""

    def __call__(self, estimate: Estimate, difference: bool = False) -> StatedInterval:
        """`value`, `low` and `high`; of a difference, or of a value."""
        ...


class Units(NamedTuple):
    """People's units: a reward of 0 and of 1 to a learner; and the least and the most that all steps together can pay."""

    low: float
    high: float
    least: float = -math.inf
    most: float = math.inf

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Units:
        """The units of a data set, from what `Dataset.describe` returns."""
        (low, high), steps = config["reward_range"], int(config["horizon"])
        first, last = config.get("declared_range", (low, high))
        lengths = (1, steps) if config.get("ends", True) else (steps,)
        least, most = (
            extreme(float(bound) * many for many in lengths) for extreme, bound in ((min, first), (max, last))
        )
        if config.get("return_range") is not None:
            fewest, largest = map(float, config["return_range"])
            least, most = min(max(least, fewest), largest), max(min(most, largest), fewest)
        return cls(float(low), float(high), least, most)

    def total(self, horizon: int, worth: float) -> float:
        """A sum of rewards in [0, 1] over this many steps in people's units, and never beyond what they allow."""
        return min(max(self.low * horizon + (self.high - self.low) * worth, self.least), self.most)

    def gained(self, practice: float, worth: float) -> float:
        """A gain in sums of rewards in [0, 1] in people's units, and never beyond what can be gained over current practice."""
        return min((self.high - self.low) * worth, max(self.most - practice, 0.0))


def in_people_units(units: Sequence[float], horizon: int) -> UnitConverter:
    """A converter of estimates of sums of rewards in [0, 1] into sums of rewards in the declared range, never beyond them."""
    low, high, least, most = Units(*units)

    def convert(estimate: Estimate, difference: bool = False) -> StatedInterval:
        if difference:
            least_gain, most_gain, start = least - most, most - least, 0.0
        else:
            least_gain, most_gain, start = least, most, low * horizon

        def within(number: float) -> float:
            return min(max(start + (high - low) * number, least_gain), most_gain)

        return {"value": within(estimate.value), "low": within(estimate.low), "high": within(estimate.high)}

    return convert


class Asker(Protocol):
    """Asks people who chose nothing about a learned policy."""

    def taken(self, plan: OfflinePlan) -> OfflinePlan:
        """The plan itself, or another that they are surer of."""
        ...

    def __call__(self, plan: OfflinePlan, findings: Findings, in_units: UnitConverter) -> Findings:
        """What they say of it, which is added to the findings."""
        ...


FindingsCallback = Callable[[Findings], None]
"""Called with the judgement of a policy, before the other findings are computed."""

LOWER = 0.99
"""The confidence of `lower`: the low end of an interval that holds so often."""


class LearningTask(NamedTuple):
    """What is learned from releases: by whom, with which factor on its pessimism, given what is public, in which units. logged:
    chances of actions are; unconfounded: the analyst declares that nothing but the recorded state decided about them.
    """

    learner: OfflineLearner
    scale: float | None
    knowledge: Knowledge
    units: Sequence[float]
    logged: bool = False
    unconfounded: bool = False


def findings(
    task: LearningTask,
    release: CountRelease,
    learned: Learned,
    initial: NDArray[np.float64] | None,
    on_judged: FindingsCallback | None = None,
    asking: Asker | None = None,
) -> Findings:
    """How many people, and the value of the policy to each, where a learner keeps evidence to judge it by. on_judged: called with
    the judgement as soon as it is there, since all that follows takes longer.

    value, with `low` and `high`: its value if people follow current practice where it says so. lower: what that surely is.
    alone: the same for the table by itself, run by a machine that plays estimated shares where people would follow current
    practice.
    practice: what is done now. gain: by how much the policy is better, and whether that can be said (`sure`);
    needed_to_be_sure: by how many people, if not. Each interval alone holds with `confidence`. differences: where the
    policy leaves current practice, by numbers of states and actions.
    asking: asks those who judge apart. assumes, ended, checks: what values rest on (`assumed`). Then
    what `prospects` adds: coverage and power.
    """
    learner, scale, knowledge, units, logged, unconfounded = task
    lower = None if initial is None else Units(*units).total(knowledge.spec.horizon, float(initial @ learned.values[0]))
    summary: Findings = {"users": release.users, "value": None, "lower": lower}
    plan = plan_of(learned)
    if plan is None or plan.evidence is None:
        return summary
    in_units, evidence = in_people_units(units, knowledge.spec.horizon), plan.evidence
    judged: Findings = {**summary, **judgement(evidence, plan, in_units)}
    judged |= resting_on(release, evidence, plan.extended)
    if asking is not None:
        judged |= asking(plan, judged, in_units)
    judged |= one_step(judged, knowledge.spec.horizon, logged, unconfounded)
    if on_judged is not None:
        on_judged(judged)
    changed = differences(evidence, plan.extended, release, in_units)
    usual = judged["practice"]
    practice = 0.0 if usual is None else usual["value"]
    return {
        **judged,
        "differences": [change.as_json() for change in changed],
        "needed": _needed(knowledge, release),
        **prospects(learner, release, plan, scale, partial(Units(*units).gained, practice)),
    }


def _needed(knowledge: Knowledge, release: CountRelease) -> float:
    noise = math.sqrt(release.noise.transitions) or noise_deviation(release, knowledge)
    return people_needed(knowledge, noise, None if release.visited is None else math.sqrt(release.visited.variance))


def judgement(evidence: Evidence, plan: OfflinePlan, in_units: UnitConverter) -> Findings:
    """The estimates of a policy, of its table alone, and of current practice, with their differences."""
    more = plan.more or difference(evidence, plan.extended)
    value, gain, alone = evidence.evaluate(more), evidence.compare(more), evidence.evaluate(plan.policy)
    stated = in_units(value)
    return {
        "value": stated["value"],
        "low": stated["low"],
        "high": stated["high"],
        "lower": in_units(evidence.evaluate(more, LOWER))["low"],
        "alone": {**in_units(alone), "vacuous": vacuous(alone, evidence.model.knowledge)},
        "practice": in_units(evidence.evaluate(None)),
        "gain": {**in_units(gain, difference=True), "sure": gain.sure()},
        "recommended": gain.sure(),
        "needed_to_be_sure": None if gain.sure() else enough_people(more, evidence.practice.people, gain.confidence),
        "confidence": value.confidence,
    }


def vacuous(alone: Estimate, knowledge: Knowledge) -> bool:
    """Whether an interval says next to nothing: it spans more than half of all values that a policy could have."""
    low, high = knowledge.returns or (0.0, float(knowledge.spec.horizon))
    return alone.high - alone.low > (high - low) / 2
