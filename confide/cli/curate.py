"""`confide curate`."""

from __future__ import annotations

from .intermediary import curate as command

__all__ = ["command"]
