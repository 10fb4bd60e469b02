"""The public names of every package: `python -m tools.reference` lists them in `docs/reference/index.md`, and the codes
of all refusals in `docs/reference/codes.md`.

The reference itself, with signatures and whole docstrings, is written by mkdocstrings when `./run docs` builds the site; which
modules are on which of its pages is said here.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from . import codes

ROOT = Path(__file__).resolve().parent.parent
INDEX = ROOT / "docs" / "reference" / "index.md"

# Page -> modules on it, in reading order. A module shows what is in its `__all__`, else what it defines.
PAGES: dict[str, tuple[str, ...]] = {
    "confide": ("confide",),
    "privacy": ("confide.privacy",),
    "environments": ("confide.lab.environments",),
    "mdp": ("confide.mdp",),
    "simulation": ("confide.lab.simulation",),
    "studies": ("confide.lab.studies",),
    "learners": ("confide.learning.learners",),
    "planning": ("confide.learning.planning",),
    "trajectories": ("confide.data.trajectories",),
    "fitting": ("confide.analysis.fitting",),
    "results": ("confide.analysis.results",),
    "kinds": (
        "confide.protocol.kinds",
        "confide.protocol.kinds.kind",
        "confide.protocol.kinds.question",
        "confide.protocol.kinds.bits",
        "confide.protocol.kinds.mixture",
        "confide.protocol.kinds.gram",
        "confide.protocol.kinds.sensitivity",
    ),
    "protocol": (
        "confide.protocol",
        "confide.protocol.laws",
        "confide.protocol.trusts.trust",
        "confide.protocol.trusts.shuffle",
        "confide.protocol.trusts.central",
    ),
    "privatizers": ("confide.data.privatizers",),
    "releases": (
        "confide.protocol.releases",
        "confide.protocol.releases.aggregates",
        "confide.protocol.releases.report",
        "confide.protocol.releases.release",
        "confide.protocol.releases.shuffler",
        "confide.protocol.releases.sums",
        "confide.protocol.releases.release_bytes",
    ),
    "mechanisms": (
        "confide.mechanisms",
        "confide.mechanisms.noise",
        "confide.mechanisms.randomizer",
        "confide.mechanisms.counter",
        "confide.mechanisms.laplace",
        "confide.mechanisms.gaussian",
        "confide.mechanisms.symmetric",
        "confide.mechanisms.bounded",
        "confide.mechanisms.randomized_response",
        "confide.mechanisms.unary",
        "confide.mechanisms.shuffled_bits",
        "confide.mechanisms.tree",
        "confide.mechanisms.toeplitz",
        "confide.mechanisms.buffered",
        "confide.mechanisms.registry",
        "confide.mechanisms.catalogue",
    ),
    "device": ("confide.service.device",),
    "contract": ("confide.service.contract", "confide.service.contract.keys", "confide.service.contract.uploads"),
    "collector": ("confide.service.collector",),
    "staging": ("confide.lab.staging",),
    "audit": ("confide.lab.audit",),
    "testing": ("confide.lab.testing",),
    "errors": ("confide.errors",),
}


def index() -> str:
    """The list of all public names, each with the first sentence of its docstring and a link to its source."""
    parts = [
        "# Reference",
        "",
        "Every public name, by package. `./run docs` builds the pages with all signatures and docstrings, from the sources.",
        "What a symbol means is in [notation](../notation.md), which package may import which in [the map](../map.md),",
        "what the code of an error says in [codes](codes.md).",
        "",
    ]
    for name, modules in PAGES.items():
        parts += [f"## {name}", "", sentence(documented(importlib.import_module(modules[0]))), ""]
        parts += ["| name | what it is |", "|---|---|"]
        for path in modules:
            module = importlib.import_module(path)
            for word, thing in public(module):
                text = documented(thing) if callable(thing) or isinstance(thing, ModuleType) else ""
                meaning = sentence(text or comment(word, module)).replace("|", "\\|")
                parts.append(f"| [{word}](../../{defined_in(word, thing, module)}) | {meaning} |")
        parts.append("")
    return "\n".join(parts)


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Names and what they stand for, as a user may import them from the module."""
    own = [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__
    ]
    for name in getattr(module, "__all__", own):
        if not name.startswith("_"):
            yield name, getattr(module, name)


def defined_in(name: str, thing: Any, module: ModuleType) -> str:
    """The file in which a name is defined, relative to the repository."""
    if isinstance(thing, ModuleType):
        home = thing
    elif (inspect.isclass(thing) or inspect.isroutine(thing)) and thing.__module__.startswith("confide"):
        home = importlib.import_module(thing.__module__)
    else:
        home = _home(name, module)
    return Path(str(home.__file__)).resolve().relative_to(ROOT).as_posix()


def documented(thing: Any) -> str:
    """The docstring; empty where there is none, or only the one that a dataclass writes for itself."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    return "" if inspect.isclass(thing) and text.startswith(f"{thing.__name__}(") else text


def comment(name: str, module: ModuleType) -> str:
    """The string below the line that defines a constant, followed to where it is defined."""
    body = ast.parse(inspect.getsource(_home(name, module))).body
    for line, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(line, ast.Assign | ast.AnnAssign) and name in _stored(line) and isinstance(after, ast.Expr):
            return inspect.cleandoc(ast.literal_eval(after.value))
    return ""


def members(kind: type) -> Iterator[tuple[str, str]]:
    """What a class itself offers, and its docstring."""
    for name, thing in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(thing, classmethod | staticmethod):
            yield name, documented(thing.__func__)
        elif isinstance(thing, property | functools.cached_property) or inspect.isfunction(thing):
            yield name, documented(thing)


def sentence(text: str) -> str:
    """The first sentence of a docstring."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].removesuffix(".") + "." if paragraph else ""


def _home(name: str, module: ModuleType) -> ModuleType:
    """The module in which a name that another imports is defined."""
    for line in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(line, ast.ImportFrom) and name in [alias.asname or alias.name for alias in line.names]:
            path = "." * line.level + (line.module or "")
            return _home(name, importlib.import_module(path, module.__package__))
    return module


def _stored(line: ast.Assign | ast.AnnAssign) -> list[str]:
    """The names that an assignment gives values to."""
    return [node.id for node in ast.walk(line) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


if __name__ == "__main__":
    from . import interfaces  # which the environment of the site cannot load

    INDEX.write_text(index(), encoding="utf-8")
    codes.PAGE.write_text(codes.page(), encoding="utf-8")
    for page, written in interfaces.PAGES.items():
        (interfaces.FOLDER / page).write_text(written(), encoding="utf-8")
