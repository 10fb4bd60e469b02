"""The record of a run: which code, which packages, which files of the user and which world its numbers come from.

The same record and the same choices give the same digits. Another record may give others, and `differences` says in which
entries two records differ.
"""

from __future__ import annotations

import hashlib
import inspect
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ..._version import __version__
from ...compiled import PACKAGE
from ...learning.learners import catalogue
from ...loading import FILE, loaded_contents
from ...mdp.address import Address
from ...mechanisms.registry import entered
from ...validation import Json
from ..environments import Environment, registry
from .setting import Choices

RECORD = "record"
"""The key of a record in the configuration of a run."""

PACKAGES = ("numpy", "scipy", "numba", "gymnasium")
"""Packages whose versions can change digits."""

GIT_SECONDS = 10.0


def record_of(world: Environment, choices: Choices) -> dict[str, Json]:
    """The record of what is run now in a world by these choices, as plain values."""
    return {**surroundings(choices), "world": _world(world)}


def surroundings(choices: Choices) -> dict[str, Json]:
    """The record without a world: the code, the packages, the machine, and the files of the user."""
    return {
        "confide": {"version": __version__, **_commit(), "sources": sources_hash()},
        "python": platform.python_version(),
        "machine": f"{sys.platform} {platform.machine()}",
        "packages": dict(_versions()),
        "files": own_files(choices),
    }


def code_of(record: Mapping[str, Any]) -> list[Any]:
    """What of a record must be the same for seeds to belong to one run: the sources, the files of the user, and the world."""
    return [record["confide"]["sources"], [file["sha256"] for file in record["files"]], record["world"]]


def same_files(record: Mapping[str, Any] | None, choices: Choices) -> bool:
    """Whether the files of the user are now those of a record; older runs have none to compare with."""
    now = [file["sha256"] for file in own_files(choices)]
    return record is None or now == [file["sha256"] for file in record["files"]]


def same_sources(record: Mapping[str, Any] | None) -> bool:
    """Whether the sources of this package are those of a record."""
    return record is not None and record["confide"]["sources"] == sources_hash()


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The entries in which two records differ, each as one phrase: "packages.numpy was 2.1.0 and is 2.2.0"."""
    old, new = dict(_entries(before)), dict(_entries(now))
    return [
        f"{name} was {old.get(name, 'not there')} and is {new.get(name, 'not there')}"
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name)
    ]


def _entries(record: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """The entries of a record as names and words. Files go by name and hash: their text is too long to show."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _entries(value, f"{above}{name}.")
        elif name == "files":
            yield from ((f"file {file['name']}", f"of hash {file['sha256'][:16]}") for file in value)
        elif isinstance(value, list):
            yield from ((f"{above}{name}[{number}]", str(each)) for number, each in enumerate(value))
        else:
            yield f"{above}{name}", str(value)


@cache
def sources_hash() -> str:
    """SHA-256 of all sources of the package: the same for a wheel and for the commit it was built from."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def _commit() -> dict[str, Json]:
    """The commit of a checkout, and whether its sources were changed since; nothing for an installed package."""
    if not (PACKAGE.parent / ".git").exists():
        return {}
    try:
        head, status = (
            _git(*words) for words in (("rev-parse", "HEAD"), ("status", "--porcelain", "--", PACKAGE.name))
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return {"commit": head.strip(), "changed": bool(status.strip())}


def _git(*words: str) -> str:
    command = ["git", "-C", str(PACKAGE.parent), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=GIT_SECONDS).stdout


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    found = []
    for name in PACKAGES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return tuple(found)


def own_files(choices: Choices) -> list[dict[str, str]]:
    """The files that the user imported, and those in which the chosen learner and world were registered: the name, the hash and a
    copy of the text of each.
    """
    contents = dict(loaded_contents())
    for build in own_parts(choices):
        place, content = _source_of(build)
        contents.setdefault(place, content)
    return [
        {
            "name": Path(path).name,
            "sha256": hashlib.sha256(content).hexdigest(),
            "text": content.decode(errors="replace"),
        }
        for path, content in contents.items()
    ]


def own_parts(choices: Choices) -> list[Callable[..., Any]]:
    """The functions with which the user, not this package, registered the learner, the world and the mechanism chosen by name."""
    names = [(catalogue.registered, choices.learner), (registry.registered, choices.environment)]
    builds = [find(Address.read(name).name) for find, name in names if isinstance(name, str)]
    if choices.mechanism in entered():
        builds.append(entered()[choices.mechanism].maker)
    return [build for build in builds if build is not None and not build.__module__.startswith(f"{PACKAGE.name}.")]


def known_elsewhere(choices: Choices) -> bool:
    """Whether another process knows all that was chosen by its name, once it has run the imported files."""
    return choices.as_json() is not None and all(build.__module__.startswith(FILE) for build in own_parts(choices))


def _source_of(build: Callable[..., Any]) -> tuple[str, bytes]:
    """The file of a function and its content; where there is none, as in a notebook, the function's own text, or its code."""
    try:
        file = inspect.getsourcefile(build)
        if file is not None and Path(file).is_file():
            return str(Path(file).resolve()), Path(file).read_bytes()
        return build.__qualname__, inspect.getsource(build).encode()
    except (OSError, TypeError):
        return build.__qualname__, repr(build.__code__ if inspect.isfunction(build) else build).encode()


def _world(world: Environment) -> dict[str, Json]:
    """A world by its name, by what it is wrapped in, and by the hash of its tables, if they are known."""
    entry: dict[str, Any] = {"name": world.name, "made_of": list(world.made_of)}
    if world.model is not None:
        digest = hashlib.sha256()
        for table in (world.model.transitions, world.model.rewards, world.model.initial):
            digest.update(repr(table.shape).encode() + table.tobytes())
        entry["tables"] = digest.hexdigest()
    return entry
