"""What the documents name is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[3] / "docs"


def names() -> list[str]:
    text = (DOCS / "notation.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `([\w.]+)` \|", text, re.MULTILINE)


def resolve(name: str) -> Any:
    """The thing a dotted name stands for: a module's attribute, a class's, or one of its fields."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            result: Any = importlib.import_module(".".join(("confide", *parts[:cut])))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            fields = getattr(result, "__annotations__", {}) if isinstance(result, type) else {}
            result = fields[part] if part in fields else getattr(result, part)
        return result
    raise AssertionError(f"there is no {name}")


@pytest.mark.parametrize("name", names())
def test_every_name_in_the_notation_is_in_the_code(name: str) -> None:
    assert resolve(name) is not None


def test_the_notation_is_not_empty() -> None:
    assert len(names()) > 40
    with pytest.raises((AssertionError, AttributeError)):
        resolve("mdp.Spec.colour")


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\((?!https?://)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / link).exists(), link
