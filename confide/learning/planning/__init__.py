"""Policies and their values, as pure functions of releases and public models.

Estimate, bonus, backward induction; mirror descent and posterior draws; exact evaluation. All are compiled, work on
arrays whose shapes are written down, and never allocate.
"""

from .evaluation import occupancy, optimal, optimal_value, policy_value, policy_values
from .induction import GIVEN, GREEDY, MAXIMISE, MINIMISE, Workspace, backward_induction, workspace

__all__ = [
    "GIVEN",
    "GREEDY",
    "MAXIMISE",
    "MINIMISE",
    "Workspace",
    "backward_induction",
    "occupancy",
    "optimal",
    "optimal_value",
    "policy_value",
    "policy_values",
    "workspace",
]
