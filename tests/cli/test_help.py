"""`confide` and `confide --help`: what can be done, grouped by user."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import confide.cli as cli
from examples.clinic import write_records

SHORTER = {"--episodes 50000": "--episodes 300 --seeds 1", "service demo": "service demo --people 40"}


def first_steps() -> list[str]:
    """The commands that `confide` without arguments names, in its own lines."""
    return re.findall(r"^    confide (.*)$", cli.FIRST_STEPS, flags=re.MULTILINE)


def test_without_arguments_there_are_three_things_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([]) == 0
    assert capsys.readouterr().out == cli.FIRST_STEPS
    assert [step.split()[0] for step in first_steps()] == ["simulate", "init", "service"]


@pytest.mark.parametrize(
    "step",
    [pytest.param(step, marks=pytest.mark.service if step.startswith("service") else ()) for step in first_steps()],
)
def test_each_of_them_runs(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_records(tmp_path / "records.csv", 20)
    for long, short in SHORTER.items():
        step = step.replace(long, short)
    assert cli.run(shlex.split(step)) == 0


def test_every_command_has_one_user_and_a_module_of_its_name() -> None:
    assert sum(len(commands) for commands in cli.GROUPS.values()) == len(cli.COMMANDS)
    for name in cli.COMMANDS:
        command = cli.command.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None and command.name == name


def test_help_lists_the_commands_of_each_user_in_turn(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    out = capsys.readouterr().out
    places = [out.index(f"\n{user}:\n") for user in cli.GROUPS]
    assert places == sorted(places)
    for user, start, end in zip(cli.GROUPS, places, [*places[1:], len(out)], strict=True):
        shown = re.findall(r"^  (\w+) ", out[start:end].split("\n\n")[0], flags=re.MULTILINE)
        assert shown == list(cli.GROUPS[user])
