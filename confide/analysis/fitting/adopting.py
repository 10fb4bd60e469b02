"""Judging apart: a share of the people, who chose nothing, judges a partial adoption of the policy, whatever states leave out.

The judging people are others than those who are counted (`data.statistics.choosing`), so each of them is in one of two sets of
releases, and each set keeps the whole guarantee: what a person gives away is the larger of the two, not their sum. How it is
divided among what judging people are asked is `SHARES`:

| asked | of the guarantee to them | for |
|---|---|---|
| `sizes` | 5 % | how large scores are, by which they are clipped |
| `gain` | 35 % | the mean score of the policy that was learned, and its variance |
| `bolder` | 35 % | the same of the most promising of a family of bolder policies (`learning.learners.bolder`) |
| `weight` | 5 % | the mean of clipped weights of the one that is taken, which must be what the release foretells |
| `residuals` | 20 % | the test of the table behind it (`mdp.adoption`) |
| `groups` | 20 % where there are any, `gain` and `bolder` 25 % each then | mean score and size of each group (`subgroups`) |

Both gains have intervals that hold together. Where it is not foreseen that the bolder will be sure, or there is one policy
only, one is asked about twice, and both answers are averaged: half the variance of the noise, for the same price. Which,
follows from the release of those who are counted. The bolder policy is taken if its gain is above zero for sure, and larger
than that of the other for the share of decisions in which it is followed; else the other stays. Other policies are judged by
the table, and cost nothing.

A further check is free: the judged gain must be the table's at the same share. What follows from all of them is in `alarms`.
How large a share alpha can be judged follows from people who are simulated from the release, so it costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...data.privatizers.judged import JudgedAggregate
from ...learning.learners.apvi import OfflinePlan
from ...learning.learners.bolder import bolder
from ...learning.planning.estimates import Estimate, quantile
from ...learning.planning.logged import LoggedModel
from ...learning.planning.ope import difference, extended, foreseen, policy_values
from ...mdp.adoption import (
    BY_PREVIOUS,
    BY_STATE,
    BY_STEP,
    SIGNS,
    Adoption,
    Episodes,
    Specification,
    contrasts,
    expecting,
    moved_by,
    scores,
)
from ...mechanisms.mechanism import NoiseMechanism
from ...mechanisms.noise import NoiseSource
from ...privacy import Act, Certificate, Guarantee, Schedule, StatedGuarantee, compose, rho_of, true_guarantee
from ...protocol.design import AUTO, Design, Request
from ...protocol.kinds.judged import (
    CELLS,
    GAIN,
    GROUPS,
    RESIDUALS,
    SIZES,
    TESTS,
    WEIGHT,
    JudgedQuestion,
    JudgedRelease,
    shortened,
)
from ...protocol.releases import CountRelease
from ...protocol.trusts.central import std, together
from ..reporting.stated import Findings, StatedJudgement
from .alarms import ANOTHER, BALANCE, DISAGREEMENT, HABIT, LEFT_OUT, PROPENSITY, RESIDUAL, blind_to, ruling
from .findings import UnitConverter
from .plan import PREVIOUS
from .subgroups import group_gains

Array = NDArray[np.float64]

BOLDER = "bolder"
SHARES = {SIZES: 0.05, GAIN: 0.35, BOLDER: 0.35, WEIGHT: 0.05, RESIDUALS: 0.2 - 1e-9}
"""Of the guarantee to judging people."""

GROUP_SHARES = {SIZES: 0.05, GAIN: 0.25, BOLDER: 0.25, WEIGHT: 0.05, RESIDUALS: 0.2, GROUPS: 0.2 - 1e-9}
"""The same where they are in groups."""

ALPHAS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05)
"""Shares of decisions that may be judged, the largest first."""

SIMULATED = 10_000
LEAST_PEOPLE, MOST_SQUARE, OFF = 200, 4.0, 0.15
"""An adoption is judged only where this many people are left by its weights, whose mean square is no larger and whose mean is no
further from 1, as simulated."""

SEEN_ODDS = 3.0
"""Where chances of actions are logged, practice may have seen more than states tell: people are simulated of whom each has the odds
of one action larger by this factor. Else weights would be foreseen as even as the table's, and rare large ones be clipped."""

MOST_COMPOUND = 0.1
"""An adoption is judged only where errors of estimated chances add no more than this to the mean square of its weights."""

NEARLY = 0.2
"""Of the best ratio of a gain to its interval, what a larger share of decisions may cost."""

FLOOR = 0.02
"""Estimated chances of actions are taken for no smaller."""

STANDS_OUT = 4.0
"""Deviations of the noise by which an octave of scores must be seen to set the clip."""

UNIT = 2.0**-6
"""The upper end of the first octave of scores, in clips as simulated."""

SURE_ENOUGH = 0.9999
"""No clip is below this quantile of simulated scores."""

ALARM = 3.4
"""Deviations at which a number of a check raises its alarm: by chance one of 1,500 does."""

SEEN_MORE_AT, SEEN_MORE_TOGETHER, LASTING_AT = 3.0, 17.3, 2.6
"""Deviations at which a number about what practice did raises its alarm, and the sum of their squares that does so, by chance in
one of 250 fits: there a miss costs more than a false alarm. What is hidden and lasts makes the last number positive, whatever it
does: that raises it earlier, and so does the sum of it and of the second."""

LENGTH = 1.25
"""The length to which a person's numbers of the test are shortened, each in deviations as simulated, times the root of how many are
looked at."""

NOT_LOOKED_AT, UNMOVED = np.full(TESTS, np.inf), np.zeros(TESTS)

MOST_HIDDEN = 10.0
"""The largest factor of a hidden cause that is looked for."""

LEAST_KNOWN, EXCEEDS_BY, LEAST_CLEAR = 30.0, 8.0, 0.02
"""The test looks at what follows pairs of at least this many visits, that exceed their noise by this many deviations, and at
what practice
did in states where the estimated chances of its actions add no more than that share to the variance of who takes which.
Elsewhere the
release says too little for a difference to be one."""

MOVED = 6
"""How often the model is moved to see how far its errors move the test."""

SUSPECT_AT = 1.5
"""Deviations at which, after the alarm `residual`, a number about what practice did that shows hidden causes that last leaves open
whether states leave out what follows or what practice saw. Of fits with right chances a fifth are left open."""

