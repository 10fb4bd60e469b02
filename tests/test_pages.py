"""Pages of experiments say what their data shows, and documents have the tables of their pages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import matplotlib
import pytest

from confide.lab.experiments.experiment import catalogue
from confide.lab.experiments.part import PAPER
from confide.lab.experiments.publishing import missing_pictures, read_data
from tools.pages import DOCUMENTS, PAGES, filled, folders, stale, stale_pictures

SLOW = {"ours/claimed-and-true"}
"""Whose words take half a minute of accounting: renewed with the table, by the same code."""


@pytest.mark.parametrize("address", sorted(set(catalogue()) - SLOW))
def test_a_page_says_what_its_data_shows(address: str) -> None:
    """Every file of it: the page, the tables, the headline."""
    if not folders(address):
        pytest.skip("it has no page")
    assert not stale(address), "renew it: python -m tools.pages"


@pytest.mark.parametrize("address", sorted(set(catalogue()) - SLOW))
def test_the_data_of_a_page_belong_to_parts_of_its_experiment(address: str) -> None:
    """A part that is renamed or taken out is renamed or taken out of the stored data too."""
    known = {part.label for part in catalogue()[address].parts}
    for _, folder in folders(address):
        assert {result.label for result in read_data(folder)} <= known


def test_a_table_that_was_made_of_other_data_is_noticed(tmp_path: Path) -> None:
    address = "ours/joint-riverswim"
    shutil.copytree(PAGES / address, tmp_path / address)
    ((_, folder),) = folders(address, tmp_path)
    assert not stale(address, tmp_path)
    table = folder / "table.md"
    table.write_text(table.read_text().replace(" to ", " up to ", 1))
    assert list(stale(address, tmp_path)) == [table]


def test_pages_have_their_pictures() -> None:
    """In a clone too: git knows every picture that a page at paper scale shows."""
    assert [path for path in missing_pictures(PAGES) if path.parent.name == PAPER] == []
    shown = {path for path in PAGES.rglob("*.svg") if path.parent.name == PAPER}
    ignored = subprocess.run(
        ["git", "check-ignore", *sorted(map(str, shown))], capture_output=True, text=True, check=False, cwd=PAGES
    )
    assert ignored.returncode in (1, 128), f"git ignores {ignored.stdout}"  # 128 where there is no repository


@pytest.mark.parametrize("address", ["ours/cost-of-privacy", "ours/rivals", "ours/worlds"])
def test_pictures_have_the_intervals_of_the_tables(address: str, tmp_path: Path) -> None:
    """Drawn again from the data they are the same bytes, with the version of matplotlib that drew them."""
    (picture, *_) = folders(address)[0][1].glob("*.svg")
    if f"Matplotlib v{matplotlib.__version__}" not in picture.read_text(encoding="utf-8"):
        pytest.skip("drawn by another version of matplotlib")
    assert not stale_pictures(address), "draw it again: python -m tools.pages --redraw"
    kept = tmp_path / picture.relative_to(PAGES)
    shutil.copytree(PAGES / address, tmp_path / address)
    kept.write_text(kept.read_text(encoding="utf-8").replace("#", "# ", 1), encoding="utf-8")
    assert list(stale_pictures(address, tmp_path)) == [kept]


def test_documents_have_the_tables_of_the_pages() -> None:
    for document in DOCUMENTS.glob("*.md"):
        text = document.read_text(encoding="utf-8")
        assert filled(text) == text, f"renew {document.name}: python -m tools.pages"
