"""docs/compare.md and docs/research/paper.md do what they say, from an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from confide.cli import run

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


@pytest.mark.law
def test_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for kind, text in blocks("compare.md"):
        if kind == "python":
            exec(text, names)  # the page's own code
        elif "--import" not in text and "theirs.csv" not in text:
            for line in text.replace("\\\n", " ").strip().splitlines():
                words = shlex.split(line)[1:]
                found = [str(path) for word in words for path in (sorted(Path().glob(word)) if "*" in word else [word])]
                assert run(found) == 0, line
    printed = capsys.readouterr().out
    assert "5 seeds may miss" in printed and "paired t-test" in printed and "private-ucb-vi" in printed
    for name in ("table.tex", "table.csv", "figure.pdf", "grid.png"):
        assert Path(name).stat().st_size > 300
    assert (tmp_path / "grid" / "learner-ucbvi-guarantee-none" / "config.json").is_file(), "as the page names it"


@pytest.mark.law
def test_first_use(tmp_path: Path) -> None:
    code = {text.splitlines()[0][2:]: text for kind, text in blocks("research/paper.md") if kind == "python"}
    assert set(code) == {"mine.py", "paper.py"}
    small = code["paper.py"].replace("episodes=2000", "episodes=300").replace("seeds=5", "seeds=2")
    assert small != code["paper.py"]
    for name, text in {**code, "paper.py": small}.items():
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        [sys.executable, "paper.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900
    )
    assert found.returncode == 0, found.stderr
    table = (tmp_path / "table.tex").read_text()
    assert (tmp_path / "figure.pdf").is_file() and table.count(r"\\") == 1 + 5 * 2 * 3
    assert found.stderr.count("paper.py:") == found.stderr.count("NoiseWarning") > 0, "it names the user's own line"
    assert found.stdout.count("mine / ucbvi") == 2 * 3
    checked = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "mine.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert checked.returncode == 0, checked.stdout