REPEATS_AT, UNSEEN_AT = 3.0, 2.33
"""Deviations by which practice must repeat the action before more often than states tell, for a hidden cause that lasts to be
looked for behind it; and by which the number of the test that would show such a cause must be short of what it then were, for
that to be excluded: one of a hundred is missed."""

HIDDEN_ODDS = (1.5, 2.5, 5.0, 15.0, 50.0)
"""Factors of odds by which hidden causes that last are simulated."""

MOST_FORESEEN = 100_000
"""Up to this many possible transitions it is foreseen which policy of the family surely gains most: beyond, that would take a third
of the time of a fit."""

CLEARLY, HARDLY = 2.0, 1.0
"""Gains that are foreseen, in halves of their intervals: a bolder policy is asked about beside the other if it is foreseen to be
sure so clearly; and alone, if it is clearer than the other, which hardly is."""

JUDGED = "judged-"
"""How the names of releases begin that those who judge give."""

SAID = {
    SIZES: "how large scores of those who judge are",
    GAIN: "the mean score of those who judge, and its variance",
    BOLDER: "the same of a bolder policy",
    WEIGHT: "the mean weight of those who judge",
    RESIDUALS: "the test of the table by those who judge",
    GROUPS: "the mean score of every group of those who judge, and its size",
}
"""What each release is about, in words."""


@dataclass(frozen=True)
class JudgePlan:
    """What is asked of judging people, at which price: the same guarantee as to those who are counted. share: of all people.

    logged: their chances of actions are; previous: they are estimated by the action before, too. designs: None without privacy,
    for simulated people. groups: the names of public groups that they are in, if they are in any.
    """

    share: float
    designs: dict[str, Design] | None
    logged: bool
    previous: bool = False
    groups: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        share: float,
        promise: Guarantee,
        mechanism: str = AUTO,
        logged: bool = False,
        previous: bool = False,
        groups: tuple[str, ...] = (),
    ) -> JudgePlan:
        """The plan for a share of the people. logged, previous: where their chances of actions come from."""
        validation.between("judge", share, 0.05, 0.5, "Say --judge 0.3, for example.")
        if not promise.private:
            return cls(share, None, logged, previous, groups)
        shares = GROUP_SHARES if groups else SHARES
        return cls(share, designs_of(shares, promise, mechanism, groups), logged, previous, groups)

    @property
    def cost(self) -> float:
        """The rho of all acts towards judging people."""
        return rho_of(compose([act.loss for act in self.acts])) or 0.0

    @property
    def remark(self) -> str:
        """A sentence for certificates."""
        return (
            f"{self.share:.0%} of the people, drawn at random, are not counted and judge instead; each person is in one of the "
            "two, so the guarantee is that of either"
        )

    @property
    def acts(self) -> list[Act[NoiseMechanism]]:
        """The acts of privacy towards judging people."""
        return [design.act for design in (self.designs or {}).values()]

    def certified(
        self, certificate: Certificate, acts: Sequence[Act[NoiseMechanism]], promise: Guarantee
    ) -> Certificate:
        """The certificate of all that is asked. acts: those towards who is counted; each person is in one of the two groups."""
        if self.designs is None:
            return certificate.assuming([self.remark])
        told = tuple(
            {**act.describe(), "release": SAID[name]} for name, act in zip(self.designs, self.acts, strict=True)
        )
        counted = rho_of(compose([act.loss for act in acts])) or 0.0
        larger = self.acts if self.cost > counted else acts
        true = StatedGuarantee(true_guarantee(compose([act.loss for act in larger]), promise))
        apart = replace(certificate, promises=(true,), mechanisms=(*certificate.mechanisms, *told))
        return apart.assuming([self.remark])

    def noise(self, part: str) -> float:
        """The standard deviation of the noise in the first number of a part, in shares of its clip."""
        return 0.0 if self.designs is None else std(self.designs[part])

    def released(
        self, name: str, numbers: Array, scale: float, noise: NoiseSource, simulated: bool = False
    ) -> JudgedRelease:
        """The release of that name. numbers: see `JudgedQuestion.units`; scale: what a share of 1 stands for."""
        if self.designs is None:
            question = question_of(name, self.groups)
            units = question.units(numbers, np.full(numbers.shape, 0.5))
            exact = question.values(np.asarray(units * question.grid, dtype=np.float64), len(numbers))
            return JudgedRelease(question.part, len(numbers), tuple(map(float, exact)), (0.0,) * question.cells, scale)
        aggregate = JudgedAggregate(self.designs[name], noise, simulated)
        aggregate.take_numbers(numbers)
        return aggregate.close(scale=scale)

    def judged(
        self,
        plan: OfflinePlan,
        chances: PracticeChances,
        episodes: Episodes,
        noise: NoiseSource,
        simulated: bool = False,
    ) -> Judgement | None:
        """What judging people say of a policy, or of a bolder one; None where no share of either can be judged."""
        people = episodes.people
        if people < LEAST_PEOPLE:
            return None
        walked = simulated_people(plan.model, chances, SIMULATED, np.random.default_rng(0))
        weighed = people_told_apart(plan.model, chances, SIMULATED) if self.logged else walked
        candidates = candidates_of(plan, chances, weighed, people, self.noise(GAIN), self.logged)
        if not candidates:
            return None
        scored = {name: scores(one.adoption, episodes) for name, one in candidates.items()}
        # Relative to what simulated people say, and to the largest of both.
        relative = np.max([np.abs(found) / candidates[name].clip for name, (found, _) in scored.items()], axis=0)
        with np.errstate(divide="ignore"):
            octaves = np.ceil(np.log2(relative / UNIT))
        releases = {SIZES: self.released(SIZES, octaves, UNIT, noise, simulated)}
        times = max(clip_of(releases[SIZES], UNIT), 1.0)
        for name, (found, _) in scored.items():
            clip = times * candidates[name].clip
            releases[name] = self.released(name, found / clip, clip, noise, simulated)
        return self._tested(_taken(candidates, releases), scored, chances, walked, episodes, (noise, simulated))

    def _tested(
        self,
        judgement: Judgement,
        scored: Mapping[str, tuple[Array, Array]],
        chances: PracticeChances,
        walked: Episodes,
        episodes: Episodes,
        drawn_by: tuple[NoiseSource, bool],
    ) -> Judgement:
        """The judgement with the weights of its adoption, and the test of the table behind it."""
        chosen = judgement.chosen
        populations = moved_populations(chosen.plan.model, chances)
        chosen = chosen if self.logged else chosen.doubting(populations)
        test = table_test(chosen.plan, chances, walked, populations, self.logged)
        numbers, length = contrasts(test.specification, episodes) / (test.length * test.deviations), test.length
        weights = scored[judgement.names[0]][1] / chosen.heaviest
        answers = {WEIGHT: (weights, chosen.heaviest), RESIDUALS: (numbers, length)}
        if self.groups:
            clip = judgement.releases[judgement.names[0]].scale
            shares = np.column_stack([scored[judgement.names[0]][0] / clip, episodes.group])
            answers[GROUPS] = shares, clip
        more = {part: self.released(part, *answer, *drawn_by) for part, answer in answers.items()}
        releases = {**judgement.releases, **more}
        return judgement._replace(
            chosen=chosen, releases=releases, doubts=test.doubts, shifts=test.shifts, walked=walked, hidden=test.hidden
        )


