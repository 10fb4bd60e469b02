"""The reference says what the code says."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import confide
from tools import reference

ROOMS = Path(__file__).parents[1] / "confide"
INSIDE = {"statistics", "batches", "curator", "shuffler", "dashboard"}  # the last four are used by their commands
"""Rooms that only privatizers and fits look into."""


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return reference.pages()


@pytest.mark.parametrize("name", ["index", *reference.PAGES])
def test_a_page_is_what_the_code_says(name: str, pages: dict[str, str]) -> None:
    written = (reference.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert written == pages[f"{name}.md"], "python -m tools.reference writes it anew"


def test_every_room_with_public_names_has_a_page() -> None:
    rooms = {path.parent.name for path in ROOMS.glob("*/__init__.py")}
    public = {room for room in rooms if hasattr(importlib.import_module(f"confide.{room}"), "__all__")}
    assert public - INSIDE <= set(reference.PAGES)


@pytest.mark.parametrize("name", sorted(set(reference.PAGES) - {"confide"}))
def test_every_room_with_a_page_is_reached_from_the_package(name: str) -> None:
    assert name in confide.__all__ and getattr(confide, name).__name__ == f"confide.{name}"


@pytest.mark.parametrize("name", reference.PAGES)
def test_what_can_be_called_is_documented(name: str) -> None:
    for module in map(importlib.import_module, reference.PAGES[name]):
        for word, thing in reference.public(module):
            assert reference.documented(thing) or reference.comment(word, module) or not callable(thing), word
            for called, text in reference.members(thing) if isinstance(thing, type) else ():
                assert text, f"{word}: {called}"


def test_a_signature_is_annotated_as_it_is_written() -> None:
    def made(first: int, *, second: str = "two") -> list[int]:
        """Nothing."""
        raise NotImplementedError

    assert reference.signature("made", made) == "made(first: int, *, second: str = 'two') -> list[int]"
    assert reference.signature("made", made, width=20) == (
        "made(\n    first: int,\n    *,\n    second: str = 'two',\n) -> list[int]"
    )
