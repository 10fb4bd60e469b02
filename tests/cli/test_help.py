"""`confide` and `confide --help`: what can be done, grouped by user."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import confide.cli as cli
from confide.cli import EXAMPLES
from confide.lab.environments.clinic import clinic, practice
from confide.lab.simulation.offline_log import draw_records
from confide.lab.staging.processes import Process
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


def named(command: click.Command, name: str = "") -> dict[str, click.Command]:
    """All commands that do something, by their words."""
    if not isinstance(command, click.Group):
        return {name: command}
    context = click.Context(command)
    below = {word: command.get_command(context, word) for word in command.list_commands(context)}
    return {
        words: found
        for word, one in below.items()
        if one
        for words, found in named(one, f"{name} {word}".strip()).items()
    }


def examples_of(command: click.Command) -> list[str]:
    """The lines of a command's help that can be typed."""
    return re.findall(r"^ *(?:Example: )?confide (.*)$", f"{command.help}\n{command.epilog}", flags=re.MULTILINE)


def test_every_help_has_an_example_of_its_own_command() -> None:
    found = {name: examples_of(command) for name, command in named(cli.command).items()}
    assert len(found) > 35
    assert [name for name, lines in found.items() if not any(line.startswith(name) for line in lines)] == []


RUNNING = ("curate", "issue", "serve", "shuffle", "visit")
"""Commands that run until they are stopped, or against one that does; tests of services start them."""
LONG = ("demo", "service demo")
"""Commands with tests of their own."""


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that has what examples name: logs, a fit, a fit file, runs and services."""
    folder = tmp_path_factory.mktemp("examples")
    with contextlib.chdir(folder):
        world = clinic(8)
        for seed, name in enumerate(("log.parquet", "fitted.parquet")):
            parquet.write_table(pa.table(draw_records(world, practice(8), 60, np.random.default_rng(seed))), name)
        sizes = ["--states", "6", "--actions", "3", "--horizon", "8", "--rho", "0.5", "--budget", "1"]
        assert cli.run(["fit", "fitted.parquet", *sizes, "--out", "policy"]) == 0
        fit_file = (folder / "policy" / "fit.toml").read_text("utf-8").replace('folder = "policy"', 'folder = "again"')
        (folder / "fit.toml").write_text(fit_file, encoding="utf-8")
        for name in ("one", "other"):
            words = ["simulate", "riverswim/3", "--epsilon", "1", "--episodes", "200", "--seeds", "2"]
            assert cli.run([*words, "--out", f"runs/{name}"]) == 0
    return folder


ALONE = [
    name
    for name, command in named(cli.command).items()
    if name in EXAMPLES and name not in (*RUNNING, *LONG) and not name.startswith("service")
]


@pytest.mark.parametrize("name", ALONE)
def test_an_example_runs(
    name: str, workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_records(tmp_path / "records.csv", 20)
    monkeypatch.chdir(tmp_path if name == "init" else workshop)  # a fit file that is there is not written again
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    few = ["--samples", "2e3"] if name == "audit" else []
    assert cli.run([*shlex.split(EXAMPLES[name])[1:], *few]) == 0, capsys.readouterr().err


@pytest.mark.service
def test_examples_of_services_run_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order in which an operator meets them; the service was up once."""
    monkeypatch.chdir(tmp_path)
    order = (
        "new",
        "token",
        "rotate",
        "pause",
        "resume",
        "backup",
        "check",
        "restore",
        "carry",
        "succeed",
        "end",
        "export",
        "delete",
    )
    assert {f"service {word}" for word in order} == {name for name in EXAMPLES if name.startswith("service")} - set(
        LONG
    )
    successor = EXAMPLES["service new"].replace("new tea", "new tea2 --succeeds tea")
    for word in order:
        if word == "backup":
            Process(Path("tea")).start().stop()
        if word == "carry":
            assert cli.run(shlex.split(successor)[1:]) == 0, capsys.readouterr().err
        code = 2 if word == "carry" else 0  # no round of tea was closed, which is said
        assert cli.run(shlex.split(EXAMPLES[f"service {word}"])[1:]) == code, (word, capsys.readouterr().err)
        assert word != "carry" or "nothing to carry" in capsys.readouterr().err


@pytest.mark.parametrize("name", RUNNING)
def test_an_example_of_a_server_is_understood(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("tea", "tea-issuer"):
        Path(folder).mkdir()
    command = named(cli.command)[name]
    assert command.make_context(name, shlex.split(EXAMPLES[name])[2:]).params


def test_help_lists_the_commands_of_each_user_in_turn(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    out = capsys.readouterr().out
    places = [out.index(f"\n{user}:\n") for user in cli.GROUPS]
    assert places == sorted(places)
    for user, start, end in zip(cli.GROUPS, places, [*places[1:], len(out)], strict=True):
        shown = re.findall(r"^  (\w+) ", out[start:end].split("\n\n")[0], flags=re.MULTILINE)
        assert shown == list(cli.GROUPS[user])
