"""Fits on real data, the ledgers they are charged to, and forecasts of what they will cost."""

from .budget import ledger_of
from .choices import FitChoices
from .engines import Engine
from .fit import Check, check, fit, prepare
from .judging import judge
from .refit import refit
from .synthesizing import synthesize

__all__ = ["Check", "Engine", "FitChoices", "check", "fit", "judge", "ledger_of", "prepare", "refit", "synthesize"]
