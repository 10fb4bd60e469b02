"""Where the package does not say, or asks, what kind of thing it has: `Any`, probes, tests on its own classes, words of its tables.

`python -m tools.kinds` prints how often the name `Any` is used, where attributes are probed (`getattr`, `hasattr`), and both kinds
of test, file by file. A new question, mechanism or trust model is entered in tables; whatever asks for
its class, or compares its word, outside of them would have to be changed with it. `docs/decisions/0005-one-protocol.md` gives the
reason of each that is left.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "confide"
PROBING = ("getattr", "hasattr")


@dataclass(frozen=True)
class KindTest:
    """One such test: the file, relative to the package, the line, the function it stands in, and what is named."""

    file: str
    line: int
    function: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {', '.join(self.names)}"


@cache
def sources(package: Path = PACKAGE) -> dict[str, ast.Module]:
    """Every module of the package, parsed, by its path relative to the package."""
    files = sorted(package.rglob("*.py"))
    return {path.relative_to(package).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in files}


def own_classes(trees: dict[str, ast.Module]) -> set[str]:
    """The names of all classes that are defined in the package, but for errors."""
    rest = (tree for file, tree in trees.items() if file != "errors.py")
    defined = (node for tree in rest for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {node.name for node in defined if not node.name.endswith("Error")}


def named(node: ast.AST) -> set[str]:
    """The last words of all names in an expression."""
    plain = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return plain | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def inside(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Every node of a module with the function, or class and method, that it stands in."""

    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        where, node = waiting.pop()
        if node is not tree:
            yield where, node
        for child in reversed(list(ast.iter_child_nodes(node))):
            scope = isinstance(child, ast.FunctionDef | ast.ClassDef)
            here = ".".join(filter(None, (where, child.name))) if scope else where  # type: ignore[attr-defined]
            waiting.append((here, child))


def class_tests(trees: dict[str, ast.Module] | None = None) -> list[KindTest]:
    """Calls of `isinstance` and class patterns that name a class of the package."""
    trees = sources() if trees is None else trees
    own, places = own_classes(trees), []
    for file, tree in trees.items():
        for function, node in inside(tree):
            kind: ast.AST | None = None
            if isinstance(node, ast.Call) and named(node.func) == {"isinstance"} and len(node.args) == 2:
                kind = node.args[1]
            elif isinstance(node, ast.MatchClass):
                kind = node.cls
            names = named(kind) & own if kind is not None else set()
            if names:
                places.append(KindTest(file, getattr(node, "lineno", 0), function, tuple(sorted(names))))
    return places


def words() -> dict[str, str]:
    """The words of trust models, calibrations and mechanisms, and the constants that stand for them."""
    from confide.lab.audit.alone import ALONE
    from confide.privacy import guarantee
    from confide.protocol.design import AUTO, PAPER, SOUND, TIGHT
    from confide.protocol.trusts import central, joint, local, shuffle

    trusts = {word.upper(): word for word in guarantee.TRUSTS}
    calibrations = {"PAPER": PAPER, "SOUND": SOUND, "TIGHT": TIGHT, "AUTO": AUTO}
    tables = (local.MECHANISMS, joint.MECHANISMS, central.MECHANISMS, shuffle.MECHANISMS, *ALONE.values())
    mechanisms = {f'"{word}"': word for table in tables for word in table}
    constants = {"RESPONSE": local.RESPONSE, "SAMPLED": "unary", "BITS": shuffle.BITS, "STEP": shuffle.STEP}
    more = {"GAUSSIAN": central.GAUSSIAN, "LAPLACE": central.LAPLACE}
    return {**mechanisms, **trusts, **calibrations, **constants, **more}


def word_tests(trees: dict[str, ast.Module] | None = None) -> list[KindTest]:
    """Comparisons, memberships and value patterns with a word of a trust model, a calibration or a mechanism."""
    known, places = words(), []
    values = set(known.values())
    for file, tree in (sources() if trees is None else trees).items():
        for function, node in inside(tree):
            if not isinstance(node, ast.Compare | ast.MatchValue):
                continue
            parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.value]
            names = {
                name_node.id for part in parts for name_node in ast.walk(part) if isinstance(name_node, ast.Name)
            } & set(known)
            strings = {
                str(name_node.value)
                for part in parts
                for name_node in ast.walk(part)
                if isinstance(name_node, ast.Constant)
            } & values
            if names or strings:
                places.append(KindTest(file, node.lineno, function, tuple(sorted(names | strings))))
    return places


def unsaid(trees: dict[str, ast.Module] | None = None) -> Counter[str]:
    """How often each package uses the name `Any`, in its imports not counted."""
    counted: Counter[str] = Counter()
    for file, tree in (sources() if trees is None else trees).items():
        counted[file.split("/")[0]] += sum(
            (isinstance(node, ast.Name) and node.id == "Any")
            or (isinstance(node, ast.Attribute) and node.attr == "Any")
            for node in ast.walk(tree)
        )
    return counted


def probes(trees: dict[str, ast.Module] | None = None) -> list[KindTest]:
    """Calls of `getattr` and `hasattr`, with the attribute if it is written out."""
    places = []
    for file, tree in (sources() if trees is None else trees).items():
        for function, node in inside(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PROBING:
                name = node.args[1].value if isinstance(node.args[1], ast.Constant) else "a computed name"
                places.append(KindTest(file, node.lineno, function, (str(name),)))
    return places


def main() -> None:
    """Print them."""
    counts = unsaid()
    print(f"{counts.total()} uses of the name Any: {', '.join(f'{name} {n}' for name, n in counts.most_common() if n)}")
    asked = probes()
    print(f"{len(asked)} probes by getattr and hasattr in {len({place.file for place in asked})} files")
    for place in asked:
        print(f"  {place}")
    for title, places in (("tests on our own classes", class_tests()), ("comparisons of words", word_tests())):
        print(f"{len(places)} {title} in {len({place.file for place in places})} files")
        for place in places:
            print(f"  {place}")


if __name__ == "__main__":
    main()
