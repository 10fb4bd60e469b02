"""Runs come out of this room: the loop that plays all parties, its engines, its seeds."""

from .outlook import episodes_needed
from .registering import register
from .setting import Setting
from .simulate import prepare, simulate
from .tune import Tuning, tune

__all__ = ["Setting", "Tuning", "episodes_needed", "prepare", "register", "simulate", "tune"]
