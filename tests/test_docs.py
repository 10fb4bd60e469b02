"""What the documentation says is true."""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path

import pytest
from pyarrow import csv, parquet

from confide.environments import clinic
from examples.clinic import write_records

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_printed_protocol_is_the_protocol():
    from confide.simulation.play import play

    assert inspect.getsource(play) in blocks(ROOT / "docs" / "online.md", "python")


def test_python_in_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_records(tmp_path / "records.csv", 400)
    book = {"states": {name: place for place, name in enumerate(clinic.STATES)}}
    book["actions"] = {name: place for place, name in enumerate(clinic.ACTIONS)}
    table = csv.read_csv("records.csv")
    for column, names in (("state", book["states"]), ("next_state", book["states"]), ("action", book["actions"])):
        numbers = [names[word] for word in table[column].to_pylist()]
        table = table.set_column(table.column_names.index(column), column, [numbers])
    parquet.write_table(table, "records.parquet")
    result = blocks(README, "python")
    assert len(result) == 3  # one for each kind of user
    for block in result:
        # The same lines, with fewer people and seeds.
        small = block.replace("50_000", "500").replace("seeds=10", "seeds=2")
        exec(compile(small, "README.md", "exec"), {})


def commands() -> list[str]:
    lines = README.read_text(encoding="utf-8").splitlines()
    return [line.split("./run ", 1)[1] for line in lines if line.startswith("./run simulate")]


@pytest.mark.parametrize("line", commands())
def test_commands_in_the_readme_are_understood(line, tmp_path, monkeypatch, capsys):
    from confide.cli import run

    monkeypatch.chdir(tmp_path)
    small = re.sub(r"--episodes \S+", "", re.sub(r"--seeds \S+", "", line))
    assert run([*shlex.split(small), "--episodes", "300", "--seeds", "1"]) == 0, capsys.readouterr().err


PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def links(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\(([^)#\s]+)", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    assert [target for target in links(page) if "://" not in target and not (page.parent / target).exists()] == []


def test_every_page_is_on_the_way():
    """From the README, by links alone, one comes to every page but those that experiments write."""
    seen, waiting = set(), [README]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        results = [page.parent / target for target in links(page) if "://" not in target]
        pages = [one.resolve() for path in results for one in (path.glob("*.md") if path.is_dir() else [path])]
        waiting += {one for one in pages if one.suffix == ".md"} - seen
    written = ROOT / "docs" / "reproductions"
    assert [page for page in PAGES if page not in seen and not page.is_relative_to(written)] == []
