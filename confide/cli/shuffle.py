"""`confide shuffle`: runs the shuffler of a contract."""

from __future__ import annotations

from .intermediary import shuffle as command

__all__ = ["command"]
