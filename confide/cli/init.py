"""`confide init`, and how other commands take the file that it drafts in place of their flags."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from ..validation import Json
from . import options
from .output import emit, note, table

if TYPE_CHECKING:
    from ..analysis.fitting.fit_file import FitFile


@click.command("init")
@click.argument("data", nargs=-1, required=True)
@click.option(
    "--out", type=click.Path(dir_okay=False), default="fit.toml", show_default=True, help="Where to write it."
)
@click.option("--columns", default="", metavar="ROLE=NAME,...", help="Columns that are not found by their name.")
@click.option("--table", help="The table, or a query, of a database file.")
@click.option("--draft-labels", is_flag=True, help="Write down the labels that occur: the certificate will say so.")
@click.option("--delimiter", metavar="SIGN", help="Of a text table, where it is not seen.")
@click.option("--encoding", metavar="NAME", help="Of a text table, where it is not seen.")
@click.option("--decimal", metavar="SIGN", help="Of numbers in a text table: '.' or ','.")
@click.option("--header", metavar="NAMES", help="Of the columns of a text table whose first row names none.")
@click.option("--skip-rows", type=options.Count(), metavar="N", help="Lines above the header of a text table.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    data: tuple[str, ...],
    out: str,
    columns: str,
    table: str | None,
    draft_labels: bool,
    as_json: bool,
    **text: str | int | None,
) -> None:
    """Look at the names and types of DATA's columns, and write a commented file in place of forty flags (fit.toml).

    Sizes, horizon and the range of rewards are left to you: they are public numbers, and must not be read off the data. How
    many rows and different entries there are is reported on stderr, and written nowhere.
    """
    from ..analysis.fitting.fit_draft import draft, look
    from ..data.trajectories.columns import parse
    from ..data.trajectories.text_forms import UNNAMED

    target = Path(out)
    if target.exists():
        raise InvalidInput(
            "fit-file-exists", f"{target} is there already, and is yours. Choose another name with --out, or move it."
        )
    text_options = {name: value for name, value in text.items() if value is not None}
    seen = look(data, text_options, table, parse(columns), draft_labels)
    target.write_text(draft(data, seen, text_options, table, target.parent), encoding="utf-8")
    note(f"confide: {seen.rows:,} rows, for your eyes only.")
    if as_json:
        emit({"file": str(target), "columns": seen.types, "roles": seen.roles})
        return
    roles = {name: role for role, name in seen.roles.items()}
    show_columns(seen.types, roles)
    for name, many in seen.different.items():
        note(f"confide: {many:,} different entries in {name}, for your eyes only.")
    nameless = sum(name.startswith(UNNAMED) for name in seen.types)
    if 2 * nameless >= len(seen.types):
        note(f"confide: {nameless} columns have no name. If lines stand above the header, say --skip-rows N.")
    missing = [role for role in ("state", "action", "reward") if role not in seen.roles]
    if missing:
        who = "" if {"user", "episode"} & set(seen.roles) else ", and user, if a column tells people apart"
        click.echo(f"no column was found for {', '.join(missing)}: name them in [columns]{who}")
    click.echo(f"{target} is written. Fill in what is commented out, and then: confide check {target}")


def show_columns(types: dict[str, str], roles: dict[str, str]) -> None:
    """Print the columns of a table with their types and roles."""
    table(("column", "type", "role"), [(name, type_, roles.get(name, "-")) for name, type_ in types.items()])


def fit_file_in(sources: tuple[str, ...]) -> FitFile | None:
    """The fit file among the sources of a command, if there is one."""
    from ..analysis.fitting.fit_file import FitFile

    files = [source for source in sources if source.endswith(".toml")]
    if len(files) > 1:
        raise InvalidInput("fit-file-two", f"One fit file at a time. Got {' and '.join(files)}.")
    return FitFile.read(files[0]) if files else None


def fill_from_file(context: click.Context, sources: tuple[str, ...], arguments: dict[str, Json]) -> tuple[str, ...]:
    """Fill in the settings of a fit file that no flag gives, changing `arguments`; returns the data."""
    fit_file = fit_file_in(sources)
    data = tuple(source for source in sources if not source.endswith(".toml"))
    arguments["labels_source"] = None
    if fit_file is None:
        return sources
    settings = fit_file.options
    arguments["labels_source"] = settings.get("labels_source")
    arguments["card"] = settings["card"]
    for name, value in settings.items():
        if name == "columns":
            arguments[name] = _merged(value, arguments.get(name))
        elif name in arguments and not _is_flag_given(context, name):
            arguments[name] = value
    for one, other in (("rho", "epsilon"), ("epsilon", "rho"), ("rho", "delta")):  # a guarantee is one, not half of two
        if _is_flag_given(context, one) and not _is_flag_given(context, other) and other in arguments:
            arguments[other] = 0.0 if other == "delta" else None
    if not (data or fit_file.sources):
        raise InvalidInput(
            "fit-file-no-data", f"{fit_file.path} names no data. Say files in [data], or name it in the command."
        )
    return data or fit_file.sources


FLAG = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


def in_fit_file(sentence: str, words: Sequence[str]) -> str:
    """An error's sentence; where a command was given a fit file, with the places in it of the flags that the sentence names."""
    fit_file = next((word for word in words if word.endswith(".toml")), None)
    if fit_file is None or words[0] == command.name:  # which makes one, and says what is wrong by its own flags
        return sentence
    try:
        from ..analysis.fitting.fit_file import SECTIONS, place_of
    except ModuleNotFoundError:  # where only what a device needs is installed
        return sentence
    places: dict[str, list[str]] = {}
    for name in dict.fromkeys(flag.replace("-", "_") for flag in FLAG.findall(sentence)):
        if name in SECTIONS:
            places.setdefault(name, [])
        elif (place := place_of(name)) is not None:
            places.setdefault(place[0], []).append(place[1])
    parts = [f"{', '.join(names)} in [{section}]" if names else f"[{section}]" for section, names in places.items()]
    return f"{sentence} In {Path(fit_file).name} that is {' or '.join(parts)}." if parts else sentence


def folder_of(path: str) -> str:
    """The folder of results that a path means: itself, or where a fit file puts them."""
    fit_file = fit_file_in((path,))
    return path if fit_file is None else str(fit_file.folder)


def _is_flag_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) not in (
        click.core.ParameterSource.DEFAULT,
        click.core.ParameterSource.DEFAULT_MAP,
        None,
    )


def _merged(fit_file: Mapping[str, str], flag: Json) -> dict[str, str]:
    from ..data.trajectories.columns import parse

    return {**fit_file, **(parse(flag) if isinstance(flag, str) else {})}
