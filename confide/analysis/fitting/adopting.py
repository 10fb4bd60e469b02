"""Judging apart: a share of the people, who chose nothing, judges a partial adoption of the policy, whatever states leave out.

The judging people are others than those who are counted (`data.statistics.choosing`), so each of them is in one of two sets of
releases, and each set keeps the whole promise: what a person gives away is the larger of the two, not their sum. Of the judging
people three things are asked (`protocol.kinds.judged`): `sizes` of scores, by which they are clipped; `gain`, their mean and
variance; `weight`, the mean of clipped weights, which must be what the release foretells: if it is not, practice did not act as
the table says (`balance`). A third check is free: the judged gain must be the table's at the same share (`disagreement`).

How large a share alpha can be judged follows from people who are simulated from the release, so it costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...data.privatizers.judged import JudgedBook
from ...learning.learners.apvi import OfflinePlan
from ...learning.planning.estimates import Estimate, quantile
from ...learning.planning.logged import LoggedModel
from ...learning.planning.ope import extended, policy_values
from ...mdp.adoption import Adoption, Episodes, scores
from ...mechanisms.noise import NoiseSource
from ...privacy import Act, Guarantee, Schedule, compose, rho_of
from ...protocol.design import AUTO, Design, Request
from ...protocol.kinds.judged import CELLS, GAIN, SIZES, WEIGHT, JudgedQuestion, JudgedRelease
from ...protocol.trusts.central import std, together
from ..reporting.numbers import written
from .findings import UnitConverter

Array = NDArray[np.float64]

SHARES = {SIZES: 0.05, GAIN: 0.85, WEIGHT: 0.1 - 1e-9}
"""Of the promise to judging people."""

ALPHAS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05)
"""Shares of decisions that may be judged, the largest first."""

SIMULATED = 10_000
LEAST_PEOPLE, MOST_SQUARE, OFF = 200, 4.0, 0.15
"""An adoption is judged only where so many people are left by its weights, whose mean square is no larger and whose mean is no
further from 1, as simulated."""

FLOOR = 0.02
"""Estimated chances of actions are taken for no smaller."""

STANDS_OUT = 4.0
"""Deviations of the noise by which an octave of scores must be seen to set the clip."""

SURE_ENOUGH = 0.9999
"""No clip is below this quantile of simulated scores."""

ALARM = 3.4
"""Deviations at which balance and agreement raise an alarm: chance does so in one of 1,500 fits."""

BALANCE, DISAGREEMENT = "balance", "disagreement"

JUDGED = "judged-"
"""How the names of releases begin that those who judge give."""

SAID = {
    SIZES: "how large scores of those who judge are",
    GAIN: "the mean score of those who judge, and its variance",
    WEIGHT: "the mean weight of those who judge",
}
"""What each release is about, in words."""


@dataclass(frozen=True)
class JudgePlan:
    """What is asked of judging people, at which price: the same promise as to those who are counted. share: of all people."""

    share: float
    designs: dict[str, Design]
    logged: bool

    @classmethod
    def of(cls, share: float, promise: Guarantee, mechanism: str = AUTO, logged: bool = False) -> JudgePlan:
        """The plan for a share of the people. logged: their chances of actions are."""
        validation.between("judge", share, 0.05, 0.5, "Say --judge 0.3, for example.")
        requests = [
            Request(JudgedQuestion(part), promise, Schedule.every(1), mechanism=mechanism, share=size)
            for part, size in SHARES.items()
        ]
        return cls(share, dict(zip(SHARES, together(requests), strict=True)), logged)

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
    def acts(self) -> list[Act]:
        """The acts of privacy towards judging people."""
        return [design.act for design in self.designs.values()]

    def judged(
        self, plan: OfflinePlan, episodes: Episodes, noise: NoiseSource, simulated: bool = False
    ) -> Judgement | None:
        """What judging people say of a policy; None where it keeps to practice, or where no share can be judged."""
        chosen = chosen_adoption(plan, len(episodes.starts) - 1, self)
        if chosen is None:
            return None
        found, weights = scores(chosen.adoption, episodes)
        unit = plan.model.knowledge.spec.horizon * 2.0**-8

        def released(part: str, numbers: Array, scale: float) -> JudgedRelease:
            book = JudgedBook(self.designs[part], noise, simulated)
            book.take_numbers(numbers)
            return book.close(scale=scale)

        with np.errstate(divide="ignore"):
            octaves = np.ceil(np.log2(np.abs(found) / unit))
        sizes = released(SIZES, octaves, unit)
        clip = max(clip_of(sizes, unit), chosen.clip)
        gain = released(GAIN, found / clip, clip)
        weight = released(WEIGHT, weights / chosen.heaviest, chosen.heaviest)
        return Judgement(chosen, {SIZES: sizes, GAIN: gain, WEIGHT: weight})


class ChosenAdoption(NamedTuple):
    """An adoption that can be judged, and what simulated people say of it: the least clip of scores, that of weights, the mean of
    clipped weights and its variance a person, and how far estimated chances of actions may move the gain."""

    adoption: Adoption
    clip: float
    heaviest: float
    balanced: float
    weight_variance: float
    doubt: float
    weight_doubt: float


class Judgement(NamedTuple):
    """What judging people were asked about an adoption, and what they answered."""

    chosen: ChosenAdoption
    releases: dict[str, JudgedRelease]

    def gain(self, confidence: float = 0.95) -> Estimate:
        """The gain of the adoption over practice, with an interval for sampling error, noise, and estimated chances of actions."""
        release = self.releases[GAIN]
        people, clip = max(release.users, 1), release.scale
        mean, square = (total / people for total in release.sums)
        luck = max(square - mean**2, 0.0) / people
        deviation = clip * math.sqrt(luck + (release.noise[0] / people) ** 2)
        width = quantile(confidence) * math.hypot(deviation, self.chosen.doubt)
        value = clip * mean
        return Estimate(value, value - width, value + width, deviation, confidence)

    @property
    def balance(self) -> float:
        """By how many deviations the mean of clipped weights is off what the release foretells."""
        release, chosen = self.releases[WEIGHT], self.chosen
        people = max(release.users, 1)
        mean = release.scale * release.sums[0] / people
        drawn = chosen.weight_variance * (1 / people + 1 / SIMULATED)
        variance = drawn + (release.scale * release.noise[0] / people) ** 2 + chosen.weight_doubt**2
        return (mean - chosen.balanced) / math.sqrt(max(variance, 1e-300))


def clip_of(sizes: JudgedRelease, unit: float) -> float:
    """The clip of scores: twice the upper end of the highest octave that exceeds its noise."""
    seen = [cell for cell in range(CELLS) if sizes.sums[cell] > STANDS_OUT * max(sizes.noise[cell], 0.25)]
    return float(unit * 2.0 ** (max(seen, default=0) + 1))


def chosen_adoption(plan: OfflinePlan, people: int, judge: JudgePlan) -> ChosenAdoption | None:
    """The largest share of decisions whose gain can be judged to half of itself; else the one that can be judged best."""
    if plan.kept.all() or people < LEAST_PEOPLE:
        return None
    walked = simulated_people(plan.model, SIMULATED, np.random.default_rng(0))
    noise, best = std(judge.designs[GAIN]), None
    for alpha in ALPHAS:
        adoption = adoption_of(plan, alpha)
        found, weights = scores(adoption, walked)
        square = float((weights**2).mean())
        if square > MOST_SQUARE or people < LEAST_PEOPLE * square or abs(float(weights.mean()) - 1) > OFF:
            continue
        clip = max(float(np.quantile(np.abs(found), SURE_ENOUGH)), 1e-9)
        half = quantile(0.95) * math.sqrt(float(found.var()) / people + (2 * clip * noise / people) ** 2)
        worth = float(found.mean()) / max(half, 1e-300)
        heaviest = max(float(np.quantile(weights, 0.999)), 1.0)
        cut = np.minimum(weights, heaviest)
        doubts = (0.0, 0.0) if judge.logged else estimation_doubts(plan, adoption, walked)
        chosen = ChosenAdoption(adoption, clip, heaviest, float(cut.mean()), float(cut.var()), *doubts)
        if worth >= 2:
            return chosen
        if best is None or worth > best[0]:
            best = worth, chosen
    return None if best is None else best[1]


def adoption_of(plan: OfflinePlan, alpha: float) -> Adoption:
    """The adoption of a share of a policy's advice, with the value function of that in the model."""
    model = plan.model
    mixed = alpha * plan.extended + (1 - alpha) * extended(model, None)
    _, q = policy_values(model, mixed)
    practice = np.maximum(model.behaviour, FLOOR)
    kept, taken = plan.extended[..., 0], plan.extended[..., 1:]
    return Adoption(alpha, kept, taken, practice, np.ascontiguousarray(q[..., 1:]), float(model.knowledge.end_reward))


