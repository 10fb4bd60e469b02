"""Estimates the mean return of the people between two releases: the value of the policy they followed.

A release sums every user's rewards so far. So the difference of two of them, over the people between, is an unbiased estimate
of the mean return of the policies of those rounds, whatever the model; no start and no transition is estimated. It is a
sum of many independent terms, so its error is taken for normal, with a variance that is never below the true one:

- returns in [0, H], or H times whether one random step paid, spread by H/2 at most;
- a sampled step (StepQuestion) adds H^2 times the noise of the set of paying categories, at the share m of paying steps that
  makes this largest; in a per-step model it is no more, since that noise is concave in m;
- counts add the noise of one reward count in each pair, L S A of them.

Asked pairs (AskedQuestion) tell first visits. In a per-step model these are all visits: what people earn is the sum over (h, s, a)
of the share of those asked about it who were there and were paid. With n_i asked about row i, v and w the variances a person of
the set of paying categories outside and inside of it, and shares m_i that add up to H at most, that has a variance of
sum of (v + m_i (w - v) + m_i (1 - m_i))/n_i <= sum of v/n_i + H (max(0, w - v) + 1)/min n_i. In a stationary model people come
back, and pairs do not tell how often.

Where some people report their return in place of a pair (AskedReturnQuestion), these alone tell, in any world, whether a model
holds or not: a bit of theirs has a variance of at most H^2 (p (1 - p)/(2p - 1)^2 + 1/4).

Under a budget (BudgetedQuestion) some steps are not counted. They paid between nothing and 1 each, and every user takes H steps at
most: what people earn lies between the counted rewards R and R + H - V, V the counted visits. Both ends carry the noise of counts,
as R is centred rewards plus V/2, and R - V the same minus V/2.

A curator's noise in two releases may be correlated, so deviations add up instead of variances.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

from ...protocol.design import Design
from ...protocol.kinds import asked, asked_return, bits, budgeted, counts, step
from ...protocol.kinds.asked_return import return_variance
from ...protocol.kinds.categories import naming
from ...protocol.kinds.counts import CENTRED, COUNTED, REWARDS, VISITS, cells_of_visits
from ...protocol.releases.release import CountRelease
from ...validation import Json

CONFIDENCE = 0.95
WIDE = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
"""Deviations of a normal error to either side of which an interval reaches."""
SHARP = 0.1
"""The share of the range of returns that an interval may reach to either side where rounds are taken together."""
_SHARES = [number / 20 for number in range(21)]


class MeanReturn(NamedTuple):
    """An average return, and an interval that holds it with `CONFIDENCE`, cut to what is possible, [0, H].

    whole: whether everything was counted; if not, value is only the middle of what is possible.
    """

    value: float
    low: float
    high: float
    whole: bool = True

    def as_json(self) -> dict[str, Json]:
        """The estimate as plain values."""
        return self._asdict()


def mean_return(design: Design, release: CountRelease, before: CountRelease | None) -> MeanReturn | None:
    """The mean return of people after `before` and up to `release`; None where the statistic does not have it.

    Where costs were asked for, it is what they paid.
    """
    first = 0 if before is None else before.users
    people = release.users - first
    if people <= 0 or not _measured(design) or not _tells(release):
        return None
    top = float(design.question.spec.horizon)
    if design.question.kind == asked_return.KIND:
        return _by_returns(design, release, before)
    if design.question.kind == asked.KIND:
        return _by_pairs(design, release, before)
    earned = float(release.counts.rewards.sum()) - (0.0 if before is None else float(before.counts.rewards.sum()))
    variance = _VARIANCES[design.question.kind]
    if release.noise.own:
        spread = variance(design, release.users) - variance(design, first)
    else:
        spread = (math.sqrt(variance(design, release.users)) + math.sqrt(variance(design, first))) ** 2
    spread += people * (top / 2) ** 2
    steps_told = float(release.counts.visits.sum()) - (0.0 if before is None else float(before.counts.visits.sum()))
    missing = 0.0 if release.complete else max(0.0, top - steps_told / people)
    return _interval(earned / people, math.sqrt(spread) / people, top, missing, release.complete)


def _interval(value: float, error: float, top: float, missing: float = 0.0, whole: bool = True) -> MeanReturn:
    """Around a value whose error is normal with this deviation, and to which so much may be missing."""
    width = WIDE * error
    low, high = value - width, value + missing + width
    return MeanReturn(value + missing / 2, min(max(low, 0.0), top), max(min(high, top), 0.0), whole)


def enough_returns(design: Design, release: CountRelease, before: CountRelease | None) -> bool:
    """Whether enough returns were reported after `before` that their interval reaches no further than `SHARP` of the range to
    either side; where none is reported, every round is enough by itself. It depends on numbers of users alone, not on values."""
    if design.question.kind != asked_return.KIND:
        return True
    if release.returned is None:
        return False
    people = release.returned.people - (0 if before is None or before.returned is None else before.returned.people)
    return people > 0 and WIDE * math.sqrt(return_variance(1, design.randomizer) / people) <= SHARP


def _by_returns(design: Design, release: CountRelease, before: CountRelease | None) -> MeanReturn | None:
    """The mean of the returns that were reported; None while none was."""
    now, then = release.returned, None if before is None else before.returned
    if now is None:
        return None
    total, people = (now.total, now.people) if then is None else (now.total - then.total, now.people - then.people)
    if people <= 0:
        return None
    horizon = design.question.spec.horizon
    error = math.sqrt(return_variance(horizon, design.randomizer) / people)
    return _interval(total / people, error, float(horizon))


def _by_pairs(design: Design, release: CountRelease, before: CountRelease | None) -> MeanReturn | None:
    """The sum over steps and pairs of the rewards there of those who were asked about it; None while no user was about some."""
    question, mechanism, now = design.counts, naming(design.randomizer), release.counts
    if question.spec.layers == 1 or question.last != COUNTED:
        return None
    people, rewards = (
        (now.people, now.rewards)
        if before is None
        else (
            now.people - before.counts.people,
            now.rewards - before.counts.rewards,
        )
    )
    fewest = float(people.min())
    if fewest <= 0:
        return None
    paying, top = question.next_states, float(question.spec.horizon)
    outside, inside = mechanism.set_variance(paying, 0.0), mechanism.set_variance(paying, 1.0)
    spread = float((outside / people).sum()) + top * (max(0.0, inside - outside) + 1) / fewest
    return _interval(float((rewards / people).sum()), math.sqrt(spread), top)


def _measured(design: Design) -> bool:
    """Whether the noise of an average return is known."""
    return design.kind.first_visits or design.question.kind in _VARIANCES


def _tells(release: CountRelease) -> bool:
    return REWARDS in release.question.parts or CENTRED in release.question.parts


def _by_steps(design: Design, people: int) -> float:
    """The noise of the set of paying categories, at the share of people in it that makes it largest."""
    question, spec = design.counts, design.question.spec
    paying = spec.states * spec.actions * question.next_states
    most = max(naming(design.devices[0]).set_variance(paying, share) for share in _SHARES)
    return float(people * spec.horizon**2 * most)


def _by_counts(design: Design, people: int) -> float:
    """The noise of one reward count of every pair; where it was asked for centred, half the visits are added."""
    if not people:
        return 0.0
    question, spec, law = design.counts, design.question.spec, design.law(people)
    pooled = spec.layers == 1
    each = float(law.variance(spec.horizon if pooled else 1))
    moves = float(law.variance(question.transition_steps if pooled else 1))
    if REWARDS not in question.parts:
        each += (each if VISITS in question.parts else moves * cells_of_visits(question)) / 4
    return float(spec.layers * spec.states * spec.actions * each)


_VARIANCES: dict[str, Callable[[Design, int], float]] = {
    counts.KIND: _by_counts,
    bits.KIND: _by_counts,
    budgeted.KIND: _by_counts,
    step.KIND: _by_steps,
}
