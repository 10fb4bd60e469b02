"""Tables from files that are read whole: JSON, JSON lines, arrays of numpy, and HDF5 as Minari and D4RL write it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ...errors import FormatError, InvalidInput, MissingExtra
from .arrays import MinariPart, from_arrays
from .columns import role_of
from .sources import DataPart, TablePart, readable

if TYPE_CHECKING:
    import h5py

FORMS = '[{"user": 1, "step": 0, ...}, ...], {"user": [1, ...], "step": [0, ...]}, or one object a line'


def json_part(path: Path) -> DataPart:
    """Rows as objects in a list or a line each, or columns as lists."""
    import pyarrow as pa

    if path.name.endswith(".ledger.json"):
        raise InvalidInput(
            "file-is-ledger", f"{path} is a ledger, and holds no data. Name the file that it lies beside."
        )
    with readable(str(path), "JSON"):
        text = path.read_text(encoding="utf-8-sig")
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            if "Extra data" not in str(error):
                raise
            content = [json.loads(line) for line in text.splitlines() if line.strip()]
        if isinstance(content, Mapping) and len(content) == 1:
            inner = next(iter(content.values()))  # such as {"data": [...]}
            content = inner if isinstance(inner, list) and inner and isinstance(inner[0], Mapping) else content
        with suppress(pa.ArrowException, AttributeError, TypeError):
            if isinstance(content, list) and content and all(isinstance(item, Mapping) for item in content):
                return TablePart.from_file(pa.Table.from_pylist(content), path)
            if isinstance(content, Mapping) and all(isinstance(item, list) for item in content.values()):
                return TablePart.from_file(pa.table(dict(content)), path)
    raise FormatError(
        "json-not-rows", f"{path} must hold rows, {FORMS}. It holds something else, or entries of mixed kinds."
    )


def lines_part(path: Path) -> DataPart:
    """JSON lines: an object a line."""
    from pyarrow import json as arrow_json

    with readable(str(path), "JSON lines"):
        return TablePart.from_file(arrow_json.read_json(str(path)), path)


def numpy_part(path: Path) -> DataPart:
    """An .npz file: columns, or (n, H) arrays, by name."""
    import numpy as np

    with readable(str(path), "arrays of numpy"), open(path, "rb") as file:
        content = np.load(file, allow_pickle=False)
        if isinstance(content, np.ndarray) and content.dtype.names is None:
            raise FormatError(
                "array-without-names",
                f"{path} holds one array without names. Save columns by name: numpy.savez(path, state=...).",
            )
        arrays = (
            dict(content) if not isinstance(content, np.ndarray) else {n: content[n] for n in content.dtype.names or ()}
        )
    return TablePart.from_file(from_arrays(arrays), path)


class _MinariGroup:
    """One group of a Minari file."""

    def __init__(self, number: int, group: h5py.Group) -> None:
        self.id = number
        self.actions, self.rewards = group["actions"][()], group["rewards"][()]
        observations = group["observations"]
        if isinstance(observations, Mapping):
            raise InvalidInput(
                "observations-dictionaries",
                "Observations that are dictionaries have no one number. Turn them into a table first.",
            )
        self.observations = observations[()]


class _Stored:
    """A Minari file on disk: its episodes, in order."""

    def __init__(self, path: str) -> None:
        self.path = path

    def iterate_episodes(self) -> Iterator[_MinariGroup]:
        """The episodes, one after the other."""
        with _hdf5().File(self.path, "r") as file:
            for name in sorted(file, key=lambda name_of: int(name_of.rpartition("_")[2])):
                yield _MinariGroup(int(name.rpartition("_")[2]), file[name])


def hdf5_part(path: Path) -> DataPart:
    """Episodes as Minari writes them, one group each; or columns as D4RL does."""
    with readable(str(path), "HDF5"), _hdf5().File(path, "r") as file:
        names = list(file)
        if names and all(name.startswith("episode_") for name in names):
            return MinariPart(str(path), _Stored(str(path)))
        arrays = {name: file[name][()] for name in names if role_of(name) and not isinstance(file[name], Mapping)}
    if not arrays:
        raise FormatError(
            "hdf5-content", f"{path} must hold episodes as Minari writes them, or columns by name. It holds neither."
        )
    return TablePart.from_file(from_arrays(arrays), path)


def _hdf5() -> ModuleType:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra(
            "h5py-missing", "h5py must be installed to read HDF5. It was not found. Run: pip install h5py"
        ) from error
    module: ModuleType = h5py
    return module
