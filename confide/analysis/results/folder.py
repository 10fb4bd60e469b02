"""A folder of results that is there whole or not at all, whatever happens while it is written, and its plain parts."""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import shutil
import sys
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ConfideError, FormatError, InvalidInput
from ...validation import Json

CONFIG, CERTIFICATE, POLICY = "config.json", "certificate.json", "policy.npz"

# What Python, numpy and pyarrow raise on files that are not what their name says.
_UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile, zlib.error)


def check_free(folder: str | Path, names: Collection[str], replace: bool = False) -> Path:
    """The folder as a path, refused if results cannot be put there; ask before a long run.

    A folder that exists is taken only if it is empty, or if it is to be replaced and holds nothing but `names`.
    """
    path = Path(os.path.abspath(folder))
    above = next(parent for parent in path.parents if os.path.lexists(parent))
    if not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
        raise InvalidInput(
            "folder-not-writable",
            f"{path} must be in a folder that can be written to. {above} is none. Choose another.",
        )
    if not os.path.lexists(path):
        return path
    if path == Path.cwd():
        raise InvalidInput(
            "folder-is-current",
            f"{path} is the folder that this runs in, which cannot be replaced. Name one inside of it.",
        )
    if path.is_symlink() or not path.is_dir():
        raise InvalidInput(
            "folder-is-a-file", f"{path} must be a folder or not exist. It is a file or a link. Choose another name."
        )
    inside = sorted(entry.name for entry in path.iterdir())
    if not inside:
        return path
    strange = [name for name in inside if name not in names]
    if strange:
        raise InvalidInput(
            "folder-holds-other-files",
            f"{path} holds {strange[0]!r}, which is no part of a result. Choose another folder.",
        )
    if not replace:
        raise InvalidInput(
            "folder-holds-result", f"{path} holds a result already. Choose another folder, or replace it (--replace)."
        )
    return path


@contextmanager
def complete_folder(folder: Path) -> Iterator[Path]:
    """A new folder to write into, which takes the name `folder` when the block ends, and is removed if the block fails.

    The name changes in one step, after everything is on disk: a reader, and a process that is killed, find the old
    folder or the new one, complete. A process that is killed may leave a hidden folder `.NAME.*.partial` beside it.
    """
    draft = folder.parent / f".{folder.name}.{secrets.token_hex(8)}.partial"
    draft.mkdir(parents=True)
    try:
        yield draft
        for path in (*sorted(draft.iterdir()), draft):
            _sync(path)
        if folder.is_dir() and any(folder.iterdir()):
            _exchange(draft, folder)  # the draft is now the old folder
        else:
            os.rename(draft, folder)
        _sync(folder.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def discard(folder: Path) -> None:
    """Remove a folder: in one step its name, so that half of it is never found, and then what was in it."""
    draft = folder.parent / f".{folder.name.lstrip('.')}.{secrets.token_hex(8)}.partial"
    with suppress(OSError):
        os.rename(folder, draft)
    shutil.rmtree(draft, ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _exchange(first: Path, second: Path) -> None:
    """Swap the names of two folders in one step, which POSIX has no call for, but Linux and macOS do."""
    library = ctypes.CDLL(None, use_errno=True)
    first_name, second_name = os.fsencode(first), os.fsencode(second)
    here, swap = -100, 2  # AT_FDCWD; RENAME_EXCHANGE, and RENAME_SWAP alike
    try:
        failed = (
            library.renamex_np(first_name, second_name, swap)
            if sys.platform == "darwin"
            else library.renameat2(here, first_name, here, second_name, swap)
        )
        reason = os.strerror(ctypes.get_errno()) if failed else ""
    except AttributeError:
        reason = "the system has no call for it"
    if reason:
        raise InvalidInput(
            "folder-not-replaceable", f"{second} cannot be replaced in one step: {reason}. Choose another folder."
        )


def paid_place(folder: Path) -> Path:
    """The place of a release that was paid for and not learned from yet: hidden, beside the folder it was meant for."""
    path = Path(os.path.abspath(folder))
    return path.with_name(f".{path.name}.paid")


def kept_place(folder: Path) -> Path:
    """The place of the finished seeds of a run that is not finished: hidden, beside the folder it is to be saved in."""
    path = Path(os.path.abspath(folder))
    return path.with_name(f".{path.name}.seeds")


def config_text(schema: str, config: dict[str, Json]) -> str:
    """Plain values as JSON, with the schema first."""
    return json.dumps({"schema": schema, **config}, indent=2, allow_nan=False, default=_plain) + "\n"


def write_config(draft: Path, schema: str, config: dict[str, Json]) -> None:
    """Write plain values as JSON, with the schema first."""
    (draft / CONFIG).write_text(config_text(schema, config), encoding="utf-8")


def read_config(path: Path, schema: str) -> dict[str, Any]:
    """The values that `write_config` wrote under that schema."""
    config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    kind = config.pop("schema", None) if isinstance(config, dict) else type(config).__name__
    if kind != schema:
        kinds = {"confide.run/1": "a simulated run", "confide.fit/1": "a fitted policy"}
        readers = {"confide.run/1": "; read it with Run.load", "confide.fit/1": "; read it with load"}
        what = kinds.get(str(kind), f"of schema {kind!r}")
        raise ValueError(f"it is {what}, not {kinds.get(schema, schema)}{readers.get(str(kind), '')}")
    values: dict[str, Any] = config
    return values


@contextmanager
def held_in(path: Path, what: str) -> Iterator[None]:
    """Turn whatever is wrong with a folder's files into one sentence."""
    try:
        yield
    except (ConfideError, *_UNREADABLE) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise FormatError(
            "result-unreadable", f"{path} does not hold {what} this version can read: {reason}."
        ) from error


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy, for JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
