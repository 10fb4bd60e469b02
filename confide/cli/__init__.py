"""The command `confide`: thin commands that read options, call one function and print.

Commands are loaded when they are called, so that `confide --help` stays quick. Every deliberate error is one sentence on
stderr with exit code 2, or with `--json` one object of its `code` and `message`; `--debug` shows where it came from. With
`--json` exactly one object goes to stdout when all went well.
"""

from __future__ import annotations

import difflib
import importlib
import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from .._version import __version__
from ..errors import ConfideError, UnknownName, install
from ..loading import load_files

# By user: each command, which the module of its name holds, and what `confide --help` says of it.
BUILDER = "Service builder: learn from users whose data stays on their devices"
GROUPS: dict[str, dict[str, str]] = {
    "Start": {
        "demo": "A one-minute tour of simulation, fit, certificate and audit.",
    },
    "Researcher: measure what privacy costs an algorithm": {
        "simulate": "Simulate a learner under a privacy guarantee; the regret is exact.",
        "environments": "List the environments.",
        "tune": "Choose a learner's constant on simulations.",
        "plot": "Overlay the curves of saved runs.",
        "evaluate": "The exact value of a policy where the model is known.",
        "reproduce": "Run an experiment of a paper, or one of our own, by its address.",
        "verdicts": "Guarantees that papers claim, beside those that hold.",
        "audit": "Attack a mechanism; compare the measured leakage with the certified epsilon.",
    },
    "Analyst: learn a private policy from logged trajectories": {
        "init": "Write one commented file in place of forty flags.",
        "forecast": "How much data a guarantee needs, before any budget is spent.",
        "check": "What a fit would do and what is wrong with the data; spends nothing.",
        "budget": "Set or show the privacy budget of a data set.",
        "fit": "Learn a policy with a differential privacy guarantee for everyone in the log.",
        "refit": "Learn again from a saved release; spends nothing.",
        "compare": "Evaluate several policies from one release; spends nothing.",
        "explain": "Where a policy differs from current practice, and by how much value.",
        "report": "Show the report of a fit.",
        "certificate": "Show the guarantee of a fit or a run, and what it assumes.",
        "export": "A policy as a table, as JSON, as SQL or as arrays.",
        "synthesize": "Draw synthetic trajectories from a private release; spends nothing.",
    },
    BUILDER: {
        "service": "Make, check, end or delete a service; `service demo` runs one for a minute.",
        "serve": "Run a collector: aggregate private reports, learn, publish policies.",
        "shuffle": "Run a shuffler: aggregate reports in memory, forward the sums.",
        "curate": "Run a curator for joint privacy: episodes in, private sums out.",
        "issue": "Run an issuer: one blindly signed token per user, so that each takes part once.",
        "visit": "Send simulated users to a running service.",
    },
}
COMMANDS = {name: text for commands in GROUPS.values() for name, text in commands.items()}

EXAMPLES = {
    "audit": "confide audit --trust local --mechanism laplace --epsilon 1",
    "budget": "confide budget log.parquet --rho 1",
    "certificate": "confide certificate policy/",
    "check": "confide check fit.toml",
    "compare": "confide compare policy/ --policies practice learned always:0",
    "curate": "confide curate tea --port 8001",
    "demo": "confide demo",
    "environments": "confide environments",
    "evaluate": "confide evaluate policy/ --env clinic",
    "explain": "confide explain policy/",
    "export": "confide export policy/ --to csv",
    "forecast": "confide forecast --states 6 --actions 3 --horizon 8 --rho 0.5",
    "init": "confide init records.csv",
    "issue": "confide issue tea-issuer --port 8002",
    "plot": "confide plot runs/one runs/other --out both.svg",
    "refit": "confide refit policy/ --pessimism hoeffding --out other/",
    "report": "confide report policy/ --open",
    "reproduce": "confide reproduce list",
    "serve": "confide serve tea --port 8000",
    "service backup": "confide service backup tea tea-monday",
    "service carry": "confide service carry tea tea2",
    "service check": "confide service check tea",
    "service delete": "confide service delete tea --yes",
    "service demo": "confide service demo",
    "service end": "confide service end tea",
    "service export": "confide service export tea public/",
    "service new": "confide service new tea --states 6 --actions 2 --horizon 20 --trust local --epsilon 2 --people 100000",
    "service pause": "confide service pause tea",
    "service restore": "confide service restore tea-monday tea",
    "service resume": "confide service resume tea",
    "service rotate": "confide service rotate tea",
    "service succeed": "confide service succeed tea tea2",
    "service token": "confide service token tea",
    "shuffle": "confide shuffle tea --port 8001",
    "verdicts": "confide verdicts",
    "visit": "confide visit http://127.0.0.1:8000 --environment riverswim/3 --people 100 --login tea-issuer",
}
"""One example for the help of every command that has none of its own; a test runs each."""