def estimation_doubts(plan: OfflinePlan, adoption: Adoption, walked: Episodes) -> tuple[float, float]:
    """The deviations that errors of estimated chances of actions bring into the gain and into the mean weight, to first order.

    An estimate b (1 + e) moves q by -alpha taken/b e. With e of relative variance (1 - b)/(n b) by chance, and noise^2/(n b)^2 by
    privacy, taken for independent between pairs, the mean weight moves by the sum over pairs of e times the mean of alpha taken/b
    at their visits, and the gain by the same with Q minus its mean under practice as a further factor.
    """
    model = plan.model
    visits = np.maximum(model.visits / model.counted, 1.0)
    deviation = model.noise * np.sqrt(np.maximum(model.knowledge.width, 1))  # of a row's sum, at most
    relative = (1 - adoption.practice) / visits + (deviation / visits) ** 2  # (L, S, A)
    lengths = np.diff(walked.starts)
    step = np.arange(len(walked.states)) - np.repeat(walked.starts[:-1], lengths)
    layer = step if len(visits) > 1 else np.zeros_like(step)
    s, a = walked.states, walked.actions
    ratio = adoption.alpha * adoption.taken[step, s, a] / adoption.practice[layer, s, a]
    usual = (adoption.practice[layer, s] * adoption.q[step, s]).sum(axis=-1)
    moved = np.zeros((2, *visits.shape))
    np.add.at(moved[0], (layer, s, a), ratio * (adoption.q[step, s, a] - usual))
    np.add.at(moved[1], (layer, s, a), ratio)
    gain, weight = np.sqrt(((moved / max(len(lengths), 1)) ** 2 * relative).sum(axis=(1, 2, 3)))
    return float(gain), float(weight)


