"""What the documentation says is true."""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_printed_protocol_is_the_protocol():
    from confide.simulation.play import play

    assert inspect.getsource(play) in blocks(ROOT / "docs" / "online.md", "python")


def test_python_in_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = blocks(README, "python")
    assert found
    for block in found:
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


def test_every_link_in_the_readme_leads_somewhere():
    for target in re.findall(r"\]\(([^)#]+)", README.read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target
