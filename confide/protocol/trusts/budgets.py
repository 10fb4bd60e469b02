"""Whether of one person only what a budget lets through is counted: where Gaussian noise then shrinks by more than the counts."""

from __future__ import annotations

from ... import validation
from ...errors import InvalidInput
from ...mdp import STATIONARY
from ..design import AUTO, Request
from ..kinds import CountQuestion
from ..kinds.bandit import BanditQuestion, Counted
from ..kinds.budgeted import BudgetedQuestion, default_budget
from ..kinds.counts import CENTRED, COUNTED, HALVES, MIDDLE, TRANSITIONS, VISITS

MOST_WALKED = 10**7
"""Simulated people are walked one by one under a budget, so beyond this many of them it is left out by default."""

SHORTEST = 4
"""Episodes of fewer steps hardly repeat anything, and their noise is hardly above that of a budget."""

ALL = "all"
"""All visits are counted."""

VISITED_SHARE = 0.1
"""Of the guarantee of a data set, spent on how often pairs were counted, where a budget lets only a part through: one number a
pair, that would otherwise have the noise of as many as there are next states."""

WIDE = {True: 12.0, False: 60.0}
"""From this many next states of the average pair on visits are asked for by themselves, by whether noise is Gaussian: with both,
about a third is left of the variance of the sum of this many transitions."""

Form = tuple[CountQuestion | BudgetedQuestion, tuple[str, ...]]


def budgeted_form(counts: CountQuestion, gaussian: bool, request: Request) -> Form:
    """The question under a budget, if that was asked for or pays, and remarks for the certificate."""
    if request.budget == 0 or not gaussian or counts.spec.dynamics != STATIONARY:
        if request.budget:
            raise InvalidInput(
                "budget-needs-pooled", "A budget lowers Gaussian noise on counts pooled over steps. Leave it out here."
            )
        return counts, ()
    budgeted = BudgetedQuestion.of(counts, request.budget)
    if not lowers(budgeted):
        return counts, () if request.budget is None else (
            f"all visits are counted: a budget of {budgeted.budget} would not take less noise",
        )
    if request.budget is None and (request.expected or request.schedule.users) > MOST_WALKED:
        return counts, _left_out(budgeted)
    return budgeted, budgeted.remarks


def unwalked(counted: Counted, visits: str | int, people: int) -> tuple[str, ...]:
    """The sentence for a certificate if this many simulated people are too many for a budget that was not requested; else none."""
    return _left_out(counted) if visits == AUTO and people > MOST_WALKED and counted.budget else ()


def _left_out(counted: Counted) -> tuple[str, ...]:
    return (f"all visits are counted: a budget of {counted.budget} is left out beyond {MOST_WALKED:,} people",)


def lowers(budgeted: BudgetedQuestion) -> bool:
    """Whether Gaussian noise is less under this budget than without any: with centred rewards up to about 5/6 of H^2."""
    all_told = tuple(part for part in budgeted.counts.parts if part != HALVES)
    return budgeted.price().l2 < budgeted.episodes * budgeted.counts.having(parts=all_told).price().l2


def counted_for(asked: CountQuestion | BanditQuestion, visits: str | int, gaussian: bool, history: int = 0) -> Counted:
    """What is counted of people in a data set. visits: `all`, a budget for repeated ones, or `auto`. gaussian: noise is. history:
    up to how many episodes of a person are one history, which always has a budget; 0 if each is counted by itself.

    `auto` takes a budget where it surely pays: where noise is Gaussian and there are at least as many states as steps. Then few
    visits are repeats, and noise is smaller by the root of H. Where people repeat themselves more, less is counted of them, but no
    less than noise shrinks by: the n-th visit of one pair fits into a budget of H if n^2 <= H. Where the state after the last step
    is not known, visits are asked for beside transitions, and all are counted. A single step repeats nothing.
    """
    counts, spec = asked.counts, asked.spec
    told = counts.last == COUNTED and VISITS not in counts.parts
    if history:
        if visits == ALL or spec.horizon == 1 or not gaussian or not told or spec.dynamics != STATIONARY:
            raise InvalidInput(
                "history-needs",
                "A history of several episodes is counted within a budget, which needs Gaussian noise, one model for all steps, "
                "two steps or more and the state after each. Use --users limit, or group:K.",
            )
        budget = default_budget(spec, history) if visits == AUTO else _whole_budget(visits)
        return BudgetedQuestion(counts, budget, history)
    if visits == ALL or spec.horizon == 1:
        return asked
    if visits != AUTO:
        budget = _whole_budget(visits)
        if not gaussian or not told:
            raise InvalidInput(
                "visits-budget-needs",
                "A budget for visits needs Gaussian noise and the state after every step. Use --visits all.",
            )
        budgeted = BudgetedQuestion(counts, budget)
        return budgeted if lowers(budgeted) else counts
    few = spec.dynamics != STATIONARY or spec.horizon < SHORTEST or spec.states < spec.horizon
    return counts if few or not gaussian or not told else BudgetedQuestion(counts, default_budget(spec))


def _whole_budget(visits: str | int) -> int:
    """The budget that was named; a word other than `auto` and `all` is refused."""
    if isinstance(visits, str):
        raise validation.refusal(
            "visits-form", "visits", "auto, all or a budget", visits, "Write --visits all, for example."
        )
    return visits


def visits_for(visits: str | int, able: bool) -> str | int:
    """Which visits are counted, where `auto` stands for all unless the learner is able to read budgeted counts."""
    return ALL if visits == AUTO and not able else visits


def visits_pay(counted: Counted, width: float, gaussian: bool) -> bool:
    """Whether visits are asked for by themselves beside transitions: under a budget, and where rewards are asked for and the
    average pair leads to so large a number of states, `width`, that their sum is noisy.

    A pair's visits are the sum of its transitions. If these are off by e, a mean reward c + Rc/N is off by (c - r) e/N where 1/N,
    which weighs it, is off by -e/N^2: a product that does not average out, and that is all there is where rewards are rare.
    """
    if TRANSITIONS not in counted.counts.parts or VISITS in counted.counts.parts:
        return False
    return counted.budget > 0 or (CENTRED in counted.counts.parts and width >= WIDE[gaussian])


def visits_question(counted: Counted) -> CountQuestion | BudgetedQuestion:
    """The question how often each pair was counted, under the same budget if there is one."""
    question = counted.counts.having(parts=(VISITS,), levels=1, centre=MIDDLE)
    return BudgetedQuestion(question, counted.budget, counted.episodes) if counted.budget else question
