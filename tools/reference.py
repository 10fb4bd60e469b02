"""The reference: every public name of every room, its signature and its docstring.

`python -m tools.reference` writes `docs/reference/`, one page a room.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import math
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
WIDTH = 110

# Page -> modules on it, in reading order. A module shows what is in its `__all__`, else what it defines.
PAGES: dict[str, tuple[str, ...]] = {
    "confide": ("confide",),
    "privacy": ("confide.privacy",),
    "environments": ("confide.environments",),
    "mdp": ("confide.mdp",),
    "simulation": ("confide.simulation",),
    "learners": ("confide.learners",),
    "planning": ("confide.planning",),
    "trajectories": ("confide.trajectories",),
    "fitting": ("confide.fitting",),
    "results": ("confide.results",),
    "questions": (
        "confide.questions",
        "confide.questions.question",
        "confide.questions.bits",
        "confide.questions.mixture",
        "confide.questions.gram",
        "confide.questions.sensitivity",
    ),
    "designs": (
        "confide.designs",
        "confide.designs.reading",
        "confide.designs.laws",
        "confide.designs.shuffle",
        "confide.designs.central",
        "confide.designs.mixture",
    ),
    "privatizers": ("confide.privatizers",),
    "releases": (
        "confide.releases",
        "confide.releases.books",
        "confide.releases.report",
        "confide.releases.reading",
        "confide.releases.mixture",
        "confide.releases.gram",
        "confide.releases.shuffler",
        "confide.releases.sums",
        "confide.releases.release_bytes",
    ),
    "mechanisms": (
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
    "device": ("confide.device",),
    "contracts": ("confide.contracts", "confide.contracts.keys", "confide.contracts.letters"),
    "collector": ("confide.collector",),
    "staging": ("confide.staging",),
    "audit": ("confide.audit",),
    "testing": ("confide.testing",),
    "errors": ("confide.errors",),
}


class Bare(str):
    """Text that shows itself without quotes in a signature."""

    def __repr__(self) -> str:
        """Itself."""
        return str(self)


def pages() -> dict[str, str]:
    """Every page by its file name."""
    texts = {f"{name}.md": _page(name, modules) for name, modules in PAGES.items()}
    return {"index.md": _index(), **texts}


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


def entry(name: str, thing: Any, module: ModuleType) -> str:
    """One name: a heading, its signature or value, its docstring, and what a class offers."""
    lines = [f"### {name}", ""]
    if isinstance(thing, ModuleType):
        room = thing.__name__.rpartition(".")[2]
        return "\n".join([*lines, f"The room [{thing.__name__}]({room}.md). {documented(thing)}", ""])
    if called := signature(name, thing, WIDTH):
        lines += ["```python", called, "```", ""]
    elif isinstance(thing, str | int | float):
        lines += [f"`{thing!r}`", ""]
    text = documented(thing) if callable(thing) and not _alias(thing) else comment(name, module)
    lines += [text, ""] if text else []
    if inspect.isclass(thing):
        for method, described in members(thing):
            lines += [f"- `{method}`", "", *([textwrap.indent(described, "  "), ""] if described else [])]
    return "\n".join(lines)


def documented(thing: Any) -> str:
    """The docstring; empty where there is none, or only the one that a dataclass writes for itself."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    return "" if inspect.isclass(thing) and text.startswith(f"{thing.__name__}(") else text


def comment(name: str, module: ModuleType) -> str:
    """The string below the line that defines a constant, followed to where it is defined."""
    tree = ast.parse(inspect.getsource(module))
    for line, after in zip(tree.body, [*tree.body[1:], ast.Pass()], strict=True):
        if isinstance(line, ast.ImportFrom) and name in [alias.asname or alias.name for alias in line.names]:
            return comment(name, importlib.import_module("." * line.level + (line.module or ""), module.__package__))
        if isinstance(line, ast.Assign | ast.AnnAssign) and name in _stored(line) and isinstance(after, ast.Expr):
            return inspect.cleandoc(ast.literal_eval(after.value))
    return ""


def signature(name: str, thing: Any, width: float = math.inf) -> str:
    """`name(...) -> result`, annotated as it is written; empty for what nobody calls. Beyond the width, a line each."""
    if not callable(thing) or _alias(thing) or (inspect.isclass(thing) and _abstract(thing)):
        return ""
    signature_of = inspect.signature(getattr(thing, "py_func", thing))
    parameters = [
        parameter.replace(annotation=_annotation(parameter.annotation), default=_default(parameter.default))
        for parameter in signature_of.parameters.values()
        if parameter.name != "self"
    ]
    result = inspect.Signature.empty if inspect.isclass(thing) else _annotation(signature_of.return_annotation)
    text = name + str(inspect.Signature(parameters, return_annotation=result))
    if len(text) <= width:
        return text
    texts = [str(parameter) for parameter in parameters]
    kinds = [parameter.kind for parameter in parameters]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        texts.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    tail = str(inspect.Signature(return_annotation=result)).removeprefix("(")
    return "\n".join([f"{name}(", *(f"    {word}," for word in texts), tail])


def members(kind: type) -> Iterator[tuple[str, str]]:
    """What a class itself offers: how it is called, and its docstring."""
    for name, thing in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(thing, property | functools.cached_property):
            getter = thing.fget if isinstance(thing, property) else thing.func
            result = inspect.signature(getter).return_annotation if getter else ""
            yield f"{name}: {result}", documented(thing)
        elif isinstance(thing, classmethod | staticmethod):
            owner = f"{kind.__name__}." if isinstance(thing, classmethod) else ""
            yield owner + signature(name, getattr(kind, name)), documented(thing.__func__)
        elif inspect.isfunction(thing):
            yield signature(name, thing), documented(thing)


def _page(name: str, modules: tuple[str, ...]) -> str:
    parts = [f"# {name}\n", "Written by `python -m tools.reference`; a test compares the two. [All rooms](index.md).\n"]
    for path in modules:
        module = importlib.import_module(path)
        parts += [f"## {path}\n", f"{documented(module)}\n"]
        parts += [entry(word, thing, module) for word, thing in public(module)]
    return "\n".join(parts).rstrip() + "\n"


def _index() -> str:
    rows = []
    for name, modules in PAGES.items():
        room = importlib.import_module("confide" if name == "confide" else f"confide.{name}")
        names = ", ".join(f"`{word}`" for path in modules for word, _ in public(importlib.import_module(path)))
        rows.append(f"| [{name}]({name}.md) | {documented(room).splitlines()[0]} | {names} |")
    head = [
        "# Reference",
        "",
        "Every public name, its signature and its docstring. Written by `python -m tools.reference`; a test compares the two.",
        "What a symbol means is in [notation](../notation.md), which room may import which in [the map](../map.md).",
        "",
        "| room | what comes out of it | names |",
        "|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def _stored(line: ast.Assign | ast.AnnAssign) -> list[str]:
    """The names that an assignment gives values to."""
    return [node.id for node in ast.walk(line) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _alias(thing: Any) -> bool:
    """Whether this is a type put together of others, which has no docstring of its own."""
    return not (inspect.isclass(thing) or inspect.isroutine(thing) or hasattr(thing, "py_func"))


def _abstract(kind: type) -> bool:
    """Whether nobody makes one: protocols and errors."""
    return getattr(kind, "_is_protocol", False) or issubclass(kind, BaseException)


def _annotation(value: Any) -> Any:
    """As it stands in the source; named tuples wrap theirs."""
    text = getattr(value, "__forward_arg__", value)
    return Bare(text) if isinstance(text, str) else value


def _default(value: Any) -> Any:
    """A function by its name, without its address in memory; what is made anew for each as three dots."""
    if repr(value) == "<factory>":
        return Bare("...")
    return Bare(value.__name__) if inspect.isroutine(value) else value


def main() -> None:
    """Write them all, and nothing else stays there."""
    FOLDER.mkdir(exist_ok=True)
    written = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in written:
            old.unlink()
    for name, text in written.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