def simulated_people(model: LoggedModel, people: int, rng: np.random.Generator) -> Episodes:
    """People who act as practice does in the model, drawn from the release alone."""
    knowledge, ways = model.knowledge, model.knowledge.ways
    spec, layers = knowledge.spec, len(model.rows)
    ends = -1 if knowledge.end is None else knowledge.end
    here = rng.choice(spec.states, people, p=model.initial / model.initial.sum())
    alive = np.ones(people, dtype=np.bool_)
    rows: list[tuple[NDArray[np.int64], ...]] = []
    paid: list[Array] = []
    for h in range(spec.horizon):
        layer = h if layers > 1 else 0
        alive &= here != ends
        who = np.flatnonzero(alive)
        s = here[who]
        chances = np.cumsum(model.behaviour[layer, s], axis=1)
        a = np.minimum((rng.random((len(who), 1)) * chances[:, -1:] > chances).sum(axis=1), spec.actions - 1)
        mean = model.rewards[layer, s, 1 + a]
        rows.append((who, np.full(len(who), h), s, a))
        known = knowledge.rewards is not None
        paid.append(mean if known else (rng.random(len(who)) < mean).astype(np.float64))
        if h + 1 < spec.horizon:
            pair = s * spec.actions + a
            sums = np.append(0.0, np.cumsum(model.rows.chances[layer]))
            first, last = sums[ways.starts[pair]], sums[ways.starts[pair + 1]]
            cell = np.searchsorted(sums, first + rng.random(len(who)) * (last - first), side="right") - 1
            here[who] = ways.following[np.clip(cell, ways.starts[pair], ways.starts[pair + 1] - 1)]
    who, step, states, actions = (np.concatenate(column) for column in zip(*rows, strict=True))
    order = np.lexsort((step, who))
    counts = np.bincount(who, minlength=people)
    starts = np.append(0, np.cumsum(counts))
    return Episodes(starts, states[order], actions[order], np.concatenate(paid)[order], np.empty(0))


