"""The codes of all refusals, read off the sources: `python -m tools.reference` lists them in `docs/reference/codes.md`.

A code is a literal at the one place that raises it: the first argument of an error, or of a function that makes one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "confide"
PAGE = ROOT / "docs" / "reference" / "codes.md"

MAKERS = {
    "refusal": "InvalidInput",
    "Problem": "InvalidInput",
    "RowRule": "InvalidInput",
    "_failed": "",
    "Refused": "Refused",
}
"""Functions and classes beside the errors that take a code, and the error that they make."""
SECOND = ("Refused", "_failed")
"""Those whose code is the second argument."""
OPEN = "…"
"""What stands in a pattern for a value."""


class RefusalPlace(NamedTuple):
    """A refusal in the sources. code: None where it is not written there, but carried over from another error."""

    code: str | None
    error: str
    pattern: str
    module: str
    line: int


def errors(sources: dict[str, ast.Module]) -> set[str]:
    """The errors that carry codes: every class that stands on `ConfideError`."""
    bases = {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for tree in sources.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {"ConfideError"}
    while more := {name for name, above in bases.items() if found & set(above)} - found:
        found |= more
    return found


def places(sources: dict[str, ast.Module]) -> list[RefusalPlace]:
    """Every place that makes an error with a code, in the order of modules and lines."""
    known = {**{name: name for name in errors(sources)}, **MAKERS}
    result = [
        place
        for module, tree in sources.items()
        for place in _in_module(module, tree, known)
        if module not in ("confide/errors.py", "confide/service/http/problems.py") or place.code is not None
    ]
    return sorted(result, key=lambda place: (place.module, place.line))


def trees() -> dict[str, ast.Module]:
    """The syntax trees of the package, by path."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def page() -> str:
    """The page of all codes."""
    parts = [
        "# Codes of refusals",
        "",
        "Every error of confide is one sentence and has a code, which names the rule that was broken and stays when the",
        "sentence is reworded. In Python it is `error.code`, with `error.about` where many things share a rule; with `--json` a",
        "command that fails prints `code` and `message`; a service sends `code` in application/problem+json.",
        f"`{OPEN}` stands for what differs from case to case. `python -m tools.reference` writes this page from the sources.",
        "",
        "| code | error | package | sentence |",
        "|---|---|---|---|",
    ]
    rows = {
        (place.code, place.error or "-", _package(place.module), place.pattern)
        for place in places(trees())
        if place.code is not None
    }
    parts += [
        f"| `{code}` | {error} | {package} | {pattern.replace('|', chr(92) + '|')} |"
        for code, error, package, pattern in sorted(rows)
    ]
    return "\n".join((*parts, ""))


def _package(module: str) -> str:
    """`confide/data/statistics/tally.py` is in `data.statistics`; a module of the package itself is named."""
    parts = module.removesuffix(".py").removesuffix("/__init__").split("/")[1:]
    return f"`{'.'.join(parts[:-1]) or parts[0]}`"


def _in_module(module: str, tree: ast.Module, known: dict[str, str]) -> Iterator[RefusalPlace]:
    for scope, inside, node in _calls(tree, tree, ""):
        name = _name(node.func)
        own = name in ("cls", "super().__init__") and inside in known
        if own or name in known:
            at = 1 if name in SECOND else 0
            if len(node.args) <= at:
                continue
            code, sentence = node.args[at], node.args[at + 1 :]
            if name == "refusal":
                sentence = [_must_be(node)]
            elif name == "RowRule":
                rule, way_out = sentence
                sentence = [ast.JoinedStr([rule, ast.Constant(f" Rows {OPEN} of {OPEN} do not. "), way_out])]
            text = _pattern(sentence[0], scope) if sentence else OPEN
            error = known[inside if own else name]
            if isinstance(code, ast.Constant) and isinstance(code.value, str):
                yield RefusalPlace(code.value, error, text, module, node.lineno)
            elif not own:
                yield RefusalPlace(None, error, text, module, node.lineno)


def _calls(tree: ast.AST, scope: ast.AST, inside: str) -> Iterator[tuple[ast.AST, str, ast.Call]]:
    """All calls, each with the function and the class that they stand in."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Call):
            yield scope, inside, child
        function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from _calls(
            child, child if function else scope, child.name if isinstance(child, ast.ClassDef) else inside
        )


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute):
        return "super().__init__" if ast.unparse(function) == "super().__init__" else function.attr
    return ""


def _must_be(node: ast.Call) -> ast.expr:
    """The sentence of `validation.refusal(code, name, rule, value, way_out)`, as the text that it would be."""
    name, rule, _, *way_out = node.args[1:]
    parts: list[ast.expr] = [
        name,
        ast.Constant(" must be "),
        rule,
        ast.Constant(". Got "),
        ast.Name("value", lineno=node.lineno),
    ]
    parts += [ast.Constant("."), *(part for end in way_out for part in (ast.Constant(" "), end))]
    return ast.JoinedStr(parts)


def _pattern(node: ast.expr, scope: ast.AST) -> str:
    """A text with `OPEN` for every value in it; a name is followed to where the function assigns it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_pattern(part, scope) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _pattern(node.left, scope) + _pattern(node.right, scope)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "strip":
        return _pattern(node.func.value, scope).strip()
    if isinstance(node, ast.Name):
        before = [line for line in ast.walk(scope) if isinstance(line, ast.Assign) and line.lineno < node.lineno]
        named = [line for line in before if [_name(target) for target in line.targets] == [node.id]]
        if named:
            return _pattern(max(named, key=lambda line: line.lineno).value, ast.Module([], []))
    return OPEN
