"""Counts of an episode in which a person's repeated visits are counted only while her budget lasts.

Let n(s, a) be how often a person's visits of a pair were counted so far. A first visit of a pair is always counted. A
repeat at step h = 1 .. H is counted only if

    sum n^2, this visit included, + min(H - h, pairs that she has not visited yet) <= B.

The second term is a reserve: without it early repeats would starve pairs that are met late. The decision depends on
(s_h, a_h) and earlier steps, never on s_{h+1} or r_h, so given that a visit is counted its next state and reward have
their own laws: E N(s,a,s') = P(s'|s,a) E n(s,a), and ratios of counts estimate rows and mean rewards as without a budget.
Nothing else is estimated by them: neither how often people are where, nor what they earn, nor where they start.

**The budget holds**: sum n^2 + min(H - h, unseen) <= B after every step h, if B >= min(H, S A). It holds before the first,
where it says just that. A repeat that is not counted raises neither term. One that is counted does by the rule. A first visit
adds 1 to the first term and takes 1 off the second: min(H - h, u - 1) + 1 = min(H - h + 1, u).

**Price**, replacing one person whose counted visits are n by one whose are n' (brute-forced in the tests). Transitions P >= 0
with sum over s' of P(s,a,s')^2 <= n(s,a)^2, centred rewards |Rc(s,a)| <= n(s,a)/2:

* |P - P'|^2 <= |P|^2 + |P'|^2 <= 2B, as no product is negative;
* |Rc - Rc'|^2 <= sum (n + n')^2/4 <= sum (n^2 + n'^2)/2 <= B;
* with visits N = n besides, |N - N'|^2 + |Rc - Rc'|^2 <= sum (n - n')^2 + (n + n')^2/4 <= 5/4 sum (n^2 + n'^2) <= 5B/2;
* with half the visits besides, |N - N'|^2/4 + |Rc - Rc'|^2 <= sum (n - n')^2/4 + (n + n')^2/4 = sum (n^2 + n'^2)/2 <= B: no
  more than centred rewards alone, so that half the visits are free (`sensitivity.py`);
* visits without centred rewards, |N - N'|^2 <= sum n^2 + n'^2 <= 2B.

Rewards centred at c, with w = max(c, 1-c): |Rc| <= w n, and in a pair that both visit |Rc - Rc'| <= a n + b n', where a and b are c
and 1-c in one order or the other. So

* |Rc - Rc'|^2 <= sum (a^2 + b^2) (n^2 + n'^2) <= 2 (c^2 + (1-c)^2) B, by Cauchy and Schwarz; two people who visit two pairs
  n and n' times, and n' and n times, with n/n' near a/b, come close to it. (The larger of sharing all pairs, B, and
  of sharing none, 2 w^2 B, is too little: at H = 5, B = 5 and c = 5/16 two people are 15.7 apart with their transitions; 3B is 15.)
* with visits besides, (n - n')^2 + (a n + b n')^2 <= (1 + w^2) (n^2 + n'^2), since 2 n n' (a b - 1) <= 0: 2 (1 + w^2) B;
* with half the visits besides, (n - n')^2/4 + (a n + b n')^2 <= (1/4 + w^2) (n^2 + n'^2) in the same way: (1/2 + 2 w^2) B.

All three are least at c = 1/2, where they are what is said above: no other centre is free, so that is the default; c = 5/16 takes
2 % more noise, c = 1/8 9 % and c = 0 15 %, with transitions.

So at c = 1/2 the squared l2 sensitivity is 2B for transitions alone and for visits alone, 4B for both, 3B for transitions with
centred rewards, with half the visits or without, and 4.5B with visits. No budget takes more than H steps into account, so l1 is
what it is without one: 2 a step for transitions and for visits, 2w for centred rewards, 1 for half the visits.
At B >= H^2 nothing is ever dropped, and the price without a budget holds.

**Histories.** Up to m episodes of one person may be one history, e_1, e_2, ... in their order, whose visits spend one budget:
n(s, a) counts visits in all of them, and where the rule looks ahead it takes the m H steps that a history can have at most: after
step h of episode j there are left = (m - j) H + H - h. Nothing else changes, and nothing in the price does:

* the budget holds. The invariant is sum n^2 + min(left, unseen) <= B after every step, for B >= min(m H, S A). A step lowers left
  by 1; an episode that ends early, or a person who comes less than m times, lowers it by more, and then the second term can only
  fall. So the three cases above (a repeat left out, a repeat counted, a first visit) are all there are;
* the price is about n, P and Rc of a person, and uses sum n^2 <= B, P >= 0 with sum over s' of P(s,a,s')^2 <= n(s,a)^2, and
  |Rc| <= w n. All of these are true of sums over several episodes as they are of one. Where an episode begins plays no part. So
  the squared l2 sensitivity is 3B with centred rewards at c = 1/2, whatever m is; with B = m H noise grows like the root of m,
  where a group of m episodes takes m times the noise. In l1 a history moves m times as far as an episode.
* given the past, a visit is counted or not before its next state and reward are drawn, in later episodes as in the first. That a
  person comes again may depend on all that happened to them. So ratios estimate rows and mean rewards as before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import msgpack
import numpy as np

from ... import validation
from ...errors import FormatError, InvalidInput
from ...mdp import STATIONARY, Spec
from ...privacy import Sensitivity
from ...privacy.guarantee import CENTRAL
from ..releases.release import CountRelease, Noise
from .counts import CENTRED, COUNTS, DROPPED, FREE_VISITS, HALVES, REWARDS, SQUARES, TRANSITIONS, VISITS, CountQuestion
from .encoded import CellByCell, PartOfCounts
from .kind import Array, Integers, Possible, by_trust, register
from .question import Range
from .sensitivity import farthest

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer
    from ..design import Design
    from ..laws import Law

KIND = "budgeted"
FORMAT = "confide.budgeted/1"
MOST_EPISODES = 1000
"""Of one history."""


def default_budget(spec: Spec, episodes: int = 1) -> int:
    """Our default of B: of one episode 2H, or H where there are at least as many states as steps; of a history m H."""
    steps = episodes * spec.horizon
    return 2 * steps if episodes == 1 and spec.states < steps else steps


def grouped(size: Sensitivity, episodes: int) -> Sensitivity:
    """One person with this many episodes moves counts this many times further (group privacy)."""
    return replace(size.scaled(float(episodes)), cells=size.cells * episodes)


@dataclass(frozen=True)
class BudgetedQuestion(CellByCell):
    """counts: transitions, centred rewards, visits or half of them, or some of these, of one model for all steps. budget: B.
    episodes: m, up to how many of one person are one history."""

    budget: int = 0
    episodes: int = 1

    def __post_init__(self) -> None:
        spec = self.counts.spec
        if spec.dynamics != STATIONARY:
            raise InvalidInput(
                "budget-per-step", "A budget is for counts pooled over steps; per step nothing repeats. Leave it out."
            )
        if self.counts.last == DROPPED or {REWARDS, SQUARES} & set(self.counts.parts):
            raise InvalidInput(
                "budget-parts",
                "Budgeted counts are transitions, centred rewards and visits, of all steps. Ask for these.",
            )
        validation.integer("episodes of a history", self.episodes, 1, MOST_EPISODES)
        least = min(self.steps, spec.states * spec.actions)
        object.__setattr__(self, "budget", validation.integer("budget", self.budget, least))

    @property
    def steps(self) -> int:
        """m H: the most steps of a history."""
        return self.episodes * self.spec.horizon

    @classmethod
    def of(cls, counts: CountQuestion, budget: int | None = None) -> BudgetedQuestion:
        """With our default budget unless another is given. Half the visits are asked for besides, unless they cost something after
        all, as they do where nothing is ever dropped.
        """
        budget = default_budget(counts.spec) if budget is None else budget
        without = cls(counts.tight(), budget)
        halved = cls(counts.tight().having(parts=FREE_VISITS), budget)
        return halved if halved.price().l2 <= without.price().l2 else without

    @property
    def kind(self) -> str:
        """`budgeted`."""
        return KIND

    @property
    def mark(self) -> int:
        """How this encoding changes the fingerprint of its counts: by 4."""
        return 0x04

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences for certificates: what is counted of one person."""
        of = "of one person" if self.episodes == 1 else f"of one person's history of up to {self.episodes} episodes"
        return (f"{of} first visits and repeats within a budget of {self.budget} are counted",)

    @cached_property
    def range(self) -> Range:
        """No pair is counted more often than the root of the budget."""
        low, high = self.counts.range
        share, units = np.minimum(float(self.episodes), math.isqrt(self.budget) / self.trials), self.resolution
        return Range(*(np.rint(bound * share * units) / units for bound in (low, high)))

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The sensitivity of budgeted counts, proved in the docstring of this module."""
        plain = grouped(self.counts.price(), self.episodes)
        if self.budget >= self.steps**2:
            return plain
        square = self.budget * (2.0 * (TRANSITIONS in self.counts.parts) + self._square_of_pairs())
        shifts = ((plain.l1, 1),)  # all changes in one cell are easiest to notice
        return Sensitivity(plain.l1, math.sqrt(square), shifts, plain.cells)

    def _square_of_pairs(self) -> float:
        """The squared l2 sensitivity of rewards and visits, by pair, over the budget."""
        parts, centre = self.counts.parts, self.counts.centre
        if CENTRED not in parts:
            return 2.0 * (VISITS in parts)
        if VISITS in parts or HALVES in parts:  # two people who share no pair differ most
            return 2 * (farthest(centre) ** 2 + (1.0 if VISITS in parts else 0.25))
        return 2 * (centre**2 + (1 - centre) ** 2)

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        history = [self.episodes] if self.episodes > 1 else []
        body: bytes = msgpack.packb([FORMAT, self.counts.to_bytes(), self.budget, *history])
        return body

    @property
    def digest(self) -> bytes:
        """A fingerprint of the counts and the budget."""
        import hashlib

        return hashlib.sha256(self.to_bytes()).digest()[:16]


class BudgetedKind(PartOfCounts[BudgetedQuestion]):
    """Counts under a budget: as many cells, and as noisy, as without one."""

    name = KIND
    of_whole_episodes = True
    answered = by_trust(
        local=("gaussian",),
        shuffle=("skellam",),
        joint=("tree-gaussian", "toeplitz", "buffered-toeplitz"),
        central=("gaussian",),
    )
    unknown_in_pages = ("local",)

    def read(self, data: bytes) -> BudgetedQuestion:
        """The question that wrote these bytes."""
        try:
            form, counts, *numbers = msgpack.unpackb(data, max_array_len=8, max_str_len=64)
            if form != FORMAT:
                raise ValueError(f"its format is {form!r}, not {FORMAT!r}")
            return BudgetedQuestion(CountQuestion.from_bytes(counts), *numbers)
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "question-unreadable", f"These bytes are not a statistic this version knows: {error}"
            ) from error

    def check(self, design: Design) -> None:
        """Refuse histories anywhere but at a curator of a data set: no device holds more than one episode."""
        if design.trust != CENTRAL and self.question_of(design).episodes > 1:
            raise InvalidInput(
                "history-outside-data-set",
                f"Histories of several episodes are counted in a data set, not under trust {design.trust!r}. Ask for one episode.",
            )

    def estimate(self, question: BudgetedQuestion, mechanism: Randomizer, summed: Array, people: Integers) -> Array:
        """Unbiased cells, as the mechanism estimates them."""
        return COUNTS.estimate(question.counts, mechanism, summed, people)

    def radii(self, question: BudgetedQuestion, law: Law, failure: float, possible: Possible = None) -> Array:
        """The error radii of counts."""
        return COUNTS.radii(question.counts, law, failure, possible)

    def noise(self, question: BudgetedQuestion, law: Law) -> Array:
        """The noise of counts."""
        return COUNTS.noise(question.counts, law)

    def backup_variance(self, question: BudgetedQuestion, mechanism: Randomizer) -> float:
        """The variance for counts, over the squared share of visits that is counted where an episode visits all pairs alike."""
        spec = question.spec
        pairs = min(question.steps, spec.states * spec.actions)
        counted = min(question.steps, math.sqrt(question.budget * pairs)) / spec.horizon
        return float(COUNTS.backup_variance(question.counts, mechanism) / counted**2)

    def signal(self, question: BudgetedQuestion) -> tuple[int, float]:
        """Transitions; a person adds at most what the budget lets through to the average pair."""
        spec = question.spec
        pairs = min(question.steps, spec.states * spec.actions)
        return 3, min(question.steps, math.sqrt(question.budget * pairs)) / (spec.states * spec.actions)

    def release(self, design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> CountRelease:
        """Counts of what the budget let through, which knows the budget."""
        question, release = self.question_of(design), super().release(design, cells, users, radii, noise)
        return replace(release, budget=question.budget, episodes=question.episodes)


BUDGETED = register(BudgetedKind())
