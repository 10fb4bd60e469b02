"""`confide --import FILE`: exactly that file is run, in every process that works for the command."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from confide import loading
from confide.cli import run
from confide.lab.environments.registry import _LISTINGS

WORLD = """
import random
from dataclasses import dataclass
from confide.lab.environments import register
from confide.lab.environments.chain import chain

@dataclass
class Corridor:
    name: str

@register("corridor-of-a-test", horizon=3)
def corridor(horizon: int):
    "A corridor."
    return chain(3, horizon)

assert random.random() < 1
"""
WORDS = ["simulate", "corridor-of-a-test", "--trust", "none", "--episodes", "10", "--seeds", "2", "--json"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A file that registers a world, and beside it one that has the name of a standard module."""
    before = list(sys.path), set(sys.modules), dict(loading._FILES)
    (tmp_path / "random.py").write_text("raise RuntimeError('this file was not asked for')", encoding="utf-8")
    (tmp_path / "world.py").write_text(WORLD, encoding="utf-8")
    yield tmp_path
    assert sys.path == before[0]
    _LISTINGS.pop("corridor-of-a-test", None)
    loading._FILES.clear()
    loading._FILES.update(before[2])
    for name in {name for name in sys.modules if name.startswith(loading.FILE)} - before[1]:
        del sys.modules[name]


def test_exactly_that_file_is_run_and_its_world_has_a_bare_name(folder: Path, capsys) -> None:
    file = str(folder / "world.py")
    for _ in range(2):  # a second time it is known already
        assert run(["--import", file, *WORDS]) == 0
        assert json.loads(capsys.readouterr().out)["environment"] == "corridor-of-a-test"
    assert loading.loaded_files()[-1] == str(Path(file).resolve()) and "world" not in sys.modules


def test_what_is_wrong_with_a_file_is_said_in_a_sentence(folder: Path, capsys) -> None:
    for text, statement in (
        ("import nothing_of_that_name", "No module named"),
        ("1 / 0", "ZeroDivisionError"),
        ("(", "SyntaxError"),
    ):
        (folder / "broken.py").write_text(text, encoding="utf-8")
        assert run(["--import", str(folder / "broken.py"), *WORDS]) == 2
        printed = capsys.readouterr().err
        assert "broken.py ends with" in printed and statement in printed and printed.count("\n") == 1
    assert run(["--import", str(folder / "missing.py"), *WORDS]) == 2
    assert "takes a Python file" in capsys.readouterr().err
    assert run(["--import", str(folder / "random.py"), *WORDS]) == 2
    assert "was not asked for" in capsys.readouterr().err


@pytest.mark.slow
def test_other_processes_run_the_same_files(folder: Path, capsys) -> None:
    """A compiled learner of one's own, by two workers."""
    example = Path(__file__).parents[2] / "examples" / "own_learner.py"
    words = (
        "simulate riverswim/3 --horizon 4 --learner wanderer --trust none --episodes 50 --seeds 2 --workers 2 --json"
    )
    assert run(["--import", str(example), *words.split()]) == 0
    assert json.loads(capsys.readouterr().out)["learner"] == "wanderer"
