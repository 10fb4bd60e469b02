"""Runs: the loop that plays all parties, its engines, its seeds."""

from typing import TYPE_CHECKING

from ...loading import on_first_use
from .registering import register
from .setting import Choices, Setting
from .simulate import complete, prepare, run, simulate
from .tune import Tuning, tune

if TYPE_CHECKING:
    from .offline import simulate_offline
    from .offline_linear import simulate_linear

__all__ = [
    "Choices",
    "Setting",
    "Tuning",
    "complete",
    "prepare",
    "register",
    "run",
    "simulate",
    "simulate_linear",
    "simulate_offline",
    "tune",
]

__getattr__ = on_first_use(__name__, {"simulate_linear": "offline_linear", "simulate_offline": "offline"})