def candidates_of(
    plan: OfflinePlan, chances: PracticeChances, walked: Episodes, people: int, noise: float, logged: bool
) -> dict[str, ChosenAdoption]:
    """What is judged: the policy, unless it keeps to practice, and the most promising of the bolder ones. noise: see
    `chosen_adoption`."""

    def adoption(one: OfflinePlan, louder: float = 1.0) -> ChosenAdoption | None:
        return chosen_adoption(one, chances, walked, people, louder * noise, logged)

    family = [plan, *bolder(plan)]
    first = promising(family)
    adoptions = [adoption(one) if number > 0 or first == 0 else None for number, one in enumerate(family)]
    own = None if family[first].kept.all() else adoptions[first]
    able = [one for one in adoptions[1:] if one is not None and one.foreseen > 0]
    best = max(able, key=lambda one: one.foreseen - one.half, default=None)
    if own is not None and best is not None and best.clear >= CLEARLY and best.plan is not own.plan:
        return {GAIN: own, BOLDER: best}
    dares = own is None or (best is not None and best.clear > own.clear and own.clear < HARDLY)
    only = best if dares else own
    twice = None if only is None else adoption(only.plan, math.sqrt(0.5))
    return {} if twice is None else dict.fromkeys((GAIN, BOLDER), twice)


def promising(family: Sequence[OfflinePlan]) -> int:
    """Which plan of a family surely gains most, as far as the part of the release that chose it foretells: the first, which is
    cautious, unless another gains more, and by a sum in which noise is no larger than sampling error: where it is, rewards that
    are nothing but noise are what bold policies go for. The part that judges is not looked at, so nothing it says of the choice is
    flattered."""
    evidence = family[0].evidence
    if evidence is None or len(family) == 1 or evidence.model.rows.size > MOST_FORESEEN:
        return 0
    predicted = [None if one.kept.all() else foreseen(evidence, one.extended) for one in family]
    least = [0.0 if one is None else one.lower() for one in predicted]
    steady = [number == 0 or one is None or one.noise <= one.luck for number, one in enumerate(predicted)]
    best = int(np.argmax(np.where(steady, least, -np.inf)))
    return best if least[best] > max(least[0], 0.0) else 0


def recalled(
    releases: Mapping[str, JudgedRelease], plan: OfflinePlan, chances: PracticeChances, logged: bool
) -> Judgement | None:
    """What judging people said once of this very plan, or of the bolder one beside it; None if they were asked about another.

    What they were asked follows from the plan alone, so it is computed again, and known by the clips under which they answered.
    """
    asked = [name for name in (GAIN, BOLDER) if name in releases]
    if not asked or not {SIZES, WEIGHT, RESIDUALS} <= releases.keys():
        return None
    people = releases[SIZES].users
    walked = simulated_people(plan.model, chances, SIMULATED, np.random.default_rng(0))
    weighed = people_told_apart(plan.model, chances, SIMULATED) if logged else walked
    candidates = candidates_of(plan, chances, weighed, people, releases[asked[0]].noise[0], logged)
    times = max(clip_of(releases[SIZES], UNIT), 1.0)
    clips = {name: times * one.clip for name, one in candidates.items()}
    if list(clips) != asked or any(not math.isclose(clip, releases[name].scale) for name, clip in clips.items()):
        return None
    judgement = _taken(candidates, dict(releases))
    if not math.isclose(judgement.chosen.heaviest, releases[WEIGHT].scale):
        return None
    populations = moved_populations(judgement.chosen.plan.model, chances)
    chosen = judgement.chosen if logged else judgement.chosen.doubting(populations)
    test = table_test(chosen.plan, chances, walked, populations, logged)
    doubts, shifts = test.doubts, test.shifts
    return judgement._replace(chosen=chosen, doubts=doubts, shifts=shifts, walked=walked, hidden=test.hidden)


def part_of(name: str) -> str:
    """The part of the question that a release of that name is about."""
    return GAIN if name == BOLDER else name


def designs_of(
    shares: Mapping[str, float], promise: Guarantee, mechanism: str, groups: Sequence[str] = ()
) -> dict[str, Design]:
    """The designs of what judging users report, of which each keeps its share of the guarantee."""
    requests = [
        Request(question_of(name, groups), promise, Schedule.every(1), mechanism=mechanism, share=size)
        for name, size in shares.items()
    ]
    return dict(zip(shares, together(requests), strict=True))


def question_of(name: str, groups: Sequence[str] = ()) -> JudgedQuestion:
    """The question that a release of that name answers."""
    return JudgedQuestion(part_of(name), len(groups) if name == GROUPS else 0)


def _taken(candidates: Mapping[str, ChosenAdoption], releases: dict[str, JudgedRelease]) -> Judgement:
    """The bolder one if its gain is sure, and larger for its share of decisions; else the first; or the one that was asked
    about."""
    own, other = candidates[GAIN], candidates[BOLDER]
    if own is other:
        return Judgement(own, releases, (GAIN, BOLDER))
    first, last = Judgement(own, releases, (GAIN,), 2), Judgement(other, releases, (BOLDER,), 2)
    usual, bold = ((one.gain().value / one.chosen.adoption.alpha) for one in (first, last))
    return last if last.gain().sure() and (bold > usual or not first.gain().sure()) else first


