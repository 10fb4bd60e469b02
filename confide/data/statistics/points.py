"""Logged steps of people whose states are vectors: collected once, by step, and asked again for every question.

Vectors are scaled to length 1 at most and cut to whole numbers as they are read. Sums are taken in floats, a piece at a
time, each so small that every sum in it is a whole number below 2^53: they are exact, in any order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...mdp.critic import Critic
from ...mdp.linear import Array, BlockFeatures, BlockPoints
from ...protocol.kinds.gram import FEATURE_BITS, TARGET_BITS, VALUE, GramForm, GramQuestion
from ..trajectories.dataset import Dataset, Rows
from .gram import Integers, Logged, check_size, cut

PIECE = 1 << 15
"""Rows that are looked at together."""

EXACT = 53
"""Whole numbers below 2^53 are exact in floats, and so are their sums."""


class StepPoints(NamedTuple):
    """Sensitive: every user who came to one step, in one order for all steps.

    rows: (n, d) scaled features in units of 2^-FEATURE_BITS; actions: (n,); rewards: (n,) in units of 2^-TARGET_BITS;
    stays: (n,) whether a further step follows. So those who stay are those of the next step.
    """

    rows: NDArray[np.int32]
    actions: NDArray[np.int32]
    rewards: NDArray[np.int32]
    stays: NDArray[np.bool_]


class PointCollector:
    """Collects the rows of one part whose states are vectors, in their order."""

    def __init__(self, data: Dataset) -> None:
        """An empty collector for a data set."""
        width = 0 if data.vectors is None else data.vectors.features.dimension
        nothing = np.empty((0, width), dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        self._data, self._batches, self._last = data, [nothing], np.empty((1, 0))

    def add(self, features: BlockFeatures, rows: Rows, fresh: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Keep a batch. fresh: (n,), whether a row begins an episode. Returns positions of rows that do not begin in
        the next state of the row before."""
        low, high = self._data.reward_range
        paid = (np.clip(rows.reward, *self._data.declared) - low) / (high - low)
        features_cut = cut(features.scaled(rows.points), FEATURE_BITS).astype(np.int32)
        self._batches.append((features_cut, rows.action.astype(np.int32), cut(paid, TARGET_BITS).astype(np.int32)))
        if not rows.next_points.size:
            return np.empty(0, dtype=np.int64)
        before = np.concatenate([self._last if self._last.size else rows.points[:1], rows.next_points[:-1]])
        self._last = rows.next_points[-1:]
        return np.flatnonzero(~fresh & ~np.isnan(before).all(axis=1) & (before != rows.points).any(axis=1))

    def steps(self, begun: NDArray[np.int64], keep: NDArray[np.bool_], horizon: int) -> tuple[StepPoints, ...]:
        """(H,) all that was collected, by step. begun: first rows of episodes, from 0; keep: which episodes count."""
        lengths = [len(batch[1]) for batch in self._batches]
        count = sum(lengths)
        fresh = np.zeros(count + 1, dtype=np.bool_)
        fresh[begun], fresh[count] = True, True
        episode = np.cumsum(fresh[:count]) - 1
        step = np.arange(count) - begun[episode]
        step[~keep[episode]] = -1
        steps = np.split(step, np.cumsum(lengths)[:-1])
        collected = []
        for h in range(horizon):
            here = [mine == h for mine in steps]
            columns = [[batch[i][mask] for batch, mask in zip(self._batches, here, strict=True)] for i in range(3)]
            rows, actions, rewards = (np.concatenate(pieces) for pieces in columns)
            collected.append(StepPoints(rows, actions, rewards, ~fresh[1:][step == h]))
        return tuple(collected)


def joined(parts: Sequence[tuple[StepPoints, ...]]) -> tuple[StepPoints, ...]:
    """All parts together, step by step."""
    if len(parts) == 1:
        return parts[0]
    steps = zip(*parts, strict=True)
    return tuple(StepPoints(*(np.concatenate(column) for column in zip(*step, strict=True))) for step in steps)


