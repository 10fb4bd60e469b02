"""Synthetic trajectories: people who never lived, drawn from the model that a private release gives.

Post-processing, so nothing is spent and the guarantee of the release covers every row. Good for: trying out code, teaching, showing
the shape of data that may not be shown itself. Not good for: a second opinion. A finding in synthetic rows is at most as good as
the release that they were drawn from; they know only what a Markov chain over the declared states knows, and where the release is
mostly noise they are too.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput, MissingExtra, install
from ...learning.planning.logged import LoggedModel, logged_model
from ..results.fit import Fit
from .findings import Units, first_states
from .plan import COUNTS
from .refit import releases_of

if TYPE_CHECKING:
    import pyarrow

PRACTICE, POLICY = "practice", "policy"
FOLLOWED = (PRACTICE, POLICY)
"""How synthetic people act: as the logged people did, or by the learned policy (and as logged where that changes nothing)."""

MARK = "synthetic"
"""A column that is true in every row, so that no file of these is ever taken for a log of people."""

MOST_ROWS = 50_000_000


@dataclass(frozen=True, eq=False)
class SyntheticLog:
    """columns: name and entries of each column, row by row, people after people; walk: the same in numbers. note: where they come
    from, and what they hide.
    """

    columns: dict[str, NDArray[np.generic]]
    walk: Walk
    note: dict[str, str]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.columns[MARK])

    def table(self) -> pyarrow.Table:
        """The rows as an Arrow table, with the note as its metadata."""
        import pyarrow as pa

        made = pa.table({name: pa.array(column) for name, column in self.columns.items()})
        return made.replace_schema_metadata({b"confide": json.dumps(self.note).encode()})

    def save(self, path: str | Path) -> Path:
        """Write a Parquet or CSV file, by the name's ending, whole or not at all."""
        target = Path(path)
        if target.suffix not in WRITERS:
            raise InvalidInput(
                "synthetic-form-unknown",
                f"Synthetic trajectories are written to {', '.join(WRITERS)}. Got {str(path)!r}. End it so, or say minari:NAME.",
            )
        if target.exists():
            raise InvalidInput("synthetic-file-there", f"{path} is there already. Choose another name, or remove it.")
        draft = target.with_name(f".{target.name}.partial")
        try:
            WRITERS[target.suffix](self.table(), draft)
            draft.replace(target)
        except OSError as error:
            raise InvalidInput(
                "synthetic-file-not-written",
                f"{path} could not be written: {error.strerror or type(error).__name__}. Choose another place.",
            ) from error
        finally:
            draft.unlink(missing_ok=True)
        return target


