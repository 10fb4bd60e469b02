"""Tables from what lies in memory (arrays, data frames, Arrow tables) and from Minari data sets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InvalidInput, MissingExtra, install
from .columns import ACTION, EPISODE, NEXT_STATE, REWARD, STATE, STEP, role_of
from .sources import DataPart, TablePart, Typed

if TYPE_CHECKING:
    import pyarrow as pa

WAY_OUT = "Give a table with an Arrow interface, a dictionary of columns, or arrays with a row for each person."


def table_of(source: Any) -> DataPart:
    """A part from an object in memory."""
    import pyarrow as pa

    if isinstance(source, Mapping):
        return TablePart(from_arrays(source))
    if isinstance(source, np.ndarray) and source.dtype.names is not None:
        return TablePart(from_arrays({name: source[name] for name in source.dtype.names}))
    if hasattr(source, "collect") and not hasattr(source, "__arrow_c_stream__"):
        source = source.collect()  # as polars has it
    if hasattr(source, "iterate_episodes"):
        return MinariPart(getattr(source.spec, "dataset_id", "minari"), source)
    try:
        if isinstance(source, Sequence) and source and all(isinstance(row, Mapping) for row in source):
            return TablePart(pa.Table.from_pylist(list(source)))
        return TablePart(source if isinstance(source, pa.Table) else pa.table(source))
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise InvalidInput(
            "source-unreadable", f"{type(source).__name__} cannot be read as a table. {WAY_OUT}"
        ) from error


def from_arrays(source: Mapping[str, ArrayLike]) -> pa.Table:
    """Columns of equal length, (n,) or (n, d); or (n, H) arrays, a row for each person, with states of (n, H) or (n, H+1)."""
    import pyarrow as pa

    arrays = {name: _plain_array(name, value) for name, value in source.items()}
    if len({len(array) for array in arrays.values()}) == 1 and all(array.ndim <= 2 for array in arrays.values()):
        if all(array.ndim == 1 for array in arrays.values()):
            return pa.table(arrays)
        if any(array.ndim == 1 for array in arrays.values()):  # vectors, beside columns
            return pa.table(
                {key: column for name, array in arrays.items() for key, column in _columns(name, array).items()}
            )
    by_role = {_role(name): array for name, array in arrays.items()}
    states, actions = by_role.get(STATE), by_role.get(ACTION)
    if states is None or actions is None or states.ndim != 2 or actions.ndim != 2:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InvalidInput(
            "array-lengths", f"Arrays must be columns of equal length, or states and actions of (n, H). Got {shapes}."
        )
    people, steps = actions.shape
    wanted: dict[str, tuple[tuple[int, int], ...]] = {
        STATE: ((people, steps), (people, steps + 1)),
        ACTION: ((people, steps),),
        REWARD: ((people, steps),),
        NEXT_STATE: ((people, steps),),
    }
    for role, array in by_role.items():
        if array.shape not in wanted.get(role, ()):
            raise InvalidInput(
                "array-shapes", f"Arrays must agree in shape with actions {actions.shape}. {role} has {array.shape}."
            )
    if states.shape[1] > steps:
        by_role[NEXT_STATE] = states[:, 1:]
    columns = {role: array[:, :steps].ravel() for role, array in by_role.items()}
    numbers = np.arange(people * steps)
    return pa.table({EPISODE: numbers // steps, STEP: numbers % steps, **columns})


def _plain_array(name: str, value: ArrayLike) -> NDArray[np.generic]:
    array = np.asarray(value)
    if array.ndim == 0:
        raise InvalidInput("array-scalar", f"Array {name!r} is a single number or an object. {WAY_OUT}")
    return array


def _role(name: str) -> str:
    """The role of an array, singular or plural."""
    role = role_of(name)
    if role is not None:
        return role
    raise InvalidInput(
        "array-unknown", f"Array {name!r} is none of states, actions, rewards and next_states. Rename it."
    )


class RecordedEpisode(Protocol):
    """An episode as Minari records it."""

    id: int
    observations: ArrayLike
    actions: ArrayLike
    rewards: ArrayLike


class Recording(Protocol):
    """A Minari data set, of which only the episodes are looked at."""

    def iterate_episodes(self) -> Iterator[RecordedEpisode]:
        """The episodes, one after the other."""
        ...


@dataclass(frozen=True)
class MinariPart(Typed):
    """A Minari data set; its environment is never made.

    Observations and actions that are vectors give the columns `state_0`, `state_1`, ..., to be cut by public edges.
    """

    name: str
    loaded: Recording | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the data set is stored in."""
        data = self._data()
        stored = getattr(data, "path", getattr(getattr(data, "storage", None), "data_path", os.devnull))
        place = Path(str(stored))
        return tuple(sorted(str(file) for file in (place, *place.glob("*")) if file.is_file()))

    def _data(self) -> Recording:
        if self.loaded is not None:
            return self.loaded
        try:
            import minari

            stored: Recording = minari.load_dataset(self.name)
            return stored
        except ImportError as error:
            raise MissingExtra(
                "minari-missing",
                f"minari, with its storage, must be installed. It was not found. {install('minari')}",
            ) from error
        except (ValueError, KeyError, OSError) as error:
            raise InvalidInput(
                "minari-set-missing", f"There is no Minari data set {self.name!r} on this machine. Download it first."
            ) from error

    def schema(self) -> pa.Schema:
        """The schema of the first episode."""
        for batch in self.batches(()):
            return batch.schema
        raise InvalidInput("minari-empty", f"The Minari data set {self.name!r} has no episodes.")

    def batches(self, columns: Sequence[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
        """The episodes, one batch each; all columns if none are named."""
        import pyarrow as pa

        for episode in self._data().iterate_episodes():
            actions = np.asarray(episode.actions)
            steps = len(actions)
            states = np.asarray(_plain(episode.observations))
            columns_of = {
                EPISODE: np.full(steps, int(episode.id)),
                STEP: np.arange(steps),
                **_columns(STATE, states[:steps]),
                **_columns(ACTION, actions),
                REWARD: np.asarray(episode.rewards, dtype=np.float64),
            }
            if len(states) > steps:
                columns_of |= _columns(NEXT_STATE, states[1 : steps + 1])
            yield pa.record_batch({name: columns_of[name] for name in columns or columns_of})


def _plain(observations: ArrayLike) -> ArrayLike:
    if isinstance(observations, Mapping):
        raise InvalidInput(
            "observations-dictionaries",
            "Observations that are dictionaries have no one number. Turn them into a table first.",
        )
    return observations


def _columns(role: str, values: ArrayLike) -> dict[str, NDArray[np.generic]]:
    """One column, or one for each entry of a vector; the state after `state_0` is `next_state_0`."""
    flat = np.asarray(values).reshape(len(np.asarray(values)), -1)
    if flat.shape[1] == 1:
        return {role: flat[:, 0]}
    return {f"{role}_{i}": flat[:, i] for i in range(flat.shape[1])}
