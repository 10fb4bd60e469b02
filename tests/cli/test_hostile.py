"""More than two hundred hostile inputs: each is answered in one sentence and exit code 2, and nothing is charged or written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from confide.cli import run

from .hostile import CASES, Words, build, fit


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        build(folder)
        yield folder


OF_OUT = [name for name in CASES if name.startswith("out ")]
"""Only these are about the folder for results."""


def state_of(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder there, with its contents; locks hold nothing and do not count."""
    result = sorted(path for path in folder.rglob("*") if path.suffix != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in result}


def test_there_are_two_hundred() -> None:
    assert len({words for words in CASES.values()}) >= 200


@pytest.fixture(scope="module")
def left(place: Path) -> dict[str, dict[str, bytes | None]]:
    """What is there before the next case: what the last one left, so that it is read once a case."""
    return {"state": state_of(place)}


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_input_is_answered_in_one_sentence(
    name: str, place: Path, left: dict[str, dict[str, bytes | None]], capsys: pytest.CaptureFixture[str]
) -> None:
    words: Words = CASES[name]
    before = left["state"]
    code, left["state"] = run(words), state_of(place)
    assert code == 2
    printed = capsys.readouterr()
    results = [
        line
        for line in printed.err.splitlines()
        if not re.fullmatch(r"confide: (\d+ rows? read|values are taken).*", line)
    ]
    assert printed.out == ""
    assert len(results) == 1 and re.fullmatch(r"confide: .+[.?]", results[0]), printed.err
    assert "Traceback" not in printed.err and "Error:" not in results[0].replace("Catalog Error:", "").replace(
        "Parser Error:", ""
    )
    assert left["state"] == before
    assert name in OF_OUT or "/out" not in results[0], "refused for another reason than its own"


def test_nothing_else_was_wrong_with_them(place: Path) -> None:
    """The same words without a fault go ahead, so that each fault is what was refused."""
    assert run(fit("--check")) == 0
    assert run(fit("--check", "--learner", "vapvi", "--features", "features.npy")) == 0
    assert run(fit("--check", data="unordered.parquet")) == 2
    assert run(fit("--check", "--in-order", data="unordered.parquet")) == 0