def verdict(
    judgement: Judgement | None, plan: OfflinePlan, findings: dict[str, Any], in_units: UnitConverter, logged: bool
) -> dict[str, Any]:
    """`judged`, `alarms`, and whether the policy is `recommended`, by the rules of this module.

    Nothing is called better unless the adoption is above zero for sure. Where chances of actions are estimated any alarm takes that
    back; where they are logged, and judge and table disagree, the adoption alone is spoken of.
    """
    if judgement is None:
        said = "no share of the policy could be judged apart: it keeps to practice, or too few people would be left"
        return {"judged": None, "alarms": [], "recommended": False, "judged_said": said}
    gain, alpha = judgement.gain(), judgement.chosen.adoption.alpha
    evidence = plan.evidence
    alarms = []
    if abs(judgement.balance) > ALARM and not logged:
        alarms.append(BALANCE)
    if evidence is not None:
        mixed = alpha * plan.extended + (1 - alpha) * extended(plan.model, None)
        table = evidence.compare(mixed)
        room = max(table.high - table.low, 0.0) / 2 - quantile(table.confidence) * table.deviation
        apart = max(abs(gain.value - table.value) - max(room, 0.0), 0.0)
        if apart > ALARM * math.hypot(gain.deviation, table.deviation, judgement.chosen.doubt):
            alarms.append(DISAGREEMENT)
    sure = gain.sure() and (logged or not alarms)
    shown = in_units(gain, difference=True)
    judged = {"alpha": alpha, "gain": shown["value"], "low": shown["low"], "high": shown["high"], "sure": sure}
    judged["people"] = judgement.releases[GAIN].users
    recommended = sure and not alarms and bool(findings["gain"]["sure"])
    return {
        "judged": judged,
        "alarms": alarms,
        "recommended": recommended,
        "judged_said": _said(judged, alarms, logged),
    }


def _said(judged: dict[str, Any], alarms: list[str], logged: bool) -> str:
    """The judgement in a sentence, with what it rests on."""
    share = f"{judged['alpha']:.0%} of decisions"
    gain, low, high = (written(judged[key], sign=True) for key in ("gain", "low", "high"))
    rests = (
        "whatever states leave out"
        if logged
        else "if practice acted by the recorded state, whatever else that leaves out"
    )
    measured = f"judged by {judged['people']:,} others: followed in {share} it gains {gain} ({low} to {high}), {rests}"
    if BALANCE in alarms:
        return f"{measured}; but weights are out of balance: those who decided saw more than the table, so no gain is stated"
    if DISAGREEMENT in alarms:
        relied = (
            "so only this may be relied on" if logged else "so neither may be relied on: log the chances of actions"
        )
        return f"{measured}; the table says otherwise, {relied}"
    return measured


class Inquiry:
    """Asks judging people, once. episodes: sensitive; they are let go with it."""

    def __init__(self, judge: JudgePlan, episodes: Episodes, noise: NoiseSource, simulated: bool = False) -> None:
        """Before anything was asked. Replayable noise is refused unless people are simulated."""
        self._judge, self._episodes, self._noise, self._simulated = judge, episodes, noise, simulated
        self.releases: dict[str, JudgedRelease] = {}

    def __repr__(self) -> str:
        return "Inquiry()"

    def __call__(self, plan: OfflinePlan, findings: dict[str, Any], in_units: UnitConverter) -> dict[str, Any]:
        """What judging people say of a policy, for its findings; see `verdict`."""
        judgement = self._judge.judged(plan, self._episodes, self._noise, self._simulated)
        self.releases = {} if judgement is None else judgement.releases
        return verdict(judgement, plan, findings, in_units, self._judge.logged)