FIRST_STEPS = """\
confide: reinforcement learning with differential privacy. Three things to do:

  Researcher, measure what privacy costs an algorithm:
    confide simulate riverswim/6 --horizon 20 --epsilon 1 --delta 1e-6 --episodes 50000 --plot regret.png
  Analyst, learn a private policy from a log (this writes a file to fill in; `confide fit` takes it):
    confide init records.csv
  Service builder, watch a service learn from simulated users for a minute:
    confide service demo

confide demo is a tour; confide --help lists all commands.
"""


def with_example(name: str, command: click.Command) -> click.Command:
    """The command with its example below its options; a group has them at its commands."""
    for word, below in vars(command).get("commands", {}).items():
        with_example(f"{name} {word}", below)
    if name in EXAMPLES:
        command.epilog = f"\b\nExample:\n  {EXAMPLES[name]}"
    return command


class LazyCommands(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that holds the command; an unknown one is answered with the nearest."""
        if cmd_name not in COMMANDS:
            near = difflib.get_close_matches(cmd_name, COMMANDS, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "See confide --help."
            raise UnknownName("command-unknown", f"command {cmd_name!r} is not known. {hint}")
        module = importlib.import_module(f".{cmd_name}", __name__)
        return with_example(cmd_name, module.command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of each user from the table, without importing anything."""
        width = max(map(len, COMMANDS))
        for user, commands in GROUPS.items():
            with formatter.section(user):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])


@click.group(
    cls=LazyCommands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="confide")
@click.option("--debug", is_flag=True, help="Show the traceback of an error; may stand anywhere.")
@click.option(
    "--import",
    "files",
    multiple=True,
    metavar="FILE",
    help="A Python file that registers a learner, mechanism or environment of yours; before the command.",
)
@click.pass_context
def command(context: click.Context, debug: bool, files: tuple[str, ...]) -> None:
    """Reinforcement learning with differential privacy: simulate, fit, serve.

    `confide COMMAND --help` has the options and examples of a command.
    """
    load_files(files)
    if context.invoked_subcommand is None:
        click.echo(FIRST_STEPS, nl=False)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; what the tests call."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    if any("\0" in word for word in words):
        return _failed(words, "null-byte", "A word of a command must not hold a null byte. Take it out.")
    try:
        result: Any = command.main(words, prog_name="confide", standalone_mode=False)
        return int(result) if isinstance(result, int) else 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        return _failed(words, CLICK.get(type(error), "wrong-usage"), _in_one_line(error))
    except ConfideError as error:
        if debug:
            raise
        from .init import in_fit_file

        _failed(words, error.code, in_fit_file(str(error), words), error.about)
        return error.exit_code
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if debug or missing in ("", __name__.split(".")[0]):
            raise
        extra = "service" if any(word in GROUPS[BUILDER] for word in words[:1]) else "full"
        sentence = f"{missing} is not installed, which this needs. {install(extra)}."
        return _failed(words, "dependency-missing", sentence, missing)
    except OSError as error:
        if debug:
            raise
        reason, where = error.strerror or type(error).__name__, f" at {error.filename}" if error.filename else ""
        return _failed(
            words, "system-error", f"The system says: {reason}{where}. Check the path, its rights and the disk."
        )
    except (KeyboardInterrupt, click.Abort):
        _failed(words, "interrupted", "interrupted.")
        return 130


CLICK: dict[type[click.ClickException], str] = {
    click.NoSuchOption: "flag-unknown",
    click.MissingParameter: "flag-missing",
    click.BadParameter: "flag-value",
}
"""The codes of what click itself refuses; of anything else, `wrong-usage`."""


def _failed(words: Sequence[str], code: str, sentence: str, about: str = "") -> int:
    """Say on stderr why nothing was done, in one sentence or, with `--json`, as one object. The exit code of bad input."""
    if "--json" in words:
        thing = {"about": about} if about else {}
        click.echo(json.dumps({"code": code, "message": sentence, **thing}, ensure_ascii=False), err=True)
    else:
        click.echo(f"confide: {sentence}", err=True)
    return 2


def _in_one_line(error: click.ClickException) -> str:
    """The message of an error of click in one line, with where to look for help."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    stop = "" if message.endswith("?") else "."
    return f"{message}{stop} See {context.command_path if context is not None else 'confide'} --help."


def main() -> None:
    """The entry point."""
    sys.exit(run())
