"""How hot loops are compiled: once, cached between runs, and never stale.

Compiled code is kept in `$NUMBA_CACHE_DIR` if that is set, else in the user's cache folder under the package's version
and a hash of its sources, else in a temporary folder. The hash matters: numba notices an edit of the compiled file
itself, but not of a helper that it calls in another file.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@cache
def source_hash() -> str:
    """A short hash of every source file of the package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
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
    folder = Path(home) / "confide" / f"{__version__}-{source_hash()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="confide-"))
    return folder


@cache
def _numba() -> Any:
    os.environ["NUMBA_CACHE_DIR"] = str(cache_folder())
    import numba

    numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]
    return numba


def compiled(function: F, counting: bool = True, forceinline: bool = False) -> F:
    """Compile with numba, releasing the interpreter lock, and keep the result between runs.

    Without `counting` of references to arrays, tiny loops are a third faster; see `bare`.
    """
    options = {"_nrt": counting, "forceinline": forceinline, "no_cfunc_wrapper": True}
    result: F = _numba().njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    return result


def merged(function: F) -> F:
    """`compiled`, once, and copied by the optimiser into its compiled callers: a call that passes arrays is not free."""
    return compiled(function, forceinline=True)


def bare(function: F) -> F:
    """`compiled` without counting references. Such code may not allocate, nor take a random generator from Python."""
    return compiled(function, counting=False)


def specialise(
    template: Callable[..., Any], name: str, how: Callable[[Any], Any] = compiled, **parts: Callable[..., Any]
) -> Callable[..., Any]:
    """A compiled copy of `template` in which the global names `parts` stand for the given compiled functions.

    Passing functions as arguments would compile as well, but such code is never found in the cache again.
    """
    if not isinstance(template, FunctionType):
        raise TypeError("template must be a plain function")
    body = FunctionType(template.__code__, {**template.__globals__, **parts}, f"{template.__name__}_{name}")
    body.__qualname__ = body.__name__
    body.__module__ = template.__module__
    result: Callable[..., Any] = how(body)
    return result
