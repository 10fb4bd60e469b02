"""Whether of one person only what a budget lets through is counted: where Gaussian noise then shrinks by more than the counts."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInput
from ..mdp import STATIONARY
from ..questions import CountQuestion
from ..questions.budgeted import BudgetedQuestion
from ..questions.counts import COUNTED, VISITS
from .design import Request

MOST_WALKED = 10**7
"""Simulated people are walked one by one under a budget, so beyond so many of them it is left out by default."""

SHORTEST = 4
"""Episodes of fewer steps hardly repeat anything, and their noise is hardly above that of a budget."""

Form = tuple[Any, tuple[str, ...]]


def budgeted_form(counts: CountQuestion, gaussian: bool, request: Request) -> Form:
    """The question under a budget, if that was asked for or pays, and remarks for the certificate."""
    if request.budget == 0 or not gaussian or counts.spec.dynamics != STATIONARY:
        if request.budget:
            raise InvalidInput("A budget lowers Gaussian noise on counts pooled over steps. Leave it out here.")
        return counts, ()
    budgeted = BudgetedQuestion.of(counts, request.budget)
    if request.budget is None and budgeted.price().l2 >= counts.price().l2:
        return counts, ()
    if request.budget is None and request.schedule.users > MOST_WALKED:
        return counts, (
            f"all visits are counted: a budget of {budgeted.budget} is left out beyond {MOST_WALKED:,} people",
        )
    return budgeted, budgeted.remarks


def for_data_set(counts: CountQuestion, gaussian: bool) -> CountQuestion | BudgetedQuestion:
    """What is counted of people in a data set: all visits, or what a budget lets through where that surely pays.

    It pays where noise is Gaussian and there are at least as many states as steps: then few visits are repeats, and noise is
    smaller by the root of H. Where people repeat themselves more, less is counted of them, but no less than noise shrinks by: the
    n-th visit of one pair fits into a budget of H if n^2 <= H. Visits of steps whose transition is unknown have none.
    """
    spec = counts.spec
    few = spec.dynamics != STATIONARY or spec.horizon < SHORTEST or spec.states < spec.horizon
    if not gaussian or few or counts.last != COUNTED or VISITS in counts.parts:
        return counts
    return BudgetedQuestion(counts, BudgetedQuestion.of(counts).budget)