class Habit(NamedTuple):
    """How often practice repeats the action before: table (1, S, A), its chances by state after the first step; excess: by how much
    more often than these say it repeats, as a share of decisions; clear: that in deviations."""

    table: Array
    excess: float
    clear: float

    @classmethod
    def of(cls, counts: Array, variance: float) -> Habit:
        """From counts (A, S, A) of previous action, state and action, with that variance of the noise in each."""
        actions = counts.shape[-1]
        rows = np.maximum(counts.sum(axis=-1), 0.0)
        table = np.maximum(counts.sum(axis=0), 1e-9)
        table = table / table.sum(axis=-1, keepdims=True)
        again = table.T  # (A, S): the chance of the action before
        repeated = np.diagonal(counts, axis1=0, axis2=2).T - rows * again
        scatter = (rows * again * (1 - again)).sum() + variance * (1 + actions * again**2).sum()
        people = max(float(rows.sum()), 1.0)
        excess = float(repeated.sum())
        return cls(np.maximum(table, FLOOR)[None], excess / people, excess / math.sqrt(max(float(scatter), 1e-300)))


class PracticeChances(NamedTuple):
    """The chances with which practice acts, as estimated: table (C, S, A), what its rows stand for (`mdp.adoption`), and (C, S, A)
    the relative variance of the estimates. habit: what practice does about the action before, where that is counted."""

    table: Array
    by: int
    relative: Array
    habit: Habit | None = None


def chances_of(model: LoggedModel, previous: CountRelease | None = None) -> PracticeChances:
    """Chances by state (and step, in models with one for each step), or by state and the action before, where that was asked.

    The latter are shrunk to the former: a chance that differs by z, with an error of variance v, keeps the larger of t/(t + v) and
    1 - 4 v/z^2 of its difference, where t is the variance of true differences, by moments. So where the action before does not
    matter hardly any noise comes in, and where it does what differs for sure is kept.
    """
    visits = np.maximum(model.visits / model.counted, 1.0)
    deviation = model.noise * np.sqrt(np.maximum(model.knowledge.width, 1)) / model.counted  # of a row's sum, at most
    table = np.maximum(model.behaviour, FLOOR)
    error = model.behaviour * (1 - model.behaviour) / np.maximum(visits.sum(-1, keepdims=True), 1.0)
    error = error + (deviation / np.maximum(visits.sum(-1, keepdims=True), 1.0)) ** 2
    error = error + np.where(model.knowledge.allowed, table - model.behaviour, 0.0) ** 2  # what the floor adds
    if previous is None or len(table) > 1:
        return PracticeChances(table, BY_STEP if len(table) > 1 else BY_STATE, error / table**2)
    states, actions = table.shape[1:]
    counts = previous.counts.visits.reshape(actions + 1, states, actions)
    rows = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    own = table * (1 - table) / rows + previous.noise.transitions * (1 + actions * table**2) / rows**2
    apart = counts / rows - table
    trust = np.where(model.knowledge.allowed, 1 / (own + 0.02) ** 2, 0.0)
    true = max(float((trust * (apart**2 - own)).sum() / max(float(trust.sum()), 1e-300)), 0.0)
    kept = np.maximum(true / (true + own), 1 - 4 * own / np.maximum(apart**2, 1e-300))
    mixed = np.where(model.knowledge.allowed, np.clip(table + kept * apart, FLOOR, 1.0), FLOOR)
    mixed = mixed / np.maximum(mixed.sum(axis=-1, keepdims=True), 1.0)
    left = kept**2 * own + (1 - kept) ** 2 * (error + true)
    habit = Habit.of(counts[:-1], float(previous.noise.transitions))
    return PracticeChances(np.ascontiguousarray(mixed), BY_PREVIOUS, left / mixed**2, habit)


class ChosenAdoption(NamedTuple):
    """An adoption of a plan that can be judged, and what simulated people say of it: the least clip of scores, that of weights, the
    mean of clipped weights and its variance a person, how far estimated chances of actions may move the gain and the mean weight,
    the gain that is foreseen, and half the width of its interval."""

    plan: OfflinePlan
    adoption: Adoption
    clip: float
    heaviest: float
    balanced: float
    weight_variance: float
    doubt: float
    weight_doubt: float
    foreseen: float
    half: float

    @property
    def clear(self) -> float:
        """The gain that is foreseen, in halves of its interval."""
        return self.foreseen / max(self.half, 1e-300)

    def doubting(self, populations: Sequence[Episodes]) -> ChosenAdoption:
        """The same with how far the mean weight may be off because the release is: its root mean square among moved populations,
        beyond what chance does, if that is more."""
        cut = [np.minimum(scores(self.adoption, one)[1], self.heaviest) for one in populations]
        chance = float(np.mean([one.var() for one in cut])) / SIMULATED
        apart = float(np.mean([(one.mean() - self.balanced) ** 2 for one in cut])) - chance
        return self._replace(weight_doubt=max(self.weight_doubt, math.sqrt(max(apart, 0.0))))


