"""Whether of one person only what a budget lets through is counted: where Gaussian noise then shrinks by more than the counts."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInput
from ..mdp import STATIONARY
from ..questions import CountQuestion
from ..questions.budgeted import BudgetedQuestion
from .design import Request

MOST_WALKED = 10**7
"""Simulated people are walked one by one under a budget, so beyond so many of them it is left out by default."""

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
