"""Commands and Python of docs/how-to run as they stand, on a small clinic of these sizes."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from confide.cli import run
from confide.lab.environments import clinic
from confide.lab.simulation.offline_log import draw_records

DOCS = Path(__file__).parents[2] / "docs"
VISITS = 8
SMALLER = {
    "716": "6",
    "25": "3",
    "--horizon 20": f"--horizon {VISITS}",
    "horizon=20": f"horizon={VISITS}",
    "icu-sepsis": "clinic",
}
"""What stands in the documents, and what the clinic has."""


def smaller(text: str) -> str:
    for large, small in SMALLER.items():
        text = re.sub(rf"(?<![\w.]){re.escape(large)}(?![\w.])", small, text)
    return text


def commands(page: str) -> list[list[str]]:
    """Every command of the first block, in order; two may stand on one line, and a remark may follow."""
    block = re.search(r"```\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    results = []
    for line in block[1].splitlines():
        pieces = re.split(r"(?:^|\s{2,})(?:confide|\./run) ", line)[1:]
        results += [shlex.split(smaller(re.split(r"\s{3,}", piece)[0])) for piece in pieces]
    return results


@pytest.fixture
def clinic_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    world, rng = clinic.clinic(VISITS), np.random.default_rng(0)
    drawn = draw_records(world, clinic.practice(VISITS), 400, rng)
    for name in ("log.parquet", "records.parquet"):
        parquet.write_table(pa.table(drawn), name)
    vectors = {f"x{i}": rng.uniform(-1, 1, 400 * VISITS) for i in range(3)}
    options = {name: drawn[name] for name in ("user", "step", "action", "reward")}
    parquet.write_table(pa.table({**options, **vectors}), "visits.parquet")
    np.savez("possible.npz", world.transitions[0] > 0)
    np.save("mine.npy", np.zeros(6, dtype=np.int64))
    return tmp_path


def test_the_commands_of_the_page_about_data(clinic_here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = commands("how-to/fit-a-log.md")
    assert [words[0] for words in result] == [
        *("forecast", "budget", "fit", "fit", "certificate", "report", "evaluate", "evaluate"),
        *("compare", "explain", "export", "refit", "synthesize", "simulate", "fit"),
    ]
    for words in result[:-1]:
        assert run(words) == 0, capsys.readouterr().err
    assert run([*result[-1], "--replace", "--budget", "1"]) == 0, (
        capsys.readouterr().err
    )  # another log, the same folder


def test_the_commands_of_the_page_about_missing_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first is refused by its rows; a missing state is a category; a missing reward is filled in by a query, or is a loss."""
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "how-to" / "missing-values.md").read_text(encoding="utf-8")
    blocks = (shlex.split(block)[1:] for block in re.findall(r"```\n(confide .*?)```", page, re.DOTALL))
    first, category, filled, ends = blocks
    Path("labels.json").write_text('{"states": ["well", "ill"], "actions": ["wait", "treat"]}', encoding="utf-8")
    log(("well", "ill", ""), ("1", "1", "1"))
    assert run(first) == 2
    assert "Rows 3" in "".join(capsys.readouterr())
    assert run(category) == 0, capsys.readouterr().err
    assert Path("policy", "certificate.json").is_file() and Path("log.csv.ledger.json").is_file()
    log(("well", "ill", "well"), ("1", "0", ""))
    assert run(first) == 2
    assert run([*filled, "--replace"]) == 0, capsys.readouterr().err
    assert run([*ends, "--replace"]) != 0  # all are charged to one budget, of which nothing is left
    assert "is left in log.csv.ledger.json" in "".join(capsys.readouterr())
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy("labels.json", other)
    monkeypatch.chdir(other)
    log(("well", "ill", "well"), ("1", "0", "1"))
    text = Path("log.csv").read_text(encoding="utf-8")  # half of the users lack their last reward
    cut = re.sub(r"^(\d*[02468],3,.*),\d$", r"\1,", text, flags=re.MULTILINE)
    Path("log.csv").write_text(cut, encoding="utf-8")
    assert run(first) == 2
    assert run(ends) == 0, capsys.readouterr().err
    assert "lost to follow-up" in Path("policy", "certificate.json").read_text(encoding="utf-8")


def log(states: tuple[str, ...], rewards: tuple[str, ...]) -> None:
    """A log of 60 users in which three states and three rewards take turns."""
    turns = ((user, step, (user + step) % 3) for user in range(60) for step in range(4))
    lines = [f"{user},{step},{states[turn]},wait,{rewards[turn]}" for user, step, turn in turns]
    Path("log.csv").write_text("\n".join(["user,step,state,action,reward", *lines]) + "\n", encoding="utf-8")


def test_the_python_of_the_page_about_data(clinic_here: Path) -> None:
    pages = [
        (DOCS / "how-to" / name).read_text(encoding="utf-8") for name in ("fit-a-log.md", "declare-public-facts.md")
    ]
    first, second = (block for page in pages for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    possible = clinic.clinic(VISITS).transitions[0] > 0
    names = {"possible": possible}
    exec(compile(smaller(first).replace("state=17", "state=1"), "how-to", "exec"), names)
    # The second log is another one; only the folder is the same.
    exec(
        compile(
            smaller(second).replace('out="policy/"', 'out="vectors/"').replace('load("policy/")', 'load("vectors/")'),
            "how-to",
            "exec",
        ),
        names,
    )
