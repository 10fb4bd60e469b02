"""The reference of commands and of HTTP, written from the code by `python -m tools.reference`; a test compares."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from confide import cli
from confide.service.http import openapi

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"


def leaves(
    command: click.Command, context: click.Context, name: str
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """The commands below one, with their names."""
    if not isinstance(command, click.Group):
        yield name, command, context
        return
    for word in command.list_commands(context):
        below = command.get_command(context, word)
        if below is not None:
            inner = click.Context(below, parent=context, info_name=word, max_content_width=110, terminal_width=110)
            yield from leaves(below, inner, f"{name} {word}".strip())


def commands() -> str:
    """Every command as its help prints it, by user."""
    width: dict[str, Any] = {"max_content_width": 110, "terminal_width": 110}
    root = click.Context(cli.command, info_name="confide", **{**cli.command.context_settings, **width})
    found = {name: (command, context) for name, command, context in leaves(cli.command, root, "")}
    lines = ["# Commands", "", "What `confide COMMAND --help` prints, written by `python -m tools.reference`.", ""]
    for user, words in cli.GROUPS.items():
        lines += [f"## {user.partition(':')[0]}", ""]
        for name, (command, context) in found.items():
            if name.split()[0] in words:
                command._help_option = None  # click keeps that of the first context it saw, which may have had no -h
                lines += [f"### confide {name}", "", "```text", command.get_help(context).rstrip(), "```", ""]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


def http() -> str:
    """Every address of a collector, a shuffler and a curator, from their OpenAPI documents."""
    documents = {
        "A collector": openapi.collector_document(1, tokens=True),
        "A collector with a shuffler or curator": openapi.collector_document(None, tokens=True),
        "A shuffler": openapi.intermediary_document("shuffler", 1, tokens=True),
        "A curator": openapi.intermediary_document("curator", 1, tokens=True),
    }
    lines = [
        "# HTTP",
        "",
        "Every address of the servers, written by `python -m tools.reference` from their OpenAPI documents; a running server",
        "has its own, with lengths, at `/v1/openapi.json`. A refusal is problem+json with one of [these codes](codes.md).",
    ]
    seen: set[tuple[str, str]] = set()
    for title, document in documents.items():
        lines += ["", f"## {title}", "", "| method and address | what it is | status |", "|---|---|---|"]
        for path, methods in document["paths"].items():
            for method, described in methods.items():
                if title == "A collector with a shuffler or curator" and (method, path) in seen:
                    continue
                seen.add((method, path))
                lines.append(_row(path, method, described))
    return "\n".join(lines) + "\n"


def _row(path: str, method: str, described: dict[str, Any]) -> str:
    status = ", ".join(described["responses"])
    return f"| `{method.upper()} {path}` | {described.get('summary') or described.get('description', '')} | {status} |"


PAGES = {"commands.md": commands, "http.md": http}
