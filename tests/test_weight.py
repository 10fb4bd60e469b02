"""The repository is light: pictures that documents show, and no others; everything else is drawn from the data beside the pages."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_BYTES = 20_000_000
"""What all files that git holds may take together."""
SHOWS = {".md": r"!\[[^]]*\]\(([^)#\s]+)\)", ".html": r"<img src=\"([^\"#\s]+)\""}
"""How a page shows a picture."""


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """The files that git holds and that are there."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def test_the_repository_is_light(tracked: list[Path]) -> None:
    assert sum(path.stat().st_size for path in tracked) < MOST_BYTES


def test_only_pictures_that_documents_show_are_kept(tracked: list[Path]) -> None:
    pictures = {
        path for path in tracked if "docs" in path.parts and path.suffix in (".png", ".svg", ".webp", ".pdf", ".jpg")
    }
    shown = {
        Path(os.path.normpath(page.parent / target))
        for page in tracked
        if page.suffix in SHOWS
        for target in re.findall(SHOWS[page.suffix], page.read_text(encoding="utf-8"))
    }
    assert pictures and pictures - shown == set()