class Judgement(NamedTuple):
    """What judging people were asked about an adoption, and what they answered. names: of the answers about its gain, which are
    averaged; together: how many gains have intervals that hold together. doubts: (TESTS,) by how many deviations a person
    the numbers of the test may be off because the
    model is; infinite where they are not looked at. shifts: (TESTS,) by how many deviations a person shortening moves them.
    walked: people who are simulated from the release. hidden: see `TableTest`.
    """

    chosen: ChosenAdoption
    releases: dict[str, JudgedRelease]
    names: tuple[str, ...] = (GAIN,)
    together: int = 1
    doubts: Array = NOT_LOOKED_AT
    shifts: Array = UNMOVED
    walked: Episodes | None = None
    hidden: float | None = None

    def gain(self, stated: float = 0.95) -> Estimate:
        """The gain of the adoption over practice, with an interval for sampling error, noise, and estimated chances of actions."""
        confidence = 1 - (1 - stated) / self.together
        answers = [self.releases[name] for name in self.names]
        people, clip = max(answers[0].users, 1), answers[0].scale
        mean, square = np.mean([release.sums for release in answers], axis=0) / people
        noise = math.hypot(*(release.noise[0] for release in answers)) / len(answers)
        luck = max(float(square - mean**2), 0.0) / people
        deviation = clip * math.sqrt(luck + (noise / people) ** 2)
        width = quantile(confidence) * math.hypot(deviation, self.chosen.doubt)
        value = clip * float(mean)
        return Estimate(value, value - width, value + width, deviation, stated)

    @property
    def balance(self) -> float:
        """By how many deviations the mean of clipped weights is off what the release foretells."""
        release, chosen = self.releases[WEIGHT], self.chosen
        people = max(release.users, 1)
        mean = release.scale * release.sums[0] / people
        drawn = chosen.weight_variance * (1 / people + 1 / SIMULATED)
        variance = drawn + (release.scale * release.noise[0] / people) ** 2 + chosen.weight_doubt**2
        return (mean - chosen.balanced) / math.sqrt(max(variance, 1e-300))

    @property
    def residuals(self) -> Array:
        """(TESTS,) by how many deviations each number of the test is off zero; 0 where it is not looked at."""
        release = self.releases[RESIDUALS]
        sums = np.array(release.sums) * release.scale - release.users * self.shifts
        return np.asarray(sums / self._deviations)

    @property
    def _deviations(self) -> Array:
        release = self.releases[RESIDUALS]
        variance = release.users * (1 + release.users / SIMULATED) + (np.array(release.noise) * release.scale) ** 2
        return np.asarray(np.sqrt(np.maximum(variance + (release.users * self.doubts) ** 2, 1e-300)))

    def alarms(self, logged: bool) -> list[str]:
        """The alarms of the test and of the weights; chances that are logged are not tested."""
        off = self.residuals
        follows, decided, lasting = np.abs(off[: 2 * SIGNS]), np.abs(off[2 * SIGNS :]), float(off[-1])
        raised = [RESIDUAL] if follows.max() > ALARM else []
        if not logged:
            more = decided.max() > SEEN_MORE_AT or float((decided**2).sum()) > SEEN_MORE_TOGETHER
            more |= lasting > LASTING_AT or float(decided[1] + lasting) > SEEN_MORE_AT * math.sqrt(2)
            raised += [PROPENSITY] if more else []
            raised += [BALANCE] if abs(self.balance) > ALARM else []
        return raised

    def doubtful(self, logged: bool) -> str:
        """Why, short of an alarm, it is open what states leave out: what follows, or what practice saw; nothing where it is not."""
        decided = self.residuals[2 * SIGNS :]
        suspect = abs(float(decided[1])) > SUSPECT_AT or float(decided[-1]) > SUSPECT_AT
        if logged:
            return ""
        if suspect and RESIDUAL in self.alarms(logged):
            return LEFT_OUT
        if self.hidden is None:
            return ""
        foreseen = self.hidden * self.releases[RESIDUALS].users / float(self._deviations[-1])
        return HABIT if float(decided[-1]) > foreseen - UNSEEN_AT else ""


def clip_of(sizes: JudgedRelease, unit: float) -> float:
    """The clip of scores: twice the upper end of the highest octave that exceeds its noise."""
    seen = [cell for cell in range(CELLS) if sizes.sums[cell] > STANDS_OUT * max(sizes.noise[cell], 0.25)]
    return float(unit * 2.0 ** (max(seen, default=0) + 1))


def chosen_adoption(
    plan: OfflinePlan, chances: PracticeChances, walked: Episodes, people: int, noise: float, logged: bool
) -> ChosenAdoption | None:
    """The largest share of decisions whose gain can be judged to half of itself; else the largest that is nearly judged best.
    noise: the deviation in a sum of scores, in clips."""
    able = []
    for alpha in ALPHAS:
        weights = scores(unvalued(plan, chances, alpha), walked)[1]
        square = float((weights**2).mean())
        if square > MOST_SQUARE or people < LEAST_PEOPLE * square or abs(float(weights.mean()) - 1) > OFF:
            continue
        adoption = adoption_of(plan, chances, alpha)
        found = scores(adoption, walked)[0]
        doubts = Doubts(0.0, 0.0, 0.0) if logged else estimation_doubts(chances, adoption, walked)
        if doubts.compound > MOST_COMPOUND:
            continue
        clip = max(float(np.quantile(np.abs(found), SURE_ENOUGH)), 1e-9)
        half = quantile(0.95) * math.sqrt(float(found.var()) / people + (2 * clip * noise / people) ** 2)
        worth = float(found.mean()) / max(math.hypot(half, quantile(0.95) * doubts.gain), 1e-300)
        heaviest = max(float(np.quantile(weights, 0.999)), 1.0)
        cut = np.minimum(weights, heaviest)
        moments = float(cut.mean()), float(cut.var())
        foreseen = doubts.gain, doubts.weight, float(found.mean()), half
        chosen = ChosenAdoption(plan, adoption, clip, heaviest, *moments, *foreseen)
        if worth >= 2:
            return chosen
        able.append((worth, chosen))
    best = max((worth for worth, _ in able), default=0.0)
    return next((chosen for worth, chosen in able if worth >= best - NEARLY * abs(best)), None)


def adoption_of(plan: OfflinePlan, chances: PracticeChances, alpha: float) -> Adoption:
    """The adoption of a share of a policy's advice, with the value function of that in the model."""
    model = plan.model
    adoption = unvalued(plan, chances, alpha)
    q = policy_values(model, alpha * plan.extended + (1 - alpha) * extended(model, None))[1][..., 1:]
    adoption = adoption._replace(q=np.ascontiguousarray(q))
    if not loses(model):
        return adoption
    usual = policy_values(model, extended(model, None))[1][..., 1:]
    return adoption._replace(lost=1 - model.followed, usual=np.ascontiguousarray(usual))


def unvalued(plan: OfflinePlan, chances: PracticeChances, alpha: float) -> Adoption:
    """The same without values, which weights do not depend on."""
    kept, taken = plan.extended[..., 0], plan.extended[..., 1:]
    nothing, after = np.zeros(taken.shape), float(plan.model.knowledge.end_reward)
    return Adoption(alpha, kept, taken, chances.table, chances.by, nothing, after)


def loses(model: LoggedModel) -> bool:
    """Whether people of a log are lost to follow-up."""
    return bool((model.followed < 1).any())


class Doubts(NamedTuple):
    """What errors of estimated chances of actions bring in: deviations of the gain and of the mean weight, to first order, and what
    they add to the mean square of weights."""

    gain: float
    weight: float
    compound: float


