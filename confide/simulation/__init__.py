"""Runs come out of this room: the loop that plays all parties, its engines, its seeds."""

from .choices import Choices
from .outlook import episodes_needed
from .registering import register
from .setting import Setting
from .simulate import complete, prepare, run, simulate
from .tune import Tuning, tune

__all__ = [
    "Choices",
    "Setting",
    "Tuning",
    "complete",
    "episodes_needed",
    "prepare",
    "register",
    "run",
    "simulate",
    "tune",
]