def random_halves(people: int) -> NDArray[np.bool_]:
    """(n,) for a random half of the people True: drawn from the operating system, without a look at the data."""
    half = np.zeros(people, dtype=np.bool_)
    half[np.argsort(np.frombuffer(os.urandom(8 * people), dtype=np.uint64), kind="stable")[: people // 2]] = True
    return half


class _Taken(NamedTuple):
    """Rows with the one action that was taken."""

    rows: Array
    action: int
    allowed: bool = True

    def each(self, function: Callable[[Array, int], Array]) -> Array:
        """(n, 1)."""
        return function(self.rows, self.action)[:, None]


@dataclass(frozen=True, eq=False)
class LoggedPoints:
    """`Logged` steps of people whose states are vectors. second: (n,) who is in the second group, if there are two."""

    features: BlockFeatures
    steps: tuple[StepPoints, ...] = field(repr=False)
    second: NDArray[np.bool_] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"LoggedPoints(people={sum(self.people)})"

    @property
    def people(self) -> tuple[int, ...]:
        """How many, in each group."""
        counts = len(self.steps[0].actions)
        return (counts,) if self.second is None else (counts - int(self.second.sum()), int(self.second.sum()))

    def sums(self, question: GramQuestion) -> tuple[Integers, Integers]:
        """The Gram matrix and vectors of a question, exactly: see `Logged`."""
        form, step, kind = question.form, question.step, question.kind
        check_size(form, step, kind, sum(self.people))
        values = self._after(form, step, question.values)
        middles = [cut(middle, TARGET_BITS) for middle in form.middle(step, kind)]
        here, size = self.steps[step], self.features.dimension
        mine = self._group(step, form.half(kind))
        matrix = np.zeros((self.features.blocks, size, size), dtype=np.int64)
        vectors = np.zeros((len(middles), self.features.blocks, size), dtype=np.int64)
        for action in range(self.features.actions):
            chosen = np.flatnonzero(mine & (here.actions == action))
            for piece in _pieces(chosen, max(form.ranges(step, kind))):
                rows, value = _scaled(here.rows[piece]), values[piece]
                if kind == VALUE:
                    spread = np.ones((len(piece), 1))
                    if question.variances is not None:
                        spread = question.variances.at(_Taken(rows, action))
                    square, linear = _cut(rows / np.sqrt(spread)), _cut(rows / spread)
                    targets = [here.rewards[piece] + cut(value, TARGET_BITS) - middles[0]]
                else:
                    square = linear = _cut(rows)
                    targets = [cut(value**2, TARGET_BITS) - middles[0], cut(value, TARGET_BITS) - middles[1]]
                matrix[action] += (square.T @ square).astype(np.int64)
                vectors[:, action] += (np.array(targets, dtype=np.float64) @ linear).astype(np.int64)
        return matrix, vectors

    def values(self, form: GramForm, first: Critic) -> Integers:
        """The sums of returns and of V_1, exactly: see `Logged`."""
        steps = sum(len(step.actions) for step in self.steps)
        after = int(cut(form.end_reward or 0.0, TARGET_BITS)) * (sum(self.people) * form.horizon - steps)
        earned = sum(int(step.rewards.sum(dtype=np.int64)) for step in self.steps) + after
        return np.array([earned, int(cut(self._values(0, first), TARGET_BITS).sum())])

    def _after(self, form: GramForm, step: int, critic: Critic | None) -> Array:
        """(n,) V of where every user went from this step: the next step, or the end."""
        values = np.full(len(self.steps[step].actions), form.end_value(step + 1))
        if critic is not None:
            values[self.steps[step].stays] = self._values(step + 1, critic)
        return values

    def _values(self, step: int, critic: Critic) -> Array:
        """(n,) V at the states of a step."""
        rows = self.steps[step].rows
        pieces = [_scaled(rows[at : at + PIECE]) for at in range(0, len(rows), PIECE)]
        values = [critic.value(BlockPoints(piece, self.features.actions)) for piece in pieces]
        return np.concatenate(values) if values else np.zeros(0)

    def _group(self, step: int, group: int) -> NDArray[np.bool_]:
        """(n,) which people of a step are in a group."""
        if self.second is None:
            return np.ones(len(self.steps[step].actions), dtype=np.bool_)
        second = self.second
        for earlier in self.steps[:step]:
            second = second[earlier.stays]
        return np.asarray(second == bool(group))


class StoredSteps(Protocol):
    """Sensitive: every user's steps, wherever they lie, until they are let go."""

    def logged(self, features: BlockFeatures, split: bool) -> Logged:
        """The steps, ready to answer questions. split: in two random halves of the people."""
        ...

    def close(self) -> None:
        """Release the steps."""
        ...


class StepsInMemory(NamedTuple):
    """Steps in the memory of this machine."""

    steps: tuple[StepPoints, ...]

    def __repr__(self) -> str:
        return "StepsInMemory()"

    def logged(self, features: BlockFeatures, split: bool) -> LoggedPoints:
        """The steps, ready to answer questions: see `StoredSteps`."""
        people = len(self.steps[0].actions)
        return LoggedPoints(features, self.steps, random_halves(people) if split else None)

    def close(self) -> None:
        """Nothing is held but memory."""


def _pieces(chosen: NDArray[np.int64], top: float) -> Iterator[NDArray[np.int64]]:
    """Positions, so few at a time that sums of features, and of features times targets up to `top`, are exact."""
    most = int(2.0 ** (EXACT - FEATURE_BITS - max(FEATURE_BITS, TARGET_BITS + np.ceil(np.log2(max(top, 1.0))))))
    size = max(1, min(PIECE, most))
    for at in range(0, len(chosen), size):
        yield chosen[at : at + size]


def _scaled(rows: NDArray[np.int32]) -> Array:
    return np.asarray(rows * 2.0**-FEATURE_BITS, dtype=np.float64)


def _cut(rows: Array) -> Array:
    """Whole multiples of 2^-FEATURE_BITS, as floats."""
    return np.asarray(np.trunc(rows * float(1 << FEATURE_BITS)))
