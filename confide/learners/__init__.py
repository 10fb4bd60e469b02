"""Recipes come out of this room: which question to ask next, and what to learn from a release."""

from .catalogue import GROUP, Listing, listing, make, names, register
from .learner import Context, CountLearner, Learner, Plan, State, TabularLearner

__all__ = [
    "GROUP",
    "Context",
    "CountLearner",
    "Learner",
    "Listing",
    "Plan",
    "State",
    "TabularLearner",
    "listing",
    "make",
    "names",
    "register",
]
