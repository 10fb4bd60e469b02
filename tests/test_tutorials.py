"""The tutorials run, block after block, and show what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.tutorials import PAGES, CommandFailed, play, played

SERVED = ("service", "web")


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.service if page.stem in SERVED else (), id=page.stem) for page in PAGES],
)
def test_a_tutorial_shows_what_comes_out(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == played(page), "python -m tools.tutorials writes it anew"


def test_there_is_one_for_each_kind_of_user() -> None:
    assert [page.stem for page in PAGES] == ["analyst", "researcher", "service", "web"]


def test_what_is_shown_and_wrong_is_noticed() -> None:
    page = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    assert play(page) == page.replace("3", "2")


def test_a_page_is_one_interpreter_and_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, command = "```python\n# own.py\nprint(6)\n```\n", "```sh\npython own.py\n```\n\n```text\n6\n```\n"
    names = "```python\nx = 7\n```\n\nand then\n\n```python\nprint(x)\n```\n\n```text\n7\n```\n"
    page = file + command + names
    assert play(page) == page


def test_a_refusal_is_shown_or_ends_the_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = "```sh\nconfide certificate nowhere\n```\n"
    with pytest.raises(CommandFailed, match="nowhere"):
        play(block)
    assert "nowhere" in play(f"{block}\n```text\n```\n").partition("```text")[2]
    with pytest.raises(CommandFailed, match="not run here"):
        play("```sh\nrm -r /\n```\n")
