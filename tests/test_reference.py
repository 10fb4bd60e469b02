"""The reference says what the code says."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import confide
from tools import interfaces, reference

PACKAGE = Path(__file__).parents[1] / "confide"
INSIDE = {
    "data.statistics",
    "service.intermediary",
    "service.dashboard",
}
"""Packages that only privatizers and fits look into, and those that are used by their commands."""


def test_the_list_of_names_is_what_the_code_says() -> None:
    assert reference.INDEX.read_text(encoding="utf-8") == reference.index(), "python -m tools.reference writes it anew"


@pytest.mark.parametrize("page", interfaces.PAGES)
def test_commands_and_addresses_are_what_the_code_says(page: str) -> None:
    written = (interfaces.FOLDER / page).read_text(encoding="utf-8")
    assert written == interfaces.PAGES[page](), "python -m tools.reference writes it anew"


def test_every_package_with_public_names_has_a_page() -> None:
    names = {".".join(path.parent.relative_to(PACKAGE).parts) for path in PACKAGE.glob("*/**/__init__.py")}
    public = {name for name in names if hasattr(importlib.import_module(f"confide.{name}"), "__all__")}
    assert {f"confide.{name}" for name in public - INSIDE} <= {modules[0] for modules in reference.PAGES.values()}


def test_what_users_name_most_is_reached_from_the_package() -> None:
    for name in (
        "audit",
        "environments",
        "learners",
        "mdp",
        "mechanisms",
        "privacy",
        "protocol",
        "testing",
        "trajectories",
    ):
        assert name in confide.__all__ and getattr(confide, name).__name__ == reference.PAGES[name][0]


@pytest.mark.parametrize("name", reference.PAGES)
def test_every_public_name_is_documented(name: str) -> None:
    for module in map(importlib.import_module, reference.PAGES[name]):
        for word, thing in reference.public(module):
            assert reference.documented(thing) or reference.comment(word, module), word
            for called, text in reference.members(thing) if isinstance(thing, type) else ():
                assert text, f"{word}: {called}"


def test_a_first_sentence_is_taken_and_a_name_is_followed_to_its_file() -> None:
    assert reference.sentence("The sum\nof two. Nothing else.\n\nMore.") == "The sum of two."
    assert reference.sentence("No end") == "No end." and reference.sentence("") == ""
    assert reference.defined_in("simulate", confide.simulate, confide) == "confide/lab/simulation/simulate.py"
    assert reference.defined_in("REPLACE", confide.privacy.REPLACE, confide.privacy) == "confide/privacy/guarantee.py"
