"""`confide curate`: runs the curator of a joint contract."""

from __future__ import annotations

from .intermediary import curate as command

__all__ = ["command"]
