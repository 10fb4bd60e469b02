"""The site of the documentation: what it is gathered from, and that every link leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from confide.lab.experiments.publishing import missing_pictures
from tools import site
from tools.reference import PAGES

CONFIG = (site.ROOT / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    site.gather(folder)
    return folder


def test_every_link_leads_to_something_of_the_site(pages: Path) -> None:
    seen = 0
    for page in pages.rglob("*.md"):
        text = site.FENCED.sub("", page.read_text(encoding="utf-8"))
        for target, _ in site.LINK.findall(text):
            if "://" in target or page.name.endswith(".py.md"):
                continue
            there = Path(os.path.normpath(page.parent / target))
            assert there.is_file() and pages in there.parents, f"{page.relative_to(pages)}: {target}"
            seen += 1
    assert seen > 100


def test_what_experiments_link_to_is_there(pages: Path) -> None:
    """Under the same addresses: a README.md becomes an index.html. `./run docs` first draws what is missing."""
    drawn = {picture.relative_to(site.ROOT) for picture in missing_pictures(site.ROOT / "docs" / "reproductions")}
    for page in (pages / "docs" / "reproductions").rglob("README.md"):
        for target in re.findall(r'(?:href|src)="([^"#:]+)"', page.read_text(encoding="utf-8")):
            there = Path(os.path.normpath(page.parent / target.replace("index.html", "README.md")))
            assert there.is_file() or there.relative_to(pages) in drawn, f"{page.relative_to(pages)}: {target}"


def test_what_the_example_of_a_page_loads_is_there(pages: Path) -> None:
    example = pages / "js" / "example" / "index.html"
    loaded = re.findall(r'from "(\.[^"]+)"', example.read_text(encoding="utf-8"))
    assert loaded
    for target in loaded:
        script = example.parent / target
        assert script.is_file()
        for other in re.findall(r'from "(\.[^"]+)"', script.read_text(encoding="utf-8")):
            assert (script.parent / other).is_file()


def test_the_navigation_names_pages_that_are_there(pages: Path) -> None:
    """Pages that it does not name are in the site too: by links and by search."""
    named = set(re.findall(r"[\w/.-]+\.md", CONFIG))
    assert len(named) > 50 and {name for name in named if not (pages / name).is_file()} == set()


def test_the_reference_is_written_from_docstrings(pages: Path) -> None:
    for name, modules in PAGES.items():
        text = (pages / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
        assert re.findall(r"^::: (.*)$", text, flags=re.MULTILINE) == list(modules)


@pytest.mark.slow
def test_it_is_built_and_can_be_searched() -> None:
    """`--strict`: a link or an anchor that leads nowhere is an error."""
    done = subprocess.run([str(site.ROOT / "run"), "docs"], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    built = site.ROOT / "build" / "site"
    words = (built / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "confide.privacy.Ledger" in words and "Budgeted counts" in words and "LDP-OBI with Laplace noise" in words
    assert "://fonts." not in (built / "index.html").read_text(encoding="utf-8")
