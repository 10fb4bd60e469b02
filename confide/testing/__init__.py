"""Conformance suites come out of this room, for mechanisms, privatizers, learners and environments of your own.

Each is a class for pytest. Inherit it, return what is to be tested from `make`, and call your class Test-something.
"""

from .counter import CounterConformance
from .environment import EnvironmentConformance
from .learner import LearnerConformance
from .mechanism import MechanismConformance
from .privatizer import CentralPrivatizerConformance, LocalPrivatizerConformance

__all__ = [
    "CentralPrivatizerConformance",
    "CounterConformance",
    "EnvironmentConformance",
    "LearnerConformance",
    "LocalPrivatizerConformance",
    "MechanismConformance",
]
