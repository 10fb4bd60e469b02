"""Whether anything can be learned at all: when the statistics will stand out from the noise."""

from __future__ import annotations

from .setting import Setting

# Counts stand out once the average one is larger than the error that half of all runs exceed.
HALF = 0.5


def episodes_needed(setting: Setting) -> float:
    """After about how many episodes the average statistic exceeds its typical error; 0 without privacy."""
    return setting.episodes_needed(HALF)
