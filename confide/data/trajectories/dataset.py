"""Logged episodes of many people, and what was publicly declared about them. Rows are read when they are counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...mdp.knowledge import Knowledge
from ...validation import Json
from .columns import Columns
from .groups import PublicGroups
from .keys import keys
from .labels import BY_END, MISSING, UNREADABLE, Coding, real_numbers, whole_numbers
from .observations import Observations
from .sources import DataPart
from .vectors import Vectors

if TYPE_CHECKING:
    import pyarrow as pa

ONE, LIMIT, GROUP, ALL = "one", "limit", "group", "all"
MOST_OF_A_HISTORY = 1000
"""Episodes of one person that are counted as one history, at most."""


@dataclass(frozen=True)
class Users:
    """The rule for people with several episodes: `one`, `limit`, `group` or `all`.

    `one`: there must be none. `limit`: one of them is drawn at random. `group`: up to `most` count, and what is
    guaranteed to a person is charged for that many. `all`: up to `most`, drawn at random of more, are one history, of which what a
    budget lets through is counted.
    """

    mode: str = ONE
    most: int = 1

    @classmethod
    def parse(cls, text: str) -> Users:
        """`one`, `limit`, `all:20` or `group:3`."""
        mode, colon, most = text.partition(":")
        way_out = "Write one, limit, all:20 for up to 20 episodes of a user, or group:3 if none has more than 3."
        validation.choice("users", mode, (ONE, LIMIT, GROUP, ALL), way_out)
        if (mode in (GROUP, ALL)) != bool(colon):
            raise validation.refusal("users-form", "users", "one, limit, all:K or group:K", text, way_out)
        largest = MOST_OF_A_HISTORY if mode == ALL else 10**6
        return cls(mode, validation.integer("episodes of a person", _whole(most), 2, largest) if colon else 1)

    @property
    def charged(self) -> int:
        """For how many episodes each a person is charged as a group; a history is priced by what is asked of it."""
        return self.most if self.mode == GROUP else 1

    @property
    def history(self) -> int:
        """Up to how many episodes of a person are one history; 0 where episodes are counted each by itself."""
        return self.most if self.mode == ALL else 0

    def unit(self, named: bool, by_row: bool = False) -> str:
        """The unit that is hidden, in words; named: whether a column tells people apart, by_row: each row is taken for one."""
        if by_row:
            return "one row (no column tells people apart: each row is taken for one person)"
        if self.mode == GROUP:
            return f"one person's up to {self.most} trajectories"
        if self.mode == ALL:
            return f"one person's whole history, of which up to {self.most} trajectories are used"
        if self.mode == LIMIT:
            return "one person's trajectories, of which one is used"
        return "one person's whole trajectory" if named else "one episode (no column tells people apart)"

    def __str__(self) -> str:
        return f"{self.mode}:{self.most}" if self.mode in (GROUP, ALL) else self.mode


class SamplingWeights(NamedTuple):
    """What is public of sampling weights: no weight exceeds the bound, and the mean of all is as declared."""

    bound: float
    mean: float

    def drawn(self, people: int) -> int:
        """How many of these people are drawn by weight: as many as leave the heaviest drawn at most once."""
        return max(1, int(people * self.mean / self.bound))


class Rows(NamedTuple):
    """A batch of rows as plain arrays of equal length; those without a column are empty.

    user, episode: keys. state, action, following: numbers, MISSING or UNREADABLE. absent: positions of rows whose
    person or episode is not given. points, next_points: (n, width), where states are vectors. propensity: of the action that
    was chosen. group: the number of the person's public group. lost: where people may be lost, 1 in rows after which they are, 2 in
    rows with a missing entry before which they are. weight: how many people of the population each stands for.
    """

    user: NDArray[np.int64]
    episode: NDArray[np.int64]
    step: NDArray[np.int64]
    state: NDArray[np.int64]
    action: NDArray[np.int64]
    following: NDArray[np.int64]
    reward: NDArray[np.float64]
    absent: NDArray[np.int64]
    points: NDArray[np.float64]
    next_points: NDArray[np.float64]
    propensity: NDArray[np.float64]
    group: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    lost: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    weight: NDArray[np.float64] = np.empty(0)

    def counted(self) -> Rows:
        """The same rows without the columns that no count looks at."""
        nothing = np.empty((0, 0))
        return self._replace(
            absent=self.absent[:0],
            points=nothing,
            next_points=nothing,
            propensity=np.empty(0),
            group=self.absent[:0],
            weight=np.empty(0),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Parts to be read, and their public declaration.

    knowledge: sizes, masks, known rewards. declared: rewards lie in it, in people's units; outside they are refused, or
    clipped if `clip`. reward_range: the same, widened to what steps after an episode's end pay, which is 0. first_step: the
    number of an episode's first step. folders: those that were named to be read; home: the only file or folder that was, beside
    which the ledger lies. vectors: how states are read, if they are vectors. labels_seen: whether
    labels came from the data. floor: no logged propensity is lower, where they are given. return_range: returns are clipped to it,
    in people's units, where it is declared. model_named: whether the dynamics were declared, or are the default. missing: what
    becomes of missing entries, which are refused by default. groups: public groups of people, if any are declared. weights: what is
    public of sampling weights, if people have any. observed: the columns that described features are made of, if states are that.
    """

    parts: tuple[DataPart, ...]
    knowledge: Knowledge
    columns: Columns
    states: Coding
    actions: Coding
    reward_range: tuple[float, float] = (0.0, 1.0)
    clip: bool = False
    users: Users = Users()
    first_step: int = 0
    home: Path | None = None
    vectors: Vectors | None = None
    folders: tuple[Path, ...] = ()
    declared: tuple[float, float] = (0.0, 1.0)
    labels_seen: bool = False
    floor: float | None = None
    return_range: tuple[float, float] | None = None
    model_named: bool = False
    missing: str | None = None
    groups: PublicGroups | None = None
    weights: SamplingWeights | None = None
    observed: Observations | None = None

    def with_dynamics(self, model: str) -> Dataset:
        """The same data for `stationary` or `per-step` dynamics."""
        return replace(self, knowledge=self.knowledge.with_dynamics(model))

    @property
    def loses(self) -> bool:
        """Whether people may be lost to follow-up, so that what would have followed is unknown."""
        return self.columns.lost is not None or self.missing == BY_END

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are read, as far as they are known: those that only a query names are when it was read."""
        return tuple(dict.fromkeys(file for part in self.parts for file in part.files))

    @property
    def unit(self) -> str:
        """The unit that is hidden, in words."""
        return self.users.unit(self.columns.user is not None, self.columns.by_row)

    def describe(self) -> dict[str, Json]:
        """The public declaration as plain values, for the record."""
        knowledge, vectors = self.knowledge, self.vectors
        vector_columns: Json = None
        listed = vectors is None and self.observed is None
        if vectors is not None:
            features = vectors.features
            vector_columns = {"columns": list(vectors.columns), "norm": features.bound, "intercept": features.intercept}
        return {
            "states": knowledge.states if listed else None,
            "vectors": vector_columns,
            **({} if self.observed is None else {"features": self.observed.features.plain()}),
            "actions": knowledge.spec.actions,
            "horizon": knowledge.spec.horizon,
            "model": knowledge.spec.dynamics,
            "ends": knowledge.ends,
            "end_reward": knowledge.end_reward,
            "rewards": "learned" if knowledge.rewards is None else "known",
            "reward_range": list(self.reward_range),
            "declared_range": list(self.declared),
            "return_range": None if self.return_range is None else list(self.return_range),
            "clip": self.clip,
            **({} if self.missing is None else {"missing": self.missing}),
            **({} if self.groups is None else {"groups": self.groups.describe()}),
            **({} if self.weights is None else {"weights": self.weights._asdict()}),
            "users": str(self.users),
            "columns": asdict(self.columns),
            "steps_from": self.first_step,
            "propensity_floor": self.floor,
            "edges": {kind: dict(code.cuts) for kind, code in self._codes() if code.cuts},
        }

    def _codes(self) -> tuple[tuple[str, Coding], ...]:
        return ("states", self.states), ("actions", self.actions)

    def rows(self, part: DataPart, key: int, threads: bool = False) -> Iterator[Rows]:
        """The rows of a part; `key` hashes the names of people."""
        more = [] if self.groups is None or self.groups.column in self.columns.names else [self.groups.column]
        for batch in part.batches([*self.columns.names, *more], threads):
            if batch.num_rows:
                yield self._decoded(batch, key)

    def _decoded(self, batch: pa.RecordBatch, key: int) -> Rows:
        columns = self.columns
        nothing = np.empty(0, dtype=np.int64)
        absent = np.zeros(batch.num_rows, dtype=np.bool_)

        def named(column: str | None) -> NDArray[np.int64]:
            if column is None:
                return nothing
            numbers, missing = keys(batch.column(column), key)
            if missing is not None:
                np.logical_or(absent, missing, out=absent)
            return numbers

        user, episode = named(columns.user or columns.episode), named(columns.episode if columns.user else None)
        here, after = ([batch.column(name) for name in names] for names in (columns.state, columns.next_state))
        points, next_points = np.empty((0, 0)), np.empty((0, 0))
        if self.observed is not None:
            points, following = self.observed.read(here), nothing
            state = self.observed.coded(points)
        elif self.vectors is None:
            state, following = self.states.encode(here), self.states.encode(after) if after else nothing
        else:
            points, next_points = self.vectors.read(here), self.vectors.read(after) if after else next_points
            state, following = self.vectors.coded(points), self.vectors.coded(next_points) if after else nothing
        if len(following) and self.knowledge.end is not None:
            # Only a flag leads into the end state: a number that happens to be its own is none of the declared.
            following[following == self.knowledge.end] = UNREADABLE
            if columns.ended is not None:
                following[np.nan_to_num(real_numbers(batch.column(columns.ended))) != 0] = self.knowledge.end
        action = self.actions.encode([batch.column(name) for name in columns.action])
        reward = real_numbers(batch.column(columns.reward)) if columns.reward else np.empty(0)
        return Rows(
            user,
            episode,
            whole_numbers(batch.column(columns.step)) if columns.step else nothing,
            state,
            action,
            following,
            reward,
            np.flatnonzero(absent) if absent.any() else nothing,
            points,
            next_points,
            real_numbers(batch.column(columns.propensity)) if columns.propensity else np.empty(0),
            self.groups.encode(batch.column(self.groups.column)) if self.groups is not None else nothing,
            self._lost(batch, state, action, reward) if self.loses else nothing,
            real_numbers(batch.column(columns.weight)) if columns.weight else np.empty(0),
        )

    def _lost(
        self, batch: pa.RecordBatch, state: NDArray[np.int64], action: NDArray[np.int64], reward: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Where people are lost; see `Rows`. Who came to an end in a row is not lost after it."""
        found = np.zeros(batch.num_rows, dtype=np.int64)
        if self.columns.lost is not None:
            found[np.nan_to_num(real_numbers(batch.column(self.columns.lost))) != 0] = 1
        if self.columns.ended is not None:
            found[np.nan_to_num(real_numbers(batch.column(self.columns.ended))) != 0] = 0
        if self.missing == BY_END:
            found[(state == MISSING) | (action == MISSING)] = 2
            found[: len(reward)][np.isnan(reward)] = 2
        return found

    def __repr__(self) -> str:
        """A text that tells shapes only."""
        spec = self.knowledge.spec
        states = "vectors" if self.vectors or self.observed else self.knowledge.states
        sizes = f"states={states}, actions={spec.actions}, horizon={spec.horizon}"
        return f"Dataset(parts={len(self.parts)}, {sizes})"


def first_step(parts: tuple[DataPart, ...], column: str | None) -> int:
    """The number of an episode's first step, 0 or 1: as the first row has it, whose step is an episode's first."""
    if column is None:
        return 0
    for part in parts:
        for batch in part.beginning([column]):
            if batch.num_rows:
                number = int(whole_numbers(batch.column(0).slice(0, 1))[0])
                if number not in (0, 1):
                    raise InvalidInput(
                        "steps-not-from-first",
                        f"Steps must be numbered from 0 or 1. Row 1 of {part.name} is not a first step. "
                        "Sort the rows by person and step (--sort), or name another column.",
                    )
                return number
    return 0


def _whole(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