def _parquet(table: pyarrow.Table, path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(table, path)


def _csv(table: pyarrow.Table, path: Path) -> None:
    from pyarrow import csv

    csv.write_csv(table, path)


WRITERS: dict[str, Callable[[pyarrow.Table, Path], None]] = {".parquet": _parquet, ".csv": _csv}


def synthesize(fit: Fit, people: int, follow: str = PRACTICE, seed: int = 0) -> SyntheticLog:
    """Draw as many synthetic people from the model of a fit's release; the same seed draws the same ones.

    The columns have the names that the log's had, and states and actions their labels, so that the same fit file serves both.
    """
    people = validation.integer("people", people, 1)
    follow = validation.choice("follow", follow, FOLLOWED)
    walk = Walk.of(fit, follow, people, np.random.default_rng(validation.integer("seed", seed, 0)))
    names = _names(fit)
    states, actions = np.array(fit.states), np.array(fit.actions)
    units = Units.of(fit.config)
    columns: dict[str, NDArray[np.generic]] = {
        names["user"]: walk.person,
        names["step"]: walk.step + int(fit.config.get("steps_from") or 0),
        names["state"]: _labelled(states, walk.state),
        names["action"]: _labelled(actions, walk.action),
        names["reward"]: units.low + (units.high - units.low) * walk.reward,
    }
    if fit.knowledge.spec.horizon > 1 and fit.knowledge.end is None:  # else who ends has no state after
        columns[names["next_state"]] = _labelled(states, walk.following)
    columns[MARK] = np.ones(len(walk.person), dtype=np.bool_)
    note = {
        "is": "synthetic trajectories: drawn from a private release; no row is a real user",
        "follow": follow,
        "guarantee": str(fit.certificate.guarantee),
        "hides": fit.certificate.guarantee.unit,
    }
    return SyntheticLog(columns, walk, note)


def to_minari(log: SyntheticLog, fit: Fit, name: str) -> str:
    """Keep the episodes as a Minari data set of that name on this machine, and return its name."""
    try:
        import minari
        from minari.data_collector import EpisodeBuffer
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "minari-missing",
            f"minari, with its storage, must be installed. It was not found. {install('minari')}",
        ) from error
    import gymnasium

    knowledge, walk = fit.knowledge, log.walk
    end = knowledge.states
    following = walk.following if knowledge.spec.horizon > 1 else np.full(len(walk.person), end)
    person = walk.person
    starts = np.append(np.flatnonzero(np.append(True, np.diff(person) != 0)), len(person))
    episodes = []
    rewards = np.asarray(log.columns[_names(fit)["reward"]], dtype=np.float64)
    for number, (first, after) in enumerate(pairwise(starts.tolist())):
        rows, over = slice(first, after), np.arange(first, after) == after - 1
        ended = following[after - 1] == end
        episodes.append(
            EpisodeBuffer(
                id=number,
                observations=np.append(walk.state[rows], following[after - 1]),
                actions=walk.action[rows],
                rewards=rewards[rows],
                terminations=over & ended,
                truncations=over & ~ended,
            )
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it asks for authors and code, which the note has no room for
        minari.create_dataset_from_buffers(
            dataset_id=name,
            buffer=episodes,
            observation_space=gymnasium.spaces.Discrete(knowledge.states + 1),
            action_space=gymnasium.spaces.Discrete(knowledge.spec.actions),
            description=json.dumps(log.note),
            data_format="arrow",  # pyarrow is here already
        )
    return name


def _names(fit: Fit) -> dict[str, str]:
    """The columns' names: those of the log where a role had one column of its own, else the role's."""
    known = fit.config.get("columns") or {}
    names = {}
    for role in ("user", "step", "state", "action", "reward", "next_state"):
        given = known.get(role)
        given = given[0] if isinstance(given, list | tuple) and len(given) == 1 else given
        names[role] = given if isinstance(given, str) and not given.startswith("confide:") else role
    return names


def _labelled(labels: NDArray[np.str_], numbers: NDArray[np.int64]) -> NDArray[np.generic]:
    """The labels of these numbers; the numbers themselves where nothing else was declared."""
    return numbers if list(labels) == [str(number) for number in range(len(labels))] else labels[numbers]


@dataclass(frozen=True, eq=False)
class Walk:
    """One row a step: (rows,) each, people after people."""

    person: NDArray[np.int64]
    step: NDArray[np.int64]
    state: NDArray[np.int64]
    action: NDArray[np.int64]
    reward: NDArray[np.float64]
    following: NDArray[np.int64]

    @classmethod
    def of(cls, fit: Fit, follow: str, people: int, rng: np.random.Generator) -> Walk:
        """Walk all of them at once, step by step, until they end or the horizon does."""
        knowledge, releases = fit.knowledge, releases_of(fit)
        horizon = knowledge.spec.horizon
        if people * horizon > MOST_ROWS:
            most = MOST_ROWS // horizon
            raise InvalidInput(
                "too-many-synthetic-people",
                f"people must be at most {most:,} at {horizon} steps. Got {people:,}. Draw them in parts.",
            )
        model = logged_model(releases[COUNTS], knowledge, first_states(knowledge, releases))
        acting = _acting(fit, model, follow)
        here, who = _drawn(np.broadcast_to(model.initial, (people, len(model.initial))), rng), np.arange(people)
        rows = []
        for h in range(horizon):
            layer = h if len(model.rows) > 1 else 0
            action = _drawn(acting[h][here], rng)
            mean = model.rewards[layer][here, 1 + action]
            reward = mean if knowledge.rewards is not None else (rng.random(len(who)) < mean).astype(np.float64)
            after = _next_states(model, layer, here, action, rng) if horizon > 1 else here
            rows.append((who, np.full(len(who), h), here, action, reward, after))
            going = after != knowledge.end if knowledge.end is not None else np.ones(len(who), dtype=np.bool_)
            here, who = after[going], who[going]
        person, step, state, action, reward, after = (np.concatenate(column) for column in zip(*rows, strict=True))
        order = np.lexsort((step, person))
        return cls(person[order], step[order], state[order], action[order], reward[order], after[order])


def _acting(fit: Fit, model: LoggedModel, follow: str) -> NDArray[np.float64]:
    """(H, S, A): with which probability synthetic people take each action."""
    horizon, states = model.knowledge.spec.horizon, model.knowledge.states
    usual = np.broadcast_to(model.behaviour, (horizon, *model.behaviour.shape[1:]))
    if follow == PRACTICE:
        return usual
    policy = fit.table()
    mixed = usual.copy()
    mixed[:, :states] = policy.followed_by(usual[:, :states]).probabilities
    return mixed


def _drawn(chances: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """(n,) one index for each row of chances (n, m)."""
    ends = np.cumsum(chances, axis=-1)
    picks = (ends < rng.random((len(chances), 1)) * ends[:, -1:]).sum(axis=-1)
    return np.asarray(np.minimum(picks, chances.shape[-1] - 1))


def _next_states(
    model: LoggedModel, layer: int, state: NDArray[np.int64], action: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """(n,) where each of the pairs leads: one search over the possible cells of all rows, of which row i climbs from i to i + 1."""
    ways, chances = model.knowledge.ways, model.rows.chances[layer]
    mass = np.bincount(ways.rows, chances, len(ways.starts) - 1)
    ends = np.cumsum(chances / np.maximum(mass, 1e-300)[ways.rows])
    row = state * model.knowledge.spec.actions + action
    first, last = ways.starts[row], ways.starts[row + 1] - 1
    before = np.append(0.0, ends)[first]
    picks = np.searchsorted(ends, before + rng.random(len(row)) * (ends[last] - before), side="right")
    return np.asarray(ways.following[np.clip(picks, first, last)], dtype=np.int64)
