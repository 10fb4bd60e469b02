"""How hot loops are compiled: once, cached between runs, and never stale.

Compiled code is kept in `$NUMBA_CACHE_DIR` if that is set, else in the user's cache folder under the package's version,
else in a temporary folder; in there, under a hash of the sources it was made from. The hash matters: numba notices an
edit of the compiled file itself, but not of a helper that it calls, or a constant that it reads, in another file.
What is not part of the package (a file named by `--import`) is compiled for its own process only, and so is our code when it is
compiled for types that are not ours: another process could not read their names, nor anything that is kept beside them.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from numba import types

F = TypeVar("F", bound=Callable[..., object])
R = TypeVar("R")
KNOWN = ("confide", "numba", "numpy", "builtins", "collections")
"""Packages whose names every process of ours can import."""

PACKAGE = Path(__file__).parent
_MENTION = re.compile(r"\b(compiled|inlined)\b")
_IMPORT = re.compile(r"^\s*from (\.+)([\w.]*) import (\([^)]*\)|[^\n]+)", re.MULTILINE)


@cache
def _imported(path: Path) -> tuple[Path, ...]:
    """The files of the package that one of its files imports, at the top or inside a function."""
    files = []
    for dots, module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        folder = path.parents[len(dots) - 1].joinpath(*filter(None, module.split(".")))
        parts = [name.split(" as ")[0].strip() for name in names.strip("()").split(",")]
        for candidate in (folder, *(folder / part for part in parts if part.isidentifier())):
            files += [file for file in (candidate.with_suffix(".py"), candidate / "__init__.py") if file.is_file()]
    return tuple(files)


@cache
def _compiles(path: Path) -> bool:
    return _MENTION.search(path.read_text(encoding="utf-8")) is not None


def sources(modules: Iterable[str]) -> list[Path]:
    """Every file that code compiled in these modules of the package can be made from.

    Compiled code calls compiled code, in files that speak of it, and reads constants from the files that it imports.
    """
    waiting = [PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py") for module in modules]
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += _imported(path) if _compiles(path) else ()
    return sorted(seen)


@cache
def source_hash(*modules: str) -> str:
    """A short hash of every file that code compiled in these modules can be made from."""
    digest = hashlib.sha256()
    for path in sources(modules):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path:
    """The first folder for compiled code that can be written to."""
    from ._version import __version__

    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(home) / "confide" / __version__
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="confide-"))
    return folder


@cache
def _numba() -> ModuleType:
    cache_folder()  # before numba reads its own setting
    import numba

    module: ModuleType = numba
    return module


def _modules_of(kind: types.Type) -> Iterator[str]:
    """The modules that a numba type can only be read with: those of named tuples and of functions, however deep inside."""
    from numba import types

    if isinstance(kind, types.BaseNamedTuple):
        yield kind.instance_class.__module__
    if isinstance(kind, types.Dispatcher):
        yield kind.dispatcher.py_func.__module__
    if isinstance(kind, types.BaseTuple):
        for part in kind.types:
            yield from _modules_of(part)


def keepable(signature: Iterable[types.Type]) -> bool:
    """Whether code for these argument types may be kept for other processes."""
    return all(module.split(".")[0] in KNOWN for kind in signature for module in _modules_of(kind))


@cache
def _shared_cache() -> Any:
    """Numba's cache of one function, which leaves out what other processes could not read."""
    from numba.core.caching import FunctionCache

    class SharedCache(FunctionCache):  # type: ignore[misc]
        def save_overload(self, sig: Any, data: Any) -> None:
            if keepable(sig):
                super().save_overload(sig, data)

    return SharedCache


def compiled(function: F, counting: bool = True, forceinline: bool = False, parts: tuple[str, ...] = ()) -> F:
    """The function compiled with numba; it releases the interpreter lock, and its machine code is kept between runs.

    Without `counting` of references to arrays, tiny loops are a third faster; see `bare`. `parts` names further modules
    whose compiled functions it calls.
    """
    numba = _numba()
    modules = {function.__module__, *parts}
    function.__dict__["made_from"] = tuple(sorted(modules))
    ours = all(module.split(".")[0] == PACKAGE.name for module in modules)
    options = {"_nrt": counting, "forceinline": forceinline, "no_cfunc_wrapper": True}
    result: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if ours and not numba.config.DISABLE_JIT:
        numba.config.CACHE_DIR = str(cache_folder() / source_hash(*function.__dict__["made_from"]))
        result._cache = _shared_cache()(function)
    made: F = result
    return made


def merged(function: F, parts: tuple[str, ...] = ()) -> F:
    """`compiled`, once, and copied by the optimiser into its compiled callers: a call that passes arrays is not free."""
    return compiled(function, forceinline=True, parts=parts)


def bare(function: F, parts: tuple[str, ...] = ()) -> F:
    """`compiled` without counting references. Such code may not allocate, nor take a random generator from Python."""
    return compiled(function, counting=False, parts=parts)


def _made_from(part: Callable[..., object]) -> tuple[str, ...]:
    """The modules whose code a compiled function holds: its own, and those of what fills its holes. Numba copies the attributes."""
    made: tuple[str, ...] = vars(part).get("made_from", (part.__module__,))
    return made


def specialise(
    template: Callable[..., R],
    name: str,
    how: Callable[..., Callable[..., R]] = compiled,
    **parts: Callable[..., object],
) -> Callable[..., R]:
    """A compiled copy of `template` in which the global names `parts` stand for the given compiled functions.

    Passing functions as arguments would compile as well, but such code is never found in the cache again.
    """
    if not isinstance(template, FunctionType):
        raise TypeError("template must be a plain function")
    body = FunctionType(template.__code__, {**template.__globals__, **parts}, f"{template.__name__}_{name}")
    body.__qualname__ = body.__name__
    body.__module__ = template.__module__
    modules = tuple(module for part in parts.values() for module in _made_from(part))
    return how(body, parts=modules)
