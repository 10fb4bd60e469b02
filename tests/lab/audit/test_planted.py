"""The table of planted mutants: each can be planted, names what is there, and what the page says was found."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from confide.lab.audit import entries
from tools.mutants import DATA, MUTANTS, PAGE, main, page, planted
from tools.planted import Mutant

ROOT = Path(__file__).resolve().parents[3]


def _parse(text: str, file: str) -> None:
    """Refuse a mutant that any test would notice, since it cannot be read; a script where there is Node."""
    node = shutil.which("node")
    if not file.endswith(".js"):
        compile(text, file, "exec")
    elif node is not None:
        subprocess.run([node, "--check", "--input-type=module"], input=text, text=True, check=True, timeout=60)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what)
def test_a_mutant_has_its_place_and_names_tests_and_attacks(mutant: Mutant) -> None:
    text = (ROOT / mutant.path).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1 and mutant.old != mutant.new
    _parse(text.replace(mutant.old, mutant.new), mutant.file)
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}" in (ROOT / file).read_text(encoding="utf-8")
    assert set(mutant.audits) <= {entry.name for entry in entries()}
    assert bool(mutant.audits) != bool(mutant.unseen)


def test_a_mutant_without_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "confide").mkdir()
    (tmp_path / "confide" / "noise.py").write_text("scale = 1\n", encoding="utf-8")
    mutant = Mutant("half", "noise.py", "scale = 2", "scale = 1", ())
    with pytest.raises(SystemExit, match="0 places for 'half'"):
        planted(mutant, tmp_path)


def test_the_page_tells_of_all_mutants_and_none_lives() -> None:
    rows = json.loads(DATA.read_text(encoding="utf-8"))
    assert [row["mutant"] for row in rows] == [mutant.what for mutant in MUTANTS] and len(rows) >= 30
    assert page(rows) == PAGE.read_text(encoding="utf-8")
    assert all(row["killed_by_test"] and row["test"] for row in rows)
    for row, mutant in zip(rows, MUTANTS, strict=True):
        assert row["unseen"] == mutant.unseen
        assert mutant.unseen or row["refused"] or row["at_least"] > row["certified"]


@pytest.mark.slow
def test_a_mutant_is_planted_and_dies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "1", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert row["killed_by_test"] and row["at_least"] > 1.5 > row["certified"]


@pytest.mark.slow
def test_attacks_alone_keep_which_test_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "1", "--attacks", "--json"]) == 0
    row, known = json.loads(capsys.readouterr().out)["rows"][0], json.loads(DATA.read_text(encoding="utf-8"))[0]
    assert (row["test"], row["killed_by_test"]) == (known["test"], True)
    assert row["at_least"] == pytest.approx(known["at_least"], rel=0.2) and row["at_least"] > row["certified"]
