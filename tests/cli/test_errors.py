"""Bad input, to any command: one sentence on stderr that names thing, rule, value and way out, and exit code 2."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from confide.cli import run
from tests.analysis.results.example import example_run
from tests.refusals import refused

SIMULATE = ["simulate", "random/2x2", "--trust", "local", "--episodes", "10", "--seeds", "1"]
AUDIT = ["audit", "--trust", "local", "--mechanism", "laplace", "--samples", "1000"]

# What is wrong with a guarantee, and the code of the refusal.
PROMISES: list[tuple[list[str], str]] = [
    (["--epsilon", "0"], "not-positive: epsilon"),
    (["--epsilon", "-1"], "not-positive: epsilon"),
    (["--epsilon", "nan"], "not-positive: epsilon"),
    (["--epsilon", "inf"], "not-positive: epsilon"),
    (["--epsilon", "1", "--delta", "1"], "not-a-delta: delta"),
    (["--epsilon", "1", "--delta", "-0.1"], "not-a-delta: delta"),
    (["--epsilon", "1", "--delta", "nan"], "not-a-delta: delta"),
    (["--epsilon", "1", "--mechanism", "laplacian"], "unknown-name: mechanism"),
]
IN_RHO: list[tuple[list[str], str]] = [
    (["--epsilon", "1", "--rho", "1"], "epsilon-and-rho"),
    (["--rho", "0"], "not-positive: rho"),
    (["--rho", "1", "--delta", "1e-6"], "rho-takes-no-delta"),
    ([], "trust-needs-guarantee"),
]
CASES = [
    *(([*SIMULATE, *words], says) for words, says in (*PROMISES, *IN_RHO)),
    *(([*AUDIT, *words], says) for words, says in PROMISES),
    (["simulate", "riverswimm/6", "--epsilon", "1"], "unknown-name: environment"),
    (["simulate", "riverswim", "--epsilon", "1"], "address-sizes"),
    ([*SIMULATE, "--epsilon", "100", "--learner", "ucbiv"], "unknown-name: learner"),
    ([*SIMULATE, "--epsilon", "100", "--episodes", "1e30"], "not-a-whole-number: episodes"),
    ([*SIMULATE, "--epsilon", "100", "--episodes", "1.5"], "flag-not-whole-number"),
    ([*SIMULATE, "--epsilon", "100", "--horizon", "0"], "not-a-whole-number: horizon"),
    ([*SIMULATE, "--epsilon", "100", "--seeds", "0"], "not-a-whole-number: seeds"),
    ([*SIMULATE, "--epsilon", "100", "--plot", "regret.gif"], "picture-suffix"),
    ([*SIMULATE, "--epsilon", "100", "--out", "."], "folder-is-current"),
    ([*SIMULATE, "--compare", "guarantee=none,central:1"], "online-is-joint"),
    (["service", "new", "tea", "--states", "3", "--actions", "2", "--people", "9"], "service-flags-missing"),
    (["certificate", "nowhere"], "certificate-missing"),
    (["plot", "nowhere", "--out", "regret.png"], "run-folder-missing"),
    (["plot", "nowhere", "--out", "regret.gif"], "picture-suffix"),
    (["plot", "nowhere", "--out", "missing/regret.png"], "picture-folder-missing"),
]


def there(command: str) -> bool:
    return importlib.util.find_spec(f"confide.cli.{command}") is not None


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("words", "says"), CASES, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_bad_input_is_answered_in_one_sentence(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not there(words[0]):
        pytest.skip(f"there is no command {words[0]} yet")
    assert run(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"confide: [^\n]+[.?]\n", printed.err), printed.err
    assert not list(tmp_path.iterdir())
    with refused(says):
        run(["--debug", *words])


def test_with_json_a_refusal_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SIMULATE, "--epsilon", "0", "--json"]) == 2
    printed = capsys.readouterr()
    said = json.loads(printed.err)
    assert printed.out == "" and (said["code"], said["about"]) == ("not-positive", "epsilon")
    assert said["message"] == "epsilon must be positive. Got 0.0. Use NoPrivacy() for no privacy."
    for words, code in (
        ([*SIMULATE, "--jsn", "--json"], "flag-unknown"),
        (["simulat", "--json"], "command-unknown"),
        (["fit", "a\0b", "--json"], "null-byte"),
    ):
        assert run(words) == 2
        assert json.loads(capsys.readouterr().err)["code"] == code


@pytest.mark.parametrize(
    "words", [["certificates"], ["--epsilon"], ["plot"], ["plot", "run"], ["certificate"], ["environments", "--jsn"]]
)
def test_what_is_no_command_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    printed = capsys.readouterr()
    assert (
        printed.out == ""
        and ("Error: " in printed.err or "confide: " in printed.err)
        and "Traceback" not in printed.err
    )


def test_a_run_in_the_way_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example_run().save(tmp_path / "run")
    assert run([*SIMULATE, "--epsilon", "1", "--out", str(tmp_path / "run")]) == 2
    assert "holds a run" in capsys.readouterr().err


def test_the_command_itself_prints_no_traceback_unless_asked(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "confide", "certificate", str(tmp_path)]
    plain = subprocess.run(command, capture_output=True, text=True)
    assert plain.returncode == 2 and "Traceback" not in plain.stderr and plain.stderr.count("\n") == 1
    command.insert(3, "--debug")
    shown = subprocess.run(command, capture_output=True, text=True)
    assert shown.returncode != 0 and "Traceback" in shown.stderr and "FormatError" in shown.stderr


def test_no_promise_is_answered_in_the_words_of_the_shell(capsys):
    assert run(["simulate", "riverswim/3"]) == 2
    assert "--trust none" in capsys.readouterr().err


def test_logged_people_have_no_curves_to_draw(tmp_path, capsys):
    assert run(["simulate", "clinic", "--offline", "--plot", str(tmp_path / "x.png")]) == 2
    assert "--plot" in capsys.readouterr().err and not (tmp_path / "x.png").exists()
