"""What the documentation says is true."""

from __future__ import annotations

import inspect
import itertools
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from confide import cli
from confide.cli import demo
from confide.lab.staging.processes import Process
from tests.test_words import dialect
from tools import release

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_printed_protocol_is_the_protocol():
    from confide.lab.simulation.play import play

    assert inspect.getsource(play) in blocks(ROOT / "docs" / "explanations" / "exact-simulation.md", "python")


def test_the_readme_is_short_and_in_order():
    text = README.read_text(encoding="utf-8")
    assert len(text.partition("\n## More\n")[0].split()) <= 700
    heads = re.findall(r"^## (\w+)", text, flags=re.MULTILINE)
    assert heads == ["Install", "Researchers", "Analysts", "Service", "Which", "What", "What", "Links", "More"]
    pictures = re.findall(r"^!\[", text.partition("\n## Which")[0], flags=re.MULTILINE)
    assert len(pictures) == 3  # one for each kind of user


def test_python_in_the_readme_runs(tmp_path, monkeypatch, capsys):
    """The same lines, with fewer users and seeds; the log is the one that `confide demo` leaves."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "confide-demo").mkdir()
    demo._records(Path("confide-demo"))
    result = blocks(README, "python")
    assert len(result) == 3
    for block in result:
        small = block.replace("50_000", "500").replace("seeds=10", "seeds=2")
        exec(compile(small, "README.md", "exec"), {})
    assert (tmp_path / "one.png").stat().st_size and (tmp_path / "clinic-policy" / "report.html").stat().st_size


def test_a_world_of_ones_own_runs():
    """In a process of its own, since the world is registered for good."""
    (program,) = blocks(ROOT / "docs" / "how-to" / "simulate.md", "python")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert len(done.stdout.strip("[]\n").split()) == 2  # the regret of two seeds


def commands() -> list[list[str]]:
    """The commands of the README, as words: every line of its blocks of sh."""
    lines = [line for block in blocks(README, "sh") for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True) for line in lines]


SERVED = (["service", "new"], ["serve", "tea"], ["visit"], ["service", "check"])
"""How the commands of the service begin: they are run together."""


def alone() -> list[list[str]]:
    """The commands that need no service, in few episodes."""
    assert all(program == "confide" for program, *_ in commands())
    rest = [words for _, *words in commands() if not any(words[: len(start)] == start for start in SERVED)]
    assert len(rest) + len(SERVED) == len(commands())
    small = {"--episodes": "300", "--seeds": "1"}
    return [[small.get(before, word) for before, word in zip(["", *words], words, strict=False)] for words in rest]


@pytest.mark.parametrize("words", alone(), ids=" ".join)
def test_a_command_in_the_readme_runs(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(words) == 0, capsys.readouterr().err
    plotted = [word for before, word in itertools.pairwise(words) if before == "--plot"]
    assert all(Path(name).is_file() for name in plotted)


@pytest.mark.service
def test_the_service_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    """All four lines in turn, on a free port and with fewer users; the second has a process of its own."""
    monkeypatch.chdir(tmp_path)
    new, serve, visit, check = (
        next(words for _, *words in commands() if words[: len(start)] == start) for start in SERVED
    )
    assert cli.run(new) == 0
    process = Process(Path(serve[1]), options=serve[2:]).start()
    try:
        address = visit[1]
        assert address == "http://127.0.0.1:8000"
        visit = [{address: process.url, "1000": "20"}.get(word, word) for word in visit]
        assert cli.run(visit) == 0, capsys.readouterr().err
        assert cli.run([word.replace(address, process.url) for word in check]) == 0, capsys.readouterr().err
    finally:
        process.stop()


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "index.md"], ids=lambda page: page.name)
def test_commands_within_sentences_exist(page):
    inline = re.findall(r"`confide (\w+)", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE))
    assert inline and set(inline) <= set(cli.COMMANDS)


def test_what_the_readme_installs_is_what_a_release_installs():
    lines = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("pip install")]
    extras = [re.sub(r"^pip install '?\.(?:\[([\w,]+)\])?'?.*", r"\1", line) for line in lines]
    assert extras == ["full", "service", ""] and set(extras) <= set(release.INSTALLS)


PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]


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


def test_pictures_of_the_readme_show_pages_as_they_are():
    """Headings that can be read in a picture stand in today's sources: their first words, and not a page's first one."""
    kept = json.loads((ROOT / "docs" / "pictures" / "shown.json").read_text(encoding="utf-8"))
    assert set(kept) == {"docs/pictures/report.webp", "docs/service/dashboard.webp", "docs/service/demo.webp"}
    sources = "".join(
        " ".join(path.read_text(encoding="utf-8").split())
        for folder in ("confide/analysis/reporting", "confide/service/dashboard")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".html", ".js")
    )
    for picture, headings in kept.items():
        assert len(headings) >= 2 and not dialect("\n".join(headings)), picture
        gone = [heading for heading in headings[1:] if " ".join(heading.split()[:4]) not in sources]
        assert not gone, f"{picture}: draw it again: python -m tools.pictures"
