"""The command `confide` comes out of this room: thin commands that read options, call one function and print.

Commands are loaded when they are called, so that `confide --help` stays quick. Every deliberate error is one sentence on
stderr with exit code 2; `--debug` shows where it came from. With `--json` exactly one object goes to stdout.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from .._version import __version__
from ..errors import ConfideError, UnknownName
from ..loading import load_files

# Command, the module in this room that holds it, and what `confide --help` says of it.
COMMANDS: dict[str, tuple[str, str]] = {
    "check": ("check", "Say what a fit would do and what is wrong; spend nothing."),
    "audit": ("audit", "Attack a mechanism and compare what leaks with what is certified."),
    "budget": ("budget", "Set or show what may be spent on a data set."),
    "compare": ("compare", "Judge several policies from one release, which costs nothing."),
    "certificate": ("certificate", "Show what was promised for a policy."),
    "curate": ("curate", "Run the curator of a joint contract: episodes in, private sums out."),
    "demo": ("demo", "A one-minute tour."),
    "environments": ("environments", "List the worlds that can be simulated."),
    "evaluate": ("evaluate", "The exact value of a policy where the model is known."),
    "explain": ("explain", "Where a policy leaves current practice, and what that is worth."),
    "export": ("export", "A policy as a table, as JSON, as SQL or as arrays."),
    "fit": ("fit", "Learn a policy from logged trajectories, with a promise to everybody in them."),
    "forecast": ("forecast", "How much data privacy will cost, before anything is spent."),
    "plot": ("plot", "Overlay the curves of saved runs."),
    "refit": ("refit", "Learn again from a saved release, which costs nothing."),
    "report": ("report", "The page that came with a policy."),
    "reproduce": ("reproduce", "Run an experiment by its address."),
    "serve": ("serve", "Run a collector: count private reports, learn, publish policies."),
    "service": ("service", "Make a service, check one, or watch one for a minute."),
    "shuffle": ("shuffle", "Run a shuffler: add up reports in memory, hand over sums, forget."),
    "simulate": ("simulate", "Learn from simulated people, and measure the regret exactly."),
    "study": ("study", "Make a study: one commented file in place of forty flags."),
    "tune": ("tune", "Choose a learner's constant on simulations."),
    "visit": ("visit", "Send simulated people to a running service."),
    "verdicts": ("verdicts", "What the papers claim, and what is true."),
}


INSTALL = "pip install 'confide[full]', or 'confide[full,service]' to run a service."


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
            raise UnknownName(f"command {cmd_name!r} is not known. {hint}")
        module = importlib.import_module(f".{COMMANDS[cmd_name][0]}", __name__)
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="confide")
@click.option("--debug", is_flag=True, help="Show the traceback of an error; may stand anywhere.")
@click.option(
    "--import",
    "files",
    multiple=True,
    metavar="FILE",
    help="A Python file that registers a learner, mechanism or environment of yours; before the command.",
)
def command(debug: bool, files: tuple[str, ...]) -> None:
    """Learn good policies from people who do not want to be seen."""
    load_files(files)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; what the tests call."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    if any("\0" in word for word in words):
        click.echo("confide: A word of a command must not hold a null byte. Take it out.", err=True)
        return 2
    try:
        result: Any = command.main(words, prog_name="confide", standalone_mode=False)
        return int(result) if isinstance(result, int) else 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"confide: {_in_one_line(error)}", err=True)
        return 2
    except ConfideError as error:
        if debug:
            raise
        from .study import in_study

        click.echo(f"confide: {in_study(str(error), words)}", err=True)
        return error.exit_code
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if debug or missing in ("", __name__.split(".")[0]):
            raise
        click.echo(f"confide: {missing} is not installed, which this needs: {INSTALL}", err=True)
        return 2
    except OSError as error:
        if debug:
            raise
        reason, where = error.strerror or type(error).__name__, f" at {error.filename}" if error.filename else ""
        click.echo(f"confide: The system says: {reason}{where}. Check the path, its rights and the disk.", err=True)
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("confide: interrupted.", err=True)
        return 130


def _in_one_line(error: click.ClickException) -> str:
    """The message of an error of click in one line, with where to look for help."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{message}. See {context.command_path if context is not None else 'confide'} --help."


def main() -> None:
    """The entry point."""
    sys.exit(run())