def estimation_doubts(chances: PracticeChances, adoption: Adoption, walked: Episodes) -> Doubts:
    """The deviations that errors of estimated chances of actions bring into the gain and into the mean weight, to first order.

    An estimate b (1 + e) moves q by -alpha taken/b e. With e of known relative variance, taken for independent between cells, the
    mean weight moves by the sum over cells of e times the mean of alpha taken/b at their visits, and the gain by the same with Q
    minus its mean under practice as a further factor; to second order, both by e^2 times as much, which does not average out.
    Products of weights scatter by alpha^2 (taken/b)^2 e^2 more at every step. No chance is off by more than 1.
    """
    relative = np.minimum(chances.relative, 1 / chances.table**2)
    people = max(walked.people, 1)
    (step, row), s, a = _told(chances, walked), walked.states, walked.actions
    follows = np.flatnonzero(adoption.taken[step, s, a] > 0)
    step, row, s, a = step[follows], row[follows], s[follows], a[follows]
    ratio = adoption.alpha * adoption.taken[step, s, a] / chances.table[row, s, a]
    usual = (chances.table[row, s] * adoption.q[step, s]).sum(axis=-1)
    moved = np.zeros((2, *relative.shape))
    np.add.at(moved[0], (row, s, a), ratio * (adoption.q[step, s, a] - usual))
    np.add.at(moved[1], (row, s, a), ratio)
    moved /= people
    first, weight = np.sqrt((moved**2 * relative).sum(axis=(1, 2, 3)))
    second = np.abs((moved * relative).sum(axis=(1, 2, 3)))
    compound = float((ratio**2 * relative[row, s, a]).sum()) / people
    return Doubts(math.hypot(float(first), float(second[0])), math.hypot(float(weight), float(second[1])), compound)


