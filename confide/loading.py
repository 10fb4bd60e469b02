"""Packages load their modules on first use, so that a device imports only what it needs; users' files are loaded by path.

This is the only place that imports by a name that is not written in an import statement, and it reaches no other
package: what a package may import stays visible in its sources.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .errors import ConfideError, InvalidInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

FILE = "confide_file_"
"""What the module name of a user's file begins with."""

_FILES: dict[str, bytes] = {}


def sibling(package: str, module: str) -> ModuleType:
    """A module of a package of ours, or of one of its sub-packages, by its name there."""
    if not (package.startswith("confide.") and all(part.isidentifier() for part in module.split("."))):
        raise InvalidInput(
            "module-outside-package",
            f"A package loads its own modules only. Got {module!r} in {package!r}. Write an import statement.",
        )
    return importlib.import_module(f"{package}.{module}")


def on_first_use(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package; `homes` maps each public name to the module that defines it."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(sibling(package, homes[name]), name)

    return find


@cache
def announced(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name: what installed packages announce. Looked up once a process, since all are read."""
    from importlib import metadata

    return {point.name: point for point in metadata.entry_points(group=group)}


def load_file(path: str | Path) -> ModuleType:
    """Run exactly that Python file, once a process, as a module whose name no other module has.

    No folder is put on the path, so what lies beside the file is never imported by mistake.
    """
    file = Path(path).resolve()
    if file.suffix != ".py" or not file.is_file():
        raise InvalidInput("import-not-python", f"--import takes a Python file. {path} is none.")
    name = f"{FILE}{hashlib.sha256(str(file).encode()).hexdigest()[:12]}_{file.stem}"
    if name in sys.modules:
        return sys.modules[name]
    content = file.read_bytes()
    spec: Any = importlib.util.spec_from_file_location(name, file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ConfideError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        message = f"{type(error).__name__}: {error}".rstrip(".")
        raise InvalidInput("import-failed", f"{path} ends with {message}. Repair it, or leave it out.") from error
    _FILES[str(file)] = content
    return module


def module_name(name: str) -> str:
    """The name of a module; of a user's file its stem, wherever the file lies."""
    return name.removeprefix(FILE).partition("_")[2] if name.startswith(FILE) else name


def loaded_files() -> tuple[str, ...]:
    """The users' files that this process has run: whatever other processes work for it run them too."""
    return tuple(_FILES)


def loaded_contents() -> dict[str, bytes]:
    """The users' files by path, as they were when they were run: an edit since then has changed nothing here."""
    return dict(_FILES)


def worker_setup() -> dict[str, Any]:
    """How a pool of processes is to be started: Ctrl-C is for the process that started it, and users' files are known there too."""
    return {"initializer": start_worker, "initargs": (loaded_files(),)}


def start_worker(paths: Iterable[str]) -> None:
    """What a process of a pool does first: it leaves Ctrl-C to its parent, and runs users' files."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load_files(paths)


def load_files(paths: Iterable[str]) -> None:
    """Run users' files, as another process did."""
    for path in paths:
        load_file(path)
