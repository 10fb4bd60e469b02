"""`confide study`, and how other commands take a study in place of their flags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from . import options
from .output import emit, note, table

if TYPE_CHECKING:
    from ..fitting.study import Study


@click.group("study")
def command() -> None:
    """One commented file in place of forty flags: made by `init`, and taken by every command that works on data."""


@command.command("init")
@click.argument("data", nargs=-1, required=True)
@click.option(
    "--out", type=click.Path(dir_okay=False), default="study.toml", show_default=True, help="Where to write it."
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
def init(
    data: tuple[str, ...], out: str, columns: str, table: str | None, draft_labels: bool, as_json: bool, **text: Any
) -> None:
    """Look at the names and types of DATA's columns, and write a commented study.

    Sizes, horizon and the range of rewards are left to you: they are public numbers, and must not be read off the data. How
    many rows and different entries there are is told to you on stderr, and written nowhere.
    """
    from ..fitting.study_draft import draft, look
    from ..trajectories.columns import parse
    from ..trajectories.texts import UNNAMED

    target = Path(out)
    if target.exists():
        raise InvalidInput(f"{target} is there already, and is yours. Choose another name with --out, or move it.")
    told = {name: value for name, value in text.items() if value is not None}
    seen = look(data, told, table, parse(columns), draft_labels)
    target.write_text(draft(data, seen, told, table, target.parent), encoding="utf-8")
    note(f"confide: {seen.rows:,} rows, for your eyes only.")
    if as_json:
        emit({"study": str(target), "columns": seen.types, "roles": seen.roles})
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
    """Names, types and roles, for people."""
    table(("column", "type", "role"), [(name, type_, roles.get(name, "-")) for name, type_ in types.items()])


def study_in(sources: tuple[str, ...]) -> Study | None:
    """The study among the words of a command, if there is one."""
    from ..fitting.study import Study

    found = [one for one in sources if one.endswith(".toml")]
    if len(found) > 1:
        raise InvalidInput(f"One study at a time. Got {' and '.join(found)}.")
    return Study.read(found[0]) if found else None


def filled(context: click.Context, sources: tuple[str, ...], given: dict[str, Any]) -> tuple[str, ...]:
    """Fill in what a study says and no flag does; returns the data. `given` is changed."""
    study = study_in(sources)
    rest = tuple(one for one in sources if not one.endswith(".toml"))
    given["labels_source"] = None
    if study is None:
        return sources
    words = study.words
    given["labels_source"] = words.get("labels_source")
    given["card"] = words["card"]
    for name, value in words.items():
        if name == "columns":
            given[name] = _merged(value, given.get(name))
        elif name in given and not _flagged(context, name):
            given[name] = value
    for one, other in (("rho", "epsilon"), ("epsilon", "rho"), ("rho", "delta")):  # a promise is one, not half of two
        if _flagged(context, one) and not _flagged(context, other) and other in given:
            given[other] = 0.0 if other == "delta" else None
    if not (rest or study.sources):
        raise InvalidInput(f"{study.path} names no data. Say files in [data], or name it in the command.")
    return rest or study.sources


FLAG = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


def in_study(sentence: str, words: Sequence[str]) -> str:
    """The sentence; where a command was given a study, with where in it stands what the sentence names by a flag."""
    from ..fitting.study import SECTIONS, place_of

    study = next((one for one in words if one.endswith(".toml")), None)
    if study is None or words[0] == command.name:  # which makes one, and says what is wrong by its own flags
        return sentence
    places: dict[str, list[str]] = {}
    for name in dict.fromkeys(found.replace("-", "_") for found in FLAG.findall(sentence)):
        if name in SECTIONS:
            places.setdefault(name, [])
        elif (place := place_of(name)) is not None:
            places.setdefault(place[0], []).append(place[1])
    told = [f"{', '.join(names)} in [{section}]" if names else f"[{section}]" for section, names in places.items()]
    return f"{sentence} In {Path(study).name} that is {' or '.join(told)}." if told else sentence


def folder_of(path: str) -> str:
    """The folder of results that a word means: itself, or where a study puts them."""
    study = study_in((path,))
    return path if study is None else str(study.folder)


def _flagged(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) not in (
        click.core.ParameterSource.DEFAULT,
        click.core.ParameterSource.DEFAULT_MAP,
        None,
    )


def _merged(study: dict[str, str], flag: Any) -> Any:
    from ..trajectories.columns import parse

    return {**study, **(parse(flag) if isinstance(flag, str) else {})}