def _told(chances: PracticeChances, walked: Episodes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(rows,) the step of every row, and (rows,) the row of the table of chances that stands for its decision."""
    step = np.arange(len(walked.states)) - np.repeat(walked.starts[:-1], np.diff(walked.starts))
    if chances.by == BY_PREVIOUS:
        return step, np.where(step > 0, np.append(0, walked.actions[:-1]), chances.table.shape[-1])
    return step, step if chances.by == BY_STEP else np.zeros_like(step)


def people_told_apart(model: LoggedModel, chances: PracticeChances, people: int, odds: float = SEEN_ODDS) -> Episodes:
    """Simulated people whose chances are logged: as many of each kind, of whom each has odds of one action that are larger by that
    factor."""
    actions, rng, kinds = chances.table.shape[-1], np.random.default_rng(0), []
    for favoured in range(actions):
        table = chances.table * np.where(np.arange(actions) == favoured, odds, 1.0)
        table = table / table.sum(axis=-1, keepdims=True)
        one = simulated_people(model, chances._replace(table=table), -(-people // actions), rng)
        kinds.append(one._replace(propensity=table[_told(chances, one)[1], one.states, one.actions]))
    starts = np.append(0, np.cumsum(np.concatenate([np.diff(one.starts) for one in kinds])))
    columns = (np.concatenate(column) for column in zip(*(one[1:] for one in kinds), strict=True))
    return Episodes(starts, *columns)


def simulated_people(model: LoggedModel, chances: PracticeChances, people: int, rng: np.random.Generator) -> Episodes:
    """People who act as practice does in the model, drawn from the release alone."""
    knowledge, ways = model.knowledge, model.knowledge.ways
    spec, layers = knowledge.spec, len(model.rows)
    ends = -1 if knowledge.end is None else knowledge.end
    here = rng.choice(spec.states, people, p=model.initial / model.initial.sum())
    alive, before = np.ones(people, dtype=np.bool_), np.full(people, spec.actions)
    rows: list[tuple[NDArray[np.int64], ...]] = []
    paid: list[Array] = []
    lost = np.zeros(people if loses(model) else 0, dtype=np.int64)
    sums_of_rows = [np.append(0.0, np.cumsum(model.rows.chances[layer])) for layer in range(layers)]
    for h in range(spec.horizon):
        layer = h if layers > 1 else 0
        alive &= here != ends
        who = np.flatnonzero(alive)
        s = here[who]
        told = before[who] if chances.by == BY_PREVIOUS else np.full(len(who), h if chances.by == BY_STEP else 0)
        sums_of_chances = np.cumsum(chances.table[told, s], axis=1)
        drawn = rng.random((len(who), 1)) * sums_of_chances[:, -1:]
        a = np.minimum((drawn > sums_of_chances).sum(axis=1), spec.actions - 1)
        before[who] = a
        mean = model.rewards[layer, s, 1 + a]
        rows.append((who, np.full(len(who), h), s, a))
        known = knowledge.rewards is not None
        paid.append(mean if known else (rng.random(len(who)) < mean).astype(np.float64))
        if h + 1 < spec.horizon:
            if lost.size:
                lost[who] = rng.random(len(who)) > model.followed[s, a]
                alive &= lost == 0
            pair = s * spec.actions + a
            sums = sums_of_rows[layer]
            first, last = sums[ways.starts[pair]], sums[ways.starts[pair + 1]]
            cell = np.searchsorted(sums, first + rng.random(len(who)) * (last - first), side="right") - 1
            here[who] = ways.following[np.clip(cell, ways.starts[pair], ways.starts[pair + 1] - 1)]
    who, step, states, actions = (np.concatenate(column) for column in zip(*rows, strict=True))
    order = np.lexsort((step, who))
    counts = np.bincount(who, minlength=people)
    starts = np.append(0, np.cumsum(counts))
    return Episodes(starts, states[order], actions[order], np.concatenate(paid)[order], np.empty(0), lost=lost)


class TableTest(NamedTuple):
    """The test of the table behind a policy; deviations: (TESTS,) of each of its numbers as simulated, infinite where that is
    nothing, or where logged chances leave nothing to be tested; length: to which a person's numbers are shortened, in
    deviations; doubts, shifts: see `Judgement`. hidden: if practice repeats the action before more often than states tell, the mean
    of the last number, in deviations a person, if a hidden cause that lasts did all of that; else None.
    """

    specification: Specification
    deviations: Array
    length: float
    doubts: Array
    shifts: Array
    hidden: float | None = None


def table_test(
    plan: OfflinePlan,
    chances: PracticeChances,
    walked: Episodes,
    populations: Sequence[Episodes],
    logged: bool = False,
) -> TableTest:
    """The test of the table behind a policy, by people who are simulated from the release.

    What is hidden and lasts is looked for by a product of sums, which is skewed: of long episodes shortening takes more from one
    tail, so that zero is no longer expected. What shortening does to simulated people is what is expected of others.

    An error of Q alone moves no number, nor does one of what is expected of signs, or of chances of actions; but all come from one
    model, and products of errors may. So people are simulated from models that are moved as far as the release may be off, several
    times, and what that does to their mean, beyond what chance does, is the doubt.
    """
    model, spec = plan.model, plan.model.knowledge.spec
    values, q = policy_values(model, plan.extended)
    taken = np.ascontiguousarray(plan.extended[..., 1:])
    signs, before = np.zeros((SIGNS, len(model.rows), spec.states, spec.actions)), np.zeros((SIGNS, 1, spec.states))
    tables = np.ascontiguousarray(values), np.ascontiguousarray(q[..., 1:]), taken, np.ascontiguousarray(chances.table)
    after = float(model.knowledge.end_reward)
    looked_at = _known(model), _clear(chances)
    specification = expecting(Specification(*tables, chances.by, after, signs, before, *looked_at), walked)
    right = contrasts(specification, walked)
    deviations = right.std(axis=0)
    if logged:
        deviations[2 * SIGNS :] = 0.0
    deviations = np.where(deviations > 1e-9, deviations, np.inf)
    apart = [(contrasts(specification, one) - right) / deviations for one in populations]
    chance = np.mean([one.var(axis=0) for one in apart], axis=0) / SIMULATED
    doubts = np.sqrt(np.maximum(np.mean([one.mean(axis=0) ** 2 for one in apart], axis=0) - chance, 0.0))
    length = LENGTH * math.sqrt(max(int(np.isfinite(deviations).sum()), 1))
    scaled = right / (length * deviations)
    shifts = length * (shortened(scaled) - scaled).mean(axis=0)
    doubts = np.where(np.isfinite(deviations), doubts, np.inf)
    test = TableTest(specification, deviations, length, doubts, shifts)
    return test if logged else test._replace(hidden=hidden_cause(test, model, chances))


def hidden_cause(test: TableTest, model: LoggedModel, chances: PracticeChances) -> float | None:
    """What the last number of the test were if not the action before, but a hidden cause that lasts, made practice repeat it.

    Two steps do not tell: chances by the action before fit either. So people of several kinds are simulated, of whom
    each has larger odds of one action, until they repeat as often as practice does; in proportion to that, where they do it more
    often.
    """
    habit = chances.habit
    if habit is None or habit.clear < REPEATS_AT:
        return None
    expected = 0.0
    for odds in HIDDEN_ODDS:
        kinds = people_told_apart(model, PracticeChances(habit.table, BY_STATE, habit.table), SIMULATED, odds)
        repeats = Habit.of(counts_of_repeats(kinds, *habit.table.shape[1:]), 0.0).excess
        numbers = contrasts(test.specification, kinds) / (test.length * test.deviations)
        expected = float((test.length * shortened(numbers).mean(axis=0) - test.shifts)[-1])
        if repeats >= habit.excess:
            return expected * habit.excess / repeats
    return expected


def counts_of_repeats(episodes: Episodes, states: int, actions: int) -> Array:
    """(A, S, A) how often each previous action, state and action came by."""
    later = np.ones(len(episodes.states), dtype=np.bool_)
    later[episodes.starts[:-1]] = False
    at = np.flatnonzero(later)
    cell = (episodes.actions[at - 1] * states + episodes.states[at]) * actions + episodes.actions[at]
    return np.bincount(cell, minlength=states * actions**2).reshape(actions, states, actions).astype(np.float64)


def _known(model: LoggedModel) -> Array:
    """(L, S, A) 1 where the release says what follows a pair; see `LEAST_KNOWN`."""
    deviation = model.noise * np.sqrt(np.maximum(model.knowledge.width, 1))
    seen = model.moves if model.knowledge.spec.horizon > 1 else model.visits
    if len(seen) > 1:  # nothing follows the last step, so that its moves may not be counted
        seen = np.concatenate([seen[:-1], model.visits[-1:]])
    return np.asarray(
        (seen >= np.maximum(LEAST_KNOWN, EXCEEDS_BY * deviation)) & model.knowledge.allowed, dtype=np.float64
    )


def _clear(chances: PracticeChances) -> Array:
    """(C, S) 1 where the release says what practice did; see `LEAST_CLEAR`."""
    table = chances.table
    error = (table**2 * chances.relative).sum(axis=-1)
    return np.asarray(error <= LEAST_CLEAR * np.maximum((table * (1 - table)).sum(axis=-1), 1e-9), dtype=np.float64)


def moved_populations(model: LoggedModel, chances: PracticeChances) -> list[Episodes]:
    """People who are simulated from models as the release may have them wrong: rows, rewards and chances of actions are
    drawn around
    the estimates, with the variances that these have."""
    found = []
    for number in range(MOVED):
        rng = np.random.default_rng([1, number])
        ways, own = model.knowledge.ways, model.rows.chances
        often = 1 / np.maximum(ways.each(model.spread[..., 1:]), 1e-9)  # as many visits as a row rests on
        cells = rng.gamma(np.maximum(own * often, 1e-9)) / often
        sums = ways.each(ways.summed(cells))
        rows = replace(model.rows, chances=np.where(sums > 1e-12, cells / np.maximum(sums, 1e-12), own))
        off = rng.normal(size=model.rewards.shape) * np.sqrt(model.reward_variance)
        table = chances.table * np.exp(
            rng.normal(size=chances.table.shape) * np.sqrt(np.minimum(chances.relative, 1.0))
        )
        table = np.where(model.knowledge.allowed, table, 0.0)
        table = table / np.maximum(table.sum(axis=-1, keepdims=True), 1e-300)
        moved = replace(model, rows=rows, rewards=np.clip(model.rewards + off, 0.0, 1.0))
        found.append(simulated_people(moved, chances._replace(table=table), SIMULATED, np.random.default_rng(0)))
    return found


class Inquiry:
    """Asks judging people, once. episodes: sensitive; they are let go with it."""

    def __init__(
        self,
        judge: JudgePlan,
        episodes: Episodes,
        noise: NoiseSource,
        counted: Mapping[str, Any],
        simulated: bool = False,
    ) -> None:
        """Before anything is released. counted: the releases about those who are counted. Replayable noise is refused unless people
        are simulated."""
        self._judge, self._episodes, self._noise, self._simulated = judge, episodes, noise, simulated
        self._previous: CountRelease | None = counted.get(PREVIOUS)
        self._judgement: Judgement | None = None
        self.releases: dict[str, JudgedRelease] = {}

    def __repr__(self) -> str:
        return "Inquiry()"

    def taken(self, plan: OfflinePlan) -> OfflinePlan:
        """The plan itself, or a bolder one that judging people are surer of: they are asked here, once."""
        chances = chances_of(plan.model, self._previous)
        self._judgement = self._judge.judged(plan, chances, self._episodes, self._noise, self._simulated)
        if self._judgement is None:
            return plan
        self.releases = self._judgement.releases
        return with_evidence(self._judgement, plan)

    def __call__(self, plan: OfflinePlan, findings: Findings, in_units: UnitConverter) -> Findings:
        """What judging people said of the policy that was taken, for its findings; see `alarms.ruling`."""
        said = verdict(self._judgement, plan, findings, in_units, self._judge.logged)
        alarms, groups = said["alarms"], self._judge.groups
        return {**said, **gains_by_group(alarms, self._judgement, groups, in_units, self._judge.logged)}


class Recollection:
    """What judging people said once, for a plan that is learned again from the same release: nothing is asked.

    alarms: those that were raised then; of another plan they still say that the table is not the world.
    """

    def __init__(
        self,
        stored: Mapping[str, bytes],
        previous: CountRelease | None,
        logged: bool,
        alarms: Sequence[str],
        groups: Sequence[str] = (),
    ) -> None:
        """stored: the releases that a fit keeps. logged: chances of actions are. groups: names of public groups."""
        self._releases = {
            name.removeprefix(JUDGED): JudgedRelease.from_bytes(body)
            for name, body in stored.items()
            if name.startswith(JUDGED)
        }
        self._previous, self._logged, self._alarms, self._groups = previous, logged, alarms, groups
        self._judgement: Judgement | None = None

    def taken(self, plan: OfflinePlan) -> OfflinePlan:
        """The plan itself, or the bolder one that was taken then in its place."""
        chances = chances_of(plan.model, self._previous)
        self._judgement = recalled(self._releases, plan, chances, self._logged)
        return plan if self._judgement is None else with_evidence(self._judgement, plan)

    def __call__(self, plan: OfflinePlan, findings: Findings, in_units: UnitConverter) -> Findings:
        """What was said of it, for its findings; of another plan nothing is called better."""
        if self._judgement is None:
            return {**ruling(None, self._alarms, self._logged, False), "judged_said": ANOTHER}
        said = verdict(self._judgement, plan, findings, in_units, self._logged)
        return {**said, **gains_by_group(said["alarms"], self._judgement, self._groups, in_units, self._logged)}


def with_evidence(judgement: Judgement, plan: OfflinePlan) -> OfflinePlan:
    """The plan that was taken, with the evidence of the one that was learned."""
    taken = judgement.chosen.plan
    if taken is plan or plan.evidence is None:
        return taken
    return taken._replace(evidence=plan.evidence, more=difference(plan.evidence, taken.extended))


def gains_by_group(
    alarms: Sequence[str] | None,
    judgement: Judgement | None,
    groups: Sequence[str],
    in_units: UnitConverter,
    logged: bool,
) -> Findings:
    """`groups`, what each public group gains, where there are any; no gain is stated of a group where none is of all."""
    if not groups:
        return {}
    if judgement is None or GROUPS not in judgement.releases:
        return {"groups": None}
    stated = not (blind_to(alarms or (), logged) or judgement.doubtful(logged))
    return {"groups": group_gains(judgement.releases[GROUPS], groups, judgement.chosen.doubt, in_units, stated)}


def undone_by(judgement: Judgement) -> float | None:
    """The factor by which a hidden cause must change the chances of actions for a sure gain to be nothing: where what it can move
    scores by (`mdp.adoption`), on average over people simulated from the release, reaches the low end of the interval. None beyond
    `MOST_HIDDEN`."""
    low, chosen, walked = judgement.gain().low, judgement.chosen.adoption, judgement.walked
    if walked is None or float(moved_by(chosen, walked, MOST_HIDDEN).mean()) < low:
        return None
    below, above = 1.0, MOST_HIDDEN
    while above - below > 0.005:
        middle = (below + above) / 2
        enough = float(moved_by(chosen, walked, middle).mean()) >= low
        below, above = (below, middle) if enough else (middle, above)
    return round(below, 2)


def verdict(
    judgement: Judgement | None, plan: OfflinePlan, findings: Findings, in_units: UnitConverter, logged: bool
) -> Findings:
    """`judged`, `alarms`, whether the policy is `recommended`, and `judged_said`, by the rules of `alarms`."""
    if judgement is None:
        return ruling(None, (), logged, False)
    gain, alpha = judgement.gain(), judgement.chosen.adoption.alpha
    raised, foretold = judgement.alarms(logged), None
    if plan.evidence is not None:
        mixed = alpha * plan.extended + (1 - alpha) * extended(plan.model, None)
        table = plan.evidence.compare(mixed)
        room = max(table.high - table.low, 0.0) / 2 - quantile(table.confidence) * table.deviation
        apart = max(abs(gain.value - table.value) - max(room, 0.0), 0.0)
        if apart > ALARM * math.hypot(gain.deviation, table.deviation, judgement.chosen.doubt):
            raised.append(DISAGREEMENT)
        foretold = in_units(table, difference=True)
    shown = in_units(gain, difference=True)
    judged: StatedJudgement = {
        "alpha": alpha,
        "gain": shown["value"],
        "low": shown["low"],
        "high": shown["high"],
        "sure": gain.sure(),
        "undone_by": undone_by(judgement) if gain.sure() and not logged else None,
        "people": judgement.releases[judgement.names[0]].users,
    }
    numbers = [*np.round(judgement.residuals, 2).tolist(), *([] if logged else [round(judgement.balance, 2)])]
    table_gain = findings["gain"]
    sure = bool(table_gain and table_gain["sure"])
    ruled = ruling(judged, raised, logged, sure, judgement.doubtful(logged))
    return {**ruled, "foretold": foretold, "tested": numbers}
