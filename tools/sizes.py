"""How large the package is, by package, at several commits: `python -m tools.sizes [REVISION ...]`, one row a package.

Lines are those of files that end in .py: in all, and of these docstrings, comments and empty lines. Nothing is run.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES, LINES, SAID = "modules", "lines", "said"


def files(revision: str) -> Iterator[tuple[str, str]]:
    """The modules of the package at a commit, relative to it, with their text."""
    done = subprocess.run(["git", "archive", revision, "confide"], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".py") else None
            if file is not None:
                yield member.name.removeprefix("confide/"), file.read().decode()


def said_in(text: str) -> int:
    """Lines of docstrings and comments, and empty ones."""
    rows = {number for number, line in enumerate(text.splitlines(), 1) if not line.strip() or line.strip()[0] == "#"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            rows |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(rows)


def sizes(revision: str) -> dict[str, Counter[str]]:
    """Modules, lines and lines that only say something, by package; what is beside the packages is `(open)`."""
    found: dict[str, Counter[str]] = {}
    for path, text in files(revision):
        package = path.partition("/")[0] if "/" in path else "(open)"
        found.setdefault(package, Counter()).update({MODULES: 1, LINES: len(text.splitlines()), SAID: said_in(text)})
    return found


def main(revisions: list[str]) -> int:
    """Print a table for each commit."""
    for revision in revisions or ["HEAD"]:
        table = sizes(revision)
        table["all"] = sum(table.values(), Counter())
        print(f"{revision:14} {'modules':>8} {'lines':>8} {'docstrings, comments, empty':>28}")
        for package, row in sorted(table.items(), key=lambda item: (item[0] == "all", item[0])):
            print(f"{package:14} {row[MODULES]:8,} {row[LINES]:8,} {row[SAID]:28,}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
