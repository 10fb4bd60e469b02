"""Learners: which statistic to query next, and what to learn from a release."""

from .catalogue import GROUP, LearnerListing, listing, make, names, register
from .learner import Context, CountLearner, Learner, Plan, State, TabularLearner

__all__ = [
    "GROUP",
    "Context",
    "CountLearner",
    "Learner",
    "LearnerListing",
    "Plan",
    "State",
    "TabularLearner",
    "listing",
    "make",
    "names",
    "register",
]
