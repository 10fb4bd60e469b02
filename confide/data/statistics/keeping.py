"""The steps of people who judge, kept as they are read: sensitive, in memory only, and let go once they were scored.

Who judges is decided by a secret word of the person alone (`choosing` has the proof that this makes the price the larger of the
two).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...mdp import Spec
from ...mdp.adoption import Episodes
from ..trajectories.dataset import Dataset, Rows
from ..trajectories.keys import secret
from .tally import STOPPED, THERE, Chosen, EpisodeTable

JUDGES = 3
"""What a secret word of a person is for here, beside the uses of `choosing`."""


def choosers(rows: Rows, key: int, share: float) -> Chosen:
    """The people of a batch who are counted: those whose secret word is not among the first `share` of all words.

    Each has one episode: one who has two is refused once all was read.
    """
    people = rows.user
    fresh = np.flatnonzero(np.append(np.ones(min(1, people.size), dtype=np.bool_), people[1:] != people[:-1]))
    words = secret(key, np.full(fresh.size, JUDGES, dtype=np.int64), people[fresh])
    mine = fresh[words >= np.uint64(min(round(share * 2.0**64), 2**64 - 1))]
    who, first = np.unique(people[mine], return_index=True)
    marks = rows.episode[mine[first]] if rows.episode.size else np.zeros(who.size, dtype=np.int64)
    none = np.zeros(who.size, dtype=np.int64)
    return Chosen(True, who, np.asarray(marks), none, none.copy(), np.ones(who.size, dtype=np.bool_), True)


class PreviousActions:
    """Counts of actions by the action before them and their state, of the episode that stands for its person. spec: None counts
    nothing."""

    def __init__(self, spec: Spec | None) -> None:
        """Before any row."""
        self._spec, self._last, self._counted = spec, 0, False
        self.cells = np.zeros(0 if spec is None else (spec.actions + 1) * spec.states * spec.actions, dtype=np.int64)

    def __repr__(self) -> str:
        return "PreviousActions()"

    def add(self, rows: Rows, episodes: EpisodeTable, base: int, gone: NDArray[np.int64]) -> None:
        """Count a batch. episodes: those that begin in it, at rows counted from `base`; gone: see `tally.Written`."""
        if self._spec is None or not rows.state.size:
            return
        fresh = np.zeros(rows.state.size, dtype=np.bool_)
        fresh[episodes.begun - base] = True
        counted = np.append(self._counted, episodes.drawn)[np.cumsum(fresh)]
        before = np.where(fresh, self._spec.actions, np.append(self._last, rows.action[:-1]))
        cells = (before * self._spec.states + rows.state) * self._spec.actions + rows.action
        self.cells += np.bincount(cells[counted & (gone != STOPPED)], minlength=len(self.cells))
        self._last, self._counted = int(rows.action[-1]), bool(counted[-1])


class StepCollector:
    """Keeps the rows of one part that belong to chosen episodes, in their order."""

    def __init__(self, data: Dataset) -> None:
        """An empty collector for a data set."""
        self._data, self._last = data, False
        self._columns: list[
            tuple[NDArray[np.bool_], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]
        ] = []
        self._groups: list[NDArray[np.int64]] = []
        self._observed: list[NDArray[np.float64]] = []
        self._gone: list[NDArray[np.int64]] = []

    def __repr__(self) -> str:
        return "StepCollector()"

    def add(
        self, rows: Rows, episodes: EpisodeTable, base: int, keep: NDArray[np.bool_], gone: NDArray[np.int64]
    ) -> None:
        """Keep a batch. episodes: those that begin in it, at rows counted from `base`; keep: which of them; gone: see
        `tally.Written`."""
        length = rows.state.size
        fresh = np.zeros(length, dtype=np.bool_)
        fresh[episodes.begun - base] = True
        flags = np.append(self._last, keep)
        mine = flags[np.cumsum(fresh)]
        if length:
            self._last = bool(mine[-1])
        low, high = self._data.reward_range
        paid = np.empty(0)
        if rows.reward.size:
            paid = ((np.clip(rows.reward, *self._data.declared) - low) / (high - low))[mine]
        propensity = rows.propensity[mine] if rows.propensity.size else np.empty(0)
        self._groups.append(rows.group[mine & fresh] if rows.group.size else rows.group)
        self._gone.append(gone[mine])
        if self._data.observed is not None:
            self._observed.append(rows.points[mine])
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
        starts, gone = np.append(np.flatnonzero(fresh), len(fresh)), np.concatenate(self._gone)
        lost = np.empty(0, dtype=np.int64)
        if self._data.loses:
            there = gone != STOPPED
            lost = np.maximum.reduceat(gone, starts[:-1]) if len(fresh) else lost
            starts = np.append(0, np.cumsum(there))[starts]
            states, actions, paid, propensity = (
                column[there] if column.size else column for column in (states, actions, paid, propensity)
            )
        knowledge = self._data.knowledge
        if knowledge.rewards is not None:
            step = np.arange(len(states)) - np.repeat(starts[:-1], np.diff(starts))
            paid = knowledge.rewards[np.minimum(step, len(knowledge.rewards) - 1), states, actions]
        columns = states.astype(np.int64), actions.astype(np.int64), paid, propensity
        observed = np.concatenate(self._observed) if self._observed else np.empty((0, 0))
        return Episodes(starts, *columns, np.concatenate(self._groups), (lost != THERE).astype(np.int64), observed)


def together(parts: Sequence[Episodes]) -> Episodes | None:
    """The episodes of all parts; None where none were kept."""
    if not parts:
        return None
    parts = [part for part in parts if part.people] or parts[:1]
    before = np.cumsum([0, *(len(part.states) for part in parts)])
    starts = [part.starts[:-1] + offset for part, offset in zip(parts, before, strict=False)]
    columns = (np.concatenate(column) for column in zip(*(part[1:] for part in parts), strict=True))
    return Episodes(np.append(np.concatenate(starts), before[-1]).astype(np.int64), *columns)


def _none() -> Episodes:
    nothing = np.empty(0, dtype=np.int64)
    return Episodes(np.zeros(1, dtype=np.int64), nothing, nothing, np.empty(0), np.empty(0))
