"""`python -m tools.copies`: which places of the package share six or more identical lines.

A line counts as it is read: white space folded, comments, blank lines, imports and lone punctuation (brackets, commas)
passed over. Docstrings count, since a copied explanation is a copy. A place is listed once, by its longest run.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "confide"
LINES = 6
_WORD = re.compile(r"\w")


class CopiedLines(NamedTuple):
    """Lines `first` to `last` of a file, counted from 1."""

    file: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.file}:{self.first}-{self.last}"


def lines_that_count(source: str) -> list[tuple[int, str]]:
    """(number, line) of every line that is compared."""
    passed_over = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    rows = [" ".join(row.split()) for row in source.splitlines()]
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
            passed_over.add(token.start[0])
    return [(i, row) for i, row in enumerate(rows, 1) if i not in passed_over and _WORD.search(row)]


def copies(sources: dict[str, str], least: int = LINES) -> list[tuple[CopiedLines, CopiedLines]]:
    """Pairs of places with at least this many identical lines in a row, each as long as it goes."""
    lines_by_file = {name: lines_that_count(source) for name, source in sources.items()}
    starts: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, rows in lines_by_file.items():
        for i in range(len(rows) - least + 1):
            starts[tuple(row for _, row in rows[i : i + least])].append((name, i))
    pairs = []
    for places in starts.values():
        for a, (one, i) in enumerate(places):
            for other, j in places[a + 1 :]:
                if i > 0 and j > 0 and lines_by_file[one][i - 1][1] == lines_by_file[other][j - 1][1]:
                    continue  # a longer run begins before
                length = _run(lines_by_file[one][i:], lines_by_file[other][j:])
                if one == other:
                    length = min(length, j - i)
                if length >= least:
                    pairs.append(
                        (_place(one, lines_by_file[one], i, length), _place(other, lines_by_file[other], j, length))
                    )
    return sorted(pairs)


def _run(rows: list[tuple[int, str]], others: list[tuple[int, str]]) -> int:
    """How many lines are identical from the beginning."""
    length = 0
    for (_, row), (_, other) in zip(rows, others, strict=False):
        if row != other:
            break
        length += 1
    return length


def _place(name: str, rows: list[tuple[int, str]], start: int, length: int) -> CopiedLines:
    return CopiedLines(name, rows[start][0], rows[start + length - 1][0])


def package() -> dict[str, str]:
    """The sources of the package, by path."""
    return {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


def main() -> int:
    """Print every pair; fails if there is one."""
    pairs = copies(package())
    for one, other in pairs:
        print(f"{one} ~ {other}")
    print(f"{len(pairs)} pairs of places share {LINES} or more identical lines")
    return 1 if pairs else 0


if __name__ == "__main__":
    sys.exit(main())
