"""The steps of people who judge, kept as they are read: sensitive, in memory only, and let go once they were scored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...mdp.adoption import Episodes
from ..trajectories.dataset import Dataset, Rows
from .tally import EpisodeTable


class StepCollector:
    """Keeps the rows of one part that belong to chosen episodes, in their order."""

    def __init__(self, data: Dataset) -> None:
        """An empty collector for a data set."""
        self._data, self._last = data, False
        self._columns: list[
            tuple[NDArray[np.bool_], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]
        ] = []

    def __repr__(self) -> str:
        return "StepCollector()"

    def add(self, rows: Rows, episodes: EpisodeTable, base: int) -> None:
        """Keep a batch. episodes: those that begin in it, at rows counted from `base`, and which of them count."""
        length = rows.state.size
        fresh = np.zeros(length, dtype=np.bool_)
        fresh[episodes.begun - base] = True
        flags = np.append(self._last, episodes.counted)
        mine = flags[np.cumsum(fresh)]
        if length:
            self._last = bool(mine[-1])
        low, high = self._data.reward_range
        paid = np.empty(0)
        if rows.reward.size:
            paid = ((np.clip(rows.reward, *self._data.declared) - low) / (high - low))[mine]
        propensity = rows.propensity[mine] if rows.propensity.size else np.empty(0)
        self._columns.append(
            (fresh[mine], rows.state[mine].astype(np.int32), rows.action[mine].astype(np.int32), paid, propensity)
        )

    def episodes(self) -> Episodes:
        """All that was kept. Known rewards stand in for those that are not logged."""
        if not self._columns:
            return _none()
        fresh, states, actions, paid, propensity = (
            np.concatenate(column) for column in zip(*self._columns, strict=True)
        )
        starts = np.append(np.flatnonzero(fresh), len(fresh))
        knowledge = self._data.knowledge
        if knowledge.rewards is not None:
            step = np.arange(len(fresh)) - np.repeat(starts[:-1], np.diff(starts))
            paid = knowledge.rewards[np.minimum(step, len(knowledge.rewards) - 1), states, actions]
        return Episodes(starts, states.astype(np.int64), actions.astype(np.int64), paid, propensity)


def together(parts: Sequence[Episodes]) -> Episodes | None:
    """The episodes of all parts; None where none were kept."""
    if not parts:
        return None
    before = np.cumsum([0, *(len(part.states) for part in parts)])
    starts = [part.starts[:-1] + offset for part, offset in zip(parts, before, strict=False)]
    columns = (np.concatenate(column) for column in zip(*(part[1:] for part in parts), strict=True))
    return Episodes(np.append(np.concatenate(starts), before[-1]).astype(np.int64), *columns)


def _none() -> Episodes:
    nothing = np.empty(0, dtype=np.int64)
    return Episodes(np.zeros(1, dtype=np.int64), nothing, nothing, np.empty(0), np.empty(0))
