"""Conformance suites for mechanisms, designs, learners and environments of your own.

Each is a class for pytest. Inherit it, return what is to be tested from `make`, and call your class Test-something.
"""

from .counter import CounterConformance
from .design import DesignConformance
from .environment import EnvironmentConformance
from .learner import LearnerConformance
from .mechanism import MechanismConformance
from .shares import SharesConformance

__all__ = [
    "CounterConformance",
    "DesignConformance",
    "EnvironmentConformance",
    "LearnerConformance",
    "MechanismConformance",
    "SharesConformance",
]
